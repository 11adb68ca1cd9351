"""The codec against Spark's from_json and to_json, and formats with schemas against JSON: `python -m bench.codec`."""

import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from millstream.analysis.schemas import with_changed_schema
from millstream.catalog.catalog import Serde
from millstream.catalog.schemas import PhysicalSchema, SchemaText
from millstream.model.schema import Column
from millstream.model.types import BIGINT, DOUBLE, STRING, Array, Field, Struct
from millstream.spark import codec
from millstream.spark.session import create
from millstream.spark.session_settings import SessionOptions
from millstream.tester import registry

ROWS = 2_000_000
COLUMNS = (
    Column("A", BIGINT),
    Column("B", STRING),
    Column("C", DOUBLE),
    Column("D", Struct((Field("X", BIGINT), Field("Y", Array(STRING))))),
)
NAMED = "A bigint, B string, C double, D struct<X: bigint, Y: array<string>>"
INNER = "named_struct('F0', id, 'F1', array('p', 'q'))"
ROW = f"named_struct('V0', id, 'V1', concat('abcdefgh', id), 'V2', id / 7, 'V3', {INNER})"
TEXT = """concat('{"A":', id, ',"B":"abcdefgh', id, '","C":', id / 7, ',"D":{"X":', id, ',"Y":["p","q"]}}')"""


def rate(frame: DataFrame) -> int:
    """Rows a second, the best of three runs after a warm one."""
    return round(ROWS / min([_seconds(frame) for _ in range(4)][1:]))


def _seconds(frame: DataFrame) -> float:
    start = time.monotonic()
    frame.write.format("noop").mode("overwrite").save()
    return time.monotonic() - start


def main() -> None:
    """Print one JSON line for each pair."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        session = create(SessionOptions(Path(folder), slots=1, memory="4g"))
        spec = codec.spec(Serde("JSON"), COLUMNS)
        pairs(session, spec)
        for format in ("JSON_SR", "AVRO", "PROTOBUF"):
            against_json(session, spec, format)
        session.stop()


def pairs(session: SparkSession, spec: str) -> None:
    """Measure reading and writing, each by the codec and by Spark."""
    texts = cached_frame(session, f"cast({TEXT} as binary) as b")
    rows = cached_frame(session, f"{ROW} as r")
    compare(
        "read",
        lambda: texts.select(F.expr(f"{codec.decode('b', spec)} as d")).select("d.value"),
        lambda: texts.select(F.from_json(F.col("b").cast("string"), NAMED)),
    )
    compare(
        "write",
        lambda: rows.select(F.expr(f"{codec.encode('r', spec)} as e")).select("e.bytes"),
        lambda: rows.select(F.to_json("r").cast("binary")),
    )


def against_json(session: SparkSession, json_spec: str, format: str) -> None:
    """Measure reading and writing in a format with schemas, against the same rows in JSON."""
    physical = PhysicalSchema(registry.schemas().url, "bench-value", SchemaText("", ""))
    spec = codec.spec(with_changed_schema(Serde(format, schema=physical), COLUMNS, "BENCH", "VALUE"), COLUMNS)
    rows = cached_frame(session, f"{ROW} as r")

    def written(by: str) -> DataFrame:
        return rows.select(F.expr(f"{codec.encode('r', by)} as e")).select("e.bytes")

    compare(f"write {format}, against JSON", lambda: written(spec), lambda: written(json_spec))
    ours, jsons = (written(by).withColumnRenamed("bytes", "b").cache() for by in (spec, json_spec))
    ours.count()
    jsons.count()
    compare(
        f"read {format}, against JSON",
        lambda: ours.select(F.expr(f"{codec.decode('b', spec)} as d")).select("d.value"),
        lambda: jsons.select(F.expr(f"{codec.decode('b', json_spec)} as d")).select("d.value"),
    )
    session.catalog.clearCache()


def cached_frame(session: SparkSession, text: str) -> DataFrame:
    """A frame of one column in memory, one partition."""
    frame = session.range(0, ROWS, 1, 1).selectExpr(text).cache()
    frame.count()
    return frame


def compare(name: str, ours: Callable[[], DataFrame], sparks: Callable[[], DataFrame]) -> None:
    """Print both rates and their ratio."""
    our_rate, their_rate = rate(ours()), rate(sparks())
    print(
        json.dumps({"what": name, "codec": our_rate, "other": their_rate, "ratio": round(our_rate / their_rate, 2)}),
        flush=True,
    )


if __name__ == "__main__":
    main()
