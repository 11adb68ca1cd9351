"""Stream time in chains of operators, windows over joins and joins of joins.

The rows of a partition pass several tasks of the first join. No row is late because another task was faster.
"""

from collections.abc import Iterable

import pytest

from support.engine_process import EngineProcess
from support.kafka import BrokerClient

pytestmark = pytest.mark.live
IDS = range(6_000)
# The server would trim the first windows' rows every few minutes if they were kept for a shorter time.
WINDOW = "TUMBLING (SIZE 100 {}, RETENTION 2 DAYS, GRACE PERIOD 0 SECONDS)"


def declare(server: EngineProcess, kafka: BrokerClient, ids: Iterable[int], kind: str = "STREAM") -> str:
    """The name of a new stream or table with the ids as keys and as V, a second apart."""
    topic = kafka.create_topic(kafka.unique().replace("-", "_").upper(), partitions=2)
    key = "STRING KEY" if kind == "STREAM" else "STRING PRIMARY KEY"
    server.execute(f"CREATE {kind} {topic} (id {key}, v INT) WITH (kafka_topic='{topic}', format='JSON');")
    put(kafka, topic, ids)
    return topic


def put(kafka: BrokerClient, topic: str, ids: Iterable[int]) -> None:
    for id in ids:
        kafka.send(topic, f'"{id}"', {"v": id}, 1_000_000 + 1_000 * id, partition=id % 2)
    kafka.flush()


def counted(server: EngineProcess, kafka: BrokerClient, name: str, source: str, group: str = "'all'") -> list[int]:
    """The final count of each window of a hundred seconds but the last of the source, whose rows are a second apart."""
    window = WINDOW.format("SECONDS")
    counts = f"SELECT {group} AS g, COUNT(*) AS n FROM {source} WINDOW {window} GROUP BY {group} EMIT FINAL"
    server.execute(f"CREATE TABLE {name}_T AS {counts};")
    rows = 100 if group != "'all'" else 1
    return [record.json["N"] for record in kafka.consume_all(f"{name}_T", rows * (len(IDS) // 100 - 1))]


def test_windows_over_a_join_with_a_table(server: EngineProcess, kafka: BrokerClient) -> None:
    stream, table = declare(server, kafka, IDS), declare(server, kafka, IDS[::3], "TABLE")
    join = f"{stream} s LEFT JOIN {table} t ON s.id = t.id"
    assert counted(server, kafka, stream, join) == [100] * (len(IDS) // 100 - 1)


def test_windows_of_each_key_over_a_join_with_a_table(server: EngineProcess, kafka: BrokerClient) -> None:
    """Rows of one partition pass several tasks of the join. A window has one row of each key."""
    stream, table = declare(server, kafka, IDS), declare(server, kafka, IDS[::3], "TABLE")
    join = f"{stream} s LEFT JOIN {table} t ON s.id = t.id"
    assert counted(server, kafka, stream, join, "s.id") == [1] * (len(IDS) - 100)


def test_windows_over_a_join_by_the_time_of_a_column(server: EngineProcess, kafka: BrokerClient) -> None:
    """Records are younger than their rows: their times say nothing of stream time."""
    stream, table = declare(server, kafka, IDS), declare(server, kafka, IDS[::3], "TABLE")
    server.execute(
        f"CREATE STREAM {stream}_S (id STRING KEY, v BIGINT) "
        f"WITH (kafka_topic='{stream}', format='JSON', timestamp='v');"
    )
    window = WINDOW.format("MILLISECONDS")
    server.execute(
        f"CREATE TABLE {stream}_T AS SELECT 'all' AS g, COUNT(*) AS n FROM {stream}_S s "
        f"LEFT JOIN {table} t ON s.id = t.id WINDOW {window} GROUP BY 'all' EMIT FINAL;"
    )
    counts = [record.json["N"] for record in kafka.consume_all(f"{stream}_T", len(IDS) // 100 - 1)]
    assert counts == [100] * (len(IDS) // 100 - 1)


def test_windows_over_a_join_of_streams(server: EngineProcess, kafka: BrokerClient) -> None:
    left, right = (declare(server, kafka, IDS) for _ in "lr")
    join = f"{left} l JOIN {right} r WITHIN 1 SECOND GRACE PERIOD 0 SECONDS ON l.id = r.id"
    assert counted(server, kafka, left, join) == [100] * (len(IDS) // 100 - 1)


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
    window = WINDOW.format("MILLISECONDS" if time else "SECONDS")
    server.execute(
        f"CREATE TABLE {stream}_T WITH (tasks={tasks}) AS SELECT 'all' AS g, COUNT(*) AS n FROM {stream}_S s "
        f"LEFT JOIN {table} t ON s.id = t.id WINDOW {window} GROUP BY 'all' EMIT FINAL;"
    )
    count = 40_000
    put(kafka, stream, [0, 200])
    assert [record.json["N"] for record in kafka.consume_all(f"{stream}_T", 1)] == [1]
    for id in range(200, count, 2):
        kafka.send(stream, f'"{id}"', {"v": id}, 1_000_000 + 1_000 * id, partition=0)
    kafka.flush()
    counts = [record.json["N"] for record in kafka.consume_all(f"{stream}_T", count // 100 - 2)]
    assert sum(counts) == 1 + 1 + (count - 200 - 100) // 2
