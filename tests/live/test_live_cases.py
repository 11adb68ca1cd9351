"""A fixed sample of stateful conformance cases through a broker and real-time mode; some are killed half-way."""

import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest
from pyspark.sql import SparkSession

from millstream.model.settings import effective
from millstream.services.broker import BrokerProcess
from millstream.spark.bounded import Bounded
from millstream.tester.broker_topics import BrokerTopics
from millstream.tester.cases import ConformanceCase, load
from millstream.tester.check import differences
from millstream.tester.environment import LiveEnvironment
from millstream.tester.live import run_live
from millstream.tester.play import PlacedRecord, PlayResult
from millstream.tester.script import Script, script
from support.crash_runs import CrashRuns
from support.shared import shared

pytestmark = pytest.mark.live
SAMPLE = tomllib.loads((Path(__file__).parents[1] / "conformance" / "live.toml").read_text())
LISTED = [id for group in SAMPLE.values() for id in group["cases"]]
KILLED = [id for group in SAMPLE.values() for id in group.get("killed", ())]


@pytest.fixture(scope="module")
def cases() -> dict[str, ConformanceCase]:
    return {case.id: case for case in load([shared("conformance", "query")]) if case.id in LISTED}


@pytest.fixture(scope="module")
def wire(broker: BrokerProcess, spark: SparkSession) -> BrokerTopics:
    return BrokerTopics(broker.bootstrap, spark)


def test_of_the_sample_twenty_cases_are_killed() -> None:
    assert len(set(LISTED)) == len(LISTED) == 61
    assert len(set(KILLED)) == len(KILLED) == 20
    assert set(KILLED) < set(LISTED)


def test_most_of_the_sample_gives_the_same_records_live(
    cases: dict[str, ConformanceCase], wire: BrokerTopics, spark: SparkSession, tmp_path: Path
) -> None:
    straight = [cases[id] for id in LISTED if id not in KILLED]
    played = run_live(straight, LiveEnvironment(wire, spark, tmp_path), effective({}, {}), jobs=8)
    failed = [f"{v.case.id} {v.case.title}\n  {v.reason}" for v in played if not v.passed]
    assert not failed, "\n".join(failed)


@pytest.mark.crash
def test_the_rest_is_killed_half_way_loses_nothing_and_repeats_only_what_was_emitted(
    cases: dict[str, ConformanceCase], wire: BrokerTopics, spark: SparkSession, tmp_path: Path
) -> None:
    """A process that plays them all is killed after half of the records; another one resumes from the checkpoints."""
    scripts = [(cases[id], *_bounded(cases[id], spark)) for id in KILLED]
    runs = CrashRuns([s for _, s, _ in scripts], wire.bootstrap, tmp_path / "runs", (0.5,))
    runs.run(0)
    before = {s.name: {topic: wire.count(s.name + topic) for topic in _outputs(case)} for case, s, _ in scripts}
    runs.run(1)
    failed = [
        f"{case.id} {case.title}\n  {why}" for case, s, p in scripts for why in _wrong(case, s, p, before[s.name], wire)
    ]
    assert not failed, "\n".join(failed)


def _bounded(case: ConformanceCase, spark: SparkSession) -> tuple[Script, PlayResult]:
    what, played = script(case, f"killed_{uuid4().hex[:8]}_", effective({}, {}), Bounded(spark, compiled=False))
    assert played is not None
    return what, played


def _outputs(case: ConformanceCase) -> set[str]:
    return {record.topic for record in case.outputs}


def _wrong(
    case: ConformanceCase, what: Script, played: PlayResult, before: dict[str, int], wire: BrokerTopics
) -> Iterator[str]:
    """How the topics differ from what is expected without the records that were emitted twice."""
    records = {}
    for topic in _outputs(case):
        expected = len([r for r in case.outputs if r.topic == topic])
        raw = [PlacedRecord(r, (r.offset,)) for r in wire.read(what.name + topic)]
        again = len(raw) - expected
        records[topic] = raw[: before[topic] - again] + raw[before[topic] :]
        yield from _repeated(topic, raw, before[topic], again)
    yield from differences(case, replace(played, records=records))


def _repeated(topic: str, raw: Sequence[PlacedRecord], before: int, again: int) -> Iterator[str]:
    """The second run must begin with the last records of the first, as they were, and go on where they end."""
    if not 0 <= again <= before:
        yield f"{topic} has {again} records too many; the first run wrote {before}"
        return
    last, first = raw[before - again : before], raw[before : before + again]
    if [replace(p.record, offset=0) for p in last] != [replace(p.record, offset=0) for p in first]:
        yield f"{topic}: what was emitted again is not what was emitted before\n  {last}\n  {first}"
