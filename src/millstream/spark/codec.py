"""The codec: decodes records to rows and encodes rows, as expressions over columns or for single records."""

import io
import json
import struct
from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import cache
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from millstream.formats.spec import spec
from millstream.model.schema import Column
from millstream.spark import jvm
from millstream.spark.types import from_wire, spark_struct, spark_type, to_wire

__all__ = [
    "OneRecord",
    "UnreadableRecord",
    "decode",
    "encode",
    "keep_keyed",
    "keep_read",
    "keep_timed",
    "keep_written",
    "one_record",
    "spark_struct",
    "spark_type",
    "spec",
]

READ, EXPRESSION, WRITE, LATE = 0, 1, 3, 5


_LENGTH = struct.Struct(">i")


class UnreadableRecord(ValueError):
    """Bytes that do not fit the spec, or a row that the format cannot hold; the text says why and which field."""


def decode(column: SparkColumn, spec: str) -> SparkColumn:
    """A binary column as struct<value: struct<…0, …1>, error: string>.

    `value` is null for a null payload; `error` is null if the record could be read.
    """
    return jvm.call_column("Codec", "decode", column, spec)


def encode(column: SparkColumn, spec: str) -> SparkColumn:
    """A struct column (the spec's columns in order, any names) as struct<bytes: binary, error: string>."""
    return jvm.call_column("Codec", "encode", column, spec)


def keep_read(frame: DataFrame, query: str, topic: str, fatal: bool = False) -> DataFrame:
    """The rows whose `k.error` and `v.error` are null; the others go to the query's processing log (type 0).

    Requires the columns raw_key, raw_value, partition and offset. If bad records are `fatal`, they end the query.
    """
    label = f"{query}.source.deserializer"
    fine = F.lit(True)
    for side, target in (("k", "key"), ("v", "value")):
        readable = report(READ, f"{side}.error", label, target, topic, f"raw_{target}")
        death = F.raise_error(F.concat(F.lit(f"cannot read {target} of topic {topic}: "), f"{side}.error"))
        fine = fine & (F.when(readable, F.lit(True)).otherwise(death.cast("boolean")) if fatal else readable)
    return frame.where(fine)


def keep_written(frame: DataFrame, query: str, topic: str) -> DataFrame:
    """The rows whose `k.error` and `v.error` are null; the others go to the query's processing log (type 3)."""
    label = f"{query}.sink.serializer"
    key = report(WRITE, "k.error", label, "key", topic, None)
    value = report(WRITE, "v.error", label, "value", topic, None)
    return frame.where(key & value)


def keep_keyed(frame: DataFrame, query: str, topic: str) -> DataFrame:
    """The rows that have a key; the others, which a table cannot store, go to the processing log (type 1)."""
    error = F.when(F.col("key").isNull(), F.lit(f"a record of the table's topic {topic} has no key: it is skipped"))
    return frame.where(report(EXPRESSION, error, f"{query}.source", "key", topic, None))


def keep_timed(frame: DataFrame, query: str, topic: str) -> DataFrame:
    """The rows whose rowtime is not null or negative; the others go to the processing log (type 1)."""
    time = F.col("rowtime")
    error = F.when(time.isNull() | (time < 0), F.lit(f"a record of topic {topic} has no valid time: it is skipped"))
    return frame.where(report(EXPRESSION, error, f"{query}.source", "value", topic, None))


def report(kind: int, error: str | SparkColumn, label: str, target: str, topic: str, record: str | None) -> SparkColumn:
    """True if `error` is null; if it is not, an entry of type `kind` is written to the processing log.

    The label is `<query id>.<operator>`; partition and offset are the frame's; `record` is the name of the bytes
    column.
    """
    raw = F.col(record) if record else F.lit(None).cast("binary")
    words = [F.lit(text) for text in (label, target, topic)]
    reason = F.col(error) if isinstance(error, str) else error
    at = (F.col("partition"), F.col("offset"))
    return F.call_function("ms_report", F.lit(kind), reason, *words, *at, raw)


class OneRecord:
    """The codec for one record at a time, on the driver, without a Spark job; thread-safe."""

    def __init__(self, session: SparkSession, spec: str, columns: Sequence[Column]) -> None:
        self._columns = columns
        self._codec = jvm.module(session, "OneRecord")(spec)

    def decode(self, data: bytes | None) -> dict[str, Any] | None:
        """The decoded row, by column names (values as in types.to_wire); None for a null payload.

        Raises UnreadableRecord.
        """
        answer = json.loads(bytes(self._codec.decode(data)), parse_float=Decimal)
        if "error" in answer:
            raise UnreadableRecord(answer["error"])
        row = answer["value"]
        return None if row is None else {c.name: from_wire(row[c.name], c.type) for c in self._columns}

    def encode(self, row: Mapping[str, Any] | None) -> bytes | None:
        """The encoded bytes of a row given by column names, where absent columns are null; None for a null payload.

        Raises UnreadableRecord.
        """
        wire = None if row is None else {c.name: to_wire(row.get(c.name), c.type) for c in self._columns}
        try:
            data = self._codec.encode(json.dumps(wire).encode())
        except Py4JJavaError as error:
            raise UnreadableRecord(str(error.java_exception.getMessage())) from error
        return None if data is None else bytes(data)

    def encode_all(self, rows: Sequence[Mapping[str, Any]]) -> list[bytes | UnreadableRecord | None]:
        """The bytes of many rows, encoded in one call; for a row that cannot be encoded, the error."""
        wire = ({c.name: to_wire(row.get(c.name), c.type) for c in self._columns} for row in rows)
        answer = io.BytesIO(bytes(self._codec.encodeAll("\n".join(map(json.dumps, wire)).encode())))
        return [_sized(answer) for _ in rows]


def _sized(answer: io.BytesIO) -> bytes | UnreadableRecord | None:
    """The next result of the module's encodeAll."""
    (length,) = _LENGTH.unpack(answer.read(_LENGTH.size))
    if length == -2:
        (length,) = _LENGTH.unpack(answer.read(_LENGTH.size))
        return UnreadableRecord(answer.read(length).decode())
    return None if length == -1 else answer.read(length)


@cache
def one_record(spec: str, columns: tuple[Column, ...]) -> OneRecord:
    """The driver's codec for `spec`, cached; `columns` are the columns that the spec was derived from."""
    return OneRecord(jvm.active(), spec, columns)
