"""Formats with schemas and a real registry: Confluent's own libraries write what we read, and read what we write."""

import json
import re
from datetime import UTC, date, datetime
from decimal import Decimal

import httpx
import pytest
from confluent_kafka.schema_registry import Schema
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from millstream.engine.api import RequestFailed
from millstream.services.registry import RegistryProcess
from support.confluent import ConfluentSerde, DescriptorClient
from support.engine_process import EngineProcess
from support.kafka import BrokerClient, wait_for
from support.registry_proxy import RegistryProxy

pytestmark = pytest.mark.live
AVRO = json.dumps(
    {
        "type": "record",
        "name": "Order",
        "namespace": "com.acme",
        "fields": [
            {"name": "item", "type": "string"},
            {"name": "count", "type": ["null", "long"], "default": None},
            {"name": "tags", "type": {"type": "array", "items": "string"}},
        ],
    }
)
JSON = json.dumps(
    {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Order",
        "type": "object",
        "properties": {
            "item": {"type": "string"},
            "count": {"type": "integer"},
            "tags": {"type": "array", "items": {"type": "string"}},
        },
    }
)
PROTOBUF = 'syntax = "proto3"; message Order { string item = 1; int64 count = 2; repeated string tags = 3; }'
SCHEMAS = {"AVRO": AVRO, "JSON_SR": JSON, "PROTOBUF": PROTOBUF}
ROW = {"item": "nut", "count": 3, "tags": ["a", "b"]}


@pytest.fixture(scope="module")
def client(registry: RegistryProcess) -> DescriptorClient:
    return DescriptorClient({"url": registry.url})


def name_of(topic: str) -> str:
    return topic.replace("-", "_").upper()


@pytest.mark.parametrize("format", SCHEMAS)
def test_confluents_libraries_and_the_engine_read_each_other(
    server: EngineProcess, kafka: BrokerClient, client: DescriptorClient, format: str
) -> None:
    topic = kafka.create_topic()
    name = name_of(topic)
    kafka.produce(topic, "k", ConfluentSerde(client, format, topic).write(ROW, SCHEMAS[format]))
    server.execute(f"CREATE STREAM {name} (k STRING KEY) WITH (kafka_topic='{topic}', value_format='{format}');")
    server.execute(f"CREATE STREAM {name}_OUT AS SELECT k, item, count + 1 AS more, tags FROM {name} EMIT CHANGES;")
    (record,) = kafka.consume_all(f"{name}_OUT", 1)
    decoded = ConfluentSerde(client, format, f"{name}_OUT").read(record.value)
    assert {**decoded, "MORE": int(decoded["MORE"])} == {"ITEM": "nut", "MORE": 4, "TAGS": ["a", "b"]}


def test_all_types_of_avro_are_what_confluents_reader_takes_them_for(
    server: EngineProcess, kafka: BrokerClient, client: DescriptorClient
) -> None:
    topic = kafka.create_topic()
    name = name_of(topic)
    server.execute(
        f"CREATE STREAM {name} (k STRUCT<a INT, b STRING> KEY, i INT, d DECIMAL(6, 2), f DOUBLE, b BYTES, "
        f"day DATE, t TIMESTAMP, m MAP<STRING, BOOLEAN>, s STRUCT<x BIGINT>) "
        f"WITH (kafka_topic='{topic}', format='AVRO');"
    )
    server.execute(
        f"INSERT INTO {name} VALUES (STRUCT(a := 1, b := 'x'), 7, 12.5, 0.5, TO_BYTES('AQI=', 'base64'), '2024-02-29', "
        "'2024-02-29T12:34:56.789', MAP('y' := true), STRUCT(x := 9));"
    )
    (record,) = kafka.consume_all(topic, 1)
    read = AvroDeserializer(client)
    assert record.key is not None
    assert record.value is not None
    assert read(record.key, SerializationContext(topic, MessageField.KEY)) == {"A": 1, "B": "x"}
    assert read(record.value, SerializationContext(topic, MessageField.VALUE)) == {
        "I": 7,
        "D": Decimal("12.50"),
        "F": 0.5,
        "B": b"\x01\x02",
        "DAY": date(2024, 2, 29),
        "T": datetime(2024, 2, 29, 12, 34, 56, 789000, UTC),
        "M": [{"key": "y", "value": True}],
        "S": {"X": 9},
    }


def test_a_new_writer_schema_in_the_middle_of_a_topic(
    server: EngineProcess, kafka: BrokerClient, client: DescriptorClient
) -> None:
    topic = kafka.create_topic()
    name, at = name_of(topic), SerializationContext(topic, MessageField.VALUE)
    fields = [{"name": "a", "type": "int"}]
    more = [{"name": "z", "type": "string", "default": ""}, {"name": "b", "type": ["null", "long"], "default": None}]
    first, second = (json.dumps({"type": "record", "name": "R", "fields": f}) for f in (fields, [*more, *fields]))
    kafka.produce(topic, "1", AvroSerializer(client, first)({"a": 1}, at))
    server.execute(
        f"CREATE STREAM {name} (k STRING KEY, a INT, b BIGINT) WITH (kafka_topic='{topic}', value_format='AVRO');"
    )
    server.execute(f"CREATE STREAM {name}_OUT WITH (value_format='JSON') AS SELECT * FROM {name} EMIT CHANGES;")
    kafka.produce(topic, "2", AvroSerializer(client, second)({"a": 2, "b": 5, "z": "new"}, at))
    kafka.produce(topic, "3", AvroSerializer(client, first)({"a": 3}, at))
    rows = [r.json for r in kafka.consume_all(f"{name}_OUT", 3)]
    assert rows == [{"A": 1, "B": None}, {"A": 2, "B": 5}, {"A": 3, "B": None}]


def test_bytes_that_no_schema_wrote_are_logged_and_skipped(
    server: EngineProcess, kafka: BrokerClient, client: DescriptorClient
) -> None:
    topic = kafka.create_topic()
    name, good = name_of(topic), ConfluentSerde(client, "AVRO", topic).write(ROW, AVRO)
    server.execute(f"CREATE STREAM {name} (k STRING KEY) WITH (kafka_topic='{topic}', value_format='AVRO');")
    server.execute(f"CREATE STREAM {name}_OUT AS SELECT k, item FROM {name} EMIT CHANGES;")
    for bad in (b"\x01" + good[1:], good[:1] + b"\x7f" + good[2:], good[:9], b"\0"):
        kafka.produce(topic, "bad", bad)
    kafka.produce(topic, "good", good)
    assert [r.key for r in kafka.consume_all(f"{name}_OUT", 1)] == [b"good"]
    log = server.processing_log

    def entries() -> int:
        return sum(topic in json.dumps(r.json) for r in kafka.consume_all(log, kafka.ends(log)))

    wait_for(lambda: entries() >= 4, "four entries in the processing log")


def test_assert_schema(server: EngineProcess, kafka: BrokerClient, client: DescriptorClient) -> None:
    subject = kafka.unique("asserted") + "-value"
    with pytest.raises(RequestFailed, match=f"Schema with subject name {subject} does not exist"):
        server.execute(f"ASSERT SCHEMA SUBJECT '{subject}' TIMEOUT 100 MILLISECONDS;")
    id = client.register_schema(subject, Schema(AVRO, "AVRO"))
    (entity,) = server.execute(f"ASSERT SCHEMA SUBJECT '{subject}' ID {id} TIMEOUT 240 SECONDS;")
    assert (entity["subject"], entity["id"], entity["exists"]) == (subject, id, True)
    server.execute("ASSERT NOT EXISTS SCHEMA ID 987654 TIMEOUT 240 SECONDS;")
    with pytest.raises(RequestFailed, match=f"id {id} exists"):
        server.execute(f"ASSERT NOT EXISTS SCHEMA SUBJECT '{subject}' ID {id} TIMEOUT 100 MILLISECONDS;")


def test_schema_ids_keep_names_and_the_physical_schema(
    server: EngineProcess, kafka: BrokerClient, client: DescriptorClient
) -> None:
    topic = kafka.create_topic()
    name = name_of(topic)
    fields = [{"name": "item", "type": "string"}, {"name": "kind", "type": "string", "default": "none"}]
    text = json.dumps({"type": "record", "name": "Exact", "namespace": "com.acme", "fields": fields})
    id = client.register_schema(kafka.unique("elsewhere"), Schema(text, "AVRO"))
    server.execute(
        f"CREATE STREAM {name} (k STRING KEY, item STRING) WITH (kafka_topic='{topic}', value_format='JSON');"
    )
    server.execute(
        f"CREATE STREAM {name}_OUT WITH (value_format='AVRO', value_schema_id={id}) AS "
        f"SELECT k, item AS `item` FROM {name} EMIT CHANGES;"
    )
    kafka.produce(topic, "lost", {"ITEM": None})
    kafka.produce(topic, "kept", {"ITEM": "nut"})
    (record,) = kafka.consume_all(f"{name}_OUT", 1)
    assert record.key == b"kept"
    assert record.value is not None
    assert record.value[:5] == b"\0" + id.to_bytes(4, "big")
    read = AvroDeserializer(client)
    assert read(record.value, SerializationContext(f"{name}_OUT", MessageField.VALUE)) == {
        "item": "nut",
        "kind": "none",
    }
    log = server.processing_log
    wait_for(lambda: any("$.item" in json.dumps(r.json) for r in kafka.consume_all(log, kafka.ends(log))), "the field")


def test_rows_are_inserted_by_the_schema_that_a_topic_has_already(
    server: EngineProcess, kafka: BrokerClient, client: DescriptorClient
) -> None:
    """The registry would refuse one of the columns' own: its record has another name."""
    topic = kafka.create_topic()
    name, at, subject = name_of(topic), SerializationContext(topic, MessageField.VALUE), f"{topic}-value"
    fields = [{"name": "item", "type": "string"}, {"name": "n", "type": ["null", "long"], "default": None}]
    text = json.dumps({"type": "record", "name": "Order", "namespace": "com.acme", "fields": fields})
    first = AvroSerializer(client, text)({"item": "nut", "n": 1}, at)
    client.set_compatibility(subject, "BACKWARD")
    kafka.produce(topic, "1", first)
    server.execute(f"CREATE STREAM {name} (k STRING KEY) WITH (kafka_topic='{topic}', value_format='AVRO');")
    server.execute(f"INSERT INTO {name} (k, item) VALUES ('2', 'bolt');")
    row = json.dumps({"K": "3", "ITEM": "screw", "N": 3})
    url, lines = server.rest(), f'{{"target": "{name}"}}\n{row}\n'
    headers = {"content-type": "application/vnd.ksqlapi.delimited.v1"}
    assert httpx.post(f"{url}/inserts-stream", content=lines, headers=headers).json() == {"status": "ok", "seq": 0}
    read, records = AvroDeserializer(client), kafka.consume_all(topic, 3)
    assert {r.value[:5] for r in records if r.value} == {first[:5]}
    assert [read(r.value, at) for r in records if r.value] == [
        {"item": "nut", "n": 1},
        {"item": "bolt", "n": None},
        {"item": "screw", "n": 3},
    ]


# What a statement says of a proxy's page in place of the registry, by the page's status.
PAGES = {
    200: "with something else: is it a schema registry",
    404: "the schema registry answered 404: <html>We",
}


def test_while_the_registry_is_away_queries_wait_and_statements_fail(
    server: EngineProcess, kafka: BrokerClient, client: DescriptorClient, proxy: RegistryProxy
) -> None:
    topic = kafka.create_topic()
    name, at = name_of(topic), SerializationContext(topic, MessageField.VALUE)
    server.execute(f"CREATE STREAM {name} (k STRING KEY, a INT) WITH (kafka_topic='{topic}', value_format='AVRO');")
    server.execute(f"CREATE STREAM {name}_OUT WITH (value_format='JSON') AS SELECT * FROM {name} EMIT CHANGES;")
    texts = [json.dumps({"type": "record", "name": n, "fields": [{"name": "a", "type": "int"}]}) for n in ("P", "Q")]
    client.set_compatibility(f"{topic}-value", "NONE")
    first, second = (AvroSerializer(client, text)({"a": n}, at) for n, text in enumerate(texts, 1))
    kafka.produce(topic, "1", first)
    kafka.consume_all(f"{name}_OUT", 1)
    proxy.shut, before = True, proxy.turned_away
    try:
        kafka.produce(topic, "2", second)
        wait_for(lambda: proxy.turned_away > before + 2, "the query asking for the schema")
        with pytest.raises(RequestFailed, match="the schema registry answered 503: shut"):
            server.execute(f"CREATE STREAM {name}_2 AS SELECT * FROM {name} EMIT CHANGES;")
        for kind in ("", " EMIT CHANGES"):
            # It waited for ever, or left out the record whose schema is not known yet.
            with pytest.raises(RequestFailed) as failed:
                server.rows(f"SELECT a FROM {name}{kind};", 2, **{"auto.offset.reset": "earliest"})
            shown = r"the query failed: the schema registry http://\S+ answered 503: .*shut.*\n  hint: see whether.*"
            assert re.fullmatch(shown, failed.value.message), failed.value.message
        notice, *_, line = server.lines(f"PRINT '{topic}' FROM BEGINNING LIMIT 2;")
        assert re.fullmatch("the schema registry answered 503: shut: records with a schema id .* meanwhile", notice)
        assert '{"A": 2}' not in line
        for status, why in PAGES.items():
            proxy.page_status, proxy.shut, before = status, False, proxy.turned_away
            wait_for(lambda before=before: proxy.turned_away > before + 2, "the query asking again")  # type: ignore[misc]
            with pytest.raises(RequestFailed, match=why):
                server.execute(f"CREATE STREAM {name}_2 AS SELECT * FROM {name} EMIT CHANGES;")
        proxy.page_status, proxy.is_locked, before = 0, True, proxy.turned_away
        wait_for(lambda: proxy.turned_away > before + 2, "the query asking again with its password")
        with pytest.raises(RequestFailed, match="the schema registry answered 401: who are you"):
            server.execute(f"CREATE STREAM {name}_2 AS SELECT * FROM {name} EMIT CHANGES;")
    finally:
        proxy.shut, proxy.page_status, proxy.is_locked = False, 0, False
    assert [r.json for r in kafka.consume_all(f"{name}_OUT", 2)] == [{"A": 1}, {"A": 2}]


def test_dropping_a_topic_drops_its_subject(
    server: EngineProcess, kafka: BrokerClient, registry: RegistryProcess
) -> None:
    topic = kafka.unique()
    name = name_of(topic)
    server.execute(
        f"CREATE STREAM {name} (k INT KEY, v INT) WITH (kafka_topic='{topic}', partitions=1, format='AVRO');"
    )
    assert {f"{topic}-key", f"{topic}-value"} <= set(httpx.get(f"{registry.url}/subjects").json())
    server.execute(f"DROP STREAM {name} DELETE TOPIC;")
    assert not {f"{topic}-key", f"{topic}-value"} & set(httpx.get(f"{registry.url}/subjects").json())


def test_a_refusal_of_the_registry_has_its_message(
    server: EngineProcess, kafka: BrokerClient, client: DescriptorClient
) -> None:
    topic = kafka.create_topic()
    name = name_of(topic)
    old = {"type": "record", "name": "KsqlDataSourceSchema", "namespace": "io.confluent.ksql.avro_schemas"}
    server.execute(f"CREATE STREAM {name} (k INT KEY, v INT) WITH (kafka_topic='{topic}', value_format='JSON');")
    subject = f"{name}_OUT-value"
    client.register_schema(subject, Schema(json.dumps({**old, "fields": [{"name": "V", "type": "string"}]}), "AVRO"))
    client.set_compatibility(subject, "BACKWARD")
    with pytest.raises(RequestFailed, match="Could not register schema"):
        server.execute(f"CREATE STREAM {name}_OUT WITH (value_format='AVRO') AS SELECT * FROM {name} EMIT CHANGES;")
