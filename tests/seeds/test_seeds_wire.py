"""Every type in every format with schemas, keys and values: Confluent's libraries and the engine read each other."""

import json
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pytest
from confluent_kafka.schema_registry import SchemaReference

from support.confluent import KINDS
from support.seed_world import SeedWorld

TYPES = (
    "b BOOLEAN, i INT, l BIGINT, d DOUBLE, t STRING, bb BYTES, dc DECIMAL(6, 2), dt DATE, tm TIME, ts TIMESTAMP, "
    "a ARRAY<STRING>, m MAP<STRING, BIGINT>, s STRUCT<x INT, y ARRAY<DOUBLE>>"
)
ROW = (
    "true, 7, 9000000000, 0.5, 'hé', TO_BYTES('AQI=', 'base64'), -12.5, '2024-02-29', '12:34:56.789', "
    "'2024-02-29T12:34:56.789', ARRAY['p', 'q'], MAP('k' := 3), STRUCT(x := 1, y := ARRAY[1.5])"
)
AT = datetime(2024, 2, 29, 12, 34, 56, 789000, UTC)
EPOCH_DAYS = (date(2024, 2, 29) - date(1970, 1, 1)).days
OF_DAY = ((12 * 60 + 34) * 60 + 56) * 1000 + 789
PLAIN: dict[str, Any] = {"B": True, "I": 7, "L": 9_000_000_000, "D": 0.5, "T": "hé", "A": ["p", "q"]}
READ: dict[str, dict[str, Any]] = {
    "AVRO": {
        **PLAIN,
        "BB": b"\x01\x02",
        "DC": Decimal("-12.50"),
        "DT": date(2024, 2, 29),
        "TM": time(12, 34, 56, 789000),
        "TS": AT,
        "M": [{"key": "k", "value": 3}],
        "S": {"X": 1, "Y": [1.5]},
    },
    "JSON_SR": {
        **PLAIN,
        "BB": "AQI=",
        "DC": -12.5,
        "DT": EPOCH_DAYS,
        "TM": OF_DAY,
        "TS": int(AT.timestamp() * 1000),
        "M": {"k": 3},
        "S": {"X": 1, "Y": [1.5]},
    },
    "PROTOBUF": {
        **PLAIN,
        "L": "9000000000",
        "BB": "AQI=",
        "DC": {"value": "+x4=", "precision": 6, "scale": 2},
        "DT": {"year": 2024, "month": 2, "day": 29},
        "TM": {"hours": 12, "minutes": 34, "seconds": 56, "nanos": 789000000},
        "TS": "2024-02-29T12:34:56.789Z",
        "M": {"k": "3"},
        "S": {"X": 1, "Y": [1.5]},
    },
}
BASE = {
    "AVRO": '{"type":"record","name":"Place","namespace":"com.acme","fields":[{"name":"city","type":"string"}]}',
    "JSON_SR": json.dumps(
        {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "type": "object",
            "properties": {"city": {"type": "string"}},
        }
    ),
    "PROTOBUF": 'syntax = "proto3"; package acme; message Place { string city = 1; }',
}
REFERRING = {
    "AVRO": '{"type":"record","name":"V","fields":[{"name":"at","type":"com.acme.Place"},{"name":"n","type":"int"}]}',
    "JSON_SR": json.dumps(
        {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "type": "object",
            "properties": {"at": {"$ref": "place"}, "n": {"type": "integer", "connect.type": "int32"}},
        }
    ),
    "PROTOBUF": 'syntax = "proto3"; import "place"; message Visit { acme.Place at = 1; int32 n = 2; }',
}


@pytest.mark.parametrize("format", READ)
def test_confluents_deserializers_read_all_types_of_keys_and_values(world: SeedWorld, format: str) -> None:
    key = "k STRUCT<a INT, b STRING, c DECIMAL(4, 1), d ARRAY<INT>> KEY"
    world.sql(
        f"CREATE STREAM {{n}} ({key}, {TYPES}) WITH (kafka_topic='{{t}}', partitions=1, format='{format}');"
        f"INSERT INTO {{n}} VALUES (STRUCT(a := 1, b := 'x', c := 2.5, d := ARRAY[3]), {ROW});"
        "INSERT INTO {n} (k) VALUES (STRUCT(a := 2));"
    )
    first, second = world.records(2)
    assert world.confluent(format).read(first.value) == READ[format]
    read = world.confluent(format, "key").read(first.key)
    decoded = read.get("K", read)
    assert (decoded["A"], decoded["B"], decoded["D"]) == (1, "x", [3])
    # A row of nulls, and what was written is read back by the engine itself.
    assert not any((world.confluent(format).read(second.value) or {}).values())
    rows = world.server.rows(f"SELECT i, dc, dt, tm, ts, m['k'], s->y[1], k->c FROM {world.name} LIMIT 1;", 1)
    assert rows == [[7, "-12.50", "2024-02-29", "12:34:56.789", "2024-02-29T12:34:56.789", 3, 1.5, "2.5"]]


@pytest.mark.parametrize("format", ["AVRO", "JSON_SR", "PROTOBUF"])
def test_what_confluents_serializers_write_by_the_engines_schema_is_read(world: SeedWorld, format: str) -> None:
    world.sql(f"CREATE STREAM {{n}} ({TYPES}) WITH (kafka_topic='{{t}}', partitions=1, value_format='{format}');")
    text = world.client.latest(f"{world.topic}-value")
    written = world.confluent(format).write(READ[format], text)
    world.kafka.produce(world.topic, None, written)
    ((*row,),) = world.server.rows(f"SELECT * FROM {world.name} LIMIT 1;", 1)
    assert row[:5] == [True, 7, 9_000_000_000, 0.5, "hé"]
    assert row[5:10] == ["AQI=", "-12.50", "2024-02-29", "12:34:56.789", "2024-02-29T12:34:56.789"]
    assert row[10:] == [["p", "q"], {"k": 3}, {"X": 1, "Y": [1.5]}]


@pytest.mark.parametrize("format", ["AVRO", "JSON_SR", "PROTOBUF"])
def test_schemas_that_refer_to_others(world: SeedWorld, format: str) -> None:
    world.client.register_text(f"{world.topic}-place", format, BASE[format])
    name = "com.acme.Place" if format == "AVRO" else "place"
    world.client.register_text(
        f"{world.topic}-value", format, REFERRING[format], SchemaReference(name, f"{world.topic}-place", 1)
    )
    world.sql(f"CREATE STREAM {{n}} WITH (kafka_topic='{{t}}', partitions=1, value_format='{format}');")
    assert world.columns() == {"AT": "STRUCT", "N": "INTEGER"}
    if format == "PROTOBUF":
        head = b"\0" + world.client.get_latest_version(f"{world.topic}-value").schema_id.to_bytes(4, "big") + b"\0"
        data = head + b"\x0a\x06\x0a\x04Rome" + b"\x10\x03"
    else:
        schema = world.client.get_latest_version(f"{world.topic}-value").schema
        data = world.confluent(format).write({"at": {"city": "Rome"}, "n": 3}, schema)
    world.kafka.produce(world.topic, None, data)
    assert world.server.rows(f"SELECT `AT`->city, n FROM {world.name} LIMIT 1;", 1) == [["Rome", 3]]


@pytest.mark.parametrize(
    ("nulls", "absent"),
    [("", {"I": 0, "T": ""}), ("OPTIONAL", {"I": None, "T": None}), ("WRAPPER", {"I": None, "T": None})],
)
def test_nullable_representation(world: SeedWorld, nulls: str, absent: dict[str, Any]) -> None:
    nulls_property = f", value_protobuf_nullable_representation='{nulls}'" if nulls else ""
    world.sql(
        f"CREATE STREAM {{n}} (i INT, t STRING, x INT) "
        f"WITH (kafka_topic='{{t}}', partitions=1, value_format='PROTOBUF'{nulls_property});"
        "INSERT INTO {n} (x) VALUES (1);"
        "INSERT INTO {n} VALUES (0, '', 2);"
    )
    first, second = world.records(2)
    assert world.confluent("PROTOBUF").read(first.value) == {"X": 1}
    assert world.confluent("PROTOBUF").read(second.value) == ({"X": 2} if not nulls else {"I": 0, "T": "", "X": 2})
    rows = world.server.rows(f"SELECT i, t, x FROM {world.name} LIMIT 2;", 2)
    assert sorted(rows, key=lambda r: r[2]) == [[absent["I"], absent["T"], 1], [0, "", 2]]


def test_print_guesses_each_format_with_schemas(world: SeedWorld) -> None:
    for format in KINDS:
        world.sql(
            f"CREATE STREAM {{n}}_{format} (k INT KEY, i INT, t STRING) "
            f"WITH (kafka_topic='{{t}}-{format}', partitions=1, format='{format}');"
            f"INSERT INTO {{n}}_{format} VALUES (1, 7, 'x');"
        )
        lines = world.server.lines(f"PRINT '{world.topic}-{format}' FROM BEGINNING LIMIT 1;")
        assert any(line.startswith(f"Key format: {format}") for line in lines), lines
        assert any(line.startswith(f"Value format: {format}") for line in lines), lines
        assert '"T":"x"' in lines[-1]
    shown = world.sql("SHOW TOPICS EXTENDED;")[0]["topics"]
    formats_by_topic = {t["name"]: (t["keyFormat"], t["valueFormat"]) for t in shown}
    assert formats_by_topic[f"{world.topic}-AVRO"] == ("AVRO", "AVRO")


def test_drop_with_delete_topic_removes_the_subjects(world: SeedWorld) -> None:
    world.sql(
        "CREATE STREAM {n} (k INT KEY, i INT) WITH (kafka_topic='{t}', partitions=1, format='PROTOBUF');"
        "DROP STREAM {n} DELETE TOPIC;"
    )
    assert not [s for s in world.client.get_subjects() if s.startswith(world.topic)]
