"""Evaluates the simplest plans on rows of a table in Python: columns of a table in JSON, without a call into the JVM.

A plan is simple if it only selects columns, and the table's records need no more than JSON and numbers or text in
KAFKA's form to be decoded. Of a simple plan, a record is plain if each member has the type of its column:

    {"NAME": "a", "N": 5}     with N BIGINT: plain
    {"name": "a", "N": "5"}   NAME in another spelling, N as text: not plain, and neither is text with escapes \\u…

Whatever is not plain is evaluated by the JVM, which alone knows how a value of another type is read, and reports the
records that cannot be read. So this module has no rules of its own: it is a subset in which both give the same rows
(tests/tables/test_plain_rows.py).
"""

import json
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal as Number
from math import isfinite
from typing import Any

from millstream.analysis.typed_expressions import ColumnPlace, ColumnReference, TypedExpression
from millstream.catalog.catalog import Source
from millstream.formats.registry import is_wrapped
from millstream.model.decimals import exact
from millstream.model.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INTEGER,
    STRING,
    TIME,
    TIMESTAMP,
    Decimal,
    SqlType,
    computed,
)
from millstream.plan.nodes import ClientOutput, Read
from millstream.tables.store import Change

# Whole numbers that a DOUBLE holds exactly.
EXACT = 2**53
DAY_MS = 86_400_000
# Spark's timestamps are microseconds in 64 bits.
LATEST_MS = (2**63 - 1) // 1000
Convert = Callable[[Any], Any]
RowAccessor = Callable[["_Row"], Any]


class NotPlain(Exception):
    """A record that the JVM has to evaluate."""


@dataclass(frozen=True, slots=True)
class _Row:
    """A decoded row: its key without window, the values of its columns, and its change in the store."""

    key: Any
    values: list[Any]
    change: Change


class PlainRows:
    """A simple plan; `row` evaluates it on a record."""

    def __init__(self, output: Sequence[RowAccessor], key: Convert, columns: Mapping[str, Convert]) -> None:
        self._output, self._key, self._converts = output, key, list(columns.values())
        self._column_indexes = {name: i for i, name in enumerate(columns)}

    def row(self, change: Change, key: bytes) -> list[Any]:
        """The columns of the answer in wire form (types.wire_writer); `key` is the record's key without its window.

        Raises NotPlain.
        """
        try:
            row = _Row(self._key(key), self._values(change.value or b""), change)
        except (ValueError, ArithmeticError, RecursionError) as failure:
            raise NotPlain from failure
        return [accessor(row) for accessor in self._output]

    def _values(self, data: bytes) -> list[Any]:
        """The values of the columns in a record's JSON object. Raises ValueError if the JVM has to read the record."""
        if b"\\u" in data:
            raise ValueError("half a surrogate pair could be among the escapes")
        members = _DECODER.decode(data.decode())
        if type(members) is not _Members:
            raise ValueError("no object")
        values: list[Any] = [None] * len(self._converts)
        for name, value in members:
            index = self._column_indexes.get(name)
            if index is None:
                self._check_unknown(name)
            elif value is not None:
                values[index] = self._converts[index](value)
            else:
                values[index] = None
        return values

    def _check_unknown(self, name: str) -> None:
        """Raises ValueError if the JVM may take a member for a column in another spelling."""
        if not name.isascii() or name.upper() in self._column_indexes:
            raise ValueError("another spelling of a column's name")


def plain_rows(plan: ClientOutput) -> PlainRows | None:
    """A simple plan's evaluation; None if the plan is not simple."""
    if not isinstance(plan.source, Read) or not _is_plain(plan.source.origin):
        return None
    schema = plan.source.origin.schema
    output = [accessor for c in plan.columns if (accessor := _accessor(c.expression)) is not None]
    columns = {c.name: convert for c in schema.value if (convert := _convert(c.type)) is not None}
    if len(output) < len(plan.columns) or len(columns) < len(schema.value):
        return None
    return PlainRows(output, _KEYS[schema.key[0].type], columns)


def plain_key(source: Source) -> Callable[[Any], bytes] | None:
    """The encoder of a source's only key column, which may raise ValueError; None if only the JVM can encode it."""
    keys = source.schema.key
    plain = len(keys) == 1 and source.key.format == "KAFKA"
    return _ENCODES.get(keys[0].type) if plain else None


def _is_plain(source: Source) -> bool:
    """True if the records of a source consist of a number or text, and a JSON object."""
    schema, value = source.schema, source.value
    key = len(schema.key) == 1 and source.key.format == "KAFKA" and schema.key[0].type in _KEYS
    json_object = value.format == "JSON" and is_wrapped(value, len(schema.value))
    return key and json_object and source.timestamp is None and not schema.headers


def _accessor(expression: TypedExpression) -> RowAccessor | None:
    """The function that reads the value of an expression from a row; None if it is not simply a column."""
    if not isinstance(expression, ColumnReference):
        return None
    index = expression.index
    match expression.where:
        case ColumnPlace.KEY:
            return _ACCESSORS[ColumnPlace.KEY]
        case ColumnPlace.VALUE:
            return lambda row: row.values[index]
        case where:
            return _ACCESSORS.get(where)


_ACCESSORS: Mapping[ColumnPlace, RowAccessor] = {
    ColumnPlace.KEY: lambda row: row.key,
    ColumnPlace.ROWTIME: lambda row: row.change.time,
    ColumnPlace.WINDOWSTART: lambda row: row.change.start,
    ColumnPlace.WINDOWEND: lambda row: row.change.end,
}


# ---------------------------------------------------------------- keys


def _number(form: str) -> Convert:
    unpack = struct.Struct(form).unpack

    def read(key: bytes) -> Any:
        try:
            return unpack(key)[0]
        except struct.error as error:
            raise ValueError from error

    return read


def _double_key(key: bytes) -> float:
    return _finite(_number(">d")(key))


_KEYS: Mapping[SqlType, Convert] = {
    INTEGER: _number(">i"),
    BIGINT: _number(">q"),
    DOUBLE: _double_key,
    STRING: bytes.decode,
}
_ENCODES: Mapping[SqlType, Callable[[Any], bytes]] = {
    INTEGER: struct.Struct(">i").pack,
    BIGINT: struct.Struct(">q").pack,
    DOUBLE: struct.Struct(">d").pack,
    STRING: lambda text: text.encode(),
}


# ---------------------------------------------------------------- JSON


class _Members(list[tuple[str, Any]]):
    """The members of an object, in their order: a name may occur twice."""


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not valid JSON")


_DECODER = json.JSONDecoder(object_pairs_hook=_Members, parse_float=Number, parse_constant=_no_constant)


def _exactly(kind: type) -> Convert:
    def convert(value: Any) -> Any:
        if type(value) is not kind:
            raise ValueError("a value of another type")
        return value

    return convert


def _integer(low: int, high: int) -> Convert:
    """Whole numbers from `low` to `high`."""

    def convert(value: Any) -> int:
        if type(value) is not int or not low <= value <= high:
            raise ValueError("no such whole number")
        return value

    return convert


def _finite(value: float) -> float:
    if not isfinite(value):
        raise ValueError("not finite")
    return value


def _double(value: Any) -> float:
    if type(value) is int and abs(value) <= EXACT:
        return float(value)
    if type(value) is not Number:
        raise ValueError("no number")
    return _finite(float(value))


def _decimal(type_: Decimal) -> Convert:
    """A DECIMAL as the JVM's JSON represents it: a whole number if it has no decimals."""

    def convert(value: Any) -> Any:
        number = exact(Number(value), type_) if type(value) in (int, Number) else None
        if number is None:
            raise ValueError("does not fit exactly")
        # Java's zero has no sign.
        return int(number) if type_.scale == 0 else number if number else number.copy_abs()

    return convert


_PLAIN: Mapping[SqlType, Convert] = {
    BOOLEAN: _exactly(bool),
    INTEGER: _integer(-(2**31), 2**31 - 1),
    BIGINT: _integer(-(2**63), 2**63 - 1),
    DOUBLE: _double,
    STRING: _exactly(str),
    DATE: _integer(-(2**31), 2**31 - 1),
    TIME: _integer(0, DAY_MS - 1),
    TIMESTAMP: _integer(-LATEST_MS, LATEST_MS),
}


def _convert(type_: SqlType) -> Convert | None:
    """How a JSON value of that type is read; None if only the JVM knows."""
    if isinstance(type_, Decimal):
        return _decimal(type_) if computed(type_) == type_ else None
    return _PLAIN.get(type_)
