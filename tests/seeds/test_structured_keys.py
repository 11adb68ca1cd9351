"""The structured-keys RFC: each test is named after a sentence of the document, and holds the engine to it.

Sentences of statements and records alone are in structured_keys.toml; here are those about other things. Both views are
played side by side over the same bytes, and come to the same.
"""

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from pyspark.sql import SparkSession

from millstream.engine.api import RequestFailed
from millstream.engine.context import EngineContext
from millstream.engine.entities.describe import source_body
from millstream.engine.insert import RowWriter
from millstream.engine.session import RequestSession
from millstream.model.errors import StatementError
from millstream.model.settings import effective
from seeds.sentences import SentencePlay, plays
from support.play import Pair, pairs, play
from support.seed_world import SeedWorld

# The RFC's examples of importing data: the logical view, the physical one, and a key's bytes in Kafka.
IMPORTS = {
    "a structured key with two fields": (
        "(k0 INT KEY, k1 INT KEY, v0 INT, v1 INT) WITH (FORMAT='JSON', {t})",
        "(ROWKEY STRUCT<k0 INT, k1 INT>, ROWVALUE STRUCT<v0 INT, v1 INT>) WITH (FORMAT='JSON', {t})",
        b'{"K0":1,"K1":2}',
    ),
    "a structured key containing a single field": (
        "(k0 INT KEY, v0 INT, v1 INT) WITH (FORMAT='JSON', KEY_FORMAT_TYPE='STRUCTURED', {t})",
        "(ROWKEY STRUCT<k0 INT>, ROWVALUE STRUCT<v0 INT, v1 INT>) WITH (FORMAT='JSON', {t})",
        b'{"K0":1}',
    ),
    "a primitive INT key": (
        "(k0 INT KEY, v0 INT, v1 INT) WITH (FORMAT='JSON', KEY_FORMAT_TYPE='PLAIN', {t})",
        "(ROWKEY INT, ROWVALUE STRUCT<v0 INT, v1 INT>) WITH (FORMAT='JSON', {t})",
        b"1234",
    ),
    "a structured key containing a single array of ints": (
        "(k0 ARRAY<INT> KEY, v0 INT, v1 INT) WITH (FORMAT='JSON', KEY_FORMAT_TYPE='STRUCTURED', {t})",
        "(ROWKEY STRUCT<k0 ARRAY<INT>>, ROWVALUE STRUCT<v0 INT, v1 INT>) WITH (FORMAT='JSON', {t})",
        b'{"K0":[123,456]}',
    ),
    "an array of ints key": (
        "(k0 ARRAY<INT> KEY, v0 INT, v1 INT) WITH (FORMAT='JSON', KEY_FORMAT_TYPE='PLAIN', {t})",
        "(ROWKEY ARRAY<INT>, ROWVALUE STRUCT<v0 INT, v1 INT>) WITH (FORMAT='JSON', {t})",
        b"[123,456]",
    ),
}
VALUE = b'{"V0":3,"V1":4}'
AT = "KAFKA_TOPIC='t', PARTITIONS=1"
TWO_PHYSICAL = "CREATE STREAM foo " + IMPORTS["a structured key with two fields"][1].format(t=AT) + ";"
TWINS = f"CREATE STREAM foo (ROWKEY STRUCT<f0 INT>, ROWVALUE STRUCT<f0 INT>) WITH (FORMAT='JSON', {AT});"


def copied(spark: SparkSession, statements: str, *records: Pair, sink: str = "O") -> list[Pair]:
    return pairs(play(spark, statements, {"t": records}), sink)


def refused(spark: SparkSession, statements: str) -> StatementError:
    with pytest.raises(StatementError) as caught:
        play(spark, statements)
    return caught.value


@pytest.mark.parametrize("sentence", plays(Path(__file__).with_name("structured_keys.toml")))
def test_sentence(spark: SparkSession, sentence: SentencePlay) -> None:
    sentence.check(spark)


# ---------------------------------------------------------------- importing data


@pytest.mark.parametrize("example", IMPORTS)
def test_in_each_comparison_the_underlying_physical_representation_is_the_same(
    spark: SparkSession, example: str
) -> None:
    """… of the data in the Kafka topic: both views read the RFC's key, and write it."""
    *views, key = IMPORTS[example]
    for view in views:
        create = f"CREATE STREAM foo {view.format(t=AT)};"
        # The sink has a format type of its own, as KEY_FORMAT_TYPE "can be used in DML statements".
        form = ", KEY_FORMAT_TYPE='STRUCTURED'" if key.startswith(b'{"K0":') and b"K1" not in key else ""
        query = f"CREATE STREAM o WITH (KEY_FORMAT='JSON'{form}) AS SELECT * FROM foo;"
        assert copied(spark, create + query, (key, VALUE)) == [(key, VALUE)]


@pytest.mark.parametrize("example", IMPORTS)
def test_the_same_example_as_a_table_with_primary_key(spark: SparkSession, example: str) -> None:
    logical, physical, _ = IMPORTS[example]
    views_read = []
    for view in (logical.replace(" KEY,", " PRIMARY KEY,"), physical):
        source = play(spark, f"CREATE TABLE foo {view.format(t=AT)};").catalog.sources["FOO"]
        views_read.append(
            ([c.type for c in source.schema], [c.part for c in source.schema], source.key.format, source.key.wrap)
        )
    assert views_read[0] == views_read[1]
    assert refused(spark, f"CREATE TABLE foo {physical.format(t=AT)};".replace(", ROWVALUE", " KEY, ROWVALUE"))


def test_a_struct_of_one_field_is_a_record_whatever_the_settings(spark: SparkSession) -> None:
    single = "(ROWKEY STRUCT<k INT>, ROWVALUE STRUCT<v INT>)"
    sets = "SET 'ksql.persistence.wrap.single.values' = 'false';"
    source = play(spark, f"{sets} CREATE STREAM foo {single} WITH (FORMAT='JSON', {AT});").catalog.sources["FOO"]
    assert (source.key.wrap, source.value.wrap) == (True, True)


# ---------------------------------------------------------------- describing


def test_rows_by_name_are_refused_for_a_name_in_both_key_and_value(spark: SparkSession) -> None:
    """/inserts-stream gives rows as objects: a source that has a name twice is not written so."""
    state = SimpleNamespace(catalog=play(spark, TWINS).catalog)
    session = SimpleNamespace(settings=effective({}, {}))
    with pytest.raises(RequestFailed, match="FOO has a name in the key and in the value"):
        RowWriter("foo", cast(RequestSession, session), cast(EngineContext, SimpleNamespace(state=state, server={})))


def test_describe_extended_shows_both_views(spark: SparkSession) -> None:
    catalog = play(spark, TWO_PHYSICAL).catalog
    description = source_body(catalog.sources["FOO"], catalog, extended=True)
    assert description["logicalView"] == "K0 INTEGER KEY, K1 INTEGER KEY, V0 INTEGER, V1 INTEGER"
    assert description["physicalView"] == (
        "ROWKEY STRUCT<`K0` INTEGER, `K1` INTEGER> KEY, ROWVALUE STRUCT<`V0` INTEGER, `V1` INTEGER>"
    )
    assert "physicalView" not in source_body(catalog.sources["FOO"], catalog, extended=False)


def test_what_describe_shows_as_physical_view_declares_the_same_source(spark: SparkSession) -> None:
    for logical, physical, _ in IMPORTS.values():
        catalog = play(spark, f"CREATE STREAM foo {logical.format(t=AT)};").catalog
        shown = source_body(catalog.sources["FOO"], catalog, extended=True)["physicalView"]
        again = play(spark, f"CREATE STREAM foo ({shown}) WITH (FORMAT='JSON', {AT});").catalog.sources["FOO"]
        declared = play(spark, f"CREATE STREAM foo {physical.format(t=AT)};").catalog.sources["FOO"]
        assert (again.schema, again.key, again.value) == (declared.schema, declared.key, declared.value)


# ---------------------------------------------------------------- on the wire


@pytest.mark.parametrize("format", ["AVRO", "JSON_SR"])
def test_a_structured_key_is_a_record_to_others(world: SeedWorld, format: str) -> None:
    """A query's key STRUCT<…>, nested and not, in a live engine, as Confluent's libraries read it."""
    world.sql(
        f"CREATE STREAM {{n}} (ROWKEY INT, ROWVALUE STRUCT<f0 INT, f1 STRING>) WITH (kafka_topic='{{t}}', "
        f"partitions=1, format='{format}');"
        "CREATE STREAM {n}_A WITH (kafka_topic='{t}-a') AS SELECT * FROM {n} PARTITION BY STRUCT<f0>;"
        "CREATE STREAM {n}_B WITH (kafka_topic='{t}-b') AS SELECT * FROM {n} PARTITION BY STRUCT<f0, f1> AS bar;"
        "INSERT INTO {n} (ROWKEY, ROWVALUE) VALUES (1, STRUCT(f0 := 123, f1 := 'hello'));"
    )
    for end, decoded in (("a", {"F0": 123}), ("b", {"BAR": {"F0": 123, "F1": "hello"}})):
        (record,) = world.records(topic=f"{world.topic}-{end}")
        assert world.confluent(format, "key", f"{world.topic}-{end}").read(record.key) == decoded
