"""Catch-up of a push query that begins before the end of its topic, until it joins the topic's fan-out.

    records of a partition      0 … 899 900 … 949 950 951 …
    1. catch-up reads           0 … 899                        a consumer and an evaluation of its own
    2. it is near the end: the subscription is added to the fan-out, which has read up to 949 (its frontier is 950)
    3. catch-up reads               900 … 951                  meanwhile the fan-out offers 950, 951, 952: they wait
    4. it has reached the frontier: the subscription begins at 952, so that 950 and 951 are dropped from what waits

So each record is read once for the query: before its start by the catch-up, from then on by the fan-out.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass

from confluent_kafka import Consumer, KafkaException

from millstream.engine.api import RowBatch
from millstream.engine.kafka_offsets import Positions
from millstream.engine.push_evaluation import EvaluatedBatch, PushAccess
from millstream.engine.push_reader import PULSE, BacklogLost, PushReader, TopicReplaced
from millstream.engine.supervisor import CannotRun
from millstream.engine.topic_fanout import PushSubscription, SharedEvaluation
from millstream.services.loop import Loop

# A query joins the fan-out when so few records are between it and the topic's end.
JOIN_DISTANCE = 1000


@dataclass(frozen=True, slots=True)
class BacklogStart:
    """The offset at which a query begins in each partition; `exact`: it ends if records from there on are removed."""

    positions: Positions
    exact: bool


@dataclass(frozen=True, slots=True)
class CatchUpAccess:
    """The callbacks from a catch-up to PushSubscriptions.

    `join` adds the subscription to the fan-out of its topic; it returns its evaluation there, and the fan-out's
    frontier. `finish` is called once the subscription has begun there, `fail` with the reason why it never will.
    """

    kafka: PushAccess
    join: Callable[[], tuple[SharedEvaluation, Positions]]
    finish: Callable[[], None]
    fail: Callable[[str], None]


class CatchUp:
    """Reads a topic from a start for one subscription, and hands it over to the fan-out of the topic."""

    def __init__(
        self,
        name: str,
        topic: str,
        isolation: str,
        start: BacklogStart,
        subscription: PushSubscription,
        backlog_evaluation: SharedEvaluation,
        access: CatchUpAccess,
    ) -> None:
        """`backlog_evaluation` evaluates until the subscription is added to the fan-out; it is prepared only if that
        takes a while."""
        self._topic = topic
        self._reader = PushReader(
            {topic: start.positions}, start.exact, access.kafka, lambda: access.kafka.backlog_reader(isolation, PULSE)
        )
        self._subscription, self._backlog_evaluation, self._access = subscription, backlog_evaluation, access
        self._evaluation = backlog_evaluation
        self._frontier: Positions | None = None
        self._ends: Positions = {}
        self._drained = threading.Event()
        self.loop = Loop(name, self._step, self._reader.consumer, outages=(KafkaException,))

    def prepare(self) -> None:
        """Compile the plan, or join the fan-out at once. Raises CannotRun, KafkaException."""
        self._subscription.on_drain = self._drained.set
        self._subscription.add(RowBatch((), self._positions))
        if self._is_near_end():
            self._join()
        else:
            self._backlog_evaluation.prepare()
        if self._is_caught_up():
            self._finish()

    def end(self) -> None:
        """End it, and free what it has; may be called by any thread, and more than once."""
        self._drained.set()
        self.loop.stop()
        self._backlog_evaluation.release()

    @property
    def _positions(self) -> Positions:
        return self._reader.positions[self._topic]

    def _step(self, consumer: Consumer) -> None:
        try:
            self._advance(consumer)
        except (BacklogLost, CannotRun, TopicReplaced) as failure:
            self._access.fail(f"the query failed: {failure}")

    def _advance(self, consumer: Consumer) -> None:
        self._drained.clear()
        if self._frontier is None and not self._subscription.is_below_half:
            self._drained.wait(PULSE)
            return
        self._reader.check()
        if self._frontier is None and self._is_near_end():
            self._join(consumer)
        if self._is_caught_up():
            self._finish()
        elif self._subscription.is_open:
            self._read(consumer)

    def _is_near_end(self) -> bool:
        """True if few records are left. The topic's end is requested again only near the end that is known."""
        if self._ends and self._records_before(self._ends) > JOIN_DISTANCE:
            return False
        self._ends = self._access.kafka.ends(self._topic)
        return self._records_before(self._ends) <= JOIN_DISTANCE

    def _records_before(self, ends: Positions) -> int:
        return sum(max(0, end - self._positions.get(partition, 0)) for partition, end in ends.items())

    def _join(self, consumer: Consumer | None = None) -> None:
        """Add the subscription to the fan-out; partitions that were not known here are read from their beginning."""
        self._evaluation, self._frontier = self._access.join()
        self._evaluation.prepare()
        added = dict.fromkeys((p for p in self._frontier if p not in self._positions), 0)
        self._reader.add(self._topic, added, consumer)

    def _is_caught_up(self) -> bool:
        """True if the fan-out offers all records after those that were read here."""
        return self._frontier is not None and self._records_before(self._frontier) == 0

    def _finish(self) -> None:
        self._subscription.begin(self._positions)
        self._access.finish()

    def _read(self, consumer: Consumer) -> None:
        batch = self._reader.read(consumer)
        if batch.records:
            self._deliver(self._evaluation.attempted(batch.records, batch.after[self._topic]))
        self._reader.advance(batch)

    def _deliver(self, computed: EvaluatedBatch | Exception) -> None:
        """Deliver rows to the client, or the reason why they cannot be computed."""
        if isinstance(computed, Exception):
            self._access.fail(f"the query failed: {computed}")
        else:
            self._subscription.add(computed.rows)
