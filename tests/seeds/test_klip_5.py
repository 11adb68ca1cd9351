"""KLIP-5, internal schemas: each test is named after a sentence of the document, and holds the engine to it."""

import json
from typing import Any

import pytest

from millstream.engine.api import RequestFailed
from support.seed_world import SeedWorld

SAMPLE = {"@ID": 0, "@NAME": "FOO", "MESSAGE.AMOUNT": 0.5, "SELECT": "bar"}
# Identifiers with periods, reserved words such as "SELECT" or "ROWKEY", case sensitivity; and what else one may type.
NAMES = ["@ID", "MESSAGE.AMOUNT", "SELECT", "ROWKEY", "with space", "back`tick", "it's", 'double"quote', "é", "a", "A"]


def quoted(name: str) -> str:
    """A name as an identifier in backquotes."""
    return "`" + name.replace("`", "``") + "`"


def declared(type: str) -> str:
    """Every name with one type."""
    return ", ".join(f"{quoted(n)} {type}" for n in NAMES)


def struct_of(value: str) -> str:
    """A struct that has every name, its fields numbered."""
    return "STRUCT(" + ", ".join(f"{quoted(n)} := {value}" for n in NAMES) + ")"


def test_users_will_be_able_to_use_quoted_identifiers_to_declare_and_access_fields(world: SeedWorld) -> None:
    """The document's own example; what has no alias keeps the name of the external schema."""
    world.sql(
        'CREATE STREAM {n} ("@ID" BIGINT, "@NAME" STRING, "MESSAGE.AMOUNT" DOUBLE, "SELECT" STRING) '
        "WITH (kafka_topic='{t}', partitions=1, value_format='JSON');"
        'CREATE STREAM {n}_BAR AS SELECT "@ID", LCASE({n}."@NAME") AS "@NAME", '
        '"MESSAGE.AMOUNT" * 100 AS "AMOUNT.BY.100", "SELECT" FROM {n} WHERE "MESSAGE.AMOUNT" < 1;'
    )
    kept = {"@ID": "BIGINT", "@NAME": "STRING", "AMOUNT.BY.100": "DOUBLE", "SELECT": "STRING"}
    assert world.columns("{n}_BAR") == kept
    world.kafka.produce(world.topic, None, {**SAMPLE, "MESSAGE.AMOUNT": 1.5})
    world.kafka.produce(world.topic, None, {**SAMPLE, "MESSAGE.AMOUNT": "much"})
    world.kafka.produce(world.topic, None, SAMPLE)
    (record,) = world.records(topic="{n}_BAR")
    assert record.json == {"@ID": 0, "@NAME": "foo", "AMOUNT.BY.100": 50.0, "SELECT": "bar"}
    # "All the KSQL error or log messages should still use the external schema names"
    world.logged("$.MESSAGE.AMOUNT", world.topic)


@pytest.mark.parametrize("format", ["JSON", "JSON_SR", "DELIMITED"])
def test_users_can_use_any_content_with_any_naming_convention(world: SeedWorld, format: str) -> None:
    """Top-level names in every format that writes them, or none, as they are."""
    world.sql(
        f"CREATE STREAM {{n}} ({declared('INT')}) WITH (kafka_topic='{{t}}', partitions=1, value_format='{format}');"
        f"INSERT INTO {{n}} ({', '.join(map(quoted, NAMES))}) VALUES ({', '.join(map(str, range(len(NAMES))))});"
    )
    (record,) = world.records()
    assert record.value is not None
    numbered = {name: i for i, name in enumerate(NAMES)}
    if format == "DELIMITED":
        assert record.value.decode() == ",".join(map(str, numbered.values()))
    else:
        assert (world.confluent(format).read(record.value) if format == "JSON_SR" else record.json) == numbered
    for name, value in numbered.items():
        where = f"SELECT {quoted(name)} FROM {world.name} WHERE {quoted(name)} = {value} LIMIT 1;"
        assert world.server.rows(where, 1) == [[value]]


@pytest.mark.parametrize("format", ["JSON", "JSON_SR"])
def test_the_same_approach_for_nested_fields_inside_array_map_and_struct_types(world: SeedWorld, format: str) -> None:
    struct = f"STRUCT<{declared('INT')}>"
    world.sql(
        f"CREATE STREAM {{n}} (`s t` {struct}, `@a` ARRAY<{struct}>, `m.p` MAP<STRING, {struct}>) "
        f"WITH (kafka_topic='{{t}}', partitions=1, value_format='{format}');"
        f"INSERT INTO {{n}} VALUES ({struct_of('1')}, ARRAY[{struct_of('2')}], MAP('k.e y' := {struct_of('3')}));"
    )
    (record,) = world.records()
    read: Any = world.confluent(format).read(record.value) if format == "JSON_SR" else record.json
    structs = [dict.fromkeys(NAMES, n) for n in (1, 2, 3)]
    assert read == {"s t": structs[0], "@a": [structs[1]], "m.p": {"k.e y": structs[2]}}
    reached = ", ".join(f"`s t`->{quoted(n)} + `@a`[1]->{quoted(n)} + `m.p`['k.e y']->{quoted(n)}" for n in NAMES)
    assert world.server.rows(f"SELECT {reached} FROM {world.name} LIMIT 1;", 1) == [[6] * len(NAMES)]


@pytest.mark.parametrize("format", ["AVRO", "PROTOBUF", "PROTOBUF_NOSR"])
def test_the_result_schema_field_names_are_verified_at_compile_time(world: SeedWorld, format: str) -> None:
    """If they do not comply with the sink's naming requirements the engine does not run the query, and says which."""
    world.sql(
        'CREATE STREAM {n} ("MESSAGE.AMOUNT" INT, plain INT) '
        "WITH (kafka_topic='{t}', partitions=1, value_format='JSON');"
    )
    for wrong in ('"MESSAGE.AMOUNT"', 'ARRAY[STRUCT("MESSAGE.AMOUNT" := 1)] AS a', 'plain AS "MESSAGE.AMOUNT"'):
        with pytest.raises(RequestFailed, match=r"not compatible with (Avro|Protobuf).*MESSAGE\.AMOUNT"):
            world.sql(f"CREATE STREAM {{n}}_OUT WITH (value_format='{format}') AS SELECT {wrong} FROM {{n}};")
    assert f"{world.name}_OUT" not in world.kafka.topics()
    assert not [q for q in world.sql("SHOW QUERIES;")[0]["queries"] if f"{world.name}_OUT" in q["sinks"]]


def test_error_messages_should_still_use_the_external_schema_names(world: SeedWorld) -> None:
    world.sql("CREATE STREAM {n} (\"@ID\" INT) WITH (kafka_topic='{t}', partitions=1, value_format='JSON');")
    with pytest.raises(RequestFailed, match="@ID"):
        world.sql('CREATE STREAM {n}_OUT AS SELECT "@ID" + ARRAY[1] AS x FROM {n};')
    with pytest.raises(RequestFailed, match="@I"):
        world.sql('CREATE STREAM {n}_OUT AS SELECT "@I" FROM {n};')
    assert "V0" not in json.dumps(world.sql("DESCRIBE {n};"))
