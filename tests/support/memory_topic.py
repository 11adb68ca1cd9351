"""Push subscriptions over a topic in memory, whose consumers make the calls of a real one that are used."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, cast

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from millstream.catalog.catalog import Catalog
from millstream.catalog.facts import Facts
from millstream.engine.catch_up import BacklogStart
from millstream.engine.kafka_admin import ERROR_UNKNOWN
from millstream.engine.kafka_offsets import Positions
from millstream.engine.push_evaluation import PushAccess
from millstream.engine.push_subscriptions import PushSubscriptions
from millstream.engine.stateful_push import StatefulStart
from millstream.engine.topic_fanout import BATCH_SECONDS, PushSubscription
from millstream.model.settings import effective
from millstream.plan.nodes import ClientOutput
from millstream.plan.queries import plan_transient
from millstream.plan.statements import outcome
from millstream.services.loop import Loops
from millstream.spark.bounded import AnswerRow, Changes, Record
from millstream.spark.evaluate import EvaluationFailed
from millstream.syntax.parser import parse_one
from support.patience import PATIENCE

SETTINGS = effective({})
STATEMENTS = (
    "CREATE STREAM s (id INT KEY, v INT, a ARRAY<INT>) WITH (kafka_topic='s', format='JSON', partitions=2);",
    "CREATE STREAM r (id INT KEY, v INT) WITH (kafka_topic='r', format='JSON', partitions=2);",
    "CREATE TABLE t (id INT PRIMARY KEY, v INT) WITH (kafka_topic='t', format='JSON', partitions=2);",
    "CREATE TABLE u (id INT PRIMARY KEY, v INT) WITH (kafka_topic='s', format='JSON', partitions=2);",
    "CREATE FUNCTION doubled (x INT) RETURNS INT LANGUAGE PYTHON AS $$return 2 * x$$;",
    """CREATE AGGREGATE FUNCTION longest (x INT) RETURNS INT LANGUAGE PYTHON AS $$
class Longest:
    def initial(self): return 0
    def add(self, state, x): return max(state, x)
    def result(self, state): return state
$$;""",
)
FAILING = b"-1"


def catalog() -> Catalog:
    """The catalog after the statements."""
    result = Catalog()
    for text in STATEMENTS:
        result = outcome(parse_one(text), text, result, Facts(), SETTINGS).catalog
    return result


CATALOG = catalog()


def plan(select: str) -> ClientOutput:
    """The plan of a push query."""
    statement: Any = parse_one(f"{select} EMIT CHANGES;")
    return plan_transient(statement, CATALOG, SETTINGS).plan


V, ID, COUNT = plan("SELECT v FROM s"), plan("SELECT id FROM s"), plan("SELECT COUNT(*) AS n FROM s")


class TopicMessage:
    """A message as Kafka's client gives it: a record or an error."""

    def __init__(self, partition: int, offset: int, value: bytes, code: int | None = None) -> None:
        self._partition, self._offset, self._value, self._code = partition, offset, value, code

    def error(self) -> KafkaError | None:
        return None if self._code is None else KafkaError(self._code)

    def key(self) -> bytes:
        return b"1"

    def value(self) -> bytes:
        return self._value

    def headers(self) -> None:
        return None

    def timestamp(self) -> tuple[int, int]:
        return 1, 1000

    def partition(self) -> int:
        return self._partition

    def offset(self) -> int:
        return self._offset


class MemoryTopic:
    """A topic with consumers of the three calls that a fan-out makes, and the plans that are prepared for it."""

    def __init__(self, partitions: int = 2) -> None:
        # None is the marker of a transaction's end.
        self.records: list[list[bytes | None]] = [[] for _ in range(partitions)]
        self.firsts = [0] * partitions
        self.id, self.open, self.opened = "first", 0, 0
        self.failures: list[Exception] = []
        self.cause: Exception = EvaluationFailed("it cannot be computed")
        self.prepared: list[str] = []
        self.gathered: list[float] = []
        self.released: list[str] = []
        self.evaluated: list[int] = []
        self.may_prepare = threading.Event()
        self.may_prepare.set()
        self.changed = threading.Condition()

    def access(self) -> PushAccess:
        return PushAccess(
            reader=self._gathering_reader,
            backlog_reader=lambda isolation, seconds: self._reader(isolation, reports_ends=True),
            ends=self._ends,
            bounds=lambda topic: {p: (self.firsts[p], end) for p, end in self._ends(topic).items()},
            identity=self._identity,
            prepare=self._prepare,
            release=self.released.append,
        )

    def write(self, *values: object, partition: int = 0) -> None:
        """Append records whose value is the text of `v`."""
        with self.changed:
            self.records[partition] += [v if isinstance(v, bytes | None) else str(v).encode() for v in values]
            self.changed.notify_all()

    def fail(self, failure: Exception) -> None:
        """Raise it at the next poll."""
        with self.changed:
            self.failures.append(failure)
            self.changed.notify_all()

    def _gathering_reader(self, isolation: str, seconds: float) -> AbstractContextManager[Consumer]:
        self.gathered.append(seconds)
        return self._reader(isolation)

    @contextmanager
    def _reader(self, isolation: str, reports_ends: bool = False) -> Iterator[Consumer]:
        self.open, self.opened = self.open + 1, self.opened + 1
        try:
            yield cast(Consumer, MemoryConsumer(self, reports_ends))
        finally:
            self.open -= 1

    def _ends(self, topic: str) -> Mapping[int, int]:
        if not self.id:
            raise KafkaException(KafkaError(ERROR_UNKNOWN))
        return {p: len(records) for p, records in enumerate(self.records)}

    def _identity(self, topic: str) -> str:
        self._ends(topic)
        return self.id

    def _prepare(self, prepared: ClientOutput, id: str, only_changes: bool) -> Changes:
        assert self.may_prepare.wait(PATIENCE)
        self.prepared.append(id)

        def evaluate(records: Sequence[Record], leaves: Sequence[int]) -> Sequence[Sequence[AnswerRow]]:
            self.evaluated.append(len(records))
            if prepared in (V, COUNT) and any(record.value == FAILING for record in records):
                raise self.cause
            return [[[int(record.value or 0), False]] for record in records]

        return evaluate


class MemoryConsumer:
    """A consumer of a MemoryTopic."""

    def __init__(self, topic: MemoryTopic, reports_ends: bool) -> None:
        self._topic, self._positions, self._reports_ends = topic, dict[int, int](), reports_ends

    def incremental_assign(self, places: Sequence[TopicPartition]) -> None:
        self._positions |= {place.partition: place.offset for place in places}

    def seek(self, place: TopicPartition) -> None:
        self._positions[place.partition] = place.offset

    def poll(self, seconds: float) -> TopicMessage | None:
        with self._topic.changed:
            self._topic.changed.wait_for(lambda: self._topic.failures or self._has_next(), seconds)
            if self._topic.failures:
                raise self._topic.failures.pop(0)
            return next(iter(self._next(1)), None)

    def consume(self, most: int, seconds: float) -> list[TopicMessage]:
        return self._next(most)

    def _has_next(self) -> bool:
        return any(at < len(self._topic.records[p]) for p, at in self._positions.items())

    def _next(self, most: int) -> list[TopicMessage]:
        messages = []
        for partition, at in self._positions.items():
            if at < self._topic.firsts[partition]:
                self._positions[partition] = len(self._topic.records[partition])
                return [*messages, TopicMessage(partition, at, b"", KafkaError._AUTO_OFFSET_RESET)]
            values = self._topic.records[partition][at : at + most - len(messages)]
            messages += [TopicMessage(partition, at + i, value) for i, value in enumerate(values) if value is not None]
            self._positions[partition] = end = at + len(values)
            if self._reports_ends and values and end == len(self._topic.records[partition]):
                messages.append(TopicMessage(partition, end, b"", KafkaError._PARTITION_EOF))
        return messages


class MemoryPushes:
    """Subscriptions over a topic in memory."""

    def __init__(self, partitions: int = 2) -> None:
        self.topic, self.loops = MemoryTopic(partitions), Loops()
        self.subscriptions = PushSubscriptions(self.topic.access(), self.loops)
        self.ended: list[PushSubscription] = []

    def subscribe(
        self,
        read: ClientOutput = V,
        capacity: int = 1000,
        start: BacklogStart | None = None,
        progress_every: float | None = None,
        interval: float = BATCH_SECONDS,
    ) -> PushSubscription:
        subscription = PushSubscription(capacity, lambda: self.ended.append(subscription), progress_every, interval)
        self.subscriptions.subscribe(read, "read_committed", subscription, start)
        return subscription

    def subscribe_alone(
        self, read: ClientOutput = COUNT, capacity: int = 1000, at: Positions | None = None
    ) -> PushSubscription:
        """A subscription with state, from the beginning or some positions."""
        subscription = PushSubscription(capacity, lambda: self.ended.append(subscription))
        start = StatefulStart({"s": at or {0: 0, 1: 0}})
        self.subscriptions.subscribe_alone(read, "transient_S_1", "read_committed", subscription, start)
        return subscription

    def started(self) -> int:
        """How many subscriptions know from which offsets on they get rows."""
        return sum(s._starts is not None for s in list(self.subscriptions._evaluations))

    def unsubscribe(self, *subscriptions: PushSubscription) -> None:
        for subscription in subscriptions:
            self.subscriptions.unsubscribe(subscription)

    def is_free(self) -> bool:
        """Whether nothing is left of any subscription."""
        loops, topic = self.loops.health(), self.topic
        in_use = loops or topic.open or self.subscriptions.consumers
        return not in_use and sorted(topic.released) == sorted(topic.prepared)


def rows(subscription: PushSubscription, count: int) -> list[int]:
    """The next rows' only column."""
    values: list[int] = []
    while len(values) < count:
        batches = subscription.take(PATIENCE)
        assert batches, "no row arrived"
        values += [row[0] for batch in batches for row in batch]
    assert len(values) == count
    return values
