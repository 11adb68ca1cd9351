"""Aggregates with OVER: each row with those before it (docs/reference/queries.md#rows-before-a-row)."""

import json
import random
from collections import defaultdict

import pytest

from support.engine_process import EngineProcess
from support.kafka import BrokerClient, wait_for
from support.sources import declare

pytestmark = pytest.mark.live
COLUMNS, FORMATS = "item STRING KEY, price INT", "value_format='JSON'"
WINDOW = 10_000


def test_a_row_follows_those_from_before_a_pause(server: EngineProcess, kafka: BrokerClient) -> None:
    name, topic = declare(server.execute, kafka, COLUMNS, 2, formats=FORMATS)
    over = "OVER (PARTITION BY item ORDER BY ROWOFFSET"
    select = f"item, LAG(price) {over}) AS previous, SUM(price) {over} ROWS 2 PRECEDING) AS three"
    (created,) = server.execute(f"CREATE STREAM {name}_O AS SELECT {select} FROM {name};")
    id = created["commandStatus"]["queryId"]
    for i, price in enumerate([5, 7]):
        kafka.produce(topic, "x", {"PRICE": price}, i)
    before = [r.json for r in kafka.consume_all(f"{name}_O", 2)]
    server.execute(f"PAUSE {id};")
    for i, price in enumerate([11, 13]):
        kafka.produce(topic, "x", {"PRICE": price}, 10 + i)
    server.execute(f"RESUME {id};")
    rows = [r.json for r in kafka.consume_all(f"{name}_O", 4)]
    assert before == rows[:2]
    assert [(r["PREVIOUS"], r["THREE"]) for r in rows] == [(None, 5), (5, 12), (7, 23), (11, 31)]


def test_rows_of_many_partitions_and_windows_above_them(server: EngineProcess, kafka: BrokerClient) -> None:
    """Each row has its own key's rows before it; and what is grouped above them is late for no other key's row."""
    name, topic = declare(server.execute, kafka, COLUMNS, 3, formats=FORMATS)
    over = "OVER (PARTITION BY item ORDER BY ROWOFFSET"
    values = f"price, price - LAG(price) {over}) AS jump, AVG(price) {over} ROWS 4 PRECEDING) AS mean"
    rows = f"SELECT item, {values} FROM {name}"
    server.execute(
        f"CREATE STREAM {name}_O AS {rows};"
        f"CREATE TABLE {name}_W AS SELECT item, SUM(jump) AS jumps, COUNT(*) AS n FROM ({rows}) "
        "WINDOW TUMBLING (SIZE 10 SECONDS, GRACE PERIOD 1 MINUTE) GROUP BY item EMIT FINAL;"
    )
    choose = random.Random(11)
    prices: dict[str, list[int]] = defaultdict(list)
    expected: dict[str, list[tuple[int, int | None, float]]] = defaultdict(list)
    jumps: dict[tuple[str, int], int] = defaultdict(int)
    counts: dict[tuple[str, int], int] = defaultdict(int)
    for i in range(900):
        item, price, time = str(choose.randrange(20)), choose.randrange(1000), 1 + i * 50
        before = prices[item][-1] if prices[item] else None
        prices[item].append(price)
        last = prices[item][-5:]
        jump = price - before if before is not None else None
        expected[item].append((price, jump, sum(last) / len(last)))
        jumps[item, time // WINDOW * WINDOW] += jump or 0
        counts[item, time // WINDOW * WINDOW] += 1
        kafka.send(topic, item, b'{"PRICE": %d}' % price, time)
    kafka.flush()
    written: dict[str, list[tuple[int, int | None, float]]] = defaultdict(list)
    for record in kafka.consume_all(f"{name}_O", 900):
        written[(record.key or b"").decode()].append(tuple(record.json.values()))
    assert written == expected
    for i in range(60):
        kafka.produce(topic, f"end {i}", {"PRICE": 0}, 10_000_000)
    closed = kafka.consume_all(f"{name}_W", len(counts))
    windows = {((r.key or b"")[:-8].decode(), r.window_start): tuple(r.json.values()) for r in closed}
    assert windows == {window: (jumps[window], counts[window]) for window in counts}


def test_a_push_query(server: EngineProcess, kafka: BrokerClient) -> None:
    name, topic = declare(server.execute, kafka, COLUMNS, formats=FORMATS)
    for i, price in enumerate([5, 7, 6]):
        kafka.produce(topic, "x", {"PRICE": price}, i)
    select = f"SELECT price, ROW_NUMBER() OVER (PARTITION BY item ORDER BY ROWOFFSET) AS n FROM {name}"
    assert server.rows(f"{select} EMIT CHANGES LIMIT 3;", 3) == [[5, 1], [7, 2], [6, 3]]
    assert server.rows(f"{select};", 3) == [[5, 1], [7, 2], [6, 3]]


def test_rows_of_a_time_and_those_that_are_late(server: EngineProcess, kafka: BrokerClient) -> None:
    """Times go back by up to a second; each row has those of its key that arrived before, through a pause."""
    name, topic = declare(server.execute, kafka, COLUMNS, 3, formats=FORMATS)
    over = "OVER (PARTITION BY item ORDER BY ROWTIME RANGE 2 SECONDS PRECEDING GRACE PERIOD 1 MINUTE)"
    values = f"price, COUNT(*) {over} AS n, SUM(price) {over} AS total, MAX(price) {over} AS most"
    (created,) = server.execute(f"CREATE STREAM {name}_O AS SELECT item, {values} FROM {name};")
    choose = random.Random(13)
    rows: dict[str, list[tuple[int, int]]] = defaultdict(list)
    expected: dict[str, list[tuple[int, ...]]] = defaultdict(list)
    for i in range(600):
        if i == 300:
            kafka.flush()
            kafka.consume_all(f"{name}_O", 300)
            server.execute(f"PAUSE {created['commandStatus']['queryId']};")
            server.execute(f"RESUME {created['commandStatus']['queryId']};")
        item, price = str(choose.randrange(10)), choose.randrange(1000)
        time = 10_000 + i * 50 - choose.choice((0, 0, 0, choose.randrange(1000)))
        rows[item].append((time, price))
        frame = [other for at, other in rows[item] if time - 2_000 <= at <= time]
        expected[item].append((price, len(frame), sum(frame), max(frame)))
        kafka.send(topic, item, b'{"PRICE": %d}' % price, time)
    kafka.flush()
    written: dict[str, list[tuple[int, ...]]] = defaultdict(list)
    for record in kafka.consume_all(f"{name}_O", 600):
        written[(record.key or b"").decode()].append(tuple(record.json.values()))
    assert written == expected


def test_a_row_that_is_too_late_is_logged_and_those_of_its_time_are_gone(
    server: EngineProcess, kafka: BrokerClient
) -> None:
    name, topic = declare(server.execute, kafka, COLUMNS, formats=FORMATS)
    over = "OVER (PARTITION BY item ORDER BY ROWTIME RANGE 1 SECOND PRECEDING GRACE PERIOD 1 SECOND)"
    (created,) = server.execute(f"CREATE STREAM {name}_O AS SELECT item, SUM(price) {over} AS total FROM {name};")
    id = created["commandStatus"]["queryId"]
    bids = [("x", 1, 1_000), ("x", 2, 1_500), ("y", 4, 60_000), ("x", 8, 1_600), ("x", 16, 60_000)]
    for item, price, time in bids:
        kafka.produce(topic, item, {"PRICE": price}, time)
    rows = kafka.consume_all(f"{name}_O", 5)
    assert [r.json["TOTAL"] for r in rows if r.key == b"x"] == [1, 3, 8, 16]
    log = server.processing_log

    def offsets() -> list[int]:
        entries = [r.json for r in kafka.consume_all(log, kafka.ends(log)) if id in json.dumps(r.json)]
        return [entry["message"]["recordProcessingError"]["offset"] for entry in entries]

    wait_for(lambda: 3 in offsets(), "the entry of the late row")
    assert offsets() == [3]


def test_sums_that_follow_the_frame_are_those_that_are_computed_anew(
    server: EngineProcess, kafka: BrokerClient
) -> None:
    """Whole numbers are taken back from a sum as they leave the frame; those with a fraction are summed anew."""
    name, topic = declare(server.execute, kafka, COLUMNS, 2, formats=FORMATS)
    over = "OVER (PARTITION BY item ORDER BY ROWTIME RANGE 5 SECONDS PRECEDING GRACE PERIOD 2 SECONDS)"
    sums = f"SUM(price) {over} AS whole, SUM(CAST(price AS DOUBLE)) {over} AS again"
    means = f"AVG(price) FILTER (WHERE price > 3) {over} AS mean, AVG(price / 1.0) FILTER (WHERE price > 3) {over} AS m"
    server.execute(f"CREATE STREAM {name}_O AS SELECT item, {sums}, {means} FROM {name};")
    choose = random.Random(17)
    for i in range(1_000):
        time = 300_000 + i * 100 - choose.choice((0, choose.randrange(3_000), choose.randrange(60_000)))
        kafka.send(topic, str(choose.randrange(8)), b'{"PRICE": %d}' % choose.randrange(10), time)
    kafka.flush()
    rows = [record.json for record in kafka.consume_all(f"{name}_O", 1_000)]
    assert [row for row in rows if row["WHOLE"] != row["AGAIN"] or abs(row["MEAN"] - row["M"]) > 1e-9] == []
    assert len({row["WHOLE"] for row in rows}) > 20
