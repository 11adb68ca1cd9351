"""Lines of Scala are as short as those of Python, which ruff checks (pyproject.toml)."""

import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
LONGEST = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["ruff"]["line-length"]


def test_no_line_of_scala_is_too_long() -> None:
    files = {path.name: path.read_text(encoding="utf-8").splitlines() for path in ROOT.glob("jvm/*.scala")}
    assert files
    assert [
        f"{name}:{n}" for name, lines in files.items() for n, line in enumerate(lines, 1) if len(line) > LONGEST
    ] == []
