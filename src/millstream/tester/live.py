"""Plays a case live, through a real broker, engine and real-time mode, with the same checks as a bounded run.

Records are written one after the other. If the bounded run has outputs for a record, as many are awaited before the
next is written; if the next one is for another topic, the queries must have read this one. Waiting can only make a case
slow, not make it pass: at the end every query has read all records, and only then are the topics read.
"""

import time
from collections.abc import Container, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import chain
from uuid import uuid4

from millstream.catalog.catalog import Catalog
from millstream.engine.api import Request, RequestFailed
from millstream.engine.engine import MillstreamEngine
from millstream.engine.entities.describe import read_positions
from millstream.model.errors import StatementError
from millstream.spark.bounded import Bounded
from millstream.tester.broker_topics import BrokerTopics
from millstream.tester.cases import ConformanceCase
from millstream.tester.check import differences
from millstream.tester.environment import LiveEnvironment
from millstream.tester.play import PlacedRecord, PlayResult, refused
from millstream.tester.runner import Verdict, judged
from millstream.tester.script import RecordFeed, Script, script
from millstream.tester.topic_renaming import original

# Seconds: the longest time for a record, or a query's batch, on a busy machine.
PATIENCE = 600.0
# Seconds between checks of a topic's number of records, at first, and of the queries' progress.
PULSE = 0.03
CHECK_SECONDS = 0.5


class LiveFailure(Exception):
    """Why a query of a case failed, or which condition was awaited in vain."""


class LivePlay:
    """One running case: operations on its engine and its topics."""

    def __init__(self, script: Script, engine: MillstreamEngine, wire: BrokerTopics) -> None:
        self._script, self._engine, self._wire = script, engine, wire
        # How many outputs of each topic were written again by a restart.
        self._repeated: Mapping[str, int] = {}

    def begin(self) -> None:
        """Create the topics and execute the statements. Raises RequestFailed."""
        for topic, partitions in self._script.topics.items():
            self._wire.create(self._script.name + topic, partitions)
        for text, settings in self._script.statements:
            self._engine.execute(Request(text, settings))

    def feed(self, feeds: Sequence[RecordFeed], saves: Container[int] = ()) -> None:
        """Write records, with waits as described above. Raises LiveFailure.

        `saves`: the numbers of records after which the queries' checkpoints are awaited. A restart reads the records
        since its checkpoint again, and writes their outputs again; outputs in excess then are not waited for later.
        """
        for number, feed in enumerate(feeds):
            self._wire.write(self._script.name + feed.topic, feed.record)
            if number in saves:
                self.settle()
                self._repeated = {topic: self._count(topic) - n for topic, n in feed.emitted.items()}
            elif feed.emits:
                self._wait_for_outputs(feed)
            elif feed.turn:
                self.settle()

    def settle(self) -> None:
        """Wait until the queries have read all records, and written checkpoints. Raises LiveFailure."""
        deadline = time.monotonic() + PATIENCE
        while not self._settled():
            if time.monotonic() > deadline:
                raise LiveFailure(f"the queries did not read all records in {PATIENCE:.0f} s")
            time.sleep(CHECK_SECONDS)

    def records(self, topic: str) -> list[PlacedRecord]:
        """The records of a topic, by the case's name for it, in order."""
        return [PlacedRecord(r, (r.offset, r.partition)) for r in self._wire.read(self._script.name + topic)]

    @property
    def catalog(self) -> Catalog:
        """The catalog, with the case's names for topics."""
        return original(self._engine.catalog, self._script.name)

    def _wait_for_outputs(self, feed: RecordFeed) -> None:
        """Wait until there are as many outputs as in the bounded run, or there cannot be more."""
        deadline = look = time.monotonic() + CHECK_SECONDS
        deadline += PATIENCE
        pause = PULSE
        while any(self._count(t) - self._repeated.get(t, 0) < n for t, n in feed.emitted.items()):
            if time.monotonic() > look:
                if self._settled():
                    return
                look = time.monotonic() + CHECK_SECONDS
            if time.monotonic() > deadline:
                raise LiveFailure(f"a record of {feed.topic} had not all its outputs after {PATIENCE:.0f} s")
            time.sleep(pause)
            pause = min(1.5 * pause, CHECK_SECONDS)

    def _count(self, topic: str) -> int:
        """The number of records written to a topic, by the case's name for it."""
        return self._wire.count(self._script.name + topic)

    def _settled(self) -> bool:
        """True if every query has read all records, by its last save, provided that nothing is being written.

        Raises LiveFailure if a query has failed.
        """
        catalog = self._engine.catalog
        read = {q.id: [catalog.sources[name].topic for name in q.sources] for q in catalog.queries.values()}
        before = self._ends(read)
        all_read = all(self._has_read(id, {topic: before[topic] for topic in topics}) for id, topics in read.items())
        return all_read and before == self._ends(read)

    def _ends(self, read: Mapping[str, Sequence[str]]) -> dict[str, Mapping[int, int]]:
        """The end offsets of the topics that queries read."""
        return {topic: self._wire.ends(topic) for topic in {*chain.from_iterable(read.values())}}

    def _has_read(self, query: str, ends: Mapping[str, Mapping[int, int]]) -> bool:
        """True if a query was last saved at these offsets. Raises LiveFailure if the query has failed."""
        progress, health = self._engine.progress(query)
        if health is not None and health.failures:
            raise LiveFailure(f"{query}: {health.failures[-1].message}")
        return all(_reaches(read_positions(topic, progress), end) for topic, end in ends.items())


def _reaches(read: Mapping[str, int], ends: Mapping[int, int]) -> bool:
    """True if positions, by partition, reach these ends; a query has no position where it has not read anything."""
    return all(read.get(str(partition), 0) >= end for partition, end in ends.items())


def run_live(
    cases: Sequence[ConformanceCase], environment: LiveEnvironment, defaults: Mapping[str, str], jobs: int
) -> Iterator[Verdict]:
    """Play the cases live, `jobs` at a time; verdicts are in the cases' order."""
    bounded = Bounded(environment.spark, compiled=False)
    names = [f"case_{uuid4().hex[:8]}_" for _ in cases]
    with ThreadPoolExecutor(max_workers=max(1, jobs)) as pool:
        yield from pool.map(lambda case, name: _verdict(case, name, environment, bounded, defaults), cases, names)


def _verdict(
    case: ConformanceCase, name: str, environment: LiveEnvironment, bounded: Bounded, defaults: Mapping[str, str]
) -> Verdict:
    return judged(case, lambda: (_reason(case, name, environment, bounded, defaults), ""))


def _reason(
    case: ConformanceCase, name: str, environment: LiveEnvironment, bounded: Bounded, defaults: Mapping[str, str]
) -> str:
    """Play a case live: why it failed, "" if it passed."""
    live_case, result = script(case, name, defaults, bounded)
    engine = environment.engine(live_case)
    play = LivePlay(live_case, engine, environment.wire)
    try:
        play.begin()
        play.feed(live_case.feeds)
        play.settle()
    except RequestFailed as failure:
        return _refusal(case, failure)
    except LiveFailure as failure:
        return "" if case.rejected is not None else str(failure)
    else:
        return _judged(case, play, result)
    finally:
        engine.close()


def _judged(case: ConformanceCase, play: LivePlay, result: PlayResult | None) -> str:
    if case.rejected is not None:
        return f"should be refused or fail, but did neither: {case.rejected.get('because', '')}"
    if result is None:
        return "the statements are refused in a bounded run, and accepted live"
    topics = {r.topic for r in case.outputs}
    live = replace(result, catalog=play.catalog, records={topic: play.records(topic) for topic in topics})
    return "\n".join(differences(case, live))


def _refusal(case: ConformanceCase, failure: RequestFailed) -> str:
    cause = failure.__cause__
    while isinstance(cause, RequestFailed):
        cause = cause.__cause__
    if case.rejected is not None and isinstance(cause, StatementError) and refused(cause, case):
        return ""
    return f"refused{' for another reason' * (case.rejected is not None)}: {failure.message}"
