"""Golden files: hand-written cases, each with its generated answer after `-- →`; REWRITE=1 writes the answers."""

import os
from collections.abc import Callable
from pathlib import Path

ARROW = "-- → "


def check(path: Path, answer: Callable[[str], str]) -> None:
    """Compare each case of the file at `path` with `answer(case)`; with REWRITE=1 in the environment write it."""
    text = path.read_text(encoding="utf-8")
    written = "\n\n".join(f"{case}\n{_arrows(answer(case))}" for case in cases(text)) + "\n"
    if os.environ.get("REWRITE"):
        path.write_text(written, encoding="utf-8")
    else:
        assert written == text


def cases(text: str) -> list[str]:
    """The cases of a golden file: its paragraphs without the answers."""
    return ["\n".join(line for line in p.splitlines() if not line.startswith(ARROW)) for p in _paragraphs(text)]


def _paragraphs(text: str) -> list[str]:
    return [p for p in text.split("\n\n") if p.strip()]


def _arrows(answer: str) -> str:
    return "\n".join(ARROW + line for line in answer.splitlines())
