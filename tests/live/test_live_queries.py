"""Statements, queries and rows through a real broker and a real Spark."""

import json

import pytest

from millstream.engine.api import RequestFailed
from support.engine_process import EngineProcess
from support.kafka import BrokerClient, wait_for
from support.sources import declare

pytestmark = pytest.mark.live
COLUMNS = "id INT KEY, v STRING"


def derive(server: EngineProcess, name: str, select: str) -> str:
    """Create a stream from another one; returns the id of its query."""
    entities = server.execute(f"CREATE STREAM {name} AS {select};")
    id = entities[0]["commandStatus"]["queryId"]
    assert isinstance(id, str)
    return id


def test_every_input_has_its_output_with_time_headers_and_key(server: EngineProcess, kafka: BrokerClient) -> None:
    name, topic = declare(server.execute, kafka, COLUMNS, 2)
    derive(server, f"{name}_OUT", f"SELECT id, UCASE(v) AS u FROM {name} WHERE id > 1 EMIT CHANGES")
    kafka.produce(topic, "1", {"v": "a"}, 1000)
    kafka.produce(topic, "2", {"v": "b"}, 2000, [("h", b"x")])
    (record,) = kafka.consume_all(f"{name}_OUT", 1)
    assert (record.key, record.json, record.timestamp, record.headers) == (b"2", {"U": "B"}, 2000, (("h", b"x"),))


def test_a_record_that_cannot_be_read_is_logged_and_the_query_goes_on(
    server: EngineProcess, kafka: BrokerClient
) -> None:
    name, topic = declare(server.execute, kafka, COLUMNS)
    id = derive(server, f"{name}_OUT", f"SELECT * FROM {name} EMIT CHANGES")
    kafka.produce(topic, "1", b"this is no JSON")
    kafka.produce(topic, "2", {"v": "b"})
    assert kafka.consume_all(f"{name}_OUT", 1)[0].key == b"2"
    assert server.state(id) == "RUNNING"
    log = server.processing_log
    wait_for(
        lambda: any(topic in json.dumps(r.json) for r in kafka.consume_all(log, kafka.ends(log))),
        "the entry of the processing log",
    )


def test_the_condition_of_a_null_row_is_not_computed(server: EngineProcess, kafka: BrokerClient) -> None:
    name, topic = declare(server.execute, kafka, COLUMNS)
    id = derive(server, f"{name}_OUT", f"SELECT * FROM {name} WHERE 6 / LEN(v) = 2 EMIT CHANGES")
    for key, value in (("1", None), ("2", {"v": ""}), ("3", {"v": "abc"})):
        kafka.produce(topic, key, value)
    assert kafka.consume_all(f"{name}_OUT", 1)[0].key == b"3"
    log = server.processing_log

    def offsets() -> list[int]:
        entries = [r.json for r in kafka.consume_all(log, kafka.ends(log)) if f"{id}.filter" in json.dumps(r.json)]
        return [entry["message"]["recordProcessingError"]["offset"] for entry in entries]

    wait_for(lambda: 1 in offsets(), "the entry of the division by zero")
    assert offsets() == [1]


def test_pause_resume_terminate(server: EngineProcess, kafka: BrokerClient) -> None:
    name, topic = declare(server.execute, kafka, COLUMNS)
    id = derive(server, f"{name}_OUT", f"SELECT * FROM {name} EMIT CHANGES")
    kafka.produce(topic, "1", {"v": "before"})
    kafka.consume_all(f"{name}_OUT", 1)
    server.execute(f"PAUSE {id};")
    assert server.state(id) == "PAUSED"
    kafka.produce(topic, "2", {"v": "while paused"})
    server.execute(f"RESUME {id};")
    wait_for(lambda: {r.key for r in kafka.consume_all(f"{name}_OUT", kafka.ends(f"{name}_OUT"))} == {b"1", b"2"}, "2")
    server.execute(f"TERMINATE {id};")
    assert server.state(id) == ""
    kafka.produce(topic, "3", {"v": "after"})
    server.execute(f"DROP STREAM {name}_OUT DELETE TOPIC;")
    assert f"{name}_OUT" not in kafka.topics()


def test_a_source_in_use_is_not_dropped(server: EngineProcess, kafka: BrokerClient) -> None:
    name, _ = declare(server.execute, kafka, COLUMNS, 2)
    id = derive(server, f"{name}_OUT", f"SELECT * FROM {name} EMIT CHANGES")
    for statements in (f"DROP STREAM {name};", f"TERMINATE {id}; DROP STREAM {name};"):
        with pytest.raises(RequestFailed, match=rf"read from this source: \[{name}_OUT\]"):
            server.execute(statements)
    server.execute(f"DROP STREAM {name}_OUT; DROP STREAM {name};")


def test_a_push_query_gives_what_comes_after_its_header(server: EngineProcess, kafka: BrokerClient) -> None:
    name, topic = declare(server.execute, kafka, COLUMNS, 2)
    kafka.produce(topic, "1", {"v": "before"})
    after = f"INSERT INTO {name} VALUES (2, 'after'); INSERT INTO {name} VALUES (3, 'later');"
    rows = server.rows(f"SELECT id, v FROM {name} EMIT CHANGES;", 2, after, **{"auto.offset.reset": "latest"})
    assert sorted(rows) == [[2, "after"], [3, "later"]]
    assert not [t for t in kafka.topics() if "-transient-one-" in t]


def test_a_push_query_ends_at_its_limit(server: EngineProcess, kafka: BrokerClient) -> None:
    name, topic = declare(server.execute, kafka, COLUMNS)
    for n in range(5):
        kafka.produce(topic, str(n), {"v": str(n)})
    assert server.rows(f"SELECT v FROM {name} EMIT CHANGES LIMIT 3;", 9) == [["0"], ["1"], ["2"]]
    assert server.rows(f"SELECT v FROM {name} EMIT CHANGES LIMIT 0;", 9) == []


def test_a_pull_query_reads_what_is_there(server: EngineProcess, kafka: BrokerClient) -> None:
    name, topic = declare(server.execute, kafka, COLUMNS)
    assert server.rows(f"SELECT * FROM {name};", 9) == []
    for n in range(4):
        kafka.produce(topic, str(n), {"v": str(n)})
    assert server.rows(f"SELECT v, id FROM {name} WHERE id > 1;", 9) == [["2", 2], ["3", 3]]
    assert server.rows(f"SELECT id FROM {name} LIMIT 1;", 9) == [[0]]


def test_print_shows_records_and_guesses_their_formats(server: EngineProcess, kafka: BrokerClient) -> None:
    _, topic = declare(server.execute, kafka, COLUMNS)
    kafka.produce(topic, "key", {"v": "a"}, 1000)
    kafka.produce(topic, None, None, 2000)
    assert server.lines(f"PRINT '{topic}' FROM BEGINNING LIMIT 2;") == [
        "Key format: KAFKA_STRING",
        "Value format: JSON or KAFKA_STRING",
        'rowtime: 1970/01/01 00:00:01.000 Z, key: key, value: {"v": "a"}, partition: 0',
        "rowtime: 1970/01/01 00:00:02.000 Z, key: <null>, value: <null>, partition: 0",
    ]


def test_a_query_without_free_slots_is_refused_with_the_reason(server: EngineProcess, kafka: BrokerClient) -> None:
    name, _ = declare(server.execute, kafka, COLUMNS, 97)
    with pytest.raises(RequestFailed, match="needs 97 task slots"):
        derive(server, f"{name}_OUT", f"SELECT * FROM {name} EMIT CHANGES")


def test_a_topic_that_kafka_would_not_create_is_refused_before_anything_is_written(server: EngineProcess) -> None:
    with pytest.raises(RequestFailed, match="would not create"):
        server.execute(
            "CREATE STREAM wide (v INT) WITH (kafka_topic='wide', value_format='JSON', partitions=1, replicas=3);"
        )
    with pytest.raises(RequestFailed, match="WIDE"):
        server.execute("DESCRIBE wide;")


def test_assert_topic(server: EngineProcess, kafka: BrokerClient) -> None:
    topic = kafka.create_topic(partitions=2)
    assert server.execute(f"ASSERT TOPIC '{topic}' WITH (PARTITIONS=2) TIMEOUT 240 SECONDS;")[0]["exists"] is True
    with pytest.raises(RequestFailed) as failed:
        server.execute(f"ASSERT NOT EXISTS TOPIC '{topic}' TIMEOUT 100 MILLISECONDS;")
    assert failed.value.code == 41700


def test_a_query_stops_when_its_topic_was_deleted_and_recreated(server: EngineProcess, kafka: BrokerClient) -> None:
    """The query fails with that reason, and starts anew after the topic is created again."""
    name, topic = declare(server.execute, kafka, COLUMNS)
    id = derive(server, f"{name}_OUT", f"SELECT * FROM {name} EMIT CHANGES")
    for n in range(5):
        kafka.produce(topic, str(n), {"v": "old"})
    kafka.consume_all(f"{name}_OUT", 5)
    kafka.delete_topic(topic)
    wait_for(lambda: server.state(id) == "ERROR", "the query notices")
    kafka.create_topic(topic)
    kafka.produce(topic, "7", {"v": "new"})
    wait_for(lambda: "was deleted and created again" in str(server.execute(f"EXPLAIN {id};")), "the reason")
    assert kafka.ends(f"{name}_OUT") == 5
    server.execute(f"DROP STREAM {name}_OUT;")
    derive(server, f"{name}_OUT", f"SELECT * FROM {name} EMIT CHANGES")
    wait_for(lambda: b"7" in {r.key for r in kafka.consume_all(f"{name}_OUT", kafka.ends(f"{name}_OUT"))}, "new output")


def test_a_query_reads_what_is_written_after_its_creation(server: EngineProcess, kafka: BrokerClient) -> None:
    name, topic = declare(server.execute, kafka, COLUMNS, 2)
    kafka.produce(topic, "1", {"v": "before"})
    server.execute("SHOW STREAMS;")
    server.execute(f"SET 'auto.offset.reset'='latest'; CREATE STREAM {name}_OUT AS SELECT * FROM {name} EMIT CHANGES;")
    kafka.produce(topic, "2", {"v": "after"})
    assert [r.key for r in kafka.consume_all(f"{name}_OUT", 1)] == [b"2"]


def test_a_query_that_is_replaced_goes_on_from_where_it_was(server: EngineProcess, kafka: BrokerClient) -> None:
    name, topic = declare(server.execute, kafka, COLUMNS)
    derive(server, f"{name}_OUT", f"SELECT id, v FROM {name} WHERE id > 5 EMIT CHANGES")
    kafka.produce(topic, "6", {"v": "a"})
    kafka.consume_all(f"{name}_OUT", 1)
    server.execute(f"CREATE OR REPLACE STREAM {name}_OUT AS SELECT id, v FROM {name} WHERE id > 2 EMIT CHANGES;")
    kafka.produce(topic, "3", {"v": "b"})
    wait_for(lambda: b"3" in {r.key for r in kafka.consume_all(f"{name}_OUT", kafka.ends(f"{name}_OUT"))}, "new output")


def test_many_queries_write_one_stream(server: EngineProcess, kafka: BrokerClient) -> None:
    one, first = declare(server.execute, kafka, COLUMNS)
    two, second = declare(server.execute, kafka, COLUMNS)
    server.execute(f"INSERT INTO {two} SELECT id + 10 AS id, v FROM {one} PARTITION BY id + 10 EMIT CHANGES;")
    kafka.produce(first, "1", {"v": "a"})
    assert kafka.consume_all(second, 1)[0].key == b"11"


def test_a_filtered_table_writes_tombstones(server: EngineProcess, kafka: BrokerClient) -> None:
    name, topic = declare(server.execute, kafka, "id INT PRIMARY KEY, v INT", kind="TABLE")
    server.execute(f"CREATE TABLE {name}_BIG AS SELECT * FROM {name} WHERE v > 5 EMIT CHANGES;")
    kafka.produce(topic, "1", {"v": 9})
    kafka.produce(topic, "1", {"v": 1})
    assert [r.json for r in kafka.consume_all(f"{name}_BIG", 2)] == [{"V": 9}, None]
    rows = server.rows(f"SELECT * FROM {name} EMIT CHANGES;", 2)
    assert rows == [[1, 9], [1, 1]]
    with pytest.raises(RequestFailed, match="queryable"):
        server.rows(f"SELECT * FROM {name};", 1)


def test_a_row_that_is_deleted_leaves_what_is_made_of_its_table(server: EngineProcess, kafka: BrokerClient) -> None:
    name, topic = declare(server.execute, kafka, "id INT PRIMARY KEY, v INT", 3, "TABLE")
    server.execute(f"CREATE TABLE {name}_BIG AS SELECT * FROM {name} WHERE v > 5 EMIT CHANGES;")
    server.execute("".join(f"INSERT INTO {name} VALUES ({id}, 9);" for id in range(4)))
    assert len(kafka.consume_all(f"{name}_BIG", 4)) == 4
    assert server.execute(f"DELETE FROM {name} WHERE id = 1 OR id IN (2, 2, 7);") == []
    written = kafka.consume_all(topic, 7)
    partitions = {record.key: record.partition for record in written if record.value is not None}
    assert sorted(r.key for r in written if r.value is None) == [b"1", b"2", b"7"]
    assert all(r.partition == partitions.get(r.key, r.partition) for r in written)
    wait_for(lambda: sorted(server.rows(f"SELECT * FROM {name}_BIG;", 4)) == [[0, 9], [3, 9]], "the deletes")
    with pytest.raises(RequestFailed, match="cannot be computed"):
        server.execute(f"DELETE FROM {name} WHERE id = CAST('x' AS INT);")


def test_a_deleted_sink_topic_is_recreated(server: EngineProcess, kafka: BrokerClient) -> None:
    name, topic = declare(server.execute, kafka, COLUMNS)
    id = derive(server, f"{name}_OUT", f"SELECT * FROM {name} EMIT CHANGES")
    kafka.produce(topic, "1", {"v": "a"})
    kafka.consume_all(f"{name}_OUT", 1)
    server.execute(f"PAUSE {id};")
    kafka.delete_topic(f"{name}_OUT")
    wait_for(lambda: f"{name}_OUT" not in kafka.topics(), "the deletion")
    server.execute(f"RESUME {id};")
    kafka.produce(topic, "2", {"v": "b"})
    wait_for(lambda: f"{name}_OUT" in kafka.topics() and kafka.ends(f"{name}_OUT"), "output")
    server.execute(f"DROP STREAM {name}_OUT;")


def test_records_of_1970_keep_their_time(server: EngineProcess, kafka: BrokerClient) -> None:
    """ROWTIME 0 is a time like any other: it is written, carried on, pushed and pulled."""
    name, topic = declare(server.execute, kafka, COLUMNS)
    derive(server, f"{name}_OUT", f"SELECT id, v FROM {name} EMIT CHANGES")
    server.execute(f"CREATE TABLE {name}_N AS SELECT id, COUNT(*) AS n FROM {name} GROUP BY id;")
    for id, time in ((1, 0), (2, 1), (3, 0)):
        server.execute(f"INSERT INTO {name} (ROWTIME, id, v) VALUES ({time}, {id}, 'x');")
    assert [record.timestamp for record in kafka.consume_all(topic, 3)] == [0, 1, 0]
    assert [record.timestamp for record in kafka.consume_all(f"{name}_OUT", 3)] == [0, 1, 0]
    kafka.consume_all(f"{name}_N", 3)
    times = [[1, 0], [2, 1], [3, 0]]
    assert server.rows(f"SELECT id, ROWTIME AS t FROM {name} EMIT CHANGES LIMIT 3;", 3) == times
    assert server.rows(f"SELECT id, ROWTIME AS t FROM {name};", 3) == times
    assert sorted(server.rows(f"SELECT id, ROWTIME AS t FROM {name}_N;", 3)) == times


def test_tables_of_different_numbers_of_partitions_are_joined(server: EngineProcess, kafka: BrokerClient) -> None:
    columns = "id INT PRIMARY KEY, v STRING"
    (left, one), (right, other) = (declare(server.execute, kafka, columns, n, "TABLE") for n in (1, 3))
    select = f"SELECT l.id AS id, l.v AS lv, r.v AS rv FROM {left} l JOIN {right} r ON l.id = r.id"
    server.execute(f"CREATE TABLE {left}_J AS {select};")
    for id in range(6):
        kafka.produce(one, str(id), {"v": f"l{id}"}, 1000)
        kafka.produce(other, str(id), {"v": f"r{id}"}, 1000)
    joined = {record.key: record.json for record in kafka.consume_all(f"{left}_J", 6)}
    assert joined == {str(id).encode(): {"LV": f"l{id}", "RV": f"r{id}"} for id in range(6)}
