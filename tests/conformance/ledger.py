"""Writes gaps.toml anew from a report of `millstream test --report FILE`: python tests/conformance/ledger.py FILE.

For shrinking it: read the difference before committing it.
"""

import json
import sys
from collections import defaultdict
from pathlib import Path

# A pattern in a reason, and the heading for its cases; the first match counts.
HEADINGS = (
    ('"R0":12345678987654321', "its data has lost digits: the number ends in 322 in the input, in 321 in the output"),
    ("not supported yet", "not built yet"),
)
OTHER = "answers that differ"


def heading(reason: str) -> str:
    return next((name for words, name in HEADINGS if words in reason), OTHER)


def main(report: Path) -> None:
    gaps: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for verdict in map(json.loads, report.read_text().splitlines()):
        if not verdict["passed"]:
            gaps[heading(verdict["reason"])].append((verdict["id"], f"{verdict['file']} :: {verdict['name']}"))
    lines = [
        "# Cases that are known to fail, by reason. A listed case that passes, or another that fails, breaks the build."
    ]
    for name, cases in sorted(gaps.items()):
        rows = [f'    "{id}",  # {title.splitlines()[0]}' for id, title in cases]
        lines += ["", f'"{name}" = [', *rows, "]"]
    (Path(__file__).parent / "gaps.toml").write_text("\n".join(lines) + "\n")


main(Path(sys.argv[1]))
