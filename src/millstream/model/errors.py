"""Errors that a user can correct: each has a position, a fact and a hint.

StatementError
├── NotSupported      a valid statement that is not implemented
└── SqlSyntaxError    in syntax.errors
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Span:
    """A position in statement text: 1-based line, 1-based column, and the file ("" for typed text)."""

    line: int
    column: int
    file: str = ""

    def __str__(self) -> str:
        place = f"line {self.line}:{self.column}"
        return f"{self.file}:{self.line}:{self.column}" if self.file else place


HINT = "\n  hint: "


def hint_line(hint: str) -> str:
    """The end of a message with this hint; "" if there is none."""
    return f"{HINT}{hint}" if hint else ""


def fact_and_hint(message: str) -> tuple[str, str]:
    """A message without its hint, and the hint; "" if it has none."""
    fact, _, hint = message.partition(HINT)
    return fact, hint


class StatementError(Exception):
    """An error that a statement's author can correct: `fact` is what is wrong, `at` where, `hint` what to do."""

    def __init__(self, fact: str, at: Span | None = None, hint: str = "") -> None:
        self.fact, self.at, self.hint = fact, at, hint
        place = f"{at}: " if at else ""
        super().__init__(place + fact + hint_line(hint))

    def located(self, at: Span | None) -> "StatementError":
        """The same error with a position, if it has none yet."""
        return self if self.at or at is None else type(self)(self.fact, at, self.hint)

    def prefixed(self, prefix: str) -> "StatementError":
        """The same error, whose fact has a prefix that says what the wrong part is in: "Error in WHERE expression"."""
        return type(self)(f"{prefix}: {self.fact}", self.at, self.hint)


class NotSupported(StatementError):
    """A valid statement that is not implemented: `fact` names the feature and says so."""
