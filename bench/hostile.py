"""The inputs of a fuzz run: rows of every type, schemas of other writers, and mutations of a record."""

import json
import random
import struct
from collections.abc import Callable, Sequence
from decimal import Decimal as Number
from typing import Any

from millstream.model.schema import Column
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
    Field,
    Map,
    SqlType,
    Struct,
)

SCALARS: tuple[SqlType, ...] = (
    BOOLEAN,
    INTEGER,
    BIGINT,
    DOUBLE,
    STRING,
    BYTES,
    DATE,
    TIME,
    TIMESTAMP,
    Decimal(38, 10),
)
INNER = Struct((Field("X", Decimal(4, 2)), Field("Y", Array(STRING)), Field("Z", TIMESTAMP)))
NESTED: tuple[SqlType, ...] = (Array(INTEGER), Map(STRING, DOUBLE), INNER, Array(INNER), Map(STRING, INNER))

# What other writers may register for the same topic: our names with other types, recursion, defaults, enums.
_NODE = {"type": "record", "name": "N", "fields": [{"name": "C0", "type": ["null", "N"]}]}
_FIELDS = [
    {"name": "c0", "type": {"type": "fixed", "name": "Sixteen", "size": 16}},
    {"name": "C1", "type": ["null", "long", "string", {"type": "enum", "name": "E", "symbols": ["A", "B"]}]},
    {"name": "passed", "type": {"type": "map", "values": {"type": "array", "items": ["null", "bytes", "double"]}}},
    {"name": "C4", "type": {"type": "array", "items": "string"}},
    {"name": "C9", "type": {"type": "bytes", "logicalType": "decimal", "precision": 60, "scale": 30}},
    {"name": "C10", "type": {"type": "array", "items": "null"}},
    {"name": "C11", "type": {"type": "map", "values": "float"}},
]
AVRO = (
    json.dumps(_NODE),
    json.dumps({"type": "record", "name": "Other", "fields": _FIELDS}),
    '"int"',
    '"bytes"',
    '{"type":"array","items":{"type":"array","items":"null"}}',
    '["null","string"]',
)
PROTO = (
    """syntax = "proto3"; message N { N C0 = 1; repeated N C10 = 2; map<string, N> C11 = 3; }""",
    """syntax = "proto3"; import "google/protobuf/wrappers.proto";
    message Other { repeated sint64 c0 = 1; E C1 = 2; oneof o { float C3 = 4; string C4 = 5; } fixed64 C8 = 9;
    google.protobuf.Int64Value C2 = 3; repeated double C10 = 11; message In { bytes X = 1; } In C12 = 13;
    enum E { A = 0; B = 5; } }""",
)
JSON = ('{"type":"object"}', '{"type":"array"}')
# Malicious numbers, lengths and nesting.
_TOKENS = (
    b"1e999999999",
    b"1e-999999999",
    b"9" * 5000,
    b'"' + b"9" * 5000 + b'"',
    b"[" * 3000,
    b'{"X":' * 3000,
    b'{"C0":' * 900,
    b"NaN",
    b"-0",
    b'"\\ud800"',
    b'"\\u0000"',
    b"\xff\xfe",
    b"\xed\xa0\x80",
    b"null",
    b'"',
    b",",
    b"\n",
    b"\x80" * 12,
    b"\xff" * 9 + b"\x01",
    b"\xff\xff\xff\xff\x07",
    b"\xff\xff\xff\xff\x0f",
    b"\xfe\xff\xff\xff\x0f",
    b"\x01" * 40,
    b"\x02" * 4000,
    b"\x0a\x80\x80\x80\x08",
    b"\x0a\x04" * 2000,
    b"\x0b" * 3000,
    b"\x00" * 300,
    struct.pack(">d", float("nan")),
)
_MUTATIONS: tuple[Callable[[bytearray, random.Random], None], ...]


def row(columns: Sequence[Column], chance: random.Random) -> dict[str, Any]:
    """A row of the columns, a null here and there."""
    return {c.name: _value(c.type, chance) for c in columns}


def _value(type: SqlType, chance: random.Random) -> Any:
    if chance.random() < 0.1:
        return None
    match type:
        case Decimal(precision, scale):
            return Number(chance.randrange(10**precision)).scaleb(-scale)
        case Array(element):
            return [_value(element, chance) for _ in range(chance.randrange(4))]
        case Map(_, element):
            return {_text(chance): _value(element, chance) for _ in range(chance.randrange(4))}
        case Struct(fields):
            return {f.name: _value(f.type, chance) for f in fields}
    return _RANDOM_VALUE[type](chance)


def _text(chance: random.Random) -> str:
    return "".join(chance.choice('aZ0 ,"\\{é😀\n') for _ in range(chance.randrange(12)))


_RANDOM_VALUE: dict[SqlType, Callable[[random.Random], Any]] = {
    BOOLEAN: lambda c: c.random() < 0.5,
    INTEGER: lambda c: c.randrange(-(2**31), 2**31),
    BIGINT: lambda c: c.randrange(-(2**63), 2**63),
    DOUBLE: lambda c: c.uniform(-1e9, 1e9),
    STRING: _text,
    BYTES: lambda c: c.randbytes(c.randrange(12)),
    DATE: lambda c: c.randrange(-100_000, 100_000),
    TIME: lambda c: c.randrange(86_400_000),
    TIMESTAMP: lambda c: c.randrange(4_000_000_000_000),
}


def mutated(seeds: Sequence[bytes], heads: Sequence[bytes], behind: int, chance: random.Random) -> bytes:
    """A record derived from valid ones, with up to four changes after their head; or noise. Some get one of `heads`."""
    if chance.random() < 0.1:
        return chance.choice(heads) + chance.randbytes(chance.randrange(200))
    seed = chance.choice(seeds)
    # Schema ids are not mutated, since each new one would cost a request to the registry; some heads have invalid ids.
    head, data = seed[:behind], bytearray(seed[behind:])
    for _ in range(chance.randrange(5)):
        chance.choice(_MUTATIONS)(data, chance)
    return (chance.choice(heads) if chance.random() < 0.2 else head) + bytes(data)


def _at(data: bytearray, chance: random.Random) -> int:
    return chance.randrange(len(data) + 1)


def _cut(data: bytearray, chance: random.Random) -> None:
    del data[_at(data, chance) :]


def _drop(data: bytearray, chance: random.Random) -> None:
    at = _at(data, chance)
    del data[at : at + chance.randrange(1, 9)]


def _flip(data: bytearray, chance: random.Random) -> None:
    if data:
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)


def _put(data: bytearray, chance: random.Random) -> None:
    at = _at(data, chance)
    data[at:at] = chance.choice(_TOKENS)


def _over(data: bytearray, chance: random.Random) -> None:
    token, at = chance.choice(_TOKENS), _at(data, chance)
    data[at : at + len(token)] = token


def _repeat(data: bytearray, chance: random.Random) -> None:
    at = _at(data, chance)
    data[at:at] = data[at : at + chance.randrange(1, 30)] * chance.randrange(1, 20)


def _noise(data: bytearray, chance: random.Random) -> None:
    at = _at(data, chance)
    data[at:at] = chance.randbytes(chance.randrange(1, 12))


_MUTATIONS = (_cut, _drop, _flip, _flip, _put, _over, _repeat, _noise)
