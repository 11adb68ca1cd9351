"""Cuts over to rebuilds that have caught up: the leader appends ALTER … CUT OVER to the command log.

    second   ends of CLICKS   next offset of CTAS_HITS_7
    1        900              400
    2        930              700                          700 < 900
    3        960              935                          935 >= 930: it has read what there was a second ago

The command is one like a user's, with IF RUNNING, as a PAUSE may come before it in the log: every server applies it at
the same place of the log, and a server that starts anew finds it there or goes on waiting. Every server ends its push
queries that still read the topic from before a cut-over.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from confluent_kafka import KafkaException

from millstream.catalog.catalog import Source
from millstream.engine.context import ClosableQuery
from millstream.engine.kafka import KafkaClient
from millstream.engine.kafka_offsets import Offsets
from millstream.engine.lease import Lease
from millstream.engine.log import OUTAGES
from millstream.engine.state import EngineState
from millstream.engine.supervisor import Supervisor
from millstream.model.names import identifier
from millstream.plan.nodes import reads
from millstream.services.loop import Loop, no_resource

LOG = logging.getLogger(__name__)
# Seconds between two checks of the positions.
PULSE = 1.0


@dataclass(frozen=True, slots=True)
class RebuildProgress:
    """How far the query `id` is that rebuilds the source `of`: records read, of all that its topics have now."""

    id: str
    of: str
    read: int
    records: int

    @property
    def lag(self) -> int:
        """The records that it has yet to read."""
        return self.records - self.read

    @property
    def sentence(self) -> str:
        """The progress in a line, for EXPLAIN and DESCRIBE."""
        return f"{self.id} rebuilds {identifier(self.of)}: {self.read} of {self.records} records read, {self.lag} to go"


def has_read(positions: Mapping[str, int], ends: Mapping[str, Offsets]) -> bool:
    """True if the positions, by "topic/partition", have reached the ends in every partition that has had records."""
    expected = (
        (f"{topic}/{partition}", end) for topic, offsets in ends.items() for partition, end in offsets.items() if end
    )
    return all(positions.get(topic_partition, -1) >= end for topic_partition, end in expected)


def moved(name: str, before: str, topic: str) -> str:
    """Why a push query ends: its source was cut over to a rebuild, or dropped and created over another topic."""
    hint = "start the query again, to get the rows of the new topic"
    return f"{identifier(name)} was moved from topic {before} to topic {topic}\n  hint: {hint}"


class RebuildWatch:
    """Watches the rebuilds of `state` while the lease is held, and has each cut over once it has caught up."""

    def __init__(
        self,
        state: Callable[[], EngineState],
        lease: Lease,
        supervisor: Supervisor,
        kafka: KafkaClient,
        push: Mapping[str, ClosableQuery],
    ) -> None:
        self._state, self._lease, self._supervisor, self._kafka = state, lease, supervisor, kafka
        self._push = push
        self._append: Callable[[str, str], int] = lambda text, path: 0
        # The ends of a rebuild's sources at the last check, and the offsets of commands that are in the log.
        self._ends: dict[str, Mapping[str, Offsets]] = {}
        self._appended: dict[str, int] = {}
        self.loop = Loop("rebuilds", lambda _: self.step(), no_resource, outages=OUTAGES, pause=PULSE)

    def start(self, append: Callable[[str, str], int]) -> None:
        """Start the thread. `append` appends a statement, with its path, to the command log and returns its offset, or
        raises one of OUTAGES."""
        self._append = append
        self.loop.start()

    def close(self) -> None:
        """End the thread."""
        self.loop.stop()

    def step(self) -> None:
        """Check each rebuild, and the push queries, once. Raises KafkaException."""
        self._end_moved()
        state = self._state()
        rebuilds = {str(s.created_by): s for s in state.catalog.sources.values() if s.rebuilds}
        # A command that was applied, and the rebuild is still there: it was paused, and may go on since.
        self._appended = {id: offset for id, offset in self._appended.items() if offset >= state.position}
        leading = rebuilds if self._lease.held else {}
        self._ends = {id: ends for id, ends in self._ends.items() if id in leading}
        failures = [self._failure(source) for id, source in leading.items() if id not in self._appended]
        if failure := next(filter(None, failures), None):
            raise failure

    def _end_moved(self) -> None:
        """End the push queries that read a source's former topic, which queries no longer write."""
        sources = self._state().catalog.sources
        for query in list(self._push.values()):
            for name, topic in query.topics.items():
                if name in sources and sources[name].topic != topic:
                    query.end(moved(name, topic, sources[name].topic))

    def _failure(self, source: Source) -> KafkaException | None:
        """Check a rebuild; returns the KafkaException that prevented it, None if there was none.

        The exception is returned, not raised, so that it does not delay the check of the other rebuilds.
        """
        try:
            self._check(source)
        except KafkaException as failure:
            return failure
        return None

    def _check(self, source: Source) -> None:
        """Append the cut-over if the rebuild has read what its topics had at the last check, else note their ends."""
        id = str(source.created_by)
        desired, health = self._state().desired.get(id), self._supervisor.health(id)
        if desired is None or not desired.running or health is None or health.state != "RUNNING":
            self._ends.pop(id, None)
            return
        positions = _positions(id, self._supervisor) or {}
        before = self._ends.get(id)
        if before is not None and has_read(positions, before):
            LOG.info("query %s has caught up: it takes over %s", id, source.rebuilds, extra={"query": id})
            kind, name = source.kind.value, str(source.rebuilds)
            text = f"ALTER {kind} {identifier(name)} CUT OVER IF RUNNING;"
            self._appended[id] = self._append(text, f"{kind.lower()}/`{name}`/cutover")
            return
        # All partitions, or none: one without a leader at the moment may have records that are not read.
        self._ends[id] = {topic: self._kafka.ends(topic) for topic in {read.topic for read in reads(desired.plan)}}


def _positions(id: str, supervisor: Supervisor) -> Mapping[str, int] | None:
    """The next offsets of a query by "topic/partition"; None if it has no figures now."""
    positions: Mapping[str, int] | None = (supervisor.progress(id).get("counts") or {}).get("positions")
    return positions


def progress(source: Source, state: EngineState, supervisor: Supervisor, kafka: KafkaClient) -> RebuildProgress | None:
    """How far the rebuild `source` is; None if it is none, or Kafka or its query has no figures now."""
    id = str(source.created_by)
    desired = state.desired.get(id)
    positions = _positions(id, supervisor)
    if source.rebuilds is None or desired is None or positions is None:
        return None
    try:
        bounds = {read.topic: kafka.bounds(read.topic) for read in reads(desired.plan)}
    except KafkaException:
        return None
    positions_and_bounds = [
        (positions.get(f"{topic}/{p}", low), low, end)
        for topic, partitions in bounds.items()
        for p, (low, end) in partitions.items()
    ]
    read = sum(min(max(position - low, 0), end - low) for position, low, end in positions_and_bounds)
    return RebuildProgress(id, source.rebuilds, read, sum(end - low for _, low, end in positions_and_bounds))
