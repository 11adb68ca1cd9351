"""Aggregates through a real broker and real-time mode: changelog, times and windows."""

import json

import pytest

from support.engine_process import EngineProcess
from support.kafka import BrokerClient, TopicRecord, wait_for
from support.sources import declare

pytestmark = pytest.mark.live
COLUMNS = "id INT KEY, g STRING, v INT"


def changes(records: list[TopicRecord], key: bytes) -> list[object]:
    """The values of a key, in order."""
    return [r.json for r in records if r.key == key]


def test_each_row_of_a_stream_gives_its_groups_new_row(server: EngineProcess, kafka: BrokerClient) -> None:
    name, topic = declare(server.execute, kafka, COLUMNS)
    server.execute(
        f"CREATE TABLE {name}_T AS SELECT g, COUNT(*) AS n, SUM(v) AS s, COLLECT_LIST(id) AS ids "
        f"FROM {name} GROUP BY g HAVING SUM(v) < 10;"
    )
    for number, (group, v) in enumerate([("a", 1), ("b", 2), ("a", 3), (None, 4), ("a", 9)], 1):
        kafka.produce(topic, str(number), {"g": group, "v": v}, 1000 * (6 - number))
    records = kafka.consume_all(f"{name}_T", 4)
    assert changes(records, b'"a"') == [{"N": 1, "S": 1, "IDS": [1]}, {"N": 2, "S": 4, "IDS": [1, 3]}, None]
    assert [r.timestamp for r in records if r.key == b'"a"'] == [5000, 5000, 5000]
    assert changes(records, b'"b"') == [{"N": 1, "S": 2, "IDS": [2]}]


def test_changes_of_a_key_are_coalesced(server: EngineProcess, kafka: BrokerClient) -> None:
    """By Kafka Streams' settings: fewer records and the same last ones, at the latest when the query is saved."""
    name, topic = declare(server.execute, kafka, COLUMNS)
    settings = {"ksql.streams.cache.max.bytes.buffering": "10000000", "ksql.streams.commit.interval.ms": "3600000"}
    server.execute(f"CREATE TABLE {name}_T AS SELECT g, COUNT(*) AS n FROM {name} GROUP BY g;", **settings)
    for number in range(1000):
        kafka.send(topic, str(number), json.dumps({"g": f"g{number % 10}", "v": number}))
    kafka.flush()

    def written() -> list[TopicRecord]:
        return kafka.consume_all(f"{name}_T", kafka.ends(f"{name}_T"))

    final = {f'"g{group}"'.encode(): {"N": 100} for group in range(10)}
    wait_for(lambda: {r.key: r.json for r in written()} == final, "all records are counted")
    assert len(written()) < 500


def test_a_tables_old_row_is_removed_from_its_group(server: EngineProcess, kafka: BrokerClient) -> None:
    name, topic = declare(server.execute, kafka, "id INT PRIMARY KEY, g STRING, v INT", kind="TABLE")
    server.execute(f"CREATE TABLE {name}_T AS SELECT g, COUNT(*) AS n, SUM(v) AS s FROM {name} GROUP BY g;")
    rows = [("1", {"g": "a", "v": 1}), ("2", {"g": "a", "v": 2}), ("1", {"g": "b", "v": 5}), ("2", None)]
    # Rows of different keys take different ways to their group: each waits for what the last one gave.
    for (key, row), count in zip(rows, (1, 2, 4, 5), strict=True):
        kafka.produce(topic, key, row)
        records = kafka.consume_all(f"{name}_T", count)
    assert changes(records, b'"a"') == [{"N": 1, "S": 1}, {"N": 2, "S": 3}, {"N": 1, "S": 2}, {"N": 0, "S": 0}]
    assert changes(records, b'"b"') == [{"N": 1, "S": 5}]


def test_a_push_query_groups_too(server: EngineProcess, kafka: BrokerClient) -> None:
    name, _ = declare(server.execute, kafka, COLUMNS)
    after = "".join(f"INSERT INTO {name} VALUES ({n}, 'a', {n});" for n in (1, 2))
    rows = server.rows(
        f"SELECT g, SUM(v) AS s, WINDOWSTART FROM {name} WINDOW TUMBLING (SIZE 1000 DAYS) GROUP BY g EMIT CHANGES;",
        2,
        after,
    )
    assert [row[:2] for row in rows] == [["a", 1], ["a", 3]]


def test_windows_of_a_minute_and_their_keys(server: EngineProcess, kafka: BrokerClient) -> None:
    name, topic = declare(server.execute, kafka, COLUMNS)
    server.execute(
        f"CREATE TABLE {name}_T AS SELECT g, COUNT(*) AS n, WINDOWSTART AS w FROM {name} "
        "WINDOW TUMBLING (SIZE 1 MINUTE, GRACE PERIOD 1 MINUTE) GROUP BY g;"
    )
    for at in (0, 59_999, 60_000, 1_000, 180_000, 30_000):
        kafka.produce(topic, "1", {"g": "a", "v": 1}, at or 1)
    records = kafka.consume_all(f"{name}_T", 5)
    counts = [(r.window_start, r.json) for r in records]
    assert counts == [(w, {"N": n, "W": w}) for w, n in ((0, 1), (0, 2), (60_000, 1), (0, 3), (180_000, 1))]


def test_sessions_and_final_windows(server: EngineProcess, kafka: BrokerClient) -> None:
    name, topic = declare(server.execute, kafka, COLUMNS)
    server.execute(
        f"CREATE TABLE {name}_S AS SELECT g, COUNT(*) AS n FROM {name} WINDOW SESSION (5 SECONDS) GROUP BY g;"
    )
    server.execute(
        f"CREATE TABLE {name}_F AS SELECT g, COUNT(*) AS n FROM {name} "
        "WINDOW TUMBLING (SIZE 10 SECONDS, RETENTION 1 HOUR, GRACE PERIOD 0 SECONDS) GROUP BY g EMIT FINAL;"
    )
    for at in (1_000, 4_000, 20_000):
        kafka.produce(topic, "1", {"g": "a", "v": 1}, at)
    sessions = [r.json for r in kafka.consume_all(f"{name}_S", 4)]
    assert sessions == [{"N": 1}, None, {"N": 2}, {"N": 1}]
    assert [r.json for r in kafka.consume_all(f"{name}_F", 1)] == [{"N": 2}]
