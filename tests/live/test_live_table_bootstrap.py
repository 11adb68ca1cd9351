"""Streams and tables with a backlog: at a start, and after a restart, a stream's rows find those of the tables."""

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from support.engine_process import EngineProcess
from support.kafka import BrokerClient, wait_for

pytestmark = pytest.mark.live
ROWS = 20_000
# Seconds; a machine may have other things to do.
PATIENCE = 300
DECLARED = """
CREATE STREAM {stream} (id INT KEY, a INT) WITH (kafka_topic='{stream}', format='JSON');
CREATE TABLE {names} (id INT PRIMARY KEY, name STRING) WITH (kafka_topic='{names}', format='JSON');
CREATE TABLE {rooms} (id INT PRIMARY KEY, room STRING) WITH (kafka_topic='{rooms}', format='JSON');
"""
JOINED = """
CREATE STREAM {stream}_J AS SELECT s.id AS id, s.a AS a, n.name AS name, r.room AS room
  FROM {stream} s LEFT JOIN {names} n ON s.id = n.id LEFT JOIN {rooms} r ON s.a = r.id;
"""


@pytest.fixture
def topics(kafka: BrokerClient) -> dict[str, str]:
    """A stream's topic and those of two tables, by what the statements call them."""
    return {name: kafka.create_topic(kafka.source_name(name), partitions=2) for name in ("stream", "names", "rooms")}


def put(kafka: BrokerClient, topic: str, rows: Iterable[tuple[str | None, dict[str, object]]]) -> None:
    """Write rows by key."""
    for key, value in rows:
        kafka.send(topic, key, value, 1_000)
    kafka.flush()


def fill(kafka: BrokerClient, topics: dict[str, str], first: int, name: str) -> None:
    """Rows of the stream, numbered from `first`, each with its own key and room, and their names, written twice."""
    numbers = range(first, first + ROWS)
    put(kafka, topics["stream"], ((str(i % ROWS), {"a": i}) for i in numbers))
    put(kafka, topics["rooms"], ((str(i), {"room": f"room{i}"}) for i in numbers))
    put(kafka, topics["names"], ((str(i % ROWS), {"name": value}) for value in ("old", name) for i in numbers))
    # The last row of a partition may be one that the table leaves out.
    put(kafka, topics["names"], ((None, {"name": "nobody"}) for _ in range(10)))


def answers(kafka: BrokerClient, topic: str, expected: int) -> dict[int, Any]:
    """The joined rows by number, the last one of each, when there are as many as expected."""
    wait_for(lambda: kafka.ends(topic) >= expected, f"{expected} rows in {topic}", PATIENCE)
    joined: dict[int, Any] = {}
    for record in kafka.consume_all(topic, kafka.ends(topic)):
        row: Any = record.json
        joined[int(record.key or b"")] = (row["NAME"], row["ROOM"])
    return joined


def all_named(joined: dict[int, Any], first: int, name: str) -> bool:
    return all(joined[i] == (name, f"room{i}") for i in range(first, first + ROWS))


def test_rows_that_were_in_the_table_first_are_joined(
    begin: Callable[..., EngineProcess], kafka: BrokerClient, topics: dict[str, str]
) -> None:
    fill(kafka, topics, 0, "first")
    server, out = begin("barrier"), f"{topics['stream']}_J"
    server.execute(DECLARED.format(**topics))
    server.execute(JOINED.format(**topics))
    assert all_named(answers(kafka, out, ROWS), 0, "first")
    push_query = "SELECT s.id, n.name FROM {stream} s JOIN {names} n ON s.id = n.id EMIT CHANGES;".format(**topics)
    assert {name for _, name in server.rows(push_query, 1000)} == {"first"}
    server.close()
    fill(kafka, topics, ROWS, "second")
    begin("barrier")
    # It may emit rows of its first run again.
    wait_for(lambda: len(answers(kafka, out, 2 * ROWS)) == 2 * ROWS, "all rows of both lives", PATIENCE)
    assert all_named(answers(kafka, out, 2 * ROWS), ROWS, "second")
