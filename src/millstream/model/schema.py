"""Columns and logical schemas: a column is identified by its part and its name (docs/reference/execution.md)."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from millstream.model.names import identifier, quoted
from millstream.model.types import SqlType


class RecordPart(Enum):
    """The part of a record that contains a column."""

    KEY = "KEY"
    VALUE = "VALUE"
    HEADER = "HEADER"


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a source; `header` is the header's name for HEADER('k'), None for HEADERS and other columns."""

    name: str
    type: SqlType
    part: RecordPart = RecordPart.VALUE
    header: str | None = None


@dataclass(frozen=True, slots=True)
class Schema:
    """The logical schema of a source: its columns in declared order."""

    columns: tuple[Column, ...]

    @property
    def key(self) -> tuple[Column, ...]:
        """The key columns, in declared order."""
        return tuple(c for c in self.columns if c.part is RecordPart.KEY)

    @property
    def value(self) -> tuple[Column, ...]:
        """The value columns, in declared order."""
        return tuple(c for c in self.columns if c.part is RecordPart.VALUE)

    @property
    def headers(self) -> tuple[Column, ...]:
        """The header columns, in declared order."""
        return tuple(c for c in self.columns if c.part is RecordPart.HEADER)

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    def __str__(self) -> str:
        return ", ".join(f"{identifier(c.name)} {c.type}{_mark(c)}" for c in self.columns)


def column_text(column: Column) -> str:
    """The column as ksqlDB's messages write it, with its name in backticks: `` `ID` BIGINT KEY``."""
    return f"{quoted(column.name)} {column.type}{_mark(column)}"


def _mark(column: Column) -> str:
    if column.part is RecordPart.HEADER:
        return f" HEADER('{column.header}')" if column.header is not None else " HEADERS"
    return " KEY" if column.part is RecordPart.KEY else ""
