"""Errors for Postgres's clients: a SQLSTATE, a message, a position in the statement and a hint."""

import re
from dataclasses import dataclass

from millstream.engine.api import RequestFailed
from millstream.model.errors import NotSupported, StatementError, fact_and_hint
from millstream.server.errors import failure, without_stack
from millstream.syntax.errors import SqlSyntaxError

SYNTAX, NOT_SUPPORTED, INTERNAL = "42601", "0A000", "XX000"
UNKNOWN_TABLE, UNKNOWN_COLUMN, UNKNOWN_FUNCTION, REFUSED = "42P01", "42703", "42883", "42000"
UNKNOWN_OBJECT, TABLE_EXISTS, WRONG_TYPE, AMBIGUOUS_COLUMN = "42704", "42P07", "42804", "42702"
FORBIDDEN, TOO_LARGE, TOO_MANY, NOT_READY, STOPPING = "42501", "54000", "53300", "57P03", "57P01"
CANCELLED, IDLE, IN_FAILED, NO_CURSOR, NO_STATEMENT = "57014", "57P05", "25P02", "34000", "26000"
INVALID_AUTHORIZATION = "28000"
CODES = {
    40100: INVALID_AUTHORIZATION,
    40300: FORBIDDEN,
    41300: TOO_LARGE,
    42900: TOO_MANY,
    50302: NOT_READY,
    50303: STOPPING,
}
_PLACE = re.compile(r"line (\d+):(\d+): ")
# SQLSTATEs by patterns of the messages, which tests/pg/sqlstates.toml keeps together.
_BY_WORDS = tuple(
    (re.compile(f"(?i){pattern}"), state)
    for pattern, state in (
        (r"no stream or table|there is no (stream|table)|could not find stream/table", UNKNOWN_TABLE),
        (r"unknown stream/table|^(source|stream|table) \S+ does not exist", UNKNOWN_TABLE),
        (r"column '.*' cannot be resolved|has no column|column name \S+ does not exist", UNKNOWN_COLUMN),
        (r"column '.*' is ambiguous", AMBIGUOUS_COLUMN),
        (r"there is no function|can't find any functions|^function \S+ does not exist", UNKNOWN_FUNCTION),
        (r"there is no type|^type \S+ does not exist|^unknown queryid", UNKNOWN_OBJECT),
        (r"with the same name already exists", TABLE_EXISTS),
        (r"expected type .* for field", WRONG_TYPE),
        (r"expected number columns and values to match|expected a value for each column", SYNTAX),
    )
)


@dataclass(frozen=True, slots=True)
class ErrorPosition:
    """The position of an error: 1-based line and column in the text that was sent to the engine."""

    line: int
    column: int

    def offset(self, text: str) -> int:
        """The 0-based number of the character in `text`."""
        lines = text.split("\n")
        return min(sum(len(line) + 1 for line in lines[: self.line - 1]) + self.column - 1, len(text))


class PgError(Exception):
    """An error for the client: `state` is the SQLSTATE, `position` the 1-based character in its statement (0 = none).

    `engine_position` is that in the text for the engine, from which `position` is computed. A `fatal` one ends the
    connection.
    """

    def __init__(
        self,
        state: str,
        message: str,
        hint: str = "",
        engine_position: ErrorPosition | None = None,
        fatal: bool = False,
    ) -> None:
        super().__init__(message)
        self.state, self.message, self.hint, self.fatal = state, message, hint, fatal
        self.engine_position = engine_position
        self.position = 0

    def fields(self) -> dict[str, str]:
        """The fields of an ErrorResponse by letter."""
        severity = "FATAL" if self.fatal else "ERROR"
        position = str(self.position) if self.position else ""
        return {"S": severity, "V": severity, "C": self.state, "M": self.message, "H": self.hint, "P": position}


def pg_error(error: Exception) -> PgError:
    """Any exception of a statement as an error for the client; an unexpected one is logged as in the REST API."""
    if isinstance(error, PgError):
        return error
    refusal = _refused(error) if isinstance(error, StatementError) else failure(error)
    text, hint = fact_and_hint(without_stack(refusal.message))
    match = _PLACE.match(text)
    position = ErrorPosition(int(match[1]), int(match[2])) if match else None
    fact = text[match.end() :] if match else text
    return PgError(_state(refusal, fact), fact, hint, position)


def _refused(error: StatementError) -> RequestFailed:
    refusal = RequestFailed(40001, str(error))
    refusal.__cause__ = error
    return refusal


def _state(refusal: RequestFailed, fact: str) -> str:
    if refusal.code in CODES:
        return CODES[refusal.code]
    match refusal.__cause__:
        case SqlSyntaxError():
            return SYNTAX
        case NotSupported():
            return NOT_SUPPORTED
    if refusal.code >= 50000:
        return INTERNAL
    return next((state for pattern, state in _BY_WORDS if pattern.search(fact)), REFUSED)
