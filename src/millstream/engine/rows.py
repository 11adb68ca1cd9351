"""Conversion of rows between Spark's JSON, the REST API's JSON, and values for columns."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal as Number
from typing import Any

from millstream.analysis import text_conversions
from millstream.engine.api import Tombstone
from millstream.model.decimals import rounded
from millstream.model.settings import shortened
from millstream.model.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INTEGER,
    STRING,
    TIME,
    TIMESTAMP,
    Array,
    Decimal,
    Map,
    SqlType,
    Struct,
)
from millstream.spark.types import json_reader

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
DAY_MS = 86_400_000
# The calendar repeats itself after this many days, and Python's dates end with the year 9999.
CYCLE_YEARS, CYCLE_DAYS = 400, 146_097
# A number as text: what Java's BigDecimal reads.
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
BOUNDS = {INTEGER: 2**31, BIGINT: 2**63}


class ValueMismatch(ValueError):
    """A JSON value that does not fit its column's type."""


# ---------------------------------------------------------------- out


class RowReader:
    """Reads rows of some types from the JSON objects {"C0": …, "C1": …} that a query writes. It is thread-safe."""

    def __init__(self, types: Sequence[SqlType]) -> None:
        self._names = [f"C{i}" for i in range(len(types))]
        self._show, self._read = RowConverter(types), json_reader(types)

    def __call__(self, record: bytes, tombstone: bool = False) -> list[Any]:
        """The row in the REST API's JSON."""
        values = self._read(record)
        row = self._show([values.get(name) for name in self._names])
        return Tombstone(row) if tombstone else row


class RowConverter:
    """Converts rows of some types from the wire form (types.wire_writer) to the REST API's JSON. It is thread-safe."""

    def __init__(self, types: Sequence[SqlType]) -> None:
        self._converted = [(i, type) for i, type in enumerate(types) if type not in _UNCHANGED]

    def __call__(self, row: list[Any]) -> list[Any]:
        """The row in the REST API's JSON; the list `row` itself is changed and returned."""
        for i, type in self._converted:
            row[i] = shown(row[i], type)
        return row


def shown_row(values: Sequence[Any], types: Sequence[SqlType]) -> list[Any]:
    """A row in the REST API's JSON, from its values in wire form (types.wire_writer)."""
    return [shown(value, type) for value, type in zip(values, types, strict=True)]


def shown(value: Any, type: SqlType) -> Any:
    """A value in the REST API's JSON: dates and times as ISO text, bytes in base64, DECIMALs with all their digits."""
    if value is None:
        return None
    match type:
        case Array(element):
            return [shown(v, element) for v in value]
        case Map(_, element):
            return {k: shown(v, element) for k, v in value.items()}
        case Struct(fields):
            return {f.name: shown(value.get(f.name), f.type) for f in fields}
    return _SHOWN[type](value) if type in _SHOWN else value


def _date_text(days: int) -> str:
    """A day in ISO 8601, as Java's LocalDate writes it: years outside 0000 to 9999 have a sign."""
    cycles, rest = divmod(days, CYCLE_DAYS)
    day = EPOCH.date() + timedelta(days=rest)
    year = day.year + cycles * CYCLE_YEARS
    return f"{year:04d}-{day:%m-%d}" if 0 <= year <= 9999 else f"{year:+05d}-{day:%m-%d}"


def _time_text(ms: int) -> str:
    text = (EPOCH + timedelta(milliseconds=ms)).time().isoformat("milliseconds")
    return text.removesuffix(".000").removesuffix(":00") if text.endswith(":00.000") else text.removesuffix(".000")


def timestamp_text(ms: int) -> str:
    """A time in ISO 8601, as Java's LocalDateTime writes it; it may be of any year."""
    days, rest = divmod(ms, DAY_MS)
    return f"{_date_text(days)}T{(EPOCH + timedelta(milliseconds=rest)).time().isoformat('milliseconds')}"


# Types whose values need no conversion.
_UNCHANGED = frozenset((BOOLEAN, INTEGER, BIGINT, STRING, BYTES))
_SHOWN: Mapping[SqlType, Callable[[Any], Any]] = {
    DATE: _date_text,
    TIME: _time_text,
    TIMESTAMP: timestamp_text,
    DOUBLE: lambda v: v if isinstance(v, str) else float(v),
}


# ---------------------------------------------------------------- in


def converter(type: SqlType) -> Callable[[Any], Any]:
    """A function that converts a JSON value to a column's type: numbers widen, text may be a date, a time, bytes or a
    DECIMAL.

    It raises ValueMismatch. It is created once for a column and called for each row.
    """
    convert = _converter(type)
    return lambda value: None if value is None else convert(value)


def _converter(type: SqlType) -> Callable[[Any], Any]:
    match type:
        case Array(element):
            member = converter(element)
            return lambda value: [member(v) for v in _as(list, value, type)]
        case Map(_, element):
            member = converter(element)
            return lambda value: {k: member(v) for k, v in _as(dict, value, type).items()}
        case Struct():
            return _struct_converter(type)
        case Decimal():
            return lambda value: _decimal(value, type)
    return _scalar_converter(type)


def _struct_converter(type: Struct) -> Callable[[Any], Any]:
    fields = [(field.name, field.name.upper(), converter(field.type)) for field in type.fields]

    def convert(value: Any) -> dict[str, Any]:
        members = {k.upper(): v for k, v in _as(dict, value, type).items()} | value
        return {name: member(members.get(name, members.get(upper))) for name, upper, member in fields}

    return convert


def _scalar_converter(type: SqlType) -> Callable[[Any], Any]:
    unchecked = _SCALAR_CONVERTERS[type]

    def convert(value: Any) -> Any:
        try:
            return unchecked(value)
        except (ValueError, OverflowError) as failure:
            raise ValueMismatch(f"{_text_of(value)} is not a value of type {type}") from failure

    return convert


def _as(expected: Any, value: Any, type: SqlType) -> Any:
    if not isinstance(value, expected):
        raise ValueMismatch(f"{_text_of(value)} is not a value of type {type}")
    return value


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | Number) and not isinstance(value, bool)


def _decimal(value: Any, type: Decimal) -> Number:
    """A number, or one as text, rounded half up to the decimals of the type, as in ksqlDB's ApiSqlValueCoercer."""
    if not (_is_number(value) or (isinstance(value, str) and NUMBER.fullmatch(value))):
        raise ValueMismatch(f"{_text_of(value)} is not a value of type {type}")
    number = rounded(Number(str(value)), type)
    if number is None:
        raise ValueMismatch(f"{_text_of(value)} does not fit {type}")
    return number


def _text_of(value: Any) -> str:
    """A request's value as JSON, but for a text as in SQL, shortened for messages."""
    if isinstance(value, str):
        return shortened(repr(value))
    return shortened(str(value) if isinstance(value, Number) else json.dumps(value, default=str, ensure_ascii=False))


def _whole(bound: int) -> Callable[[Any], int]:
    def convert(value: Any) -> int:
        # A bool is an int too, but not of this class.
        if value.__class__ is not int or not -bound <= value < bound:
            raise ValueError(value)
        return value

    return convert


def _double(value: Any) -> float:
    if not _is_number(value):
        raise ValueError(value)
    return float(value)


def _exactly(desired: type) -> Callable[[Any], Any]:
    def convert(value: Any) -> Any:
        if not isinstance(value, desired):
            raise ValueError(value)
        return value

    return convert


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(value)
    return value


def _read(type: SqlType) -> Callable[[Any], object]:
    """A converter that reads text as INSERT VALUES does: a date or time may end early. It raises ValueError."""
    return lambda value: text_conversions.read(_text(value), type)


_SCALAR_CONVERTERS: Mapping[SqlType, Callable[[Any], Any]] = {
    BOOLEAN: _exactly(bool),
    INTEGER: _whole(BOUNDS[INTEGER]),
    BIGINT: _whole(BOUNDS[BIGINT]),
    DOUBLE: _double,
    STRING: _exactly(str),
    **{type: _read(type) for type in (BYTES, DATE, TIME, TIMESTAMP)},
}
