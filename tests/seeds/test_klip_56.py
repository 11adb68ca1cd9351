"""KLIP-56, schema ids: each test is named after a sentence of the document, and holds the engine to it."""

import json
from typing import Any

import pytest

from millstream.engine.api import RequestFailed
from support.confluent import KINDS
from support.seed_world import SeedWorld

AVRO = json.dumps(
    {
        "type": "record",
        "name": "Order",
        "namespace": "com.acme",
        "fields": [
            {"name": "item", "type": "string"},
            {"name": "Count", "type": ["null", "long"], "default": None},
            {"name": "kind", "type": "string", "default": "none"},
        ],
    }
)
JSON = json.dumps(
    {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Order",
        "type": "object",
        "properties": {
            "item": {"type": "string", "connect.index": 0},
            "Count": {"type": "integer", "connect.type": "int64", "connect.index": 1},
            "kind": {"type": "string", "connect.index": 2},
        },
        "required": ["item"],
    }
)
PROTO = 'syntax = "proto3"; package acme; message Order { string item = 1; int64 Count = 2; string kind = 5; }'
PROTO2 = """syntax = "proto2"; package acme;
message Order { required string item = 1; optional int64 Count = 2; optional string kind = 5; }"""
TEXTS = {"AVRO": AVRO, "JSON_SR": JSON, "PROTOBUF": PROTO}
FORMATS = list(TEXTS)
# A schema, one that reads what the first writes, and one that does not.
ITEM = '{"type":"record","name":"R","fields":[{"name":"item","type":["null","%s"],"default":null}%s]}'
MEMBER = '{"type":"object","title":"%s","properties":{"item":{"type":"%s"}}}'
MESSAGE = 'syntax = "proto3"; message R { %s item = 1; %s }'
WIDER = {
    "AVRO": [
        ITEM % ("string", ""),
        ITEM % ("string", ',{"name":"more","type":["null","int"],"default":null}'),
        ITEM % ("boolean", ""),
    ],
    "JSON_SR": [MEMBER % ("R", "string"), MEMBER % ("S", "string"), MEMBER % ("R", "boolean")],
    "PROTOBUF": [MESSAGE % ("string", ""), MESSAGE % ("string", "int32 more = 2;"), MESSAGE % ("bool", "")],
}
SOURCE = (
    "CREATE STREAM {n} (k STRING KEY, item STRING, cnt BIGINT) "
    "WITH (kafka_topic='{t}', partitions=1, value_format='JSON');"
)


def known(world: SeedWorld, format: str, text: str = "") -> int:
    """The id of the order's schema, which is registered under a subject that no topic has."""
    return world.client.register_text(f"{world.topic}-elsewhere-{format}", format, text or TEXTS[format])


def create(format: str, id: int, more: str = "") -> str:
    return (
        f"CREATE STREAM {{n}} (k STRING KEY) WITH (kafka_topic='{{t}}', partitions=1, value_format='{format}', "
        f"value_schema_id={id}{more});"
    )


# ---------------------------------------------------------------- validation


@pytest.mark.parametrize("format", ["JSON", "DELIMITED", "KAFKA", "PROTOBUF_NOSR"])
def test_the_format_must_support_schema_inference(world: SeedWorld, format: str) -> None:
    with pytest.raises(
        RequestFailed, match=f"VALUE_FORMAT should support schema inference.* Current format is {format}"
    ):
        world.sql(create(format, 1))


@pytest.mark.parametrize("format", FORMATS)
def test_the_fetched_schema_format_must_match_specified_format(world: SeedWorld, format: str) -> None:
    id = known(world, format)
    for other in set(FORMATS) - {format}:
        kind = f"is {KINDS[format]}, and the format {other} needs {KINDS[other]}"
        with pytest.raises(RequestFailed, match=kind):
            world.sql(create(other, id))
        with pytest.raises(RequestFailed, match=kind):
            world.sql(
                SOURCE
                + f"CREATE STREAM {{n}}_OUT WITH (value_format='{other}', value_schema_id={id}) AS SELECT * FROM {{n}};"
            )
        world.sql("DROP STREAM {n};")


def test_schema_with_specified_id_must_exist_in_schema_registry(world: SeedWorld) -> None:
    for columns, side in (("", "KEY"), ("(k INT KEY)", "VALUE")):
        with pytest.raises(RequestFailed, match="with id 987654 does not exist in the Schema Registry"):
            world.sql(
                f"CREATE STREAM {{n}} {columns} "
                f"WITH (kafka_topic='{{t}}', partitions=1, format='AVRO', {side}_schema_id=987654);"
            )


def test_corresponding_table_elements_must_be_empty_if_a_schema_id_is_provided(world: SeedWorld) -> None:
    id = known(world, "AVRO")
    for side, column in (("VALUE", "v INT"), ("KEY", "k INT KEY")):
        with pytest.raises(RequestFailed, match=f"Table elements and {side}_SCHEMA_ID cannot both exist"):
            world.sql(
                f"CREATE STREAM {{n}} ({column}) "
                f"WITH (kafka_topic='{{t}}', partitions=1, format='AVRO', {side}_schema_id={id});"
            )


def test_a_format_that_is_not_provided_is_deduced_from_the_source_and_must_match(world: SeedWorld) -> None:
    id = known(world, "AVRO")
    world.sql(SOURCE)
    with pytest.raises(RequestFailed, match="Current format is JSON"):
        world.sql(f"CREATE STREAM {{n}}_OUT WITH (value_schema_id={id}) AS SELECT * FROM {{n}};")


@pytest.mark.parametrize(
    ("projection", "wrong"),
    [
        ("cnt AS `Count`, item AS `item`", "`Count` BIGINT, `item` STRING"),
        ("item", "`ITEM` STRING"),
        ("item AS `item`, CAST(cnt AS STRING) AS `Count`", "`Count` STRING"),
        ("item AS `item`, cnt AS `Count`, '' AS `kind`, 1 AS more", "`MORE` INTEGER"),
    ],
)
def test_the_schema_should_be_a_superset_of_the_projection_and_the_order_must_match(
    world: SeedWorld, projection: str, wrong: str
) -> None:
    id = known(world, "AVRO")
    world.sql(SOURCE)
    with pytest.raises(RequestFailed, match=f"changed, missing or reordered: \\[{wrong}\\]"):
        world.sql(
            f"CREATE STREAM {{n}}_OUT WITH (value_format='AVRO', value_schema_id={id}) AS "
            f"SELECT k, {projection} FROM {{n}};"
        )


# ---------------------------------------------------------------- CS and CT


@pytest.mark.parametrize("format", FORMATS)
def test_data_can_be_serialized_and_deserialized_for_create_statements(world: SeedWorld, format: str) -> None:
    """Names are not capitalized, the physical schema is registered for the topic, and its id written."""
    id = known(world, format)
    world.sql(create(format, id))
    assert world.columns() == {"K": "STRING KEY", "item": "STRING", "Count": "BIGINT", "kind": "STRING"}
    assert world.client.latest(f"{world.topic}-value").split() == world.client.get_schema(id).schema_str.split()
    world.sql("INSERT INTO {n} (k, `item`, `Count`, `kind`) VALUES ('a', 'nut', 3, 'x');")
    (written,) = world.records()
    assert written.value is not None
    assert written.value[:5] == b"\0" + id.to_bytes(4, "big")
    assert numbers(world.confluent(format).read(written.value)) == {"item": "nut", "Count": 3, "kind": "x"}
    encoded = world.confluent(format).write({"item": "bolt", "Count": 4, "kind": "y"}, TEXTS[format])
    world.kafka.produce(world.topic, "b", encoded)
    rows = world.server.rows(f"SELECT * FROM {world.name} LIMIT 2;", 2)
    assert sorted(rows) == [["a", "nut", 3, "x"], ["b", "bolt", 4, "y"]]


@pytest.mark.parametrize("format", FORMATS)
def test_the_fetched_schema_is_registered_again_under_the_topics_subject(world: SeedWorld, format: str) -> None:
    """… "because we can do schema compatibility checks if we create other sources using the same topic"."""
    subject = f"{world.topic}-value"
    first, second, wrong = (known(world, format, WIDER[format][n]) for n in range(3))
    world.sql(create(format, first))
    world.client.set_compatibility(subject, "BACKWARD")
    world.sql(create(format, second).replace("{n}", "{n}_B"))
    assert world.client.get_latest_version(subject).schema_id == second
    with pytest.raises(RequestFailed, match=f"Could not register schema for {subject}"):
        world.sql(create(format, wrong).replace("{n}", "{n}_C"))
    world.sql("INSERT INTO {n} (k, `item`) VALUES ('a', 'nut'); INSERT INTO {n}_B (k, `item`) VALUES ('b', 'bolt');")
    assert [int.from_bytes((r.value or b"")[1:5], "big") for r in world.records(2)] == [first, second]


@pytest.mark.parametrize(("format", "text"), [("AVRO", AVRO), ("JSON_SR", JSON), ("PROTOBUF", PROTO2)])
def test_data_can_not_be_serialized_if_a_required_field_is_null(world: SeedWorld, format: str, text: str) -> None:
    world.sql(create(format, known(world, format, text)))
    with pytest.raises(RequestFailed, match=r"null where the schema requires .*path: \$\.item"):
        world.sql("INSERT INTO {n} (k, `Count`) VALUES ('a', 3);")


def test_with_unwrap_a_single_column_is_created_of_the_fetched_schema(world: SeedWorld) -> None:
    """The document calls it ROWVALUE; the cases, and today's language, ROWVAL (008-contradictions)."""
    id = world.client.register_text(f"{world.topic}-elsewhere", "AVRO", '"long"')
    world.sql(
        f"CREATE STREAM {{n}} WITH (kafka_topic='{{t}}', partitions=1, format='AVRO', key_schema_id={id}, "
        f"value_schema_id={id}, wrap_single_value=false);"
        "INSERT INTO {n} VALUES (1, 2);"
    )
    assert world.columns() == {"ROWKEY": "BIGINT KEY", "ROWVAL": "BIGINT"}
    (record,) = world.records()
    assert world.confluent("AVRO", "key").read(record.key) == 1
    assert world.confluent("AVRO").read(record.value) == 2


def test_otherwise_the_fetched_schema_is_expected_to_be_a_struct(world: SeedWorld) -> None:
    id = world.client.register_text(f"{world.topic}-elsewhere", "AVRO", '"long"')
    with pytest.raises(RequestFailed, match="it is BIGINT, not a record"):
        world.sql(create("AVRO", id))


# ---------------------------------------------------------------- CAS


def test_data_is_rewritten_following_the_physical_schema_for_cas_statements(world: SeedWorld) -> None:
    """Whether a field is optional or required doesn't matter at creation; extra fields get their defaults, if any."""
    world.sql(SOURCE)
    ids = {format: known(world, format) for format in FORMATS}
    for format, id in ids.items():
        world.sql(
            f"CREATE STREAM {{n}}_{format} WITH (value_format='{format}', value_schema_id={id}) AS "
            "SELECT k, item AS `item`, cnt AS `Count` FROM {n};"
        )
        # "Logical schema of created stream/table will still be the schema of query projection"
        assert world.columns(f"{{n}}_{format}") == {"K": "STRING KEY", "item": "STRING", "Count": "BIGINT"}
    world.kafka.produce(world.topic, "lost", {"ITEM": None, "CNT": 1})
    world.kafka.produce(world.topic, "kept", {"ITEM": "nut", "CNT": 3})
    extra: dict[str, dict[str, Any]] = {"AVRO": {"kind": "none"}, "JSON_SR": {}, "PROTOBUF": {}}
    for format, id in ids.items():
        record = world.records(2 if format == "PROTOBUF" else 1, f"{{n}}_{format}")[-1]
        assert record.key == b"kept"
        assert record.value is not None
        assert record.value[:5] == b"\0" + id.to_bytes(4, "big")
        read = numbers(world.confluent(format, topic=f"{{n}}_{format}").read(record.value))
        assert read == {"item": "nut", "Count": 3, **extra[format]}
        if format != "PROTOBUF":
            world.logged("$.item", f"{world.name}_{format}")


def test_full_names_control_the_schema_name(world: SeedWorld) -> None:
    world.sql(
        "CREATE STREAM {n} (k STRUCT<a INT> KEY, v INT) WITH (kafka_topic='{t}', partitions=1, format='AVRO', "
        "key_schema_full_name='com.acme.MyKey', value_schema_full_name='com.acme.MyValue');"
        "CREATE STREAM {n}_P (v INT) WITH (kafka_topic='{t}-p', partitions=1, value_format='PROTOBUF', "
        "value_schema_full_name='com.acme.MyValue');"
    )
    for side, name in (("key", "MyKey"), ("value", "MyValue")):
        schema = json.loads(world.client.latest(f"{world.topic}-{side}"))
        assert (schema["namespace"], schema["name"]) == ("com.acme", name)
    text = world.client.latest(f"{world.topic}-p-value")
    assert "package com.acme;" in text
    assert "message MyValue" in text


def numbers(row: dict[str, Any]) -> dict[str, Any]:
    """A row whose 64-bit numbers Protobuf's JSON has as text."""
    return {name: int(value) if name == "Count" else value for name, value in row.items()}
