"""Executes the ASSERT statements of SQL test files: compares records and sources, and reports differences.

    ASSERT VALUES late (id, delay) VALUES ('a', 70);      the next record of the source's topic is this row
    ASSERT NULL VALUES late (id) KEY ('a');               the next record deletes this key
    ASSERT TABLE late (id STRING PRIMARY KEY, …) WITH (…) the source has these columns and properties

Columns that ASSERT VALUES does not name are expected to be NULL; ROWTIME, WINDOWSTART and WINDOWEND are compared only
if they are named. Of a source only the columns and properties in the statement are compared.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from millstream.analysis import properties
from millstream.analysis.properties import Properties
from millstream.analysis.sources import expand
from millstream.analysis.typed_expressions import Constant
from millstream.catalog.catalog import RelationKind, Source
from millstream.formats.delimited import DELIMITER, character
from millstream.formats.registry import is_wrapped
from millstream.formats.windowed_keys import without_window
from millstream.model.errors import Span, StatementError
from millstream.model.names import did_you_mean, identifier
from millstream.model.schema import Column, RecordPart, Schema
from millstream.model.types import SqlType
from millstream.plan.inserts import ROWTIME, WINDOW_BOUNDS, column_expressions
from millstream.spark.bounded import Bounded, Record
from millstream.spark.codec import UnreadableRecord
from millstream.syntax import tree
from millstream.tester.json_views import dumps
from millstream.tester.play import PlayResult

# A row for comparison and display: values by column name. NO_VALUE is a column of a null record value.
ComparedRow = Mapping[str, Any]
NO_VALUE = "<null>"


class AssertionMismatch(StatementError):
    """A record differs from ASSERT VALUES or ASSERT NULL VALUES, cannot be decoded, or does not exist."""


def expected_row(
    statement: tree.AssertValues | tree.AssertNullValues, result: PlayResult, bounded: Bounded
) -> ComparedRow:
    """The row that a statement expects. Raises StatementError if its columns or values do not fit the source."""
    source = existing(statement.source, statement.span, result)
    if source.schema.headers:
        source = replace(source, schema=replace(source.schema, columns=(*source.schema.key, *source.schema.value)))
    times = (ROWTIME, *(WINDOW_BOUNDS if source.windowed else ()))
    insert = tree.InsertValues(source.name, statement.columns, statement.values, span=statement.span)
    expressions = column_expressions(insert, source, result.catalog, result.settings, times)
    columns = [*(t for t in times if t in expressions), *source.schema.key, *source.schema.value]
    meanings = [expressions.get(column, Constant(column.type, None)) for column in columns]
    row = dict(zip((column.name for column in columns), bounded.values(meanings), strict=True))
    if isinstance(statement, tree.AssertValues):
        return row
    if any(row[column.name] is not None for column in source.schema.value):
        raise AssertionMismatch(
            "Unexpected value columns specified in ASSERT NULL VALUES.",
            statement.span,
            "name the key's columns only: a record that deletes has no value",
        )
    return {**row, **dict.fromkeys((column.name for column in source.schema.value), NO_VALUE)}


def actual_row(record: Record, source: Source, bounded: Bounded) -> ComparedRow:
    """A record of the source's topic, decoded. Raises UnreadableRecord or ValueError if it cannot be decoded."""
    bounds: dict[str, int] = {}
    bare = record
    if source.windowed is not None and record.key is not None:
        key, start, end = without_window(record.key, source.windowed)
        bare, bounds = replace(record, key=key), {"WINDOWSTART": start, "WINDOWEND": end}
    keys, values = bounded.decoded(source, bare)
    null = NO_VALUE if source.kind is RelationKind.TABLE else None
    return {
        "ROWTIME": record.rowtime,
        **bounds,
        **(keys or {column.name: None for column in source.schema.key}),
        **({column.name: null for column in source.schema.value} if values is None else values),
    }


def check_next(
    statement: tree.AssertValues | tree.AssertNullValues,
    records: Sequence[Record],
    position: int,
    result: PlayResult,
    bounded: Bounded,
) -> None:
    """Compare the row of a statement with `records[position]`, the next record of the source's topic.

    Raises AssertionMismatch if they differ or there is no such record, StatementError if the statement is not valid.
    """
    source = existing(statement.source, statement.span, result)
    expected = expected_row(statement, result, bounded)
    if position >= len(records):
        shown = [_row(record, source, bounded, statement.span) for record in records]
        raise AssertionMismatch(
            "Expected another record, but all records have already been read:" + _table(expected, shown),
            statement.span,
            f"topic {source.topic} has {len(records)} record{'s' * (len(records) != 1)}",
        )
    actual = _row(records[position], source, bounded, statement.span)
    different = [name for name, value in expected.items() if not _same(value, actual.get(name))]
    if different:
        raise AssertionMismatch(
            "Expected record does not match actual." + _table(expected, [actual]),
            statement.span,
            f"{', '.join(map(identifier, different))} differ{'s' * (len(different) == 1)}: "
            f"record {position + 1} of topic {source.topic}",
        )


def _row(record: Record, source: Source, bounded: Bounded, at: Span) -> ComparedRow:
    try:
        return actual_row(record, source, bounded)
    except (UnreadableRecord, ValueError) as error:
        raise AssertionMismatch(f"a record of topic {source.topic} cannot be read: {error}", at) from error


def _same(expected: Any, actual: Any) -> bool:
    """Whether two values are equal; NaN is NaN."""
    if isinstance(expected, float) and isinstance(actual, float) and math.isnan(expected):
        return math.isnan(actual)
    if isinstance(expected, list) and isinstance(actual, list):
        return len(expected) == len(actual) and all(map(_same, expected, actual))
    if isinstance(expected, dict) and isinstance(actual, dict):
        return expected.keys() == actual.keys() and all(_same(v, actual[n]) for n, v in expected.items())
    return type(expected) is type(actual) and bool(expected == actual)


def _table(expected: ComparedRow, actual: Sequence[ComparedRow]) -> str:
    """The rows as a text table, the expected one first, with the columns of the expected row."""
    lines = [["", *expected], ["expected", *map(_cell, expected.values())]]
    lines += [["actual", *(_cell(row.get(name)) for name in expected)] for row in actual]
    widths = [max(len(line[place]) for line in lines) for place in range(len(expected) + 1)]
    texts = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in lines]
    return "".join(f"\n    {text.rstrip()}" for text in texts) + ("" if actual else "\n    actual    no record")


def _cell(value: Any) -> str:
    if isinstance(value, bytes):
        return f"0x{value.hex()}"
    if isinstance(value, str):
        return value
    return "NULL" if value is None else dumps(value)


def existing(name: str, at: Span, result: PlayResult) -> Source:
    """The source of that name in the catalog. Raises StatementError, at `at`, if there is none."""
    source = result.catalog.sources.get(name)
    if source is None:
        raise StatementError(f"{identifier(name)} does not exist.", at, did_you_mean(name, result.catalog.sources))
    return source


# ---------------------------------------------------------------- ASSERT STREAM and ASSERT TABLE


def check_source(statement: tree.AssertSource, result: PlayResult) -> None:
    """Compare a source's columns, kind and properties with those in the statement. Raises StatementError."""
    source = existing(statement.name, statement.span, result)
    p = properties.read(statement.properties, properties.DECLARED, statement.span)
    if statement.columns:
        expected = [_column(c, result.catalog.types) for c in statement.columns]
        _compare("schema", _columns(expected), _columns(list(source.schema)), source, statement.span)
    _compare("type", statement.kind.value, source.kind.value, source, statement.span)
    for names, title, actual in _PROPERTIES:
        name = next((name for name in names if p.values.get(name) is not None), None)
        if name is not None:
            _compare(title, _normal(name, p), actual(source), source, p.place(name))


def _compare(title: str, expected: object, actual: object, source: Source, at: Span) -> None:
    if expected != actual:
        raise StatementError(
            f"Expected {title} does not match actual for source {source.name}."
            f"\n    expected  {expected}\n    actual    {actual}",
            at,
        )


def _column(definition: tree.ColumnDef, types: Mapping[str, SqlType]) -> Column:
    mark = definition.mark
    part = RecordPart.VALUE if mark is None else RecordPart.KEY if "KEY" in mark.value else RecordPart.HEADER
    return Column(definition.name, expand(definition.type, types, definition.span), part, definition.header)


def _columns(columns: Sequence[Column]) -> str:
    """Columns as text, key columns first, since the position of key columns among the others has no meaning."""
    keys = [column for column in columns if column.part is RecordPart.KEY]
    return str(Schema((*keys, *(column for column in columns if column.part is not RecordPart.KEY))))


def _normal(name: str, p: Properties) -> object:
    """A property in the catalog's normal form: formats in upper case, column names as identifiers."""
    value = p.values[name]
    if name.endswith("FORMAT") and name != "TIMESTAMP_FORMAT":
        return str(value).upper()
    if name == "TIMESTAMP":
        text = str(value)
        return text[1:-1] if text[:1] == text[-1:] == "`" and len(text) > 2 else text.upper()
    return character(str(value)) if name.endswith("DELIMITER") else value


# The properties that are compared: names in WITH, the title in messages, and the value of a source.
_PROPERTIES: tuple[tuple[tuple[str, ...], str, Callable[[Source], object]], ...] = (
    (("KAFKA_TOPIC",), "kafka topic", lambda s: s.topic),
    (("KEY_FORMAT", "FORMAT"), "key format", lambda s: s.key.format),
    (("VALUE_FORMAT", "FORMAT"), "value format", lambda s: s.value.format),
    (("KEY_DELIMITER",), "key delimiter", lambda s: character(s.key.get(DELIMITER))),
    (("VALUE_DELIMITER",), "delimiter", lambda s: character(s.value.get(DELIMITER))),
    (("WRAP_SINGLE_KEY",), "key serde options", lambda s: is_wrapped(s.key, len(s.schema.key))),
    (("WRAP_SINGLE_VALUE",), "serde options", lambda s: is_wrapped(s.value, len(s.schema.value))),
    (("TIMESTAMP",), "timestamp column", lambda s: s.timestamp.column if s.timestamp else None),
    (("TIMESTAMP_FORMAT",), "timestamp format", lambda s: s.timestamp.pattern if s.timestamp else None),
)
