"""A push query with state: it reads its topics with a consumer of its own, and is evaluated in the server.

    SELECT o.id, c.name FROM orders o JOIN customers c ON o.customer = c.id EMIT CHANGES;      from the latest records

    start      customers at {0: 0}, and up to {0: 500} before orders; orders at {0: 9000}
    1.         the first 500 records of customers are read: no rows, the join has them in its state
    2.         both topics are read from there on: each record of orders gives a row, or none

The client sets the pace: records wait in Kafka while half of its buffer is full.
"""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from confluent_kafka import Consumer, KafkaException

from millstream.engine.kafka_offsets import Positions
from millstream.engine.push_evaluation import PushAccess, PushEvaluation
from millstream.engine.push_reader import PULSE, PushReader, ReadBatch, TopicReplaced
from millstream.engine.topic_fanout import PushSubscription, pace
from millstream.plan.nodes import leaves
from millstream.services.loop import Loop
from millstream.spark.bounded import Record

# How long the broker holds a fetch while no records come, in seconds: there may be a hundred such queries.
IDLE_FETCH = 1.0


@dataclass(frozen=True, slots=True)
class StatefulStart:
    """The offsets at which a query begins, by topic and partition.

    `tables`: topics that are read up to these ends before any other one, as streams look up rows in them.
    """

    positions: Mapping[str, Positions]
    tables: Mapping[str, Positions] = field(default_factory=dict)


class StatefulPush:
    """Reads topics and evaluates a plan for one subscription, as fast as its client takes the rows."""

    def __init__(
        self,
        name: str,
        start: StatefulStart,
        isolation: str,
        subscription: PushSubscription,
        evaluation: PushEvaluation,
        access: PushAccess,
        fail: Callable[[str], None],
    ) -> None:
        """`fail` is called with the reason why the query ends."""
        self._tables = start.tables
        after_tables = {topic for topic in start.positions if start.tables and topic not in start.tables}
        self._after_tables = {topic: start.positions[topic] for topic in after_tables}
        first = {topic: at for topic, at in start.positions.items() if topic not in after_tables}
        eof_seconds = PULSE if after_tables else IDLE_FETCH
        # How often an idle consumer fetches, and reports a partition's end; records come at once.
        to_ends = partial(access.backlog_reader, isolation, eof_seconds)
        self._reader = PushReader(first, exact=False, kafka=access, open_consumer=to_ends)
        self._subscription, self._evaluation, self._access, self._fail = subscription, evaluation, access, fail
        self._leaves: dict[str, list[int]] = {topic: [] for topic in start.positions}
        for number, leaf in enumerate(leaves(evaluation.plan)):
            self._leaves[leaf.origin.topic].append(number)
        self._drained = threading.Event()
        self.loop = Loop(name, self._step, self._reader.consumer, outages=(KafkaException,))

    def prepare(self) -> None:
        """Compile the plan. Raises CannotRun."""
        self._subscription.on_drain = self._drained.set
        self._evaluation.prepare()

    def end(self) -> None:
        """End it, and free what it has; may be called by any thread, and more than once."""
        self._drained.set()
        self.loop.stop()
        self._evaluation.release()

    def _step(self, consumer: Consumer) -> None:
        self._drained.clear()
        if not self._subscription.is_below_half:
            self._drained.wait(PULSE)
            return
        try:
            self._reader.check_partitions(consumer)
            self._add_after_tables(consumer)
            if self._subscription.is_open:
                self._read(consumer)
        except TopicReplaced as replaced:
            self._fail(f"the query failed: {replaced}")

    def _add_after_tables(self, consumer: Consumer) -> None:
        """Read the other topics too once the tables are read up to their ends."""
        if self._after_tables and all(self._is_read(topic, ends) for topic, ends in self._tables.items()):
            added, self._after_tables = self._after_tables, {}
            for topic, positions in added.items():
                self._reader.add(topic, positions, consumer)

    def _is_read(self, topic: str, ends: Positions) -> bool:
        positions = self._reader.positions[topic]
        return all(positions.get(partition, 0) >= end for partition, end in ends.items())

    def _read(self, consumer: Consumer) -> None:
        batch = self._reader.read(consumer)
        if batch.records:
            records, numbers = self._entering(batch)
            self._deliver(records, numbers)
        # The records are in the query's state now, so they must not be read again, even if a later step fails.
        self._reader.advance(batch)
        if batch.records and not batch.is_full:
            # As the fan-out does: few large batches cost less than many small ones.
            time.sleep(pace([self._subscription.interval], was_full=False))

    def _entering(self, batch: ReadBatch) -> tuple[Sequence[Record], Sequence[int]]:
        """The records and the leaf at which each enters; a topic that the plan reads twice has its records twice."""
        if len(self._leaves) == 1 and len(self._leaves[batch.topics[0]]) == 1:
            return batch.records, ()
        entering = [
            (record, number)
            for topic, record in zip(batch.topics, batch.records, strict=True)
            for number in self._leaves[topic]
        ]
        return [record for record, _ in entering], [number for _, number in entering]

    def _deliver(self, records: Sequence[Record], numbers: Sequence[int]) -> None:
        """Give the rows to the client, or the reason why they cannot be computed."""
        computed = self._evaluation.attempted(records, {}, numbers)
        if isinstance(computed, Exception):
            self._fail(f"the query failed: {computed}")
        else:
            self._subscription.add(computed.rows)
