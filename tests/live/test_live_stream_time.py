"""Stream time where rows come from several partitions or sources: what is late, and what is only read later."""

from collections.abc import Iterable

import pytest

from support.engine_process import EngineProcess
from support.kafka import BrokerClient, TopicRecord
from support.sources import declare

pytestmark = pytest.mark.live
COLUMNS = "id STRING KEY, v INT"
# Windows of ten seconds that stream time closes at once.
WINDOW = "TUMBLING (SIZE 10 SECONDS, GRACE PERIOD 0 SECONDS)"
HOPPING = "HOPPING (SIZE 10 SECONDS, ADVANCE BY 5 SECONDS, RETENTION 1 HOUR, GRACE PERIOD 0 SECONDS)"


def counting(name: str, emit: str, by: str = "'all'", window: str = WINDOW) -> str:
    """The statement that counts in windows, over all partitions unless `by` is the source's key."""
    selected = f"SELECT {by} AS g, COUNT(*) AS n FROM {name} WINDOW {window} GROUP BY {by} EMIT {emit}"
    return f"CREATE TABLE {name}_T AS {selected};"


def send(kafka: BrokerClient, topic: str, partition: int, times: Iterable[int]) -> None:
    """Records of those times in ms, of one key a partition."""
    for time in times:
        kafka.produce(topic, f'"{partition}"', {"v": 1}, time, partition=partition)


def windows(records: Iterable[TopicRecord]) -> list[tuple[int, int]]:
    """The start in ms and the count of each record's window, sorted: the sink has several partitions."""
    return sorted((r.window_start, r.json["N"]) for r in records)


def test_a_final_window_of_several_partitions_is_written_once(server: EngineProcess, kafka: BrokerClient) -> None:
    """Partition 1's rows come when partition 0 has closed their window: they are late."""
    name, topic = declare(server.execute, kafka, COLUMNS, 2)
    server.execute(counting(name, "FINAL"))
    send(kafka, topic, 0, (1_000, 61_000))
    assert windows(kafka.consume_all(f"{name}_T", 1)) == [(0, 1)]
    send(kafka, topic, 1, (2_000, 3_000, 72_000))
    assert windows(kafka.consume_all(f"{name}_T", 2)) == [(0, 1), (60_000, 1)]
    send(kafka, topic, 0, (99_000,))
    assert windows(kafka.consume_all(f"{name}_T", 3)) == [(0, 1), (60_000, 1), (70_000, 1)]


def test_a_window_that_is_closed_is_not_begun_again(server: EngineProcess, kafka: BrokerClient) -> None:
    name, topic = declare(server.execute, kafka, COLUMNS, 2)
    server.execute(counting(name, "CHANGES"))
    send(kafka, topic, 0, (1_000, 2_000, 61_000))
    assert windows(kafka.consume_all(f"{name}_T", 3)) == [(0, 1), (0, 2), (60_000, 1)]
    send(kafka, topic, 1, (3_000, 62_000))
    assert windows(kafka.consume_all(f"{name}_T", 4)) == [(0, 1), (0, 2), (60_000, 1), (60_000, 2)]


@pytest.mark.parametrize(("window", "step"), [(WINDOW, 10_000), (HOPPING, 5_000)])
def test_rows_that_were_there_before_the_query_are_not_late(
    server: EngineProcess, kafka: BrokerClient, window: str, step: int
) -> None:
    """Whichever partition is read first: none of a backlog's rows is late for the reading of another partition."""
    name, topic = declare(server.execute, kafka, COLUMNS, 2)
    first, second = range(1_000, 400_000, 1_000), range(1_500, 380_000, 500)
    for partition, times in enumerate((first, second)):
        for time in times:
            kafka.send(topic, f'"{partition}"', {"v": 1}, time, partition=partition)
    kafka.flush()
    server.execute(counting(name, "FINAL", window=window))
    all_times = (*first, *second)
    counts = {start: sum(start <= t < start + 10_000 for t in all_times) for start in range(0, 389_001, step)}
    assert windows(kafka.consume_all(f"{name}_T", len(counts))) == list(counts.items())


def test_a_backlog_is_read_though_its_last_record_is_left_out(server: EngineProcess, kafka: BrokerClient) -> None:
    """Stream time must not wait for the partition whose last record a WHERE leaves out."""
    name, topic = declare(server.execute, kafka, COLUMNS, 2)
    for partition, times in enumerate(((1_000, 61_000, 99_000), (2_000, 3_000))):
        send(kafka, topic, partition, times)
    kafka.produce(topic, '"1"', {"v": 2}, 3_500, partition=1)
    counts = f"SELECT 'all' AS g, COUNT(*) AS n FROM {name} WINDOW {WINDOW} WHERE v = 1 GROUP BY 'all' EMIT FINAL"
    server.execute(f"CREATE TABLE {name}_T AS {counts};")
    assert windows(kafka.consume_all(f"{name}_T", 2)) == [(0, 3), (60_000, 1)]


def test_groups_by_the_key_have_the_stream_time_of_their_partition(server: EngineProcess, kafka: BrokerClient) -> None:
    name, topic = declare(server.execute, kafka, COLUMNS, 2)
    server.execute(counting(name, "FINAL", by="id"))
    send(kafka, topic, 0, (1_000, 61_000))
    assert windows(kafka.consume_all(f"{name}_T", 1)) == [(0, 1)]
    send(kafka, topic, 1, (2_000, 3_000, 72_000))
    assert windows(kafka.consume_all(f"{name}_T", 2)) == [(0, 1), (0, 2)]


def joined(left: str, right: str, kind: str = "INNER", key: str = "l.id", tasks: int = 2) -> str:
    """The statement that joins two streams whose rows are at most a second apart."""
    return (
        f"CREATE STREAM {left}_J WITH (tasks={tasks}) AS SELECT {key} AS id, l.v AS v, r.v AS w FROM {left} l "
        f"{kind} JOIN {right} r WITHIN 1 SECOND GRACE PERIOD 0 SECONDS ON l.id = r.id EMIT CHANGES;"
    )


@pytest.mark.parametrize(
    ("kind", "key", "partitions"), [("INNER", "l.id", 1), ("LEFT", "l.id", 2), ("FULL OUTER", "ROWKEY", 1)]
)
def test_streams_with_a_backlog_are_joined_whole(
    server: EngineProcess, kafka: BrokerClient, kind: str, key: str, partitions: int
) -> None:
    """Nine of ten rows of the left stream have a match in the right one, whichever is read first."""
    left, right = (declare(server.execute, kafka, COLUMNS, partitions) for _ in "lr")
    matched = {i: i for i in range(2_000) if i % 10 != 5}
    for (_, topic), ids in ((left, range(2_000)), (right, matched)):
        for i in ids:
            kafka.send(topic, f'"{i}"', {"v": i}, 1_000_000 + 1_000 * i, partition=i % partitions)
    kafka.flush()
    server.execute(joined(left[0], right[0], kind, key))
    expected = matched if kind == "INNER" else {i: matched.get(i) for i in range(2_000)}
    rows = [record.json for record in kafka.consume_all(f"{left[0]}_J", len(expected))]
    assert {row["V"]: row["W"] for row in rows if isinstance(row, dict)} == expected


def test_a_row_with_a_null_key_moves_no_stream_time_of_a_join(server: EngineProcess, kafka: BrokerClient) -> None:
    left, right = (declare(server.execute, kafka, COLUMNS) for _ in "lr")
    server.execute(joined(left[0], right[0]))
    for _, topic in (left, right):
        kafka.produce(topic, None, {"v": 0}, 61_000)
    for time in (1_000, 91_000):
        for _, topic in (left, right):
            kafka.produce(topic, '"1"', {"v": time}, time)
    rows = [record.json for record in kafka.consume_all(f"{left[0]}_J", 1)]
    assert rows == [{"V": 1_000, "W": 1_000}]


def test_a_join_does_not_wait_for_a_quiet_stream_that_other_queries_read_too(
    server: EngineProcess, kafka: BrokerClient
) -> None:
    """One of them waits for the stream's first record, in the scan that all share (SharedScans.scala)."""
    (name, _), (other, right) = (declare(server.execute, kafka, COLUMNS) for _ in "lr")
    for copy in "AB":
        server.execute(f"CREATE STREAM {name}_{copy} AS SELECT * FROM {name};")
    server.execute(joined(name, other, "FULL OUTER", "ROWKEY", tasks=1))
    send(kafka, right, 0, (1_000, 61_000))
    assert [record.json for record in kafka.consume_all(f"{name}_J", 1)] == [{"V": None, "W": 1}]


def test_streams_are_joined_whole_when_they_burst(server: EngineProcess, kafka: BrokerClient) -> None:
    """Each of three bursts has rows of an hour and more, and one stream is read faster than the other."""
    left, right = (declare(server.execute, kafka, COLUMNS, 2) for _ in "lr")
    server.execute(joined(left[0], right[0]), **{"ksql.streams.max.task.idle.ms": "10000"})
    for count in (5_000, 10_000, 15_000):
        for i in range(count - 5_000, count):
            for _, topic in (left, right):
                kafka.send(topic, f'"{i}"', {"v": i}, 1_000_000 + 1_000 * i, partition=i % 2)
        kafka.flush()
        rows = [record.json for record in kafka.consume_all(f"{left[0]}_J", count)]
        assert sorted(row["V"] for row in rows if isinstance(row, dict)) == list(range(count))


def test_a_row_that_is_late_on_its_own_side_is_not_joined_though_the_other_side_is_behind(
    server: EngineProcess, kafka: BrokerClient
) -> None:
    (name, left), (other, right) = (declare(server.execute, kafka, COLUMNS) for _ in "lr")
    server.execute(joined(name, other, tasks=1), **{"ksql.streams.max.task.idle.ms": "5000"})

    def sent(*rows: tuple[str, str, int]) -> None:
        for topic, key, time in rows:
            kafka.produce(topic, f'"{key}"', {"v": time}, 1_000 * time)

    # For five seconds stream time is at most 5. When "read" is joined, the left side has read "k" at 12.
    sent((right, "k", 5), (right, "read", 100), (left, "k", 10), (left, "k", 100), (left, "k", 12), (left, "read", 100))
    kafka.consume_all(f"{name}_J", 1)
    sent((right, "k", 12), (right, "k", 100))
    rows = [record.json for record in kafka.consume_all(f"{name}_J", 2)]
    assert [(row["V"], row["W"]) for row in rows if isinstance(row, dict)] == [(100, 100), (100, 100)]


def declare_union(server: EngineProcess, kafka: BrokerClient) -> tuple[str, str]:
    """The name of a new stream, and the text of a union of it with another one, read in the same time.

    The other stream has the ids up to 20,000, a second apart, and the new one each hundredth of them.
    """
    few, many = (declare(server.execute, kafka, COLUMNS) for _ in "fm")
    for (_, topic), ids in ((few, range(0, 20_000, 100)), (many, range(20_000))):
        for id in ids:
            kafka.send(topic, f'"{id}"', {"v": id}, 1_000_000 + 1_000 * id)
    kafka.flush()
    return few[0], f"SELECT id, v FROM {few[0]} UNION ALL SELECT id, v FROM {many[0]}"


def test_rows_of_a_union_with_a_backlog_are_not_late(server: EngineProcess, kafka: BrokerClient) -> None:
    """The stream with few rows is read long before the other one, whose windows it would close."""
    name, union = declare_union(server, kafka)
    counted = (
        f"SELECT 'all' AS g, COUNT(*) AS n FROM ({union}) WINDOW TUMBLING (SIZE 200 SECONDS, GRACE PERIOD 0 SECONDS)"
    )
    server.execute(f"CREATE TABLE {name}_T AS {counted} GROUP BY 'all' EMIT FINAL;")
    assert windows(kafka.consume_all(f"{name}_T", 99)) == [(1_000_000 + 200_000 * i, 202) for i in range(99)]


def test_groups_of_a_union_do_not_expire_while_its_backlog_is_read(server: EngineProcess, kafka: BrokerClient) -> None:
    """A group has a row of each stream at the same time, and expires a hundred seconds later."""
    name, union = declare_union(server, kafka)
    ttl = "WITH (state_ttl='100 SECONDS')"
    pairs = f"SELECT id, COUNT(*) AS n FROM ({union}) WHERE v % 100 = 0 GROUP BY id"
    server.execute(f"CREATE TABLE {name}_T {ttl} AS {pairs};")
    server.execute(f"CREATE STREAM {name}_D {ttl} AS SELECT DISTINCT * FROM ({union}) WHERE v % 100 = 0;")
    once = kafka.consume_all(f"{name}_D", 200)
    assert sorted(r.json["V"] for r in once) == list(range(0, 20_000, 100))
    counts = [r.json["N"] for r in kafka.consume_all(f"{name}_T", 200 + 200 + 198) if r.value is not None]
    assert sorted(counts) == [1] * 200 + [2] * 200


def test_a_union_with_a_backlog_is_joined_whole(server: EngineProcess, kafka: BrokerClient) -> None:
    """Each row of the union has a match, whichever stream is read first."""
    name, union = declare_union(server, kafka)
    other, topic = declare(server.execute, kafka, COLUMNS)
    for id in range(20_000):
        kafka.send(topic, f'"{id}"', {"v": id}, 1_000_000 + 1_000 * id)
    kafka.flush()
    joined = f"({union}) u LEFT JOIN {other} o WITHIN 1 SECOND GRACE PERIOD 0 SECONDS ON u.id = o.id"
    server.execute(f"CREATE STREAM {name}_J AS SELECT u.id AS id, u.v AS v, o.v AS w FROM {joined};")
    rows = [record.json for record in kafka.consume_all(f"{name}_J", 20_200)]
    assert sorted(row["V"] for row in rows) == sorted([*range(20_000), *range(0, 20_000, 100)])
    assert [row for row in rows if row["W"] != row["V"]] == []


def test_a_push_query_counts_all_rows_of_a_union_with_a_backlog(server: EngineProcess, kafka: BrokerClient) -> None:
    _, union = declare_union(server, kafka)
    final = (
        f"SELECT 'all' AS g, COUNT(*) AS n FROM ({union}) WINDOW TUMBLING (SIZE 200 SECONDS, GRACE PERIOD 0 SECONDS)"
    )
    rows = server.rows(f"{final} GROUP BY 'all' EMIT FINAL LIMIT 99;", 99)
    assert rows == [["all", 202]] * 99
