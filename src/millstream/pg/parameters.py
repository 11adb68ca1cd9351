"""Parameters of a prepared statement: from bytes to Python values, which client.literals writes as SQL."""

import re
import struct
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any
from uuid import UUID

from millstream.pg.calendar import DAY_MICROS
from millstream.pg.failures import PgError
from millstream.pg.messages import ByteReader, ProtocolViolation
from millstream.pg.numeric import read_numeric
from millstream.pg.types import BOOL, BYTEA, CLOCK, DAY, FLOAT8, INT4, INT8, JSON, MOMENT, NUMERIC, TEXT

INT2, FLOAT4, OID, JSONB, UUID_TYPE, TIMESTAMP, TIMETZ = 21, 700, 26, 3802, 2950, 1114, 1266
# The OIDs of arrays and of their elements.
ARRAYS: Mapping[int, int] = {
    **{t.array: t.oid for t in (BOOL, INT4, INT8, FLOAT8, NUMERIC, TEXT, BYTEA, DAY, CLOCK, MOMENT, JSON)},
    1005: INT2,
    1021: FLOAT4,
    1015: 1043,
    1028: OID,
    1115: TIMESTAMP,
    2951: UUID_TYPE,
    3807: JSONB,
}
NAMES: Mapping[int, str] = {
    **{t.oid: t.name for t in (BOOL, INT4, INT8, FLOAT8, NUMERIC, TEXT, BYTEA, DAY, CLOCK, MOMENT, JSON)},
    INT2: "int2",
    FLOAT4: "float4",
    OID: "oid",
    JSONB: "jsonb",
    UUID_TYPE: "uuid",
    TIMESTAMP: "timestamp",
}
TRUE, FALSE = ("t", "true", "y", "yes", "on", "1"), ("f", "false", "n", "no", "off", "0")
_ELEMENT = re.compile(r'\s*(?:"((?:[^"\\]|\\.)*)"|([^",{}\\]*))\s*([,}])', re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
EPOCH = datetime(2000, 1, 1, tzinfo=UTC)


def value_of(number: int, content: bytes | None, oid: int, binary: bool) -> Any:
    """The value of parameter `number`; one of an unknown OID is read as text. Raises PgError 22P02, 22P03 or 22021."""
    if content is None:
        return None
    try:
        return _binary(content, oid) if binary else _text(content.decode(), oid)
    except UnicodeDecodeError as error:
        raise PgError("22021", f"parameter ${number} is not UTF-8: {error.reason}") from None
    except (ValueError, OverflowError, InvalidOperation, struct.error, ProtocolViolation) as error:
        form = "binary" if binary else "text"
        code = "22P03" if binary else "22P02"
        fact = f"the value of parameter ${number} is not a valid {_type_name(oid)} in {form} form: {error}"
        raise PgError(code, fact, "the type is that of the column that it is compared with, or of $1::type") from None


def _type_name(oid: int) -> str:
    """The name of a parameter's type for messages."""
    element = ARRAYS.get(oid)
    return f"{_type_name(element)}[]" if element else NAMES.get(oid, f"value of the type with OID {oid}")


# ---------------------------------------------------------------- text


def _text(text: str, oid: int) -> Any:
    if oid in ARRAYS:
        return [None if part is None else _text(part, ARRAYS[oid]) for part in _elements(text)]
    return _TEXT.get(oid, str)(text)


def _elements(text: str) -> list[str | None]:
    """The elements of `{1,NULL,"a b"}`. Raises ValueError: no array, or one of several dimensions."""
    text = text.strip()
    if text == "{}":
        return []
    if not text.startswith("{"):
        raise ValueError(f"{text} is not an array")
    elements: list[str | None] = []
    at, mark = 1, ","
    while mark == ",":
        match = _ELEMENT.match(text, at)
        if match is None:
            raise ValueError(f"{text} is not an array of one dimension")
        quoted, bare, mark = match.groups()
        elements.append(_ESCAPED.sub(r"\1", quoted) if quoted is not None else _bare(bare.strip()))
        at = match.end()
    if at != len(text):
        raise ValueError(f"{text} is not an array of one dimension")
    return elements


def _bare(text: str) -> str | None:
    return None if text.upper() == "NULL" else text


def _bool(text: str) -> bool:
    if text.strip().lower() not in TRUE + FALSE:
        raise ValueError(f"{text} is not a boolean")
    return text.strip().lower() in TRUE


def _integer(text: str) -> int:
    if len(text) > 20:
        raise ValueError("too many digits")
    return int(text)


def _bytea(text: str) -> bytes:
    if not text.startswith("\\x"):
        raise ValueError("bytes are written \\x and hexadecimal digits")
    return bytes.fromhex(text[2:])


_TEXT: Mapping[int, Callable[[str], Any]] = {
    BOOL.oid: _bool,
    **dict.fromkeys((INT2, INT4.oid, INT8.oid, OID), _integer),
    **dict.fromkeys((FLOAT4, FLOAT8.oid), float),
    NUMERIC.oid: Decimal,
    BYTEA.oid: _bytea,
    DAY.oid: lambda text: date.fromisoformat(text.strip()),
    CLOCK.oid: lambda text: time.fromisoformat(text.strip()).replace(tzinfo=None),
    **dict.fromkeys((TIMESTAMP, MOMENT.oid), lambda text: datetime.fromisoformat(text.strip())),
}


# ---------------------------------------------------------------- binary


def _binary(content: bytes, oid: int) -> Any:
    if oid in ARRAYS:
        return _array(content, ARRAYS[oid])
    return _BINARY.get(oid, _utf8)(content)


def _array(content: bytes, element: int) -> list[Any]:
    reader = ByteReader(content)
    dimensions, _, _ = reader.int32(), reader.int32(), reader.int32()
    if dimensions == 0:
        return []
    if dimensions != 1:
        raise ValueError("an array has one dimension here")
    count, _ = reader.int32(), reader.int32()
    values = [reader.value() for _ in range(count)]
    reader.expect_end()
    return [None if value is None else _binary(value, element) for value in values]


def _utf8(content: bytes) -> str:
    return content.decode()


def _number(layout: str) -> Callable[[bytes], Any]:
    return lambda content: struct.unpack(layout, content)[0]


def _moment(content: bytes) -> datetime:
    return EPOCH + timedelta(microseconds=struct.unpack("!q", content)[0])


def _clock(content: bytes) -> time:
    micros = struct.unpack("!q", content)[0]
    if not 0 <= micros < DAY_MICROS:
        raise ValueError("this is not a time of day")
    return (EPOCH + timedelta(microseconds=micros)).time()


_BINARY: Mapping[int, Callable[[bytes], Any]] = {
    BOOL.oid: lambda content: struct.unpack("!?", content)[0],
    INT2: _number("!h"),
    INT4.oid: _number("!i"),
    INT8.oid: _number("!q"),
    OID: _number("!I"),
    FLOAT4: _number("!f"),
    FLOAT8.oid: _number("!d"),
    NUMERIC.oid: read_numeric,
    BYTEA.oid: bytes,
    DAY.oid: lambda content: (EPOCH + timedelta(days=struct.unpack("!i", content)[0])).date(),
    CLOCK.oid: _clock,
    TIMESTAMP: _moment,
    MOMENT.oid: _moment,
    UUID_TYPE: lambda content: str(UUID(bytes=content)),
    JSONB: lambda content: content[1:].decode(),
}
