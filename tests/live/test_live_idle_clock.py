"""Stream time that goes on by the clock when a stream is silent: its windows close without a further record."""

import time

import pytest

from support.engine_process import EngineProcess
from support.kafka import BrokerClient, TopicRecord
from support.sources import declare

pytestmark = pytest.mark.live
COLUMNS = "id STRING KEY, v INT"
IDLE = {"millstream.stream.time.idle.ms": "1000"}
EXACTLY_ONCE = {"processing.guarantee": "exactly_once_v2", "commit.interval.ms": "500"}
SHORT_BATCHES = {"millstream.batch.duration": "1 SECOND", "millstream.stream.time.idle.ms": "3000"}
WINDOW = "WINDOW TUMBLING (SIZE 1 SECOND, GRACE PERIOD 0 SECONDS)"


def counts(records: list[TopicRecord]) -> list[tuple[int, int]]:
    """The start in ms and the count of each record's window."""
    return sorted((r.window_start, r.json["N"]) for r in records)


@pytest.mark.parametrize("by", ["'all'", "id"])
def test_windows_close_though_no_record_follows(server: EngineProcess, kafka: BrokerClient, by: str) -> None:
    """By one stream time, and by that of each partition. A row in a window that the clock has closed is late."""
    name, topic = declare(server.execute, kafka, COLUMNS, 2)
    final = f"SELECT {by} AS g, COUNT(*) AS n FROM {name} {WINDOW} GROUP BY {by} EMIT FINAL"
    server.execute(f"CREATE TABLE {name}_T AS {final};", **IDLE)
    kafka.produce(topic, '"a"', {"v": 1}, 100_000, partition=0)
    kafka.produce(topic, '"a"', {"v": 1}, 100_900, partition=0)
    assert counts(kafka.consume_all(f"{name}_T", 1)) == [(100_000, 2)]
    now = int(time.time() * 1000)
    kafka.produce(topic, '"a"', {"v": 1}, 100_950, partition=0)
    kafka.produce(topic, '"a"', {"v": 1}, now, partition=0)
    assert counts(kafka.consume_all(f"{name}_T", 2)) == [(100_000, 2), (now // 1000 * 1000, 1)]


def test_rows_without_a_match_come_though_no_record_follows(server: EngineProcess, kafka: BrokerClient) -> None:
    (left, topic), (right, _) = (declare(server.execute, kafka, COLUMNS, 2) for _ in "lr")
    on = f"{left} l LEFT JOIN {right} r WITHIN 1 SECOND GRACE PERIOD 0 SECONDS ON l.id = r.id"
    server.execute(f"CREATE STREAM {left}_J AS SELECT l.id AS id, l.v AS v, r.v AS w FROM {on};", **IDLE)
    kafka.produce(topic, '"a"', {"v": 1}, 100_000, partition=0)
    assert [r.json for r in kafka.consume_all(f"{left}_J", 1)] == [{"V": 1, "W": None}]


def test_windows_over_a_join_with_a_table_and_over_windows_close(server: EngineProcess, kafka: BrokerClient) -> None:
    """The clock passes each operator: a window of the inner query is a row of the outer one before that closes."""
    name, topic = declare(server.execute, kafka, COLUMNS, 2)
    cities, table = declare(server.execute, kafka, "id STRING PRIMARY KEY, w INT", 2, "TABLE")
    kafka.produce(table, '"a"', {"w": 7}, 1, partition=0)
    joined = f"SELECT s.id AS id, w FROM {name} s JOIN {cities} c ON s.id = c.id"
    inner = f"SELECT id, COUNT(*) AS m FROM ({joined}) {WINDOW} GROUP BY id EMIT FINAL"
    outer = f"SELECT m, COUNT(*) AS n FROM ({inner}) WINDOW TUMBLING (SIZE 1 HOUR, GRACE PERIOD 0 SECONDS) GROUP BY m"
    server.execute(f"CREATE TABLE {name}_T AS {outer} EMIT FINAL;", **IDLE)
    for second in (1, 2, 2, 4):
        kafka.produce(topic, '"a"', {"v": 1}, 1_000 * second, partition=0)
    counts_of = {r.key[:-8]: r.json["N"] for r in kafka.consume_all(f"{name}_T", 2)}
    assert counts_of == {b"1": 2, b"2": 1}


def test_sessions_end_and_groups_expire(server: EngineProcess, kafka: BrokerClient) -> None:
    name, topic = declare(server.execute, kafka, COLUMNS, 2)
    sessions = f"SELECT id, COUNT(*) AS n FROM {name} WINDOW SESSION (2 SECONDS, GRACE PERIOD 0 SECONDS) GROUP BY id"
    server.execute(f"CREATE TABLE {name}_T AS {sessions} EMIT FINAL;", **IDLE)
    expiring = f"CREATE TABLE {name}_E WITH (state_ttl='1 HOUR') AS SELECT id, COUNT(*) AS n FROM {name} GROUP BY id;"
    server.execute(expiring, **IDLE)
    for time_ms in (100_000, 101_000):
        kafka.produce(topic, '"a"', {"v": 1}, time_ms, partition=0)
    assert counts(kafka.consume_all(f"{name}_T", 1)) == [(100_000, 2)]
    assert [r.json and r.json["N"] for r in kafka.consume_all(f"{name}_E", 3)] == [1, 2, None]


@pytest.mark.parametrize("settings", [EXACTLY_ONCE, SHORT_BATCHES])
def test_silence_is_counted_over_batches(server: EngineProcess, kafka: BrokerClient, settings: dict[str, str]) -> None:
    """Of batches that are shorter than the silence; and after a pause, where the row is in the saved state."""
    name, topic = declare(server.execute, kafka, COLUMNS, 2)
    final = f"SELECT id, COUNT(*) AS n FROM {name} {WINDOW} GROUP BY id EMIT FINAL"
    query = server.execute(f"CREATE TABLE {name}_T AS {final};", **{**IDLE, **settings})[0]["commandStatus"]["queryId"]
    kafka.produce(topic, '"a"', {"v": 1}, 100_000, partition=0)
    assert counts(kafka.consume_all(f"{name}_T", 1)) == [(100_000, 1)]
    now = int(time.time() * 1000)
    kafka.produce(topic, '"a"', {"v": 1}, now, partition=0)
    server.execute(f"PAUSE {query};")
    server.execute(f"RESUME {query};")
    assert counts(kafka.consume_all(f"{name}_T", 2)) == [(100_000, 1), (now // 1000 * 1000, 1)]


def test_a_push_query_follows_the_clock(server: EngineProcess, kafka: BrokerClient) -> None:
    name, topic = declare(server.execute, kafka, COLUMNS, 2)
    kafka.produce(topic, '"a"', {"v": 1}, 100_000, partition=0)
    final = f"SELECT id, COUNT(*) AS n FROM {name} {WINDOW} GROUP BY id EMIT FINAL LIMIT 1;"
    assert server.rows(final, 1, **{**IDLE, "auto.offset.reset": "earliest"}) == [["a", 1]]


def test_a_stream_of_a_union_that_has_records_holds_the_clock_back(server: EngineProcess, kafka: BrokerClient) -> None:
    """Records of one stream come each half second, with old times: no window closes by the clock until they end."""
    (name, topic), (other, silent) = (declare(server.execute, kafka, COLUMNS, 2) for _ in "bs")
    kafka.produce(silent, '"a"', {"v": 1}, 100_000, partition=0)
    union = f"SELECT id, v FROM {name} UNION ALL SELECT id, v FROM {other}"
    final = f"SELECT 'all' AS g, COUNT(*) AS n FROM ({union}) {WINDOW} GROUP BY 'all' EMIT FINAL"
    server.execute(f"CREATE TABLE {name}_T AS {final};", **IDLE)
    for _ in range(10):
        kafka.produce(topic, '"a"', {"v": 1}, 100_500, partition=0)
        time.sleep(0.5)
    assert counts(kafka.consume_all(f"{name}_T", 1)) == [(100_000, 11)]
