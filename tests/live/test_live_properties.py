"""Random records and random restarts: real time, a bounded run and plain Python agree on the final table."""

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from millstream.model.settings import effective
from millstream.services.broker import BrokerProcess
from millstream.spark.bounded import Bounded
from millstream.tester.broker_topics import BrokerTopics
from millstream.tester.cases import CaseRecord, ConformanceCase
from millstream.tester.check import shown
from millstream.tester.play import PlacedRecord, PlayResult
from millstream.tester.script import Script, script
from support import naive
from support.crash_runs import CrashRuns

pytestmark = pytest.mark.live
SEEDS = st.integers(0, 2**32 - 1)
STREAM = "CREATE STREAM {0} (id STRING KEY, g STRING, v INT) WITH (kafka_topic='{0}', value_format='JSON');"
TABLE = "CREATE TABLE {0} (id STRING PRIMARY KEY, g STRING, v INT) WITH (kafka_topic='{0}', value_format='JSON');"
SELECT = "CREATE TABLE o AS SELECT g, COUNT(*) AS n, SUM(v) AS s FROM s{} GROUP BY g;"


COALESCING = {"ksql.streams.cache.max.bytes.buffering": "10000", "ksql.streams.commit.interval.ms": "200"}


@dataclass(frozen=True, slots=True)
class Query:
    """A query, its expected result, how its records are generated, the topics written in turn, its settings."""

    statements: Sequence[str]
    model: Callable[[Sequence[CaseRecord]], naive.Table]
    tombstones: bool = False
    topics: Sequence[str] = ("s",)
    properties: Mapping[str, str] = field(default_factory=dict)


QUERIES = {
    "a group": Query((STREAM.format("s"), SELECT.format("")), naive.counts),
    "a window with late rows": Query(
        (
            STREAM.format("s"),
            SELECT.format(" WINDOW TUMBLING (SIZE 1 SECOND, GRACE PERIOD 400 MILLISECONDS)"),
        ),
        naive.windows,
    ),
    "a window that is emitted when it closes": Query(
        (
            STREAM.format("s"),
            SELECT.format(" WINDOW TUMBLING (SIZE 1 SECOND, RETENTION 1 HOUR, GRACE PERIOD 400 MILLISECONDS)").replace(
                ";", " EMIT FINAL;"
            ),
        ),
        naive.closed,
    ),
    "a group of a table": Query((TABLE.format("s"), SELECT.format("")), naive.undone, tombstones=True),
    "a group of a table that is not empty": Query(
        (TABLE.format("s"), SELECT.format("").replace(";", " HAVING COUNT(*) > 0;")), naive.present, tombstones=True
    ),
    "a group of groups": Query(
        (
            STREAM.format("s"),
            "CREATE TABLE o AS SELECT n, COUNT(*) AS m FROM (SELECT g, COUNT(*) AS n FROM s GROUP BY g) "
            "GROUP BY n HAVING COUNT(*) > 0;",
        ),
        naive.counted_counts,
    ),
    "a stream with a table": Query(
        (
            STREAM.format("s"),
            TABLE.format("t"),
            "CREATE STREAM o AS SELECT s.id, s.v AS l, t.v AS r FROM s LEFT JOIN t ON s.id = t.id;",
        ),
        naive.looked_up,
        topics=("t", "s"),
    ),
    "two tables": Query(
        (
            TABLE.format("l"),
            TABLE.format("r"),
            "CREATE TABLE o AS SELECT ROWKEY AS id, l.v AS l, r.v AS r FROM l FULL JOIN r ON l.id = r.id;",
        ),
        naive.full_joined,
        tombstones=True,
        topics=("l", "r"),
    ),
    "sessions": Query(
        (
            STREAM.format("s"),
            "CREATE TABLE o AS SELECT g, COUNT(*) AS n FROM s "
            "WINDOW SESSION (500 MILLISECONDS, GRACE PERIOD 400 MILLISECONDS) GROUP BY g;",
        ),
        naive.sessions,
    ),
}


# What is coalesced may leave out a group that was empty again soon: only those that are not empty are compared.
COALESCED = (
    "a group",
    "a window with late rows",
    "a group of a table that is not empty",
    "a group of groups",
    "two tables",
    "sessions",
)
LIVE = {
    **QUERIES,
    **{f"{name}, coalesced": replace(QUERIES[name], properties=COALESCING) for name in COALESCED},
}


def case(name: str, random: Random, blocks: int, size: int) -> ConformanceCase:
    """A query over random records: of one topic for a while, then of the next."""
    query = LIVE[name]
    topics = [query.topics[n % len(query.topics)] for n in range(blocks) for _ in range(size)]
    records = tuple(_records(topics, query.tombstones, random))
    return ConformanceCase(name, name, "", tuple(query.statements), dict(query.properties), (), records, (), {}, None)


def _records(topics: Iterable[str], tombstones: bool, random: Random) -> Iterator[CaseRecord]:
    now = 10_000
    for topic in topics:
        now += random.choice((0, 20, 90, 300, 700))
        row = {"G": random.choice("abcd"), "V": random.randint(-9, 9)}
        deleted = tombstones and random.random() < 0.3
        late = random.choice((0, 0, 0, 100, 500, 900, 1_500, 3_000))
        yield CaseRecord(topic, random.choice("123456"), None if deleted else row, now - late)


def table(records: Sequence[PlacedRecord], played: PlayResult) -> naive.Table:
    """What is left of a changelog: each key's last row."""
    sink, rows = played.catalog.sources["O"], dict[Any, Any]()
    for record in (shown(placed, sink, played) for placed in sorted(records, key=lambda p: p.order)):
        window = record.window or {}
        bounds = [window["start"]] if window.get("type") == "time" else [window[b] for b in ("start", "end") if window]
        key = (record.key, *bounds) if bounds else record.key
        rows.pop(key, None)
        if record.value is not None:
            rows[key] = record.value
    return rows


@pytest.fixture(scope="module")
def wire(broker: BrokerProcess, spark: SparkSession) -> BrokerTopics:
    return BrokerTopics(broker.bootstrap, spark)


def planned(what: ConformanceCase, spark: SparkSession) -> tuple[Script, PlayResult]:
    """How to play it, without waiting for each record's outputs, and the bounded run."""
    planned_script, played = script(
        what, f"random_{uuid4().hex[:8]}_", effective({}, {}), Bounded(spark, compiled=False)
    )
    assert played is not None
    feeds = tuple(replace(feed, emits=False) for feed in planned_script.feeds)
    return replace(planned_script, feeds=feeds), played


@pytest.mark.parametrize("name", QUERIES)
def test_a_bounded_run_agrees_with_plain_python(name: str, spark: SparkSession) -> None:
    @settings(max_examples=5, deadline=None, phases=(Phase.generate,))
    @given(SEEDS)
    def agrees(seed: int) -> None:
        what = case(name, Random(seed), blocks=6, size=10)
        _, played = planned(what, spark)
        assert table(played.records.get("O", ()), played) == QUERIES[name].model(what.inputs)

    agrees()


@pytest.mark.crash
@settings(
    max_examples=1, deadline=None, phases=(Phase.generate,), suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(SEEDS)
def test_real_time_agrees_with_both_through_restarts(wire: BrokerTopics, spark: SparkSession, seed: int) -> None:
    """All queries in one process that is killed at a place of its own for each."""
    random = Random(seed)
    cases = [(name, case(name, random, blocks=4, size=15)) for name in LIVE]
    plans = [planned(what, spark) for _, what in cases]
    with tempfile.TemporaryDirectory() as folder:
        runs = CrashRuns([s for s, _ in plans], wire.bootstrap, Path(folder) / "runs", (random.uniform(0.2, 0.8),))
        for number in (0, 1):
            runs.run(number)
    for (name, what), (play, played) in zip(cases, plans, strict=True):
        emitted = [PlacedRecord(r, (r.offset,)) for r in wire.read(play.name + "O")]
        live, bounded = (table(records, played) for records in (emitted, played.records["O"]))
        assert live == bounded == LIVE[name].model(what.inputs), f"{name}, seed {seed}"
