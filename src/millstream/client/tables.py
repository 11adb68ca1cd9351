"""A query's rows, or a statement's answer, as a table: text in a terminal, HTML in a notebook, or a frame."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from datetime import datetime
from html import escape
from typing import Any, overload

from millstream.client.frames import arrow_table, pandas_frame, polars_frame
from millstream.client.results import (
    ColumnInfo,
    CommandResult,
    ListResult,
    NoticeResult,
    QueryResult,
    Result,
    SourceResult,
    StatementResult,
)
from millstream.client.rows import Row, row_type
from millstream.client.types import ColumnType

# The most rows that a table shows, in a terminal or in a notebook; it keeps all of them.
SHOWN = 60
NUMBERS = frozenset({"INTEGER", "BIGINT", "DOUBLE", "DECIMAL"})
TEXT = ColumnType("STRING")


@dataclass(frozen=True, repr=False)
class ResultTable:
    """Rows with their columns; `table[0]` is a row, `table["NAME"]` the values of a column.

    `note` is a line below the rows. `total` is the number of rows that came, if `rows` are the last of them only.
    """

    columns: tuple[str, ...]
    types: tuple[ColumnType, ...]
    rows: Sequence[Row]
    note: str = ""
    total: int | None = None

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    @overload
    def __getitem__(self, key: int) -> Row: ...
    @overload
    def __getitem__(self, key: slice | str) -> list[Any]: ...
    def __getitem__(self, key: int | slice | str) -> Any:
        if not isinstance(key, str):
            return self.rows[key]
        if key not in self.columns:
            raise KeyError(f"there is no column {key}; the columns are {', '.join(self.columns)}")
        position = self.columns.index(key)
        return [row[position] for row in self.rows]

    def to_arrow(self) -> Any:
        """The rows as a pyarrow.Table. Raises MissingPackage."""
        return arrow_table(self.columns, self.types, self.rows)

    def to_pandas(self) -> Any:
        """The rows as a pandas.DataFrame. Raises MissingPackage."""
        return pandas_frame(self.columns, self.types, self.rows)

    def to_polars(self) -> Any:
        """The rows as a polars.DataFrame. Raises MissingPackage."""
        return polars_frame(self.columns, self.types, self.rows)

    def __repr__(self) -> str:
        cells = [list(self.columns), *([shown(value) for value in row] for row in self.rows[:SHOWN])]
        widths = [
            max(len(line) for row in cells for line in row[column].split("\n")) for column in range(len(cells[0]))
        ]
        lines = [line for row in cells for line in self._lines(row, widths)]
        return "\n".join([*lines, self.summary()])

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{escape(column)}</th>" for column in self.columns)
        body = "".join(f"<tr>{''.join(map(_cell, row, self.types))}</tr>\n" for row in self.rows[:SHOWN])
        table = f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>\n</table>\n"
        return f"{table}<p>{escape(self.summary())}</p>"

    def _lines(self, row: Sequence[str], widths: Sequence[int]) -> list[str]:
        """A row as lines of a terminal: as many as its highest value has."""
        values = [value.split("\n") for value in row]
        return [
            "  ".join(
                text.rjust(width) if type.name in NUMBERS else text.ljust(width)
                for text, width, type in zip(line, widths, self.types, strict=True)
            ).rstrip()
            for line in (
                [value[number] if number < len(value) else "" for value in values]
                for number in range(max(map(len, values), default=0))
            )
        ]

    def summary(self) -> str:
        """The line below the rows: their number, and the note."""
        total = len(self.rows) if self.total is None else self.total
        count = f"{total} row{'' if total == 1 else 's'}"
        if total > len(self.rows):
            count += f", the last {len(self.rows)} are shown"
        elif total > SHOWN:
            count += f", the first {SHOWN} are shown"
        return f"({count}{'; ' if self.note else ''}{self.note})"


def result_table(result: Result) -> ResultTable:
    """The answer of a statement as a table."""
    note = "; ".join(f"warning: {text}" for text in result.warnings) if isinstance(result, StatementResult) else ""
    match result:
        case CommandResult():
            facts = {"STATUS": result.status, "MESSAGE": result.message, "QUERY": result.query_id}
            return _table([{name: fact for name, fact in facts.items() if fact}], note)
        case NoticeResult():
            return _table([{"MESSAGE": result.message}], note)
        case ListResult():
            return _table([_record(item) for item in result.items], note)
        case SourceResult():
            about = f"{result.type} {result.name}, topic {result.topic}, {result.key_format}, {result.value_format}"
            return _table([_column_record(column) for column in result.columns], "; ".join(filter(None, (about, note))))
        case QueryResult():
            facts = {"id": result.id, "state": result.state, "sql": result.sql, "plan": result.plan}
            return _table([{"NAME": name, "VALUE": fact} for name, fact in facts.items() if fact], note)
    return _entity_table(result)


def _entity_table(result: Any) -> ResultTable:
    """An answer without a class of its own: the list that it has, or its members."""
    members = {name: value for name, value in result.items() if name not in ("@type", "statementText", "warnings")}
    lists = [value for value in members.values() if isinstance(value, list)]
    if len(members) == 1 and lists:
        return _table([item if isinstance(item, Mapping) else {"NAME": item} for item in lists[0]], "")
    return _table([{"NAME": name, "VALUE": shown(value)} for name, value in members.items()], "")


def _record(item: Any) -> Mapping[str, Any]:
    if not is_dataclass(item):
        return {"NAME": item}
    return {field.name.upper(): getattr(item, field.name) for field in fields(item)}


def _column_record(column: ColumnInfo) -> Mapping[str, Any]:
    return {"NAME": column.name, "TYPE": str(column.type), "PART": column.part}


def _table(records: Sequence[Mapping[str, Any]], note: str) -> ResultTable:
    """A table of records; the columns are the members of all of them, in the order of their first occurrence."""
    columns = tuple(dict.fromkeys(name for record in records for name in record))
    types = tuple(_type([record.get(name) for record in records]) for name in columns)
    make = row_type(columns)
    rows = [
        make(_plain(record.get(name), type) for name, type in zip(columns, types, strict=True)) for record in records
    ]
    return ResultTable(columns, types, rows, note)


def _type(values: Sequence[Any]) -> ColumnType:
    present = [value for value in values if value is not None]
    if present and all(isinstance(value, bool) for value in present):
        return ColumnType("BOOLEAN")
    if present and all(isinstance(value, int) and not isinstance(value, bool) for value in present):
        return ColumnType("BIGINT")
    return TEXT


def _plain(value: Any, type: ColumnType) -> Any:
    return value if type != TEXT or value is None else ", ".join(value) if isinstance(value, tuple) else shown(value)


def _cell(value: Any, type: ColumnType) -> str:
    align = ' style="text-align: right"' if type.name in NUMBERS else ""
    text = escape(shown(value))
    return f"<td{align}>{f'<pre>{text}</pre>' if chr(10) in text else text}</td>"


def shown(value: Any) -> str:
    """A value as text."""
    match value:
        case None:
            return "null"
        case datetime():
            return value.isoformat(" ")
        case bytes():
            return f"0x{value.hex()}"
    return str(value)
