"""Plays a case live, through a real broker, engine and real-time mode, with the same checks as a bounded run.

Records are written one after the other. If the bounded run has outputs for a record, as many are awaited before the
next is written; if the next one is for another topic, the queries must have read this one. Waiting can only make a case
slow, not make it pass: at the end every query has read all records, and only then are the topics read.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any
from uuid import uuid4

from millstream.catalog.catalog import Catalog
from millstream.engine.api import Request, RequestFailed
from millstream.engine.engine import MillstreamEngine
from millstream.model.errors import StatementError
from millstream.model.names import identifier
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
# Seconds between checks of a topic's number of records, and of the queries' progress, which is more expensive.
PULSE = 0.05
LOOK = 0.5


class LiveFailure(Exception):
    """Why a query of a case failed, or which condition was awaited in vain."""


class LivePlay:
    """One running case: operations on its engine and its topics."""

    def __init__(self, script: Script, engine: MillstreamEngine, wire: BrokerTopics) -> None:
        self._script, self._engine, self._wire = script, engine, wire

    def begin(self) -> None:
        """Create the topics and execute the statements. Raises RequestFailed."""
        for topic, partitions in self._script.topics.items():
            self._wire.create(self._script.name + topic, partitions)
        for text, settings in self._script.statements:
            self._engine.execute(Request(text, settings))

    def feed(self, feeds: Sequence[RecordFeed], safely: bool = False) -> None:
        """Write records, with waits as described above. Raises LiveFailure.

        `safely`: the records of one topic are in a checkpoint before records are written to another. A restart reads
        the records since its checkpoint again; these then belong to one topic only.
        """
        for feed in feeds:
            self._wire.write(self._script.name + feed.topic, feed.record)
            if feed.turn and (safely or not feed.emits):
                self.settle()
            elif feed.emits:
                self._wait_for_outputs(feed)

    def settle(self) -> None:
        """Wait until the queries have read all records, and written checkpoints. Raises LiveFailure."""
        deadline = time.monotonic() + PATIENCE
        while not self._settled():
            if time.monotonic() > deadline:
                raise LiveFailure(f"the queries did not read all records in {PATIENCE:.0f} s")
            time.sleep(LOOK)

    def records(self, topic: str) -> list[PlacedRecord]:
        """The records of a topic, by the case's name for it, in order."""
        return [PlacedRecord(r, (r.offset, r.partition)) for r in self._wire.read(self._script.name + topic)]

    @property
    def catalog(self) -> Catalog:
        """The catalog, with the case's names for topics."""
        return original(self._engine.catalog, self._script.name)

    def _wait_for_outputs(self, feed: RecordFeed) -> None:
        """Wait until there are as many outputs as in the bounded run, or there cannot be more."""
        deadline = look = time.monotonic() + LOOK
        deadline += PATIENCE
        while any(self._wire.count(self._script.name + t) < n for t, n in feed.emitted.items()):
            if time.monotonic() > look:
                if self._settled():
                    return
                look = time.monotonic() + LOOK
            if time.monotonic() > deadline:
                raise LiveFailure(f"a record of {feed.topic} had not all its outputs after {PATIENCE:.0f} s")
            time.sleep(PULSE)

    def _settled(self) -> bool:
        """True if every query has read all records, by its last batch, provided that nothing is being written."""
        catalog = self._engine.catalog
        read = {catalog.sources[name].topic: name for q in catalog.queries.values() for name in q.sources}
        before = {topic: self._wire.ends(topic) for topic in read}
        described = [self._described(name) for name in read.values()]
        pairs = ((d, q) for d in described for q in catalog.queries.values() if d["name"] in q.sources)
        done = all(_has_read(d, q.id, before) for d, q in pairs)
        return done and before == {topic: self._wire.ends(topic) for topic in read}

    def _described(self, name: str) -> Mapping[str, Any]:
        """DESCRIBE EXTENDED of a source. Raises LiveFailure if one of its queries has failed."""
        (answer,) = self._engine.execute(Request(f"DESCRIBE {identifier(name)} EXTENDED;"))
        description: Mapping[str, Any] = answer["sourceDescription"]
        if description["errorStats"]:
            raise LiveFailure(description["errorStats"])
        return description


def _has_read(described: Mapping[str, Any], query: str, ends: Mapping[str, Mapping[int, int]]) -> bool:
    places = [s["topicSummaries"] for s in described["queryOffsetSummaries"] if s["groupId"] == query]
    read = {(t["kafkaTopic"], p["partition"]): p["consumerOffset"] for (t,) in places for p in t["offsets"]}
    topic = described["topic"]
    return all(read.get((topic, partition), -1) >= end for partition, end in ends[topic].items())


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
    what, played = script(case, name, defaults, bounded)
    engine = environment.engine(what)
    play = LivePlay(what, engine, environment.wire)
    try:
        play.begin()
        play.feed(what.feeds)
        play.settle()
    except RequestFailed as failure:
        return _refusal(case, failure)
    except LiveFailure as failure:
        return "" if case.rejected is not None else str(failure)
    else:
        return _judged(case, play, played)
    finally:
        engine.close()


def _judged(case: ConformanceCase, play: LivePlay, played: PlayResult | None) -> str:
    if case.rejected is not None:
        return f"neither refused nor failed, and should be: {case.rejected.get('because', '')}"
    if played is None:
        return "the statements are refused in a bounded run, and accepted live"
    topics = {r.topic for r in case.outputs}
    live = replace(played, catalog=play.catalog, records={topic: play.records(topic) for topic in topics})
    return "\n".join(differences(case, live))


def _refusal(case: ConformanceCase, failure: RequestFailed) -> str:
    cause = failure.__cause__
    while isinstance(cause, RequestFailed):
        cause = cause.__cause__
    if case.rejected is not None and isinstance(cause, StatementError) and refused(cause, case):
        return ""
    return f"refused{' for another reason' * (case.rejected is not None)}: {failure.message}"
