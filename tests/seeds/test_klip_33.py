"""KLIP-33, key formats: each test is named after a sentence of the document, and holds the engine to it.

Sentences of statements and records alone are in klip_33.toml.
"""

import json
from decimal import Decimal
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from millstream.engine.api import RequestFailed
from seeds.sentences import SentencePlay, plays
from support.kafka import wait_for
from support.registry_proxy import RegistryProxy
from support.seed_world import PATIENCE, SeedWorld

SINGLE = [("KAFKA", b"\x00\x00\x00\x07"), ("DELIMITED", b"7"), ("JSON", b"7"), ("JSON_SR", 7), ("AVRO", 7)]


@pytest.mark.parametrize("sentence", plays(Path(__file__).with_name("klip_33.toml")))
def test_sentence(spark: SparkSession, sentence: SentencePlay) -> None:
    sentence.check(spark)


@pytest.mark.parametrize(("format", "bytes_or_read"), SINGLE)
def test_single_key_column_as_an_anonymous_value(world: SeedWorld, format: str, bytes_or_read: object) -> None:
    world.sql(
        f"CREATE STREAM {{n}} (k INT KEY, v INT) "
        f"WITH (kafka_topic='{{t}}', partitions=1, key_format='{format}', value_format='JSON');"
        "INSERT INTO {n} VALUES (7, 1);"
    )
    (record,) = world.records()
    if isinstance(bytes_or_read, bytes):
        assert record.key == bytes_or_read
    else:
        assert world.confluent(format, "key").read(record.key) == bytes_or_read
    assert record.value == b'{"V":1}'


@pytest.mark.parametrize("format", ["JSON", "DELIMITED", "JSON_SR", "AVRO"])
def test_support_for_additional_key_column_data_types_decimal_and_boolean(world: SeedWorld, format: str) -> None:
    for type, literal, plain, expected in (
        ("DECIMAL(4, 2)", "1.50", b"1.50", 1.5),
        ("BOOLEAN", "true", b"true", True),
    ):
        end = type[:3]
        world.sql(
            f"CREATE STREAM {{n}}_{end} (k {type} KEY, v INT) "
            f"WITH (kafka_topic='{{t}}-{end}', partitions=1, key_format='{format}', value_format='JSON');"
            f"INSERT INTO {{n}}_{end} VALUES ({literal}, 1);"
        )
        (record,) = world.records(topic=f"{world.topic}-{end}")
        if format in ("JSON", "DELIMITED"):
            assert record.key == plain
        else:
            read = world.confluent(format, "key", f"{world.topic}-{end}").read(record.key)
            # Confluent's own library leaves a payload of bytes alone as it is, whatever its logical type.
            assert (Decimal(int.from_bytes(read, "big")).scaleb(-2) if isinstance(read, bytes) else read) == expected
        ((key,),) = world.server.rows(f"SELECT k FROM {world.name}_{end} LIMIT 1;", 1)
        assert key == ("1.50" if end == "DEC" else True)


@pytest.mark.parametrize("type", ["DECIMAL(4, 2)", "BOOLEAN", "STRUCT<a INT>", "ARRAY<INT>"])
def test_key_column_data_types_are_supported_by_key_formats(world: SeedWorld, type: str) -> None:
    with pytest.raises(RequestFailed, match="Key format does not support schema"):
        world.sql(
            f"CREATE STREAM {{n}} (k {type} KEY, v INT) WITH (kafka_topic='{{t}}', partitions=1, format='KAFKA');"
        )


# ---------------------------------------------------------------- CREATE properties, server configs


def test_providing_format_will_set_both_the_key_and_value_formats(world: SeedWorld) -> None:
    world.sql("CREATE STREAM {n} (k INT KEY, v INT) WITH (kafka_topic='{t}', partitions=1, format='AVRO');")
    assert formats(world) == ("AVRO", "AVRO")


@pytest.mark.parametrize("side", ["KEY_FORMAT", "VALUE_FORMAT"])
def test_providing_format_along_with_either_will_result_in_an_error(world: SeedWorld, side: str) -> None:
    with pytest.raises(RequestFailed, match=f"annot supply both '{side}' and 'FORMAT'"):
        world.sql(
            f"CREATE STREAM {{n}} (k INT KEY) WITH (kafka_topic='{{t}}', partitions=1, format='JSON', {side}='JSON');"
        )


def test_key_format_is_picked_up_from_the_default_and_set_locally_via_the_set_command(world: SeedWorld) -> None:
    create = "CREATE STREAM {n}%s (k INT KEY, v INT) WITH (kafka_topic='{t}%s', partitions=1, value_format='JSON');"
    world.sql(create % ("", ""))
    assert formats(world) == ("KAFKA", "JSON")
    world.sql("SET 'ksql.persistence.default.format.key'='AVRO';" + create % ("_A", "-a"))
    assert formats(world, "{n}_A") == ("AVRO", "JSON")


def test_if_the_default_key_format_is_not_set_then_an_error_is_returned(world: SeedWorld) -> None:
    with pytest.raises(RequestFailed, match="Statement is missing the 'KEY_FORMAT' property"):
        world.sql(
            "SET 'ksql.persistence.default.format.key'='';"
            "CREATE STREAM {n} (k INT KEY, v INT) WITH (kafka_topic='{t}', partitions=1, value_format='JSON');"
        )


# ---------------------------------------------------------------- inheritance and joins


def test_any_derived_stream_will_inherit_the_format_of_its_leftmost_source(world: SeedWorld) -> None:
    """The document's example: bids in JSON, users keyed in AVRO, which the join repartitions by itself."""
    world.sql(
        "CREATE TABLE {n}_USERS (id BIGINT PRIMARY KEY, name STRING) "
        "WITH (kafka_topic='{t}-users', partitions=1, key_format='AVRO', value_format='JSON');"
        "CREATE STREAM {n} (item_id BIGINT KEY, user_id BIGINT, amount INT) "
        "WITH (kafka_topic='{t}', partitions=1, format='JSON');"
        "INSERT INTO {n}_USERS VALUES (7, 'Jo');"
        "CREATE STREAM {n}_AVRO WITH (key_format='AVRO') AS SELECT * FROM {n};"
        "CREATE STREAM {n}_BOTH AS SELECT * FROM {n} JOIN {n}_USERS AS u ON {n}.user_id = u.id;"
    )
    assert formats(world, "{n}_AVRO") == ("AVRO", "JSON")
    assert formats(world, "{n}_BOTH") == ("JSON", "JSON")
    both = "{n}_BOTH".replace("{n}", world.name)

    def is_joined() -> bool:
        # A bid that is read before the table's row is not joined; the next one is.
        world.kafka.produce(world.topic, "1", {"USER_ID": 7, "AMOUNT": 5})
        return world.kafka.ends(both) > 0

    wait_for(is_joined, "a bid that is joined with its user", PATIENCE)
    changed = world.records(topic="{n}_AVRO")[0]
    assert world.confluent("AVRO", "key", "{n}_AVRO").read(changed.key) == 1
    joined = world.records(topic="{n}_BOTH")[0]
    assert joined.key == b"7"
    assert isinstance(joined.json, dict)
    assert joined.json["U_NAME"] == "Jo"


def test_automatically_repartition_one_side_of_a_join_to_match_the_key_format_of_the_other(world: SeedWorld) -> None:
    world.sql(
        "CREATE STREAM {n}_L (id INT KEY, a INT) WITH (kafka_topic='{t}-l', partitions=2, format='JSON');"
        "CREATE STREAM {n}_R (id INT KEY, b INT) "
        "WITH (kafka_topic='{t}-r', partitions=2, key_format='KAFKA', value_format='JSON');"
        "CREATE STREAM {n} AS SELECT l.id, a, b FROM {n}_L AS l JOIN {n}_R AS r WITHIN 1 DAY ON l.id = r.id;"
    )
    for n in range(4):
        world.kafka.produce(f"{world.topic}-l", str(n), {"A": n}, timestamp=1_000)
        world.kafka.produce(f"{world.topic}-r", n.to_bytes(4, "big"), {"B": -n}, timestamp=1_000)
    rows = {r.key: r.json for r in world.records(4, "{n}")}
    assert rows == {str(n).encode(): {"A": n, "B": -n} for n in range(4)}


# ---------------------------------------------------------------- the schema registry


def test_the_key_schema_will_be_read_and_registered_with_the_schema_registry_as_needed(world: SeedWorld) -> None:
    world.sql(
        "CREATE STREAM {n} (k STRUCT<a INT, b STRING> KEY, v INT) "
        "WITH (kafka_topic='{t}', partitions=1, format='AVRO');"
        "INSERT INTO {n} VALUES (STRUCT(a := 1, b := 'x'), 2);"
        "CREATE STREAM {n}_AGAIN WITH (kafka_topic='{t}', format='AVRO');"
    )
    (record,) = world.records()
    assert world.confluent("AVRO", "key").read(record.key) == {"A": 1, "B": "x"}
    assert world.columns("{n}_AGAIN") == {"ROWKEY": "STRUCT KEY", "V": "INTEGER"}


def test_key_schemas_will_be_marked_as_readonly(world: SeedWorld, proxy: RegistryProxy) -> None:
    world.sql("CREATE STREAM {n} (k INT KEY, v INT) WITH (kafka_topic='{t}', partitions=1, format='AVRO');")
    assert proxy.modes[f"{world.topic}-key"] == "READONLY"
    assert f"{world.topic}-value" not in proxy.modes


def test_table_created_with_keys_and_values_using_schema_inference(world: SeedWorld) -> None:
    world.client.register_text(f"{world.topic}-key", "AVRO", '"long"')
    world.client.register_text(f"{world.topic}-value", "AVRO", record("name", "string"))
    world.sql("CREATE TABLE {n} WITH (kafka_topic='{t}', partitions=1, format='AVRO');")
    assert world.columns() == {"ROWKEY": "BIGINT KEY", "NAME": "STRING"}


def test_table_created_with_values_using_schema_inference(world: SeedWorld) -> None:
    world.client.register_text(f"{world.topic}-value", "AVRO", record("name", "string"))
    world.sql("CREATE TABLE {n} (id BIGINT PRIMARY KEY) WITH (kafka_topic='{t}', partitions=1, value_format='AVRO');")
    assert world.columns() == {"ID": "BIGINT KEY", "NAME": "STRING"}


# ---------------------------------------------------------------- key-less streams


def test_the_none_format_will_allow_users_to_explicitly_inform_the_engine_to_ignore_the_key(world: SeedWorld) -> None:
    world.client.register_text(f"{world.topic}-value", "AVRO", record("v", "int"))
    world.sql(
        "SET 'ksql.persistence.default.format.key'='AVRO';"
        "CREATE STREAM {n} WITH (kafka_topic='{t}', partitions=1, key_format='NONE', value_format='AVRO');"
    )
    assert world.columns() == {"V": "INTEGER"}
    assert formats(world) == ("NONE", "AVRO")
    world.kafka.produce(world.topic, b"\0\0no key of ours", world.confluent("AVRO").write({"v": 3}, record("v", "int")))
    assert world.server.rows(f"SELECT * FROM {world.name} LIMIT 1;", 1) == [[3]]


def test_without_none_the_key_schema_is_read_and_an_error_reported_if_it_does_not_exist(world: SeedWorld) -> None:
    world.client.register_text(f"{world.topic}-value", "AVRO", record("v", "int"))
    with pytest.raises(RequestFailed, match=f"Subject: {world.topic}-key"):
        world.sql(
            "SET 'ksql.persistence.default.format.key'='AVRO';"
            "CREATE STREAM {n} WITH (kafka_topic='{t}', partitions=1, value_format='AVRO');"
        )


REFUSED = {
    "this_format_will_be_rejected_as_a_value_format": (
        "CREATE STREAM {n} (v INT) WITH (kafka_topic='{t}', partitions=1, value_format='NONE');",
        "NONE",
    ),
    "declaring_a_table_with_key_format_none_will_result_in_an_error": (
        "CREATE TABLE {n} (v INT) WITH (kafka_topic='{t}', partitions=1, key_format='NONE', value_format='JSON');",
        "Tables require a PRIMARY KEY",
    ),
    "defining_key_columns_where_the_key_format_is_none_will_result_in_an_error": (
        "CREATE TABLE {n} (id INT PRIMARY KEY, v INT) "
        "WITH (kafka_topic='{t}', partitions=1, key_format='NONE', value_format='JSON');",
        "The 'NONE' format can only be used when no columns are defined",
    ),
    "only_supported_key_formats_are_set": (
        "CREATE STREAM {n} (k INT KEY) WITH (kafka_topic='{t}', partitions=1, key_format='CSV', value_format='JSON');",
        "Unknown format: CSV",
    ),
    "a_map_is_no_key": (
        "CREATE STREAM {n} (k MAP<STRING, INT> KEY) WITH (kafka_topic='{t}', partitions=1, format='JSON');",
        "Map keys, including types that contain maps, are not supported",
    ),
}


@pytest.mark.parametrize("sentence", REFUSED)
def test_refused(world: SeedWorld, sentence: str) -> None:
    statement, why = REFUSED[sentence]
    with pytest.raises(RequestFailed, match=why):
        world.sql(statement)


def test_without_any_key_columns_and_without_an_explicit_key_format_will_not_result_in_an_error(
    world: SeedWorld,
) -> None:
    world.sql("CREATE STREAM {n} (v INT) WITH (kafka_topic='{t}', partitions=1, value_format='DELIMITED');")
    assert world.columns() == {"V": "INTEGER"}


def test_statements_that_set_the_key_of_a_none_source_pick_up_the_default(world: SeedWorld) -> None:
    world.sql(
        "CREATE STREAM {n} (name STRING, v INT) "
        "WITH (kafka_topic='{t}', partitions=1, key_format='NONE', value_format='JSON');"
        "CREATE TABLE {n}_T AS SELECT name, COUNT(*) AS c FROM {n} GROUP BY name;"
        "SET 'ksql.persistence.default.format.key'='JSON';"
        "CREATE STREAM {n}_P AS SELECT * FROM {n} PARTITION BY name;"
        "CREATE STREAM {n}_N AS SELECT * FROM {n}_P PARTITION BY NULL;"
    )
    assert formats(world, "{n}_T") == ("KAFKA", "JSON")
    assert formats(world, "{n}_P") == ("JSON", "JSON")
    # "CREATE AS statements that create key-less streams will now implicitly set the key format to NONE."
    assert formats(world, "{n}_N") == ("NONE", "JSON")


def formats(world: SeedWorld, name: str = "{n}") -> tuple[str, str]:
    """The formats of a source's key and value, as DESCRIBE has them."""
    (entity,) = world.sql(f"DESCRIBE {name};")
    shown = entity["sourceDescription"]
    return shown["keyFormat"], shown["valueFormat"]


def record(name: str, type: str) -> str:
    """An Avro record of one field."""
    return json.dumps({"type": "record", "name": "R", "fields": [{"name": name, "type": type}]})
