"""The values of an index: columns of a table's rows, decoded and encoded so that equal values have equal bytes.

    CREATE INDEX by_age ON people (age);

    a {"AGE": 41}     80 00 00 00 00 00 00 29
    b {"AGE": -1}     7f ff ff ff ff ff ff ff
    c {}              no entry: a comparison with NULL is false

The bytes of an index of one column sort as its values do: whole numbers, DECIMALs and each of BYTES have an inverted
sign, texts are compared by UTF-16 units. Long ones are cut, and several columns, or a nested one, are hashed. An index
only finds candidates, and the query's condition is evaluated on each, so different values may have equal bytes.
"""

import struct
from base64 import b64decode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal as Number
from hashlib import blake2b
from typing import Any

from millstream.analysis.typed_expressions import ColumnPlace, ColumnReference
from millstream.catalog.catalog import Source, TableIndex
from millstream.model.decimals import exact
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
from millstream.plan.index_lookups import indexed_columns
from millstream.plan.nodes import ClientOutput, NamedExpression, Read
from millstream.spark.bounded import Bounded, Record
from millstream.tables.keys import keys_of
from millstream.tables.plain_rows import NotPlain, plain_rows
from millstream.tables.store import Change

# The most bytes of a value, which is cut if it is longer, and the bytes of a hash.
LONGEST, HASH = 128, 16
_NESTED = (Array, Map, Struct)
_OFFSET = ColumnReference(BIGINT, ColumnPlace.ROWOFFSET, 0, "ROWOFFSET")


@dataclass(frozen=True, slots=True)
class IndexedTable:
    """A table and those of its indexes for which values are computed."""

    source: Source
    indexes: tuple[TableIndex, ...]


# For each of some changes of a table, the bytes of its row in each index by the index's name; None: no entry.
IndexedValues = Callable[[Sequence[Change]], list[Mapping[str, bytes | None]]]


def identity(index: TableIndex, source: Source) -> str:
    """What an index's entries depend on: its columns, how they are encoded, and how the table's records are decoded."""
    # Earlier versions encoded BYTES without inverting signs: entries that have them are to be computed anew.
    types = [str(column.type).replace("BYTES", "SIGNED BYTES") for column in indexed_columns(source, index)]
    return repr((index.columns, types, source.key, source.value, [(c.name, str(c.type)) for c in source.schema]))


# ---------------------------------------------------------------- rows


def indexed_values(table: IndexedTable, bounded: Bounded) -> IndexedValues:
    """A function that decodes changes and encodes their values in all indexes. It raises EvaluationFailed."""
    columns = {c.name: c for index in table.indexes for c in indexed_columns(table.source, index)}
    column_indexes = {name: i for i, name in enumerate(columns)}
    by_index = [(i.name, [column_indexes[n] for n in i.columns], index_types(i, table.source)) for i in table.indexes]
    decode = _decoder(table.source, tuple(columns.values()), bounded)

    def values(changes: Sequence[Change]) -> list[Mapping[str, bytes | None]]:
        return [
            {name: None if row is None else _of_row(row, where, types) for name, where, types in by_index}
            for row in decode(changes)
        ]

    return values


def index_types(index: TableIndex, source: Source) -> tuple[SqlType, ...]:
    """The types of an index's columns."""
    return tuple(column.type for column in indexed_columns(source, index) if column.type is not None)


def _of_row(row: Sequence[Any], column_indexes: Sequence[int], types: Sequence[SqlType]) -> bytes | None:
    return encoded([_python(row[i], type) for i, type in zip(column_indexes, types, strict=True)], types)


def _decoder(
    source: Source, columns: tuple[ColumnReference, ...], bounded: Bounded
) -> Callable[[Sequence[Change]], list[list[Any] | None]]:
    """A function from changes to the columns' values in wire form (types.wire_writer); None without a readable row."""
    stored, names = keys_of(source), [NamedExpression(c.name, c) for c in columns]
    plain = plain_rows(ClientOutput(Read(source), tuple(names)))
    numbered = ClientOutput(Read(source), (NamedExpression(_OFFSET.name, _OFFSET), *names))

    def in_jvm(changes: Sequence[Change]) -> list[list[Any] | None]:
        """The columns' values of each change, computed in the JVM; None for a deletion or an unreadable record."""
        records = [
            Record(stored.joined(c.key, c.start, c.end), c.value, c.time, c.headers, 0, offset)
            for offset, c in enumerate(changes)
            if c.value is not None
        ]
        # A record that cannot be read has no row, so rows have the numbers of their changes.
        rows = {int(row[0]): row[1:] for row in bounded.answering(numbered)(records)} if records else {}
        return [rows.get(offset) for offset in range(len(changes))]

    def decode(changes: Sequence[Change]) -> list[list[Any] | None]:
        """The same, in Python if all records are plain."""
        if plain is not None:
            try:
                return [None if c.value is None else plain.row(c, stored.bare(c.key)) for c in changes]
            except NotPlain:
                pass
        return in_jvm(changes)

    return decode


def _python(value: Any, type: SqlType) -> Any:
    """A value in wire form (types.wire_writer) as a Python value; absent members of a STRUCT are NULL."""
    match value, type:
        case None, _:
            return None
        case _, Array(element):
            return [_python(v, element) for v in value]
        case _, Map(_, element):
            return {k: _python(v, element) for k, v in value.items()}
        case _, Struct(fields):
            return {f.name: _python(value.get(f.name), f.type) for f in fields}
        case _, Decimal():
            return Number(value)
    if type == DOUBLE:
        return float(value)
    return b64decode(value) if type == BYTES else value


# ---------------------------------------------------------------- bytes


def encoded(values: Sequence[Any], types: Sequence[SqlType]) -> bytes | None:
    """The bytes of values, one for each column of an index; None if one of them equals nothing (NULL, NaN).

    DATE, TIME and TIMESTAMP are whole numbers (days, ms of the day, ms).
    """
    if any(value is None or value != value for value in values):
        return None
    parts = [_bytes(value, type) for value, type in zip(values, types, strict=True)]
    if len(parts) == 1 and not isinstance(types[0], _NESTED):
        return parts[0][:LONGEST]
    return blake2b(b"".join(map(_sized, parts)), digest_size=HASH).digest()


def _sized(part: bytes) -> bytes:
    return len(part).to_bytes(4, "big") + part


def _bytes(value: Any, type: SqlType) -> bytes:
    match type:
        case Decimal():
            return _decimal(value, type)
        case Array(element):
            return b"".join(_member(v, element) for v in value)
        case Map(_, element):
            return b"".join(_sized(_text(k)) + _member(v, element) for k, v in sorted(value.items()))
        case Struct(fields):
            return b"".join(_member(value.get(f.name), f.type) for f in fields)
    return _BYTES[type](value)


def _member(value: Any, type: SqlType) -> bytes:
    return b"\0" if value is None else b"\1" + _sized(_bytes(value, type))


def _integer_bytes(value: int) -> bytes:
    return (value + 2**63).to_bytes(8, "big")


def _decimal(value: Number, type: Decimal) -> bytes:
    """The unscaled value. It is exact: Python's default context has fewer digits than a DECIMAL."""
    number = exact(value, type)
    if number is None:
        raise ValueError(f"{value} is not a valid {type}")
    sign, digits, _ = number.as_tuple()
    unscaled = int("".join(map(str, digits)))
    return ((-unscaled if sign else unscaled) + 2**127).to_bytes(16, "big")


def _double(value: float) -> bytes:
    """The bits of a DOUBLE, inverted for a negative number. Every NaN, which only nested values contain, has the same
    bits.
    """
    data = struct.pack(">d", value + 0.0 if value == value else float("nan"))
    return bytes(255 - b for b in data) if data[0] >= 0x80 else bytes((data[0] | 0x80,)) + data[1:]


def _text(value: str) -> bytes:
    return value.encode("utf-16-be", "surrogatepass")


# Each byte with an inverted sign bit: signed bytes are in the order of the unsigned ones that they become.
_SIGNED = bytes(byte ^ 0x80 for byte in range(256))
_BYTES: Mapping[SqlType, Callable[[Any], bytes]] = {
    BOOLEAN: lambda value: b"\1" if value else b"\0",
    INTEGER: _integer_bytes,
    BIGINT: _integer_bytes,
    DOUBLE: _double,
    STRING: _text,
    BYTES: lambda value: bytes(value).translate(_SIGNED),
    DATE: _integer_bytes,
    TIME: _integer_bytes,
    TIMESTAMP: _integer_bytes,
}
