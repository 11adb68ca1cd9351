"""DISTINCT in the aggregates of queries that keep running (docs/reference/queries.md#distinct-in-aggregates)."""

import random
from collections import defaultdict

import pytest

from support.engine_process import EngineProcess
from support.kafka import BrokerClient, TopicRecord
from support.sources import declare

pytestmark = pytest.mark.live
COLUMNS = "id INT KEY, shop STRING, visitor STRING"
SIZE = 10_000


def latest(records: list[TopicRecord]) -> dict[bytes | None, tuple[object, ...]]:
    """The last value of each key."""
    return {r.key: tuple(r.json.values()) for r in records}


def test_values_that_a_group_has_had_are_known_after_a_pause(server: EngineProcess, kafka: BrokerClient) -> None:
    name, topic = declare(server.execute, kafka, COLUMNS, 2)
    select = f"SELECT shop, COUNT(DISTINCT visitor) AS visitors, COUNT(*) AS n FROM {name} GROUP BY shop"
    (created,) = server.execute(f"CREATE TABLE {name}_N AS {select};")
    for id, visitor in enumerate(["ann", "bob", "ann"]):
        kafka.produce(topic, str(id), {"shop": "x", "visitor": visitor}, id)
    assert latest(kafka.consume_all(f"{name}_N", 3)) == {b'"x"': (2, 3)}
    id = created["commandStatus"]["queryId"]
    server.execute(f"PAUSE {id};")
    for id, visitor in enumerate(["bob", "cy"]):
        kafka.produce(topic, str(id), {"shop": "x", "visitor": visitor}, 10 + id)
    server.execute(f"RESUME {created['commandStatus']['queryId']};")
    assert latest(kafka.consume_all(f"{name}_N", 5)) == {b'"x"': (3, 5)}


def test_windows_count_each_value_once(server: EngineProcess, kafka: BrokerClient) -> None:
    """Rows of one group come from three partitions, two columns are distinct, and the window's end is its own row."""
    name, topic = declare(server.execute, kafka, COLUMNS, 3)
    server.execute(
        f"CREATE TABLE {name}_N AS SELECT shop, COUNT(DISTINCT visitor) AS visitors, COUNT(DISTINCT id % 5) AS fifths, "
        f"COUNT(*) AS n FROM {name} WINDOW TUMBLING (SIZE 10 SECONDS, GRACE PERIOD 1 MINUTE) GROUP BY shop EMIT FINAL;"
    )
    choose = random.Random(7)
    visitors, fifths, n = defaultdict(set), defaultdict(set), defaultdict(int)
    for id in range(600):
        shop, visitor, time = choose.choice("xyz"), str(choose.randrange(40)), 1 + id * 50 + choose.randrange(5_000)
        window = (f'"{shop}"'.encode(), time // SIZE * SIZE)
        visitors[window].add(visitor)
        fifths[window].add(id % 5)
        n[window] += 1
        kafka.send(topic, str(id), b'{"SHOP": "%s", "VISITOR": "%s"}' % (shop.encode(), visitor.encode()), time)
    kafka.flush()
    for id in range(60):
        kafka.produce(topic, str(id), {"shop": "end", "visitor": "end"}, 10_000_000)
    records = kafka.consume_all(f"{name}_N", len(n))
    counted = {((r.key or b"")[:-8], r.window_start): tuple(r.json.values()) for r in records}
    assert counted == {window: (len(visitors[window]), len(fifths[window]), n[window]) for window in n}
