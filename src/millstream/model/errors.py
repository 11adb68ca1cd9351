"""Errors that a user can correct: each has a place, a fact and a hint.

StatementError
├── NotSupported      understood, and not built yet
└── (SyntaxError_ lives in syntax.errors)
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Span:
    """A place in statement text: 1-based line, 1-based column, and the file it is in ("" for typed text)."""

    line: int
    column: int
    file: str = ""

    def __str__(self) -> str:
        place = f"line {self.line}:{self.column}"
        return f"{self.file}:{self.line}:{self.column}" if self.file else place


class StatementError(Exception):
    """An error that a statement's author can correct: `fact` (what is wrong), `at` (where), `hint` (what to try)."""

    def __init__(self, fact: str, at: Span | None = None, hint: str = "") -> None:
        self.fact, self.at, self.hint = fact, at, hint
        place = f"{at}: " if at else ""
        super().__init__(place + fact + (f"\n  hint: {hint}" if hint else ""))

    def located(self, at: Span | None) -> "StatementError":
        """The same error with a place, where it has none yet."""
        return self if self.at or at is None else type(self)(self.fact, at, self.hint)


class NotSupported(StatementError):
    """A statement that is understood and not built yet: `fact` names the thing."""
