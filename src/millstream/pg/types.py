"""The types of columns for Postgres's clients: one table from the engine's types, and the encoding of their values.

| engine                          | Postgres     | text                          | binary                     |
|---------------------------------|--------------|-------------------------------|----------------------------|
| DECIMAL(4, 2)                   | numeric(4,2) | 1.50                          | groups of four digits      |
| TIMESTAMP                       | timestamptz  | 2026-07-01 12:00:00.25+00     | microseconds after 2000    |
| ARRAY<INTEGER>                  | int4[]       | {1,NULL,3}                    | as array_send              |
| MAP, STRUCT, ARRAY of such ones | json         | {"x": 1}                      | the same                   |
"""

import base64
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal as Number
from typing import Any

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
    SqlType,
)
from millstream.pg import calendar
from millstream.pg.messages import NULL, sized
from millstream.pg.numeric import numeric_bytes
from millstream.server.text import dumps

Encode = Callable[[Any], bytes]
QUOTED = frozenset('{}",\\ \t\n\r\v\f')


@dataclass(frozen=True, slots=True)
class PgType:
    """A type of Postgres: its OID and name in pg_type, that of its arrays (0 = none), its bytes (-1 = they vary).

    `text` and `binary` encode a value other than NULL, as the engine gives it.
    """

    oid: int
    name: str
    array: int
    size: int
    text: Encode
    binary: Encode
    element: int = 0


def _utf8(value: Any) -> bytes:
    return str(value).encode(errors="replace")


def _double_text(value: Any) -> bytes:
    return _utf8(value if isinstance(value, str) else repr(float(value)).removesuffix(".0"))


def _raw(value: Any) -> bytes:
    return base64.b64decode(value) if isinstance(value, str) else bytes(value)


def _json(value: Any) -> bytes:
    return dumps(value).encode()


def _of(call: Callable[[str], object]) -> Encode:
    return lambda value: str(call(value)).encode()


def _number(layout: str, call: Callable[[Any], Any]) -> Encode:
    pack = struct.Struct(layout).pack
    return lambda value: pack(call(value))


BOOL = PgType(16, "bool", 1000, 1, lambda v: b"t" if v else b"f", lambda v: b"\1" if v else b"\0")
INT4 = PgType(23, "int4", 1007, 4, _utf8, _number("!i", int))
INT8 = PgType(20, "int8", 1016, 8, _utf8, _number("!q", int))
FLOAT8 = PgType(701, "float8", 1022, 8, _double_text, _number("!d", float))
NUMERIC = PgType(1700, "numeric", 1231, -1, lambda v: f"{Number(str(v)):f}".encode(), lambda v: numeric_bytes(str(v)))
TEXT = PgType(25, "text", 1009, -1, _utf8, _utf8)
BYTEA = PgType(17, "bytea", 1001, -1, lambda v: b"\\x" + _raw(v).hex().encode(), _raw)
DAY = PgType(1082, "date", 1182, 4, _of(calendar.postgres_date), _number("!i", calendar.postgres_day))
CLOCK = PgType(1083, "time", 1183, 8, _of(calendar.clock_text), _number("!q", calendar.micros_of_day))
MOMENT = PgType(1184, "timestamptz", 1185, 8, _of(calendar.postgres_timestamp), _number("!q", calendar.postgres_micros))
OBJECT_ID = PgType(26, "oid", 1028, 4, _utf8, _number("!I", int))
JSON = PgType(114, "json", 199, -1, _json, _json)

SCALARS: Mapping[SqlType, PgType] = {
    BOOLEAN: BOOL,
    INTEGER: INT4,
    BIGINT: INT8,
    DOUBLE: FLOAT8,
    STRING: TEXT,
    BYTES: BYTEA,
    DATE: DAY,
    TIME: CLOCK,
    TIMESTAMP: MOMENT,
}
COLUMN_TYPES = (*SCALARS.values(), NUMERIC, JSON)
# Names of types in SQL, by those in pg_type.
SQL_NAMES = {
    "bool": "boolean",
    "int2": "smallint",
    "int4": "integer",
    "int8": "bigint",
    "float4": "real",
    "float8": "double precision",
    "time": "time without time zone",
    "timestamp": "timestamp without time zone",
    "timestamptz": "timestamp with time zone",
    "varchar": "character varying",
    "bpchar": "character",
    "char": '"char"',
}


def pg_type(type: SqlType) -> PgType:
    """The type of Postgres for one of the engine's: an ARRAY of plain values is an array, all other nesting is json."""
    if isinstance(type, Decimal):
        return NUMERIC
    if isinstance(type, Array) and (element := _scalar(type.element)) is not None:
        return array_of(element)
    return SCALARS.get(type, JSON)


def modifier(type: SqlType) -> int:
    """The value of atttypmod: precision and scale of a DECIMAL, else -1."""
    return (type.precision << 16 | type.scale) + 4 if isinstance(type, Decimal) else -1


def _scalar(type: SqlType) -> PgType | None:
    return NUMERIC if isinstance(type, Decimal) else SCALARS.get(type)


def array_of(element: PgType) -> PgType:
    """The type of arrays of `element`."""
    return PgType(
        element.array,
        f"_{element.name}",
        0,
        -1,
        lambda values: _array_text(values, element),
        lambda values: _array_bytes(values, element),
        element.oid,
    )


def _array_text(values: Any, element: PgType) -> bytes:
    return b"{" + b",".join(_element_text(value, element) for value in values) + b"}"


def _element_text(value: Any, element: PgType) -> bytes:
    if value is None:
        return b"NULL"
    text = element.text(value)
    if text and text.upper() != b"NULL" and not QUOTED & set(text.decode()):
        return text
    return b'"' + text.replace(b"\\", b"\\\\").replace(b'"', b'\\"') + b'"'


def _array_bytes(values: Any, element: PgType) -> bytes:
    """As array_send writes them: dimensions, if there are NULLs, the element's type, length and lower bound."""
    nulls = int(any(value is None for value in values))
    if not values:
        return struct.pack("!iiI", 0, 0, element.oid)
    head = struct.pack("!iiIii", 1, nulls, element.oid, len(values), 1)
    return head + b"".join(NULL if value is None else sized(element.binary(value)) for value in values)
