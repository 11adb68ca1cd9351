"""Formats errors: the fact, the position with a caret under it, and the hint."""

import re
from dataclasses import dataclass

from rich.cells import cell_len

from millstream.cli.client import ClientError
from millstream.cli.statements import ScriptStatement

PLACE = re.compile(r"\A(?P<file>[^\n:]*:)?(?:line )?(?P<line>\d+):(?P<column>\d+): ")
HINT = re.compile(r"\n\s*hint: ")
# The most characters that are shown of a line with an error.
WIDEST = 100


@dataclass(frozen=True, slots=True)
class ErrorReport:
    """The parts of an error: the fact, the source line with a line for the caret, and the hint."""

    fact: str
    shown: str = ""
    caret: str = ""
    hint: str = ""

    @property
    def text(self) -> str:
        """The whole report, as written to a file or a pipe."""
        excerpt = f"\n  {self.shown}\n  {self.caret}" if self.shown else ""
        return f"error: {self.fact}{excerpt}" + (f"\n  hint: {self.hint}" if self.hint else "")


def error_report(error: ClientError, statement: ScriptStatement | None = None, file: str = "") -> ErrorReport:
    """The report of an error; with `file` its position is given in the file of the statement."""
    fact, hint = _without_hint(error.message)
    hint = hint or error.hint
    position = PLACE.match(fact)
    if position is None or statement is None:
        return ErrorReport(fact, hint=hint)
    line, column, fact = int(position["line"]), int(position["column"]), fact[position.end() :]
    where = f"{file}:{statement.line + line - 1}" if file else f"line {line}:{column}"
    lines = statement.text.splitlines()
    if not 0 < line <= len(lines) or column > len(lines[line - 1]) + 1:
        return ErrorReport(f"{where}: {fact}", hint=hint)
    shown, caret = excerpt(lines[line - 1], column)
    return ErrorReport(f"{where}: {fact}", shown, caret, hint)


def excerpt(line: str, column: int) -> tuple[str, str]:
    """The part of a line around a 1-based column, and the caret to put below it."""
    start = max(0, column - 1 - WIDEST // 2) if len(line) > WIDEST else 0
    part = line[start : start + WIDEST].replace("\t", " ")
    before = ("…" if start else "") + part[: column - 1 - start]
    return ("…" if start else "") + part, " " * cell_len(before) + "^"


def _without_hint(message: str) -> tuple[str, str]:
    parts = HINT.split(message, maxsplit=1)
    return parts[0], parts[1] if len(parts) > 1 else ""
