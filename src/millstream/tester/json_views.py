"""The JSON view of bytes: how a case writes keys and values, converted to bytes and back, by format.

It is deliberately a second implementation of the formats, separate from the engine's codec: they check each other.
"""

import base64
import json
import struct
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

from millstream.catalog.catalog import Serde, Windowed
from millstream.formats.windowed_keys import with_window, without_window
from millstream.model.schema import Column
from millstream.model.types import BIGINT, BYTES, DOUBLE, INTEGER
from millstream.tester import protos

_KAFKA = {INTEGER: ">i", BIGINT: ">q", DOUBLE: ">d"}


def dumps(view: Any) -> str:
    """JSON text of a view; a Decimal keeps its digits from the case file."""
    if isinstance(view, dict):
        return "{" + ",".join(f"{json.dumps(str(k))}:{dumps(v)}" for k, v in view.items()) + "}"
    if isinstance(view, list):
        return "[" + ",".join(map(dumps, view)) + "]"
    if isinstance(view, Decimal):
        return str(view)
    return json.dumps(view, ensure_ascii=False)


def to_bytes(view: Any, serde: Serde, columns: Sequence[Column]) -> bytes | None:
    """The bytes of a record's side from a case; None for null."""
    if view is None:
        return None
    if serde.format == "JSON":
        return dumps(view).encode()
    if serde.format == "KAFKA" and columns:
        return _kafka_bytes(view, columns[0])
    if serde.format == "PROTOBUF_NOSR" and serde.schema:
        return protos.encode(view, serde.schema.schema, "", indexed=False)
    return view.encode() if isinstance(view, str) else dumps(view).encode()


def _kafka_bytes(view: Any, column: Column) -> bytes:
    if column.type in _KAFKA:
        number = float(view) if column.type == DOUBLE else int(view)
        return struct.pack(_KAFKA[column.type], number)
    if column.type == BYTES:
        return base64.b64decode(view)
    return str(view).encode() if isinstance(view, str) else dumps(view).encode()


def to_view(data: bytes | None, serde: Serde, columns: Sequence[Column]) -> Any:
    """The JSON view of bytes that a sink wrote. Raises ValueError if they are not in its format."""
    if data is None:
        return None
    if serde.format == "JSON":
        return json.loads(data, parse_float=Decimal)
    if serde.format == "KAFKA" and columns:
        return _kafka_view(data, columns[0])
    if serde.format == "PROTOBUF_NOSR" and serde.schema:
        return protos.decode(data, serde.schema.schema, indexed=False)
    return data.decode()


def _kafka_view(data: bytes, column: Column) -> Any:
    if column.type in _KAFKA:
        return struct.unpack(_KAFKA[column.type], data)[0]
    return base64.b64encode(data).decode() if column.type == BYTES else data.decode()


def windowed(key: bytes | None, window: Any) -> bytes | None:
    """A key followed by the window of a case's record; the key alone if it is None or the record has no window."""
    if key is None or window is None:
        return key
    is_session = str(window["type"]).lower() == "session"
    written = Windowed("SESSION") if is_session else Windowed("TUMBLING", size_ms=0)
    return with_window(key, written, int(window["start"]), int(window.get("end") or 0))


def unwindowed(key: bytes | None, window: Windowed | None) -> tuple[bytes | None, Any]:
    """A key's bytes and the window after them. Raises ValueError if there are too few bytes for a window."""
    if key is None or window is None:
        return key, None
    bare, start, end = without_window(key, window)
    return bare, {"start": start, "end": end, "type": "session" if window.size_ms is None else "time"}


def same(expected: Any, actual: Any) -> bool:
    """True if two views are equal: numbers by value, field names also in upper case if the exact name is absent."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        names = [name if name in actual else name.upper() for name in expected]
        return sorted(names) == sorted(actual) and all(
            same(value, actual[name]) for name, value in zip(names, expected.values(), strict=True)
        )
    if isinstance(expected, list) and isinstance(actual, list):
        return len(expected) == len(actual) and all(map(same, expected, actual))
    if _number(expected) and _number(actual):
        return _equal(expected, actual)
    if isinstance(expected, str) and isinstance(actual, Decimal):
        return _same_digits(expected, actual)
    return type(expected) is type(actual) and bool(expected == actual)


def _number(view: Any) -> bool:
    return isinstance(view, int | float | Decimal) and not isinstance(view, bool)


def _same_digits(expected: str, actual: Decimal) -> bool:
    """True if text is a decimal of the same value and scale: cases pad with zeros to the digits of the type:
    "005.10"."""
    try:
        number = Decimal(expected)
    except InvalidOperation:
        return False
    return number == actual and number.as_tuple().exponent == actual.as_tuple().exponent


def _equal(expected: Any, actual: Any) -> bool:
    if isinstance(expected, float) or isinstance(actual, float):
        return float(expected) == float(actual)
    return Decimal(expected) == Decimal(actual)
