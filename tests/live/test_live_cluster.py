"""A server whose queries run on a standalone Spark cluster of two workers: tasks share state across processes."""

import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest

from millstream.services.cluster import SparkCluster
from support.cluster import executors
from support.engine_process import EngineProcess
from support.exactly_once import CountedQueries
from support.kafka import BrokerClient, wait_for

pytestmark = [pytest.mark.live, pytest.mark.crash]
Begin = Callable[..., EngineProcess]
# Seconds; a machine may have other things to do.
PATIENCE = 300
LEASE_MS = 6000
NAMES, ROWS = 2_000, 4_000
DECLARED = """
CREATE STREAM {0} (id STRING KEY, v INT) WITH (kafka_topic='{0}', format='JSON');
CREATE TABLE {0}_NAMES (id STRING PRIMARY KEY, name STRING) WITH (kafka_topic='{0}_NAMES', format='JSON');
"""
NAMED = """
CREATE STREAM {0}_NAMED AS SELECT s.id AS id, s.v AS v, n.name AS name
  FROM {0} s LEFT JOIN {0}_NAMES n ON s.id = n.id EMIT CHANGES;
"""
COUNT = "CREATE TABLE {0}_COUNT AS SELECT id, COUNT(*) AS n FROM {0} GROUP BY id EMIT CHANGES;"
WINDOWS_OVER_JOIN = """
CREATE TABLE {0}_WINDOWS AS SELECT 'all' AS g, COUNT(*) AS n FROM {0} s LEFT JOIN {0}_NAMES n ON s.id = n.id
  WINDOW TUMBLING (SIZE 100 SECONDS, GRACE PERIOD 0 SECONDS) GROUP BY 'all' EMIT FINAL;
"""
COPY = "CREATE STREAM {0}_COPY AS SELECT id, v FROM {0} EMIT CHANGES;"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkCluster]:
    with SparkCluster(tmp_path_factory.mktemp("cluster"), slots=24, memory="768m") as started:
        yield started


def start(begin: Begin, cluster: SparkCluster) -> EngineProcess:
    own = {
        "millstream.lease.timeout.ms": str(LEASE_MS),
        "ksql.query.retry.backoff.initial.ms": "500",
        "millstream.batch.duration": "5 seconds",
    }
    return begin("cluster", **cluster.settings, **own)


@pytest.fixture(scope="module")
def server(begin: Begin, cluster: SparkCluster) -> EngineProcess:
    return start(begin, cluster)


@pytest.fixture
def name(server: EngineProcess, kafka: BrokerClient) -> Iterator[str]:
    """A stream's name and topic, with a table of its ids' names; the queries end with the test."""
    stream = kafka.create_topic(kafka.source_name("cluster"), partitions=2)
    kafka.create_topic(f"{stream}_NAMES", partitions=2)
    server.execute(DECLARED.format(stream))
    yield stream
    server.clear()


def send(kafka: BrokerClient, topic: str, first: int, count: int, keys: int) -> None:
    """Rows v = first, …, of ids k0, k1, …."""
    for v in range(first, first + count):
        kafka.send(topic, f'"k{v % keys}"', {"v": v}, 1_000)
    kafka.flush()


def name_all(kafka: BrokerClient, stream: str) -> None:
    for i in range(NAMES):
        kafka.send(f"{stream}_NAMES", f'"k{i}"', {"name": f"name{i}"}, 1_000)
    kafka.flush()


def rows(kafka: BrokerClient, topic: str) -> list[Any]:
    return [record.json for record in kafka.consume_all(topic, kafka.ends(topic))]


def wait_for_rows(kafka: BrokerClient, topic: str, expected: int) -> None:
    wait_for(lambda: kafka.ends(topic) >= expected, f"{expected} rows in {topic}", PATIENCE)


def query(server: EngineProcess, topic: str) -> str:
    """The id of the query that writes a topic."""
    (id,) = [q["id"] for q in server.execute("SHOW QUERIES;")[0]["queries"] if topic in q["sinks"]]
    return str(id)


def test_streams_wait_for_their_tables_and_figures_come_from_executors(
    server: EngineProcess, cluster: SparkCluster, kafka: BrokerClient, name: str
) -> None:
    send(kafka, name, 0, ROWS, NAMES)
    name_all(kafka, name)
    server.execute(NAMED.format(name))
    wait_for_rows(kafka, f"{name}_NAMED", ROWS)
    joined = rows(kafka, f"{name}_NAMED")
    assert sorted((row["V"], row["NAME"]) for row in joined) == [(v, f"name{v % NAMES}") for v in range(ROWS)]
    assert len(executors(cluster)) == 2

    def written() -> float:
        (described,) = server.execute(f"DESCRIBE {name}_NAMED EXTENDED;")
        figures = described["sourceDescription"]["clusterStatistics"]
        return float(next((f["value"] for f in figures if f["name"] == "total-messages"), -1))

    wait_for(lambda: written() == ROWS, "the figures of both executors", PATIENCE)


def test_later_rows_of_one_group_close_the_windows_of_all(
    server: EngineProcess, kafka: BrokerClient, name: str
) -> None:
    server.execute(
        f"CREATE TABLE {name}_WINDOWS AS SELECT id, COUNT(*) AS n FROM {name} "
        "WINDOW TUMBLING (SIZE 10 SECONDS, RETENTION 1 HOUR, GRACE PERIOD 0 SECONDS) GROUP BY id EMIT FINAL;"
    )
    for start in range(0, 50_000, 10_000):
        for group in "abcdefgh":
            kafka.send(name, f'"{group}"', {"v": 1}, start + 1_000, partition=0)
        kafka.send(name, '"a"', {"v": 1}, start + 12_000, partition=0)
        kafka.flush()
        # Every group's window, though later rows are of one group; batches of two seconds end between.
        wait_for(
            lambda start=start: (
                {r.key[:3] for r in closed(kafka, f"{name}_WINDOWS", start)}  # type: ignore[misc,index]
                == {f'"{group}"'.encode() for group in "abcdefgh"}
            ),
            f"the windows at {start}",
            PATIENCE,
        )


def closed(kafka: BrokerClient, topic: str, start: int) -> list[Any]:
    records = kafka.consume_all(topic, kafka.ends(topic))
    return [r for r in records if r.window_start == start]


def test_windows_over_a_join_lose_no_row_of_a_backlog_or_of_a_burst(
    server: EngineProcess, kafka: BrokerClient, name: str
) -> None:
    """No task's rows are late because another task is ahead of it; windows close without the end of a batch."""

    def burst(first: int, partitions: int) -> None:
        """A row a second of event time."""
        for v in range(first, first + ROWS):
            kafka.send(name, f'"k{v % NAMES}"', {"v": v}, 1_000_000 + 1_000 * v, partition=v % partitions)
        kafka.flush()

    burst(0, partitions=2)
    name_all(kafka, name)
    server.execute(
        WINDOWS_OVER_JOIN.format(name),
        **{"millstream.batch.duration": "1 hour"},
    )
    for read in range(1, 4):
        closed = read * ROWS // 100 - 1
        wait_for_rows(kafka, f"{name}_WINDOWS", closed)
        assert [row["N"] for row in rows(kafka, f"{name}_WINDOWS")] == [100] * closed
        burst(read * ROWS, partitions=1)


def test_the_last_windows_of_a_silent_stream_close(server: EngineProcess, kafka: BrokerClient, name: str) -> None:
    """The clock passes the tasks of a join on two executors."""
    name_all(kafka, name)
    server.execute(
        WINDOWS_OVER_JOIN.format(name),
        **{"millstream.batch.duration": "1 hour", "millstream.stream.time.idle.ms": "5000"},
    )
    for v in range(ROWS):
        kafka.send(name, f'"k{v % NAMES}"', {"v": v}, 1_000_000 + 1_000 * v, partition=0)
    kafka.flush()
    wait_for_rows(kafka, f"{name}_WINDOWS", ROWS // 100)
    assert [row["N"] for row in rows(kafka, f"{name}_WINDOWS")] == [100] * (ROWS // 100)


def test_changes_are_coalesced_in_executors(server: EngineProcess, kafka: BrokerClient, name: str) -> None:
    """And passed on by tasks that wait for rows: no batch ends here, and no row follows."""
    server.execute(
        f"CREATE TABLE {name}_TIMES AS SELECT n, COUNT(*) AS ids "
        f"FROM (SELECT id, COUNT(*) AS n FROM {name} GROUP BY id) GROUP BY n HAVING COUNT(*) > 0 EMIT CHANGES;",
        **{
            "millstream.batch.duration": "1 hour",
            "ksql.streams.cache.max.bytes.buffering": "10000000",
            "ksql.streams.commit.interval.ms": "1500",
        },
    )
    send(kafka, name, 0, ROWS, 100)
    times = f"{name}_TIMES"

    def last() -> list[Any]:
        """The rows that are not deleted."""
        written = {record.key: record for record in kafka.consume_all(times, kafka.ends(times))}
        return [record.json for record in written.values() if record.value is not None]

    wait_for(lambda: last() == [{"IDS": 100}], "all groups of ids", PATIENCE)
    assert kafka.ends(times) < ROWS // 4


def test_a_record_at_fault_is_in_the_processing_log(server: EngineProcess, kafka: BrokerClient, name: str) -> None:
    server.execute(COPY.format(name))
    kafka.produce(name, '"k"', "no JSON")

    def logged() -> bool:
        entries = rows(kafka, server.processing_log)
        return any(query(server, f"{name}_COPY") in entry["logger"] for entry in entries)

    wait_for(logged, "the entry", PATIENCE)


def test_a_row_that_kafka_refuses_ends_its_query_at_once(server: EngineProcess, kafka: BrokerClient, name: str) -> None:
    """Not only when its batch ends, although no other record comes."""
    kafka.create_topic(f"{name}_COPY", partitions=2, config={"max.message.bytes": "1000"})
    own = {"millstream.batch.duration": "1 hour", "ksql.fail.on.production.error": "true"}
    server.execute(COPY.format(name), **own)
    kafka.produce(name, f'"{"k" * 5000}"', {"v": 1})
    wait_for(lambda: server.state(query(server, f"{name}_COPY")) == "ERROR", "the query fails", PATIENCE)


def test_a_row_that_kafka_refuses_and_its_query_skips_is_in_the_processing_log(
    server: EngineProcess, kafka: BrokerClient, name: str
) -> None:
    """A producer's thread hears of it, which is not a task's."""
    kafka.create_topic(f"{name}_COPY", partitions=2, config={"max.message.bytes": "1000"})
    server.execute(COPY.format(name), **{"ksql.fail.on.production.error": "false"})
    kafka.produce(name, f'"{"k" * 5000}"', {"v": 1})
    kafka.produce(name, '"k"', {"v": 2})
    wait_for_rows(kafka, f"{name}_COPY", 1)

    def logged() -> bool:
        messages = [str(entry["message"]) for entry in rows(kafka, server.processing_log)]
        return any(f"A record is not written to topic {name}_COPY" in message for message in messages)

    wait_for(logged, "the entry", PATIENCE)


def test_a_frozen_driver_has_its_executors_write_no_more(server: EngineProcess, kafka: BrokerClient, name: str) -> None:
    server.execute(COPY.format(name))
    send(kafka, name, 0, 100, 10)
    wait_for_rows(kafka, f"{name}_COPY", 100)
    server.freeze()
    try:
        time.sleep(LEASE_MS / 1000 + 1)
        reached = kafka.ends(f"{name}_COPY")
        send(kafka, name, 100, 100, 10)
        time.sleep(3)
        assert kafka.ends(f"{name}_COPY") == reached, "rows were written after the lease was over"
    finally:
        server.thaw()
    wait_for_rows(kafka, f"{name}_COPY", 200)


def test_orderly_stops_and_an_executor_that_is_killed(
    server: EngineProcess, cluster: SparkCluster, kafka: BrokerClient, name: str
) -> None:
    name_all(kafka, name)
    server.execute("".join(text.format(name) for text in (COPY, COUNT, NAMED)))
    sinks = [f"{name}_{kind}" for kind in ("COPY", "COUNT", "NAMED")]
    ids = [query(server, sink) for sink in sinks]
    for turn in range(3):
        send(kafka, name, turn * 1000, 1000, 50)
        for sink in sinks:
            wait_for_rows(kafka, sink, turn * 1000 + 500)
        server.execute("".join(f"PAUSE {id};" for id in ids))
        # Its state is repartitioned by tasks on the executors.
        server.execute(f"ALTER QUERY {ids[1]} SET TASKS {3 - turn};")
        server.execute("".join(f"RESUME {id};" for id in ids))
    for sink in sinks:
        wait_for_rows(kafka, sink, 3000)
    assert sorted(row["V"] for row in rows(kafka, f"{name}_COPY")) == list(range(3000)), (
        "an orderly stop repeats nothing"
    )
    assert Counter(row["N"] for row in rows(kafka, f"{name}_COUNT")) == dict.fromkeys(range(1, 61), 50)
    send(kafka, name, 3000, 1000, 50)
    wait_for_rows(kafka, f"{name}_COPY", 3500)
    os.kill(executors(cluster)[0], signal.SIGKILL)
    send(kafka, name, 4000, 1000, 50)
    wait_for(lambda: final(kafka, f"{name}_COUNT") == {f'"k{i}"': 100 for i in range(50)}, "exact counts", PATIENCE)
    wait_for(lambda: {row["V"] for row in rows(kafka, f"{name}_COPY")} == set(range(5000)), "every row", PATIENCE)
    wait_for(lambda: {row["V"] for row in rows(kafka, f"{name}_NAMED")} == set(range(5000)), "every join", PATIENCE)
    assert all(row["NAME"] == f"name{row['V'] % 50}" for row in rows(kafka, f"{name}_NAMED"))


def final(kafka: BrokerClient, topic: str) -> dict[str, int]:
    """The last row of each key."""
    records = kafka.consume_all(topic, kafka.ends(topic))
    return {(r.key or b"").decode(): r.json["N"] for r in records}  # type: ignore[index]


def test_exactly_once_while_executors_and_the_driver_are_killed(
    server: EngineProcess, begin: Begin, cluster: SparkCluster, kafka: BrokerClient
) -> None:
    """Rows of both executors are committed with the batch, or never seen. The last test: the server is killed."""
    topic = kafka.create_topic(kafka.source_name("once"), partitions=2)
    once = {"processing.guarantee": "exactly_once_v2", "commit.interval.ms": "1000", "millstream.tasks": "2"}
    # An executor's first record starts the driver's timer: no task waits for the duration of other batches.
    with closing(CountedQueries(kafka, topic)) as queries:
        server.execute(queries.statements, **once, **{"millstream.batch.duration": "1 hour"})
        with queries.load() as load:
            for turn in range(2):
                queries.flow(100)
                os.kill(executors(cluster)[turn], signal.SIGKILL)
            queries.flow(100)
            server.kill()
            second = start(begin, cluster)
            queries.flow(100)
        queries.check(load.written)
    second.clear()
    second.close()
