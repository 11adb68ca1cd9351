"""Stream time in chains of operators, windows over joins and joins of joins.

The rows of a partition pass several tasks of the first join. No row is late because another task was faster.
"""

from collections.abc import Iterable

import pytest

from support.engine_process import EngineProcess
from support.kafka import BrokerClient

pytestmark = pytest.mark.live
IDS = range(6_000)
WINDOW = "TUMBLING (SIZE 100 {}, RETENTION 2 DAYS, GRACE PERIOD 0 SECONDS)"
OF_SECONDS, OF_MILLISECONDS = WINDOW.format("SECONDS"), WINDOW.format("MILLISECONDS")
# The windows of IDS that are closed: the last one is not.
CLOSED = len(IDS) // 100 - 1


def declare(server: EngineProcess, kafka: BrokerClient, ids: Iterable[int], kind: str = "STREAM") -> str:
    """The name of a new stream or table with the ids as keys and as V, a second apart."""
    topic = kafka.create_topic(kafka.source_name(), partitions=2)
    key = "STRING KEY" if kind == "STREAM" else "STRING PRIMARY KEY"
    server.execute(f"CREATE {kind} {topic} (id {key}, v INT) WITH (kafka_topic='{topic}', format='JSON');")
    put(kafka, topic, ids)
    return topic


def put(kafka: BrokerClient, topic: str, ids: Iterable[int]) -> None:
    for id in ids:
        kafka.send(topic, f'"{id}"', {"v": id}, 1_000_000 + 1_000 * id, partition=id % 2)
    kafka.flush()


def count(
    server: EngineProcess, name: str, source: str, group: str = "'all'", window: str = OF_SECONDS, tasks: int = 2
) -> str:
    """The topic of a new table with the final count of each window."""
    server.execute(
        f"CREATE TABLE {name}_T WITH (tasks={tasks}) AS SELECT {group} AS g, COUNT(*) AS n FROM {source} "
        f"WINDOW {window} GROUP BY {group} EMIT FINAL;"
    )
    return f"{name}_T"


def counts(kafka: BrokerClient, topic: str, rows: int) -> list[int]:
    return [record.json["N"] for record in kafka.consume_all(topic, rows)]


def joined_with_a_table(server: EngineProcess, kafka: BrokerClient) -> tuple[str, str]:
    """A stream of the ids, and its join with a table."""
    stream, table = declare(server, kafka, IDS), declare(server, kafka, IDS[::3], "TABLE")
    return stream, f"{stream} s LEFT JOIN {table} t ON s.id = t.id"


def test_windows_over_a_join_with_a_table(server: EngineProcess, kafka: BrokerClient) -> None:
    topic = count(server, *joined_with_a_table(server, kafka))
    assert counts(kafka, topic, CLOSED) == [100] * CLOSED


def test_windows_of_each_key_over_a_join_with_a_table(server: EngineProcess, kafka: BrokerClient) -> None:
    """Rows of one partition pass several tasks of the join. A window has one row of each key."""
    topic = count(server, *joined_with_a_table(server, kafka), group="s.id")
    assert counts(kafka, topic, 100 * CLOSED) == [1] * 100 * CLOSED


def test_groups_by_the_key_of_a_join_have_the_stream_time_of_their_partition(
    server: EngineProcess, kafka: BrokerClient
) -> None:
    """Rows of partition 0 come when partition 1 has closed their window: they are not late."""
    stream, table = declare(server, kafka, []), declare(server, kafka, IDS[:10], "TABLE")
    join = f"{stream} s LEFT JOIN {table} t ON s.id = t.id"
    topic = count(server, stream, join, group="s.id", window="TUMBLING (SIZE 10 SECONDS, GRACE PERIOD 0 SECONDS)")
    put(kafka, stream, [1, 61])
    assert counts(kafka, topic, 1) == [1]
    put(kafka, stream, [2, 4, 72])
    assert counts(kafka, topic, 3) == [1, 1, 1]


def test_windows_with_a_grace_period_over_a_join_with_a_table(server: EngineProcess, kafka: BrokerClient) -> None:
    """A watermark moves stream time over many windows at once: none of them is too old to be written for that."""
    window = "TUMBLING (SIZE 10 SECONDS, GRACE PERIOD 5 SECONDS)"
    topic = count(server, *joined_with_a_table(server, kafka), window=window)
    # The last window's grace period has not passed.
    closed = len(IDS) // 10 - 1
    assert counts(kafka, topic, closed) == [10] * closed


def test_windows_over_a_join_by_the_time_of_a_column(server: EngineProcess, kafka: BrokerClient) -> None:
    """Records are younger than their rows: their times say nothing of stream time."""
    stream, table = declare(server, kafka, IDS), declare(server, kafka, IDS[::3], "TABLE")
    server.execute(
        f"CREATE STREAM {stream}_S (id STRING KEY, v BIGINT) "
        f"WITH (kafka_topic='{stream}', format='JSON', timestamp='v');"
    )
    topic = count(server, stream, f"{stream}_S s LEFT JOIN {table} t ON s.id = t.id", window=OF_MILLISECONDS)
    assert counts(kafka, topic, CLOSED) == [100] * CLOSED


def test_windows_over_a_join_of_streams(server: EngineProcess, kafka: BrokerClient) -> None:
    left, right = (declare(server, kafka, IDS) for _ in "lr")
    join = f"{left} l JOIN {right} r WITHIN 1 SECOND GRACE PERIOD 0 SECONDS ON l.id = r.id"
    assert counts(kafka, count(server, left, join), CLOSED) == [100] * CLOSED


@pytest.mark.parametrize("kind", ["INNER", "LEFT"])
def test_three_streams(server: EngineProcess, kafka: BrokerClient, kind: str) -> None:
    """Two of three rows of the first stream have a match in the second one, every second row in the third one.

    A row without a match leaves the first join when stream time has passed its window, so the second one waits longer.
    """
    first, second, third = (declare(server, kafka, ids) for ids in (IDS, [i for i in IDS if i % 3], IDS[::2]))
    within, later = (f"WITHIN 1 SECOND GRACE PERIOD {grace} SECONDS" for grace in (0, 10))
    server.execute(
        f"CREATE STREAM {first}_J AS SELECT a.id AS id, a.v AS v, b.v AS b, c.v AS c FROM {first} a "
        f"{kind} JOIN {second} b {within} ON a.id = b.id {kind} JOIN {third} c {later} ON a.id = c.id;"
    )
    expected = {i: (i if i % 3 else None, None if i % 2 else i) for i in IDS}
    if kind == "INNER":
        expected = {i: pair for i, pair in expected.items() if None not in pair}
    else:
        # Of odd rows, which have no match in the third stream, the last ones still wait.
        expected = {i: pair for i, pair in expected.items() if i % 2 == 0 or i + 11 < IDS[-1]}
    rows = [record.json for record in kafka.consume_all(f"{first}_J", len(expected))]
    assert {row["V"]: (row["B"], row["C"]) for row in rows} == expected


@pytest.mark.parametrize(("time", "tasks"), [("", 2), (", timestamp='v'", 3), ("", 1)])
def test_a_burst_while_the_query_runs(server: EngineProcess, kafka: BrokerClient, time: str, tasks: int) -> None:
    """More rows than channels hold: one task of the join is some thousand rows ahead of another."""
    stream, table = declare(server, kafka, []), declare(server, kafka, IDS[:100], "TABLE")
    server.execute(
        f"CREATE STREAM {stream}_S (id STRING KEY, v BIGINT) WITH (kafka_topic='{stream}', format='JSON'{time});"
    )
    join = f"{stream}_S s LEFT JOIN {table} t ON s.id = t.id"
    topic = count(server, stream, join, window=OF_MILLISECONDS if time else OF_SECONDS, tasks=tasks)
    put(kafka, stream, [0, 200])
    assert counts(kafka, topic, 1) == [1]
    end = 40_000
    for id in range(200, end, 2):
        kafka.send(stream, f'"{id}"', {"v": id}, 1_000_000 + 1_000 * id, partition=0)
    kafka.flush()
    # One row of the first window, one that was sent before the burst, and the burst without the last, open window.
    assert sum(counts(kafka, topic, end // 100 - 2)) == 1 + 1 + (end - 200 - 100) // 2
