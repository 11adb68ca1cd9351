"""The codec: decodes records to rows and encodes rows, as expressions over columns or for single records."""

import io
import json
import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from functools import cache
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from millstream.formats.spec import spec
from millstream.functions.operator_expressions import SparkSql, quoted
from millstream.model.schema import Column
from millstream.spark import jvm
from millstream.spark.lazy_frame import LazyFrame
from millstream.spark.types import from_wire, is_wire_form, spark_struct, spark_type, wire_json, wire_writer

__all__ = [
    "RecordCodec",
    "RegistryUnavailable",
    "UnreadableRecord",
    "decode",
    "encode",
    "encoded_rows",
    "error_if",
    "keyed_rows",
    "readable_rows",
    "record_codec",
    "spark_struct",
    "spark_type",
    "spec",
    "timed_rows",
    "windowed_rows",
]

# Types of entries of the processing log; those below 5 are ksqlDB's.
READ, EXPRESSION, WRITE, LATE = 0, 1, 3, 5


_LENGTH = struct.Struct(">i")


class UnreadableRecord(ValueError):
    """Bytes that do not fit the spec, or a row that the format cannot hold; the text has the reason and the field."""


class RegistryUnavailable(UnreadableRecord):
    """A record that could not be read or written, since the schema registry does not answer, or fails."""


def decode(column: str, spec: str) -> SparkSql:
    """Spark SQL of a binary column as struct<value: struct<…0, …1>, error: string>.

    `value` is null for a null payload; `error` is null if the record could be read.
    """
    return SparkSql(f"ms_read_record({column}, {quoted(spec)})")


def encode(column: str, spec: str) -> SparkSql:
    """Spark SQL of a struct column (the spec's columns in order, any names) as struct<bytes: binary, error: string>."""
    return SparkSql(f"ms_write_record({column}, {quoted(spec)})")


def readable_rows(frame: LazyFrame, query: str, topic: str, fatal: bool = False) -> LazyFrame:
    """The rows whose `k.error` and `v.error` are null; the others go to the query's processing log (type 0).

    Requires the columns raw_key, raw_value, partition and offset. If bad records are `fatal`, they end the query.
    """
    key = _readable("k.error", query, "key", topic, "raw_key", fatal)
    value = _readable("v.error", query, "value", topic, "raw_value", fatal)
    return frame.where(f"{key} and {value}")


def windowed_rows(frame: LazyFrame, error: str, query: str, topic: str, fatal: bool) -> LazyFrame:
    """The records for whose key `error` (Spark SQL) is null; the others as in `readable_rows`."""
    return frame.where(_readable(error, query, "key", topic, "key", fatal))


def _readable(error: str, query: str, target: str, topic: str, record: str, fatal: bool) -> SparkSql:
    """Spark SQL, true if `error` is null; else it is reported, and ends the query if it is `fatal`."""
    readable = report(READ, error, f"{query}.source.deserializer", target, topic, record)
    words = f"concat({quoted(f'cannot read {target} of topic {topic}: ')}, {error})"
    return SparkSql(f"if({readable}, true, cast(raise_error({words}) as boolean))") if fatal else readable


def encoded_rows(frame: LazyFrame, query: str, topic: str) -> LazyFrame:
    """The rows whose `k.error` and `v.error` are null; the others go to the query's processing log (type 3)."""
    label = f"{query}.sink.serializer"
    key = report(WRITE, "k.error", label, "key", topic, None)
    value = report(WRITE, "v.error", label, "value", topic, None)
    return frame.where(f"{key} and {value}")


def keyed_rows(frame: LazyFrame, query: str, topic: str, columns: int) -> LazyFrame:
    """The rows that have a key; the others, which a table cannot store, go to the processing log (type 1).

    A NULL in the only one of its `columns` is no key, whatever its bytes: `null` or {"ID":null} in JSON.
    """
    reason = f"a record of the table's topic {topic} has no key: it is skipped"
    no_key = "key is null" if columns > 1 else "key.K0 is null"
    return frame.where(report(EXPRESSION, error_if(no_key, reason), f"{query}.source", "key", topic, None))


def timed_rows(frame: LazyFrame, query: str, topic: str) -> LazyFrame:
    """The rows whose rowtime is not null or negative; the others go to the processing log (type 1)."""
    error = error_if("rowtime is null or rowtime < 0", f"a record of topic {topic} has no valid time: it is skipped")
    return frame.where(report(EXPRESSION, error, f"{query}.source", "value", topic, None))


def error_if(condition: str, reason: str) -> SparkSql:
    """Spark SQL of the error that `report` reads: `reason` where the condition is true, else null."""
    return SparkSql(f"if({condition}, {quoted(reason)}, null)")


def report(kind: int, error: str, label: str, target: str, topic: str, record: str | None) -> SparkSql:
    """Spark SQL, true if `error` is null; if it is not, an entry of type `kind` is written to the processing log.

    `error` is Spark SQL; the label is `<query id>.<operator>`; partition and offset are the frame's; `record` is the
    name of the bytes column.
    """
    words = ", ".join(map(quoted, (label, target, topic)))
    return SparkSql(f"ms_report({kind}, {error}, {words}, partition, offset, {record or 'cast(null as binary)'})")


class RecordCodec:
    """The codec for one record at a time, on the driver, without a Spark job; thread-safe."""

    def __init__(self, session: SparkSession, spec: str, columns: Sequence[Column]) -> None:
        self._columns, self._names = columns, [column.name for column in columns]
        self._converted = [(c.name, wire_writer(c.type)) for c in columns if not is_wire_form(c.type)]
        self._codec = jvm.module(session, "RecordCodec")(spec)

    def decode(self, data: bytes | None) -> dict[str, Any] | None:
        """The decoded row, by column names (values as types.wire_writer has them); None for a null payload.

        Raises UnreadableRecord, RegistryUnavailable.
        """
        with _registry_failures():
            text = jvm.bytes_of(self._codec.decode(data))
        answer = json.loads(text, parse_float=Decimal)
        if "error" in answer:
            raise UnreadableRecord(answer["error"])
        row = answer["value"]
        return None if row is None else {c.name: from_wire(row[c.name], c.type) for c in self._columns}

    def encode(self, row: Mapping[str, Any] | None) -> bytes | None:
        """The encoded bytes of a row given by column names, where absent columns are null; None for a null payload.

        Raises UnreadableRecord, RegistryUnavailable.
        """
        wire = None if row is None else self._wire(row)
        try:
            with _registry_failures():
                data = self._codec.encode(wire_json(wire))
        except Py4JJavaError as error:
            raise UnreadableRecord(str(error.java_exception.getMessage())) from error
        return None if data is None else bytes(data)

    def encode_all(self, rows: Sequence[Mapping[str, Any]]) -> list[bytes | UnreadableRecord | None]:
        """The bytes of many rows, encoded in one call; for a row that cannot be encoded, the error."""
        lines = b"\n".join([wire_json(self._wire(row)) for row in rows])
        answer = io.BytesIO(jvm.bytes_of(self._codec.encodeAll(lines)))
        return [_sized(answer) for _ in rows]

    def _wire(self, row: Mapping[str, Any]) -> dict[str, Any]:
        wire = {name: row.get(name) for name in self._names}
        for name, write in self._converted:
            wire[name] = write(wire[name])
        return wire


@contextmanager
def _registry_failures() -> Iterator[None]:
    """Converts Java's RegistryAway in the block to RegistryUnavailable."""
    try:
        yield
    except Py4JJavaError as error:
        if not jvm.is_registry_away(error.java_exception):
            raise
        raise RegistryUnavailable(str(error.java_exception.getMessage())) from error


def _sized(answer: io.BytesIO) -> bytes | UnreadableRecord | None:
    """The next result of the module's encodeAll: a length in bytes, and as many bytes.

    The length -1 stands for a null payload (None); -2 precedes the length and the text of an error (UnreadableRecord).
    """
    (length,) = _LENGTH.unpack(answer.read(_LENGTH.size))
    if length == -2:
        (length,) = _LENGTH.unpack(answer.read(_LENGTH.size))
        return UnreadableRecord(answer.read(length).decode())
    return None if length == -1 else answer.read(length)


@cache
def record_codec(spec: str, columns: tuple[Column, ...]) -> RecordCodec:
    """The driver's codec for `spec`, cached; `columns` are the columns that the spec was derived from."""
    return RecordCodec(jvm.active(), spec, columns)
