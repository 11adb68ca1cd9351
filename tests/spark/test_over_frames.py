"""Frames of a time against a model of them: rows in order, in bursts and late, of which a state keeps what it needs."""

import random
from collections import defaultdict
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from millstream.model.settings import effective
from millstream.spark.bounded import Bounded
from millstream.tester.cases import CaseRecord, ConformanceCase
from millstream.tester.check import shown
from millstream.tester.play import plan, run

STREAM = "CREATE STREAM s (g STRING KEY, v INT) WITH (kafka_topic='s', value_format='JSON', key_format='KAFKA');"
OVER = "OVER (PARTITION BY g ORDER BY ROWTIME RANGE 1 SECOND PRECEDING GRACE PERIOD 3 SECONDS)"
MAKE = f"CREATE STREAM o AS SELECT g, v, SUM(v) {OVER} AS total, COUNT(*) {OVER} AS n, MAX(v) {OVER} AS most FROM s;"
FRAME = 1000


def steady(choose: random.Random) -> Iterator[int]:
    """Rows in order, some twenty of a key in a frame."""
    for i in range(400):
        yield 10_000 + i * 25


def bursts(choose: random.Random) -> Iterator[int]:
    """Up to sixty rows at once, then up to two frames without any."""
    time = 10_000
    while time < 30_000:
        yield from [time] * choose.choice((1, 2, 20, 60))
        time += choose.choice((1, 300, 999, 1000, 1001, 2000))


def late(choose: random.Random) -> Iterator[int]:
    """Stretches in order, and stretches in which rows are late by up to the grace period."""
    for i in range(500):
        yield 10_000 + i * 20 - (choose.randrange(2_900) if i // 60 % 3 == 1 else 0)


@pytest.mark.parametrize("times", [steady, bursts, late])
@pytest.mark.parametrize("seed", [1, 2])
def test_each_row_has_the_rows_of_its_frame(spark: SparkSession, times: object, seed: int) -> None:
    choose = random.Random(seed)
    rows = [(choose.choice("ab"), choose.randrange(100), time) for time in times(choose)]  # type: ignore[operator]
    inputs = tuple(CaseRecord("s", key, {"V": v}, time) for key, v, time in rows)
    case = ConformanceCase("", "", "", (STREAM, MAKE), {}, (), inputs, (), {}, None)
    played = plan(case, effective({}, {}), Bounded(spark))
    run(case, played, Bounded(spark))
    records = sorted(played.records["O"], key=lambda placed: placed.order)
    written = [shown(placed, played.catalog.sources["O"], played).value for placed in records]
    before = defaultdict[str, list[tuple[int, int]]](list)
    expected = []
    for key, v, time in rows:
        before[key].append((time, v))
        frame = [other for at, other in before[key] if time - FRAME <= at <= time]
        expected.append({"V": v, "TOTAL": sum(frame), "N": len(frame), "MOST": max(frame)})
    assert written == expected
