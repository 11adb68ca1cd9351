"""Catch-up of a push query that begins before the end of its topic, until it joins the topic's fan-out.

    records of a partition      0 … 899 900 … 949 950 951 …
    1. catch-up reads           0 … 899                        a consumer and an evaluation of its own
    2. it is near the end: the subscription is added to the fan-out, which has read up to 949 (its frontier is 950)
    3. catch-up reads               900 … 951                  meanwhile the fan-out offers 950, 951, 952: they wait
    4. it has reached the frontier: the subscription begins at 952, so that 950 and 951 are dropped from what waits

So each record is read once for the query: before its start by the catch-up, from then on by the fan-out.
"""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from millstream.engine.api import RowBatch
from millstream.engine.continuation import removed
from millstream.engine.kafka import Positions
from millstream.engine.supervisor import CannotRun
from millstream.engine.topic_fanout import (
    BATCH,
    CHECKED_EVERY,
    PULSE,
    EvaluatedBatch,
    PushAccess,
    PushSubscription,
    SharedEvaluation,
    TopicGone,
    TopicIdentity,
    error_code,
    record_of,
)
from millstream.services.loop import Loop, attempt

# A query joins the fan-out when so few records are between it and the topic's end.
JOIN_DISTANCE = 1000


class BacklogLost(Exception):
    """Records that a query had to read were removed from the topic; the message says which."""


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
        own: SharedEvaluation,
        access: CatchUpAccess,
    ) -> None:
        """`own` evaluates until the subscription is added to the fan-out; it is prepared only if that takes a while."""
        self._topic, self._isolation, self._exact = topic, isolation, start.exact
        self._positions = dict(start.positions)
        self._subscription, self._own, self._access = subscription, own, access
        self._evaluation = own
        self._frontier: Positions | None = None
        self._ends: Positions = {}
        self._identity, self._checked_at = TopicIdentity(topic, access.kafka), 0.0
        self._taken = threading.Event()
        self.loop = Loop(name, self._step, self._consumer, outages=(KafkaException,))

    def prepare(self) -> None:
        """Compile the plan, or join the fan-out at once. Raises CannotRun, KafkaException."""
        self._subscription.on_take = self._taken.set
        self._subscription.add(RowBatch((), self._positions))
        if self._is_near():
            self._join()
        else:
            self._own.prepare()
        if self._is_caught_up():
            self._hand_over()

    def end(self) -> None:
        """End it, and free what it has; may be called by any thread, and more than once."""
        self._taken.set()
        self.loop.stop()
        self._own.release()

    @contextmanager
    def _consumer(self) -> Iterator[Consumer]:
        with self._access.kafka.backlog_reader(self._isolation) as consumer:
            self._assign(consumer, self._positions)
            yield consumer

    def _assign(self, consumer: Consumer, positions: Positions) -> None:
        places = [TopicPartition(self._topic, partition, offset) for partition, offset in positions.items()]
        consumer.incremental_assign(places)

    def _step(self, consumer: Consumer) -> None:
        try:
            self._advance(consumer)
        except (BacklogLost, CannotRun, TopicGone) as failure:
            self._access.fail(f"the query failed: {failure}")

    def _advance(self, consumer: Consumer) -> None:
        self._taken.clear()
        if self._frontier is None and not self._subscription.is_hungry:
            self._taken.wait(PULSE)
            return
        self._check_topic()
        if self._frontier is None and self._is_near():
            self._assign(consumer, self._join())
        if self._is_caught_up():
            self._hand_over()
        elif self._subscription.is_open:
            self._read(consumer)

    def _is_near(self) -> bool:
        """True if few records are left; the topic's end is requested again only if few were left to the last one."""
        if self._ends and self._records_before(self._ends) > JOIN_DISTANCE:
            return False
        self._ends = self._access.kafka.ends(self._topic)
        return self._records_before(self._ends) <= JOIN_DISTANCE

    def _records_before(self, ends: Positions) -> int:
        return sum(max(0, end - self._positions.get(partition, 0)) for partition, end in ends.items())

    def _join(self) -> Positions:
        """Add the subscription to the fan-out; returns the beginning of partitions that were not known here."""
        self._evaluation, self._frontier = self._access.join()
        self._evaluation.prepare()
        added = dict.fromkeys((p for p in self._frontier if p not in self._positions), 0)
        self._positions |= added
        return added

    def _is_caught_up(self) -> bool:
        """True if the fan-out offers all records after those that were read here."""
        return self._frontier is not None and self._records_before(self._frontier) == 0

    def _hand_over(self) -> None:
        self._subscription.begin(self._positions)
        self._access.finish()

    def _read(self, consumer: Consumer) -> None:
        first = consumer.poll(PULSE)
        messages = [] if first is None else [first, *consumer.consume(BATCH - 1, 0)]
        records = [record_of(message) for message in messages if message.error() is None]
        ends = self._reached_ends(consumer, [message for message in messages if message.error() is not None])
        after = self._positions | {record.partition: record.offset + 1 for record in records}
        # Behind the last record there may be the end of a transaction, which is no record.
        after |= {partition: max(end, after.get(partition, 0)) for partition, end in ends.items()}
        if records:
            computed = attempt(
                f"push query {self._evaluation.id}",
                lambda: self._evaluation.computed(records, after),
                self._evaluation.id,
            )
            self._add(computed)
        self._positions = after

    def _add(self, computed: EvaluatedBatch | Exception) -> None:
        """Give rows to the client, or the reason why they cannot be computed."""
        if isinstance(computed, Exception):
            self._access.fail(f"the query failed: {computed}")
        else:
            self._subscription.add(computed.rows)

    def _reached_ends(self, consumer: Consumer, errors: Sequence[Message]) -> Positions:
        """The ends of partitions that were reached. Raises BacklogLost, TopicGone, KafkaException for other errors."""
        ends = {_partition(m): m.offset() or 0 for m in errors if error_code(m) == KafkaError._PARTITION_EOF}
        lost = [_partition(m) for m in errors if error_code(m) == KafkaError._AUTO_OFFSET_RESET]
        others = [m for m in errors if error_code(m) not in (KafkaError._PARTITION_EOF, KafkaError._AUTO_OFFSET_RESET)]
        if others:
            self._identity.check()
            raise KafkaException(others[0].error())
        if lost:
            self._pass_removed(consumer, lost)
        return ends

    def _pass_removed(self, consumer: Consumer, partitions: Sequence[int]) -> None:
        """Go on at the first records that partitions still have. Raises BacklogLost if none may be missing."""
        self._identity.check()
        bounds = self._access.kafka.bounds(self._topic)
        for partition in partitions:
            first, offset = bounds.get(partition, (0, 0))[0], self._positions[partition]
            if self._exact:
                raise BacklogLost(removed(self._topic, partition, offset, first))
            self._positions[partition] = first
            consumer.seek(TopicPartition(self._topic, partition, first))

    def _check_topic(self) -> None:
        """Every few seconds, check that the topic still exists: consumers do not report that. Raises TopicGone."""
        if time.monotonic() - self._checked_at >= CHECKED_EVERY:
            self._identity.check()
            self._checked_at = time.monotonic()


def _partition(message: Message) -> int:
    return int(message.partition() or 0)
