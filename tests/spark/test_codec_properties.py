"""Any row can be written and read back; any bytes result in a row or a reason."""

import json
import math
from contextlib import suppress
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from millstream.catalog.catalog import Serde
from millstream.formats.spec import spec
from millstream.model.schema import Column
from millstream.model.types import (
    BIGINT,
    BYTES,
    DOUBLE,
    INTEGER,
    STRING,
    TIMESTAMP,
    Array,
    Decimal,
    Field,
    Map,
    SqlType,
    Struct,
)
from millstream.spark import codec, sink
from millstream.spark.codec import RecordCodec, UnreadableRecord
from millstream.spark.lazy_frame import LazyFrame
from support.drawn_values import scalars, values

MANY = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
names = st.text("ABCabc é\"\\'$.", min_size=1, max_size=4)


def structs(inner: SearchStrategy[SqlType]) -> SearchStrategy[SqlType]:
    unique = st.lists(names, min_size=1, max_size=3, unique_by=str.upper)
    return unique.flatmap(
        lambda fields: st.tuples(*[inner] * len(fields)).map(lambda ts: Struct(tuple(map(Field, fields, ts))))
    )


nested = st.recursive(
    scalars, lambda t: st.builds(Array, t) | st.builds(Map, st.just(STRING), t) | structs(t), max_leaves=5
)


@st.composite
def rows(draw: st.DrawFn, types: SearchStrategy[SqlType], most: int) -> tuple[tuple[Column, ...], dict[str, Any]]:
    column_names = draw(st.lists(names, min_size=1, max_size=most, unique_by=str.upper))
    columns = tuple(Column(name, draw(types)) for name in column_names)
    return columns, {c.name: draw(values(c.type)) for c in columns}


def same(a: Any, b: Any) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return a == b or (math.isnan(a) and math.isnan(b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    return bool(a == b)


def survives(spark: SparkSession, serde: Serde, row: tuple[tuple[Column, ...], dict[str, Any]]) -> None:
    one = RecordCodec(spark, spec(serde, row[0]), row[0])
    written = one.encode(row[1])
    assert same(one.decode(written), row[1]), written


@MANY
@given(rows(nested, 4))
def test_json_decodes_what_it_encoded(spark: SparkSession, row: tuple[tuple[Column, ...], dict[str, Any]]) -> None:
    survives(spark, Serde("JSON"), row)
    written = RecordCodec(spark, spec(Serde("JSON"), row[0]), row[0]).encode(row[1])
    assert written is not None
    json.loads(written)


@MANY
@given(rows(scalars, 4), st.sampled_from(",;| \t-x'"))
def test_delimited_decodes_what_it_encoded(
    spark: SparkSession, row: tuple[tuple[Column, ...], dict[str, Any]], delimiter: str
) -> None:
    """Except empty texts and bytes, which are null in this format."""
    columns, given_row = row
    full = {name: value or (None if value in ("", b"") else value) for name, value in given_row.items()}
    if any(value is not None for value in full.values()):
        named = {"\t": "TAB", " ": "SPACE"}.get(delimiter, delimiter)
        survives(spark, Serde("DELIMITED", properties=(("delimiter", named),)), (columns, full))


@MANY
@given(rows(st.sampled_from([INTEGER, BIGINT, DOUBLE, STRING, BYTES]), 1))
def test_kafka_decodes_what_it_encoded(spark: SparkSession, row: tuple[tuple[Column, ...], dict[str, Any]]) -> None:
    if all(value is not None for value in row[1].values()):
        survives(spark, Serde("KAFKA"), row)


HOSTILE = (
    b'{"A":' * 2000,
    b"[" * 100_000,
    b'{"A":"' + b"x" * 1_000_000,
    b'{"A":1e' + b"9" * 5000 + b"}",
    b'{"A":' + b"9" * 5000 + b"}",
    b'{"S":' + b'{"x":' * 1001 + b"1" + b"}" * 1002,
    b"\x00" * 100,
    b'\xef\xbb\xbf{"A":1}',
    b'{"S":"\xff\xfe\xed\xa0\x80"}',
    b'{"S":"\\ud800"}',
)
COLUMNS = (Column("A", Decimal(10, 2)), Column("S", STRING), Column("M", Map(STRING, Array(TIMESTAMP))))
valid = st.sampled_from([b'{"A":1.5,"S":"x","M":{"k":[1,"2"]}}', b'1.5,"x",3', b"\x00\x00\x00\x01"])
broken = st.builds(
    lambda b, i, x: b[: i % (len(b) + 1)] + x + b[i % (len(b) + 1) :], valid, st.integers(0, 99), st.binary()
)


@MANY
@given(st.one_of(st.binary(max_size=200), broken, st.sampled_from(HOSTILE)))
def test_any_bytes_are_a_row_or_a_reason(spark: SparkSession, data: bytes) -> None:
    flat = COLUMNS[:2]
    for serde, columns in (
        (Serde("JSON"), COLUMNS),
        (Serde("JSON", wrap=False), COLUMNS[2:]),
        (Serde("DELIMITED"), flat),
        (Serde("KAFKA"), COLUMNS[1:2]),
    ):
        with suppress(UnreadableRecord):
            RecordCodec(spark, spec(serde, columns), columns).decode(data)


def test_a_query_skips_bad_records_and_logs_each(spark: SparkSession) -> None:
    """In generated code: the good rows arrive, each bad one is an entry with its place and its bytes."""
    sink.log_to_memory(spark, "Q1", rows=True)
    data = [b'{"A":1,"S":"x"}', *HOSTILE[:8], b"null"]
    texts = ", ".join(f"(X'{d.hex()}', {i})" for i, d in enumerate(data))
    frame = spark.sql(f"select * from values {texts} as t(b, offset)")
    document = spec(Serde("JSON"), COLUMNS)
    decoded = frame.select(
        F.expr(f"{codec.decode('cast(null as binary)', document)} as k"),
        F.expr(f"{codec.decode('b', document)} as v"),
        F.lit(None).cast("binary").alias("raw_key"),
        F.col("b").alias("raw_value"),
        F.lit(3).alias("partition"),
        "offset",
    )
    kept = codec.readable_rows(LazyFrame.of(decoded), "Q1", "t").frame().select("offset", "v.value.V1").collect()
    assert [tuple(r) for r in kept] == [(0, "x"), (8, None), (9, None)]
    entries = [json.loads(e) for e in sink.drain_log(spark, "Q1")]
    assert [e["message"]["deserializationError"]["offset"] for e in entries] == list(range(1, 8))
    first = entries[-1]["message"]["deserializationError"]
    assert {k: first[k] for k in ("target", "topic", "partition", "recordB64")} == {
        "target": "value",
        "topic": "t",
        "partition": 3,
        "recordB64": "AAAA" * 33 + "AA==",
    }
    assert entries[0]["logger"] == "processing.Q1.source.deserializer"
    sink.close_log(spark, "Q1")
