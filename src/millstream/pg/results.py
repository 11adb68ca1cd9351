"""The answers of statements: columns, and rows that a portal or a cursor reads in portions.

Execute, at most 2 rows      Portal.take(2): rows 1 and 2     DataRow DataRow PortalSuspended
Execute, at most 2 rows      Portal.take(2): row 3, ended     DataRow CommandComplete "SELECT 3"
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from millstream.model.types import SqlType
from millstream.pg.messages import ColumnHeader
from millstream.pg.script import client_name
from millstream.pg.types import TEXT, PgType, modifier, pg_type

Row = Sequence[Any]


@dataclass(frozen=True, slots=True)
class ResultColumn:
    """A column of an answer: the name that clients see, its type, and the type's modifier."""

    name: str
    type: PgType = TEXT
    modifier: int = -1

    def header(self, format: int) -> ColumnHeader:
        """The column in a row description."""
        return ColumnHeader(self.name, self.type.oid, self.type.size, self.modifier, format)


class RowSource(Protocol):
    """A source of rows, in the order in which they arrive."""

    async def next(self, patience: float | None) -> Sequence[Row] | None:
        """Rows that have arrived; () if none arrives within `patience` seconds (None = wait), None at the end."""
        ...

    async def close(self) -> None:
        """End the query, if one runs; may be called more than once."""
        ...


class CopyLines(Protocol):
    """The form in which COPY sends rows; `name` is text, csv or binary."""

    @property
    def name(self) -> str:
        """The name of the form: text, csv or binary."""
        ...

    def head(self, names: Sequence[str]) -> bytes:
        """The bytes before the first row; `names` are the columns' names."""
        ...

    def line(self, values: Sequence[bytes | None]) -> bytes:
        """The bytes of a row from its encoded values (None = NULL)."""
        ...

    @property
    def end(self) -> bytes:
        """The bytes after the last row."""
        ...


class ListedRows:
    """A RowSource of rows in memory."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._rows: Sequence[Row] | None = rows

    async def next(self, patience: float | None) -> Sequence[Row] | None:
        """All rows at the first call, None at each further one; `patience` has no effect."""
        rows, self._rows = self._rows, None
        return rows or None

    async def close(self) -> None:
        """No effect: there is no query to end."""


@dataclass(frozen=True, slots=True)
class StatementAnswer:
    """The answer to a statement: `columns` are None for one without rows; `tag` is its command tag.

    A tag that ends with a blank gets the number of rows: "SELECT " becomes "SELECT 3". `endless`: of a push query;
    `copied` is the form of a COPY, None of other statements.
    """

    tag: str
    columns: tuple[ResultColumn, ...] | None = None
    rows: RowSource = field(default_factory=lambda: ListedRows(()))
    notices: tuple[str, ...] = ()
    endless: bool = False
    copied: CopyLines | None = None


def listed(columns: Sequence[ResultColumn], rows: Sequence[Row], tag: str = "SELECT ") -> StatementAnswer:
    """An answer whose rows are in memory."""
    return StatementAnswer(tag, tuple(columns), ListedRows(rows))


def result_columns(names: Sequence[str], types: Sequence[SqlType]) -> tuple[ResultColumn, ...]:
    """The columns of a query's rows."""
    return tuple(ResultColumn(client_name(n), pg_type(t), modifier(t)) for n, t in zip(names, types, strict=True))


class Portal:
    """An answer's rows, taken in portions."""

    def __init__(self, answer: StatementAnswer, formats: Sequence[int] = ()) -> None:
        """`formats`: none for text, one for all columns, or one a column."""
        self.answer, self.sent = answer, 0
        width = len(answer.columns or ())
        self.formats = tuple(formats[:1]) * width if len(formats) < 2 else tuple(formats)
        self._left: Sequence[Row] = ()
        self._ended = answer.columns is None

    @property
    def ended(self) -> bool:
        """True if no row is left."""
        return self._ended and not self._left

    @property
    def is_binary(self) -> list[bool]:
        """For each column whether its values are sent in binary form."""
        width = len(self.answer.columns or ())
        return [bool(code) for code in self.formats] or [False] * width

    def headers(self) -> list[ColumnHeader]:
        """The columns of its row description."""
        return [
            column.header(int(binary)) for column, binary in zip(self.answer.columns or (), self.is_binary, strict=True)
        ]

    async def take(self, most: int, patience: float | None = None) -> Sequence[Row]:
        """Some rows, at most `most` (0 = no limit), as soon as there are any; () at the end, or if patience ends."""
        while not self._left and not self._ended:
            rows = await self.answer.rows.next(patience)
            if rows is None:
                self._ended = True
            elif not rows:
                return ()
            else:
                self._left = rows
        rows, self._left = (self._left[:most], self._left[most:]) if most else (self._left, ())
        self.sent += len(rows)
        return rows

    async def close(self) -> None:
        """End the query, if one runs."""
        self._ended, self._left = True, ()
        await self.answer.rows.close()
