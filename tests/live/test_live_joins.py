"""Joins through a real broker and real-time mode: every kind, chains, and a group after a join."""

from collections.abc import Callable
from typing import Any

import pytest

from support.engine_process import EngineProcess
from support.kafka import BrokerClient, wait_for
from support.sources import declare

pytestmark = pytest.mark.live
Put = Callable[..., None]


def join_input(server: EngineProcess, kafka: BrokerClient, kind: str, partitions: int = 1) -> tuple[str, Put]:
    """A new stream or table (ID INT, G INT, V STRING), and what puts a row into its topic."""
    key = "PRIMARY KEY" if kind == "TABLE" else "KEY"
    name, topic = declare(server.execute, kafka, f"id INT {key}, g INT, v STRING", partitions, kind)

    def put(key: int, v: str | None, time: int = 1, g: int | None = None) -> None:
        kafka.produce(topic, str(key), None if v is None else {"g": g, "v": v}, time)

    return name, put


def rows(kafka: BrokerClient, topic: str, count: int) -> list[tuple[Any, ...]]:
    """The first records: key, the values in order (None: a tombstone), time."""
    records = kafka.consume_all(topic, count)
    return [(r.key, None if r.json is None else tuple(r.json.values()), r.timestamp) for r in records]


def put_until(kafka: BrokerClient, topic: str, put: Callable[[], None]) -> None:
    """Write rows until one is joined: a table joins rows that arrive after it was read."""

    def is_joined() -> bool:
        put()
        return kafka.ends(topic) > 0

    wait_for(is_joined, f"a row in {topic}")


def test_a_stream_looks_up_the_tables_row_of_the_moment(server: EngineProcess, kafka: BrokerClient) -> None:
    (stream, event), (table, row) = join_input(server, kafka, "STREAM", 2), join_input(server, kafka, "TABLE", 2)
    server.execute(
        f"CREATE STREAM {stream}_J AS SELECT s.g, s.v AS l, t.v AS r FROM {stream} s JOIN {table} t ON s.g = t.id;"
    )
    row(7, "seven", 50)
    put_until(kafka, f"{stream}_J", lambda: event(1, "a", 20, g=7))
    assert rows(kafka, f"{stream}_J", 1) == [(b"7", ("a", "seven"), 20)]


def test_table_table_join_emits_each_change_of_either(server: EngineProcess, kafka: BrokerClient) -> None:
    (left, one), (right, two) = join_input(server, kafka, "TABLE"), join_input(server, kafka, "TABLE")
    server.execute(
        f"CREATE TABLE {left}_J AS SELECT ROWKEY, l.v AS l, r.v AS r FROM {left} l FULL JOIN {right} r ON l.id = r.id;"
    )
    steps = [(one, "a", 10), (two, "x", 5), (one, None, 20), (two, None, 30)]
    expected = [("a", None), ("a", "x"), (None, "x"), None]
    for count, (put, value, time) in enumerate(steps, 1):
        put(1, value, time)
        assert [r[1] for r in rows(kafka, f"{left}_J", count)] == expected[:count]
    assert [r[2] for r in rows(kafka, f"{left}_J", 4)] == [10, 10, 20, 30]


def test_stream_stream_join_emits_matches_and_then_unmatched_rows(server: EngineProcess, kafka: BrokerClient) -> None:
    (left, one), (right, two) = join_input(server, kafka, "STREAM"), join_input(server, kafka, "STREAM", 3)
    server.execute(
        f"CREATE STREAM {left}_J AS SELECT l.id, l.v AS l, r.v AS r FROM {left} l LEFT JOIN {right} r "
        "WITHIN 2 SECONDS GRACE PERIOD 1 SECOND ON l.id = r.id;"
    )
    one(1, "a", 1_000)
    two(1, "x", 3_000)
    assert rows(kafka, f"{left}_J", 1) == [(b"1", ("a", "x"), 3_000)]
    one(1, "b", 6_000)
    two(1, "y", 100_000)
    assert rows(kafka, f"{left}_J", 2)[1] == (b"1", ("b", None), 6_000)


def test_a_foreign_key_join_emits_changes_of_both_tables(server: EngineProcess, kafka: BrokerClient) -> None:
    (left, one), (right, two) = join_input(server, kafka, "TABLE"), join_input(server, kafka, "TABLE", 2)
    server.execute(
        f"CREATE TABLE {left}_J AS SELECT l.id, l.v AS l, r.v AS r FROM {left} l LEFT JOIN {right} r ON l.g = r.id;"
    )
    one(1, "a", 10, g=7)
    assert rows(kafka, f"{left}_J", 1) == [(b"1", ("a", None), 10)]
    two(7, "seven", 5)
    assert rows(kafka, f"{left}_J", 2)[1] == (b"1", ("a", "seven"), 5)
    two(8, "eight", 5)
    one(1, "b", 20, g=8)
    wait_for(lambda: rows(kafka, f"{left}_J", kafka.ends(f"{left}_J"))[-1][1] == ("b", "eight"), "the other row")
    end = kafka.ends(f"{left}_J")
    one(1, None, 30)
    assert rows(kafka, f"{left}_J", end + 1)[-1] == (b"1", None, 30)


def test_a_chain_of_joins_and_a_group_after_it(server: EngineProcess, kafka: BrokerClient) -> None:
    (first, one), (second, two) = join_input(server, kafka, "STREAM"), join_input(server, kafka, "STREAM")
    table, row = join_input(server, kafka, "TABLE")
    server.execute(
        f"CREATE TABLE {first}_J AS SELECT t.v AS name, COUNT(*) AS n FROM {first} a "
        f"JOIN {second} b WITHIN 1 HOUR ON a.id = b.id JOIN {table} t ON b.g = t.id GROUP BY t.v;"
    )
    row(7, "seven")
    one(1, "a", 1_000)
    put_until(kafka, f"{first}_J", lambda: two(1, "b", 2_000, g=7))
    (row_of_seven, *_) = rows(kafka, f"{first}_J", 1)
    assert row_of_seven == (b'"seven"', (1,), 2_000)


def test_a_stream_looks_up_a_table_by_two_columns(server: EngineProcess, kafka: BrokerClient) -> None:
    """The table is a GROUP BY of two; its topic and the stream's have other numbers of partitions."""
    (stream, _), (other, counted) = join_input(server, kafka, "STREAM", 3), join_input(server, kafka, "STREAM", 2)
    server.execute(
        f"CREATE TABLE {other}_N WITH (key_format='JSON') AS SELECT g, v, COUNT(*) AS n FROM {other} GROUP BY g, v;"
        f"CREATE STREAM {stream}_J WITH (key_format='JSON') AS SELECT s.g AS g, s.v AS v, s.id AS id, n "
        f"FROM {stream} s JOIN {other}_N t ON s.v = t.v AND s.g = t.g;"
    )
    for v, g in (("a", 1), ("b", 1), ("a", 2)):
        counted(1, v, 10, g=g)
    kafka.consume_all(f"{other}_N", 3)

    def join() -> None:
        for id, (v, g) in enumerate([("a", 1), ("b", 2), (None, 1), ("a", 2)]):
            kafka.produce(stream.lower().replace("_", "-"), str(id), {"g": g, "v": v}, 20)

    put_until(kafka, f"{stream}_J", join)
    joined = kafka.consume_all(f"{stream}_J", 2)
    assert {(r.key, r.timestamp) for r in joined} <= {(b'{"G":1,"V":"a"}', 20), (b'{"G":2,"V":"a"}', 20)}
    assert {(r.json["ID"], r.json["N"]) for r in joined} <= {(0, 1), (3, 1)}
