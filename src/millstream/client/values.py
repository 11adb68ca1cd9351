"""Conversion of values between Python and JSON: DECIMAL is Decimal, DATE, TIME, TIMESTAMP are datetime's, BYTES
bytes."""

import base64
import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import orjson

from millstream.client.types import ColumnType

Reader = Callable[[Any], Any]


def reader(type: ColumnType) -> Reader | None:
    """A function from JSON values of a type, other than null, to Python's; None if they are the same."""
    if type.name == "ARRAY":
        return _array_reader(nullable(reader(type.members[0])))
    if type.name == "MAP":
        return _map_reader(nullable(reader(type.members[1])))
    if type.name == "STRUCT":
        readers = ((name, nullable(reader(field))) for name, field in type.fields)
        return _struct_reader({name: read for name, read in readers if read is not None})
    return PRIMITIVES.get(type.name)


def nullable(read: Reader | None) -> Reader | None:
    """A reader that keeps None, and converts other values by `read`; None if `read` is None: nothing is converted."""
    return None if read is None else lambda value: None if value is None else read(value)


def contains_decimal(type: ColumnType) -> bool:
    """True if numbers of the type must keep all their digits."""
    return type.name == "DECIMAL" or any(map(contains_decimal, (*type.members, *(inner for _, inner in type.fields))))


def wire_value(value: Any) -> Any:
    """A Python value in the form that orjson writes for the server; an aware datetime is converted to UTC.

    Raises TypeError if a value has no JSON form.
    """
    match value:
        case None | bool() | str() | int():
            return value
        case float():
            return value if math.isfinite(value) else str(value)
        case Decimal():
            return orjson.Fragment(f"{value:f}") if value.is_finite() else str(value)
        case bytes() | bytearray() | memoryview():
            return base64.b64encode(value).decode()
        case datetime():
            return utc(value).isoformat(timespec="milliseconds")
        case date() | time():
            return value.isoformat()
        case Mapping():
            return {str(name): wire_value(inner) for name, inner in value.items()}
        case list() | tuple() | set() | frozenset():
            return [wire_value(inner) for inner in value]
    raise TypeError(f"{value!r} of type {type(value).__name__} has no JSON form")


def utc(moment: datetime) -> datetime:
    """A time in UTC without a zone; a time without a zone is in UTC already."""
    return moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo else moment


def _array_reader(read: Reader | None) -> Reader | None:
    return None if read is None else lambda values: [read(value) for value in values]


def _map_reader(read: Reader | None) -> Reader | None:
    return None if read is None else lambda values: {key: read(value) for key, value in values.items()}


def _struct_reader(readers: Mapping[str, Reader]) -> Reader | None:
    if not readers:
        return None
    return lambda values: {name: readers[name](value) if name in readers else value for name, value in values.items()}


def _in_calendar(read: Reader) -> Reader:
    """A value outside Python's calendar (a year after 9999) remains text."""

    def in_calendar(value: Any) -> Any:
        with suppress(ValueError):
            return read(value)
        return value

    return in_calendar


PRIMITIVES: Mapping[str, Reader] = {
    "DECIMAL": lambda value: Decimal(str(value)),
    "DOUBLE": float,
    "DATE": _in_calendar(date.fromisoformat),
    "TIME": _in_calendar(time.fromisoformat),
    "TIMESTAMP": _in_calendar(datetime.fromisoformat),
    "BYTES": base64.b64decode,
}
