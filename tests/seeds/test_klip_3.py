"""KLIP-3, single-field wrapping: each test is named after a sentence of the document, and holds the engine to it.

Sentences of statements and records alone are in klip_3.toml. Where Confluent's own libraries are the judge, the engine
runs. The document's test plan is test_klip_3_matrix.py.
"""

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from millstream.model.settings import SettingRefused, check, check_session, effective
from seeds.sentences import SentencePlay, plays
from support.play import pairs, play
from support.seed_world import SeedWorld

KEYS, VALUES = "ksql.persistence.wrap.single.keys", "ksql.persistence.wrap.single.values"


# ---------------------------------------------------------------- Public APIs


@pytest.mark.parametrize("sentence", plays(Path(__file__).with_name("klip_3.toml")))
def test_sentence(spark: SparkSession, sentence: SentencePlay) -> None:
    sentence.check(spark)


def test_the_default_values_of_the_settings() -> None:
    assert effective({}, {})[VALUES] in ("", "true")
    assert effective({}, {})[KEYS] == "false"


@pytest.mark.parametrize("name", [KEYS, VALUES])
def test_this_setting_takes_true_and_false_alone(name: str) -> None:
    assert check_session(name, "true", {}).editable
    with pytest.raises(SettingRefused, match="is not a valid value"):
        check(name, "perhaps")


# ---------------------------------------------------------------- INSERT


def test_insert_values_without_a_key_writes_a_wrapped_value(spark: SparkSession) -> None:
    statements = (
        "CREATE STREAM s (k INT KEY, id INT) WITH (kafka_topic='t', partitions=1, format='JSON', "
        "wrap_single_fields=true); INSERT INTO s (id) VALUES (10);"
    )
    assert [value for _, value in pairs(play(spark, statements), "t")] == [b'{"ID":10}']


# ---------------------------------------------------------------- evolution


def test_including_another_field_in_the_value_is_an_evolvable_change_if_the_value_is_wrapped(
    spark: SparkSession,
) -> None:
    first = (
        "CREATE STREAM s (k INT KEY, v INT) "
        "WITH (kafka_topic='t', partitions=1, format='JSON', wrap_single_value=true);"
    )
    second = "CREATE OR REPLACE STREAM s (k INT KEY, v INT, w INT) WITH (kafka_topic='t', format='JSON');"
    assert len(play(spark, first + second).catalog.sources["S"].schema.value) == 2
    assert len(play(spark, first + "ALTER STREAM s ADD COLUMN w INT;").catalog.sources["S"].schema.value) == 2


# ---------------------------------------------------------------- on the wire


@pytest.mark.parametrize("format", ["AVRO", "JSON_SR"])
@pytest.mark.parametrize("flag", [True, False])
def test_output_data_of_any_schema_is_read_by_others(world: SeedWorld, format: str, flag: bool) -> None:
    """Keys and values, wrapped and anonymous, of a primitive and of a STRUCT, as Confluent's libraries read them."""
    cells: tuple[tuple[str, str, object], ...] = (("INT", "7", 7), ("STRUCT<F INT>", "STRUCT(f := 7)", {"F": 7}))
    for number, (type, literal, expected) in enumerate(cells):
        name, topic = f"{world.name}_{number}", f"{world.topic}-{number}"
        world.sql(
            f"CREATE STREAM {name} (k {type} KEY, v {type}) WITH (kafka_topic='{topic}', partitions=1, "
            f"format='{format}', wrap_single_fields={flag}); INSERT INTO {name} VALUES ({literal}, {literal});"
        )
        (record,) = world.records(topic=topic)
        assert world.confluent(format, "key", topic).read(record.key) == ({"K": expected} if flag else expected)
        assert world.confluent(format, "value", topic).read(record.value) == ({"V": expected} if flag else expected)


def test_ksql_can_deserialize_the_values_into_the_id_field_of_the_stream(world: SeedWorld) -> None:
    """An anonymous Avro value and a wrapped Avro key, inferred: the flag says which columns the schemas come to."""
    record = json.dumps({"type": "record", "name": "k", "fields": [{"name": "id", "type": "long"}]})
    key = world.confluent("AVRO", "key").write({"id": 3}, record)
    world.kafka.create_topic(world.topic)
    world.kafka.produce(world.topic, key, world.confluent("AVRO").write(10, '"long"'))
    world.sql(
        "CREATE STREAM {n} WITH (kafka_topic='{t}', format='AVRO', wrap_single_key=true, wrap_single_value=false);"
    )
    assert world.columns() == {"ID": "BIGINT KEY", "ROWVAL": "BIGINT"}
    assert world.server.rows(f"SELECT * FROM {world.name} LIMIT 1;", 1) == [[3, 10]]
