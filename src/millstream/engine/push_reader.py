"""A consumer that reads topics from a start, for push queries, and survives what happens to the topics meanwhile.

    start      topic s at {0: 900, 1: 0}
    read       records 900 … 949 of partition 0, then the end of partition 1: positions {0: 950, 1: 1}, as behind the
               last record there is the marker of a transaction, which is not a record
    read       partition 0 no longer has 950, but only what follows 1200: it goes on there, or fails if it is `exact`

A batch is read again unless `advance` follows, for example after an outage.
"""

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from millstream.engine.continuation import removed
from millstream.engine.kafka_admin import ERROR_UNKNOWN
from millstream.engine.kafka_offsets import Positions
from millstream.engine.push_evaluation import PushAccess
from millstream.services.kafka_headers import headers_of
from millstream.spark.bounded import Record

LOG = logging.getLogger(__name__)
# The longest wait for a record, in seconds, and the most records of a batch.
PULSE = 0.1
BATCH = 1000
# How often, in seconds, it is checked that topics still exist, and how many partitions they have.
CHECKED_EVERY = 5.0


class BacklogLost(Exception):
    """Records that a query had to read were removed from the topic; the message says which."""


class TopicReplaced(Exception):
    """A topic that was deleted, or deleted and created again; the message says which."""


class TopicIdentity:
    """Checks that a topic is still the one that it was at the first check."""

    def __init__(self, topic: str, identity: Callable[[str], str]) -> None:
        """`identity` returns a topic's id (KafkaClient.identity)."""
        self._topic, self._identity_of = topic, identity
        self._identity = ""

    def check(self) -> None:
        """Raises TopicReplaced if it is not, KafkaException if Kafka does not answer."""
        try:
            identity = self._identity_of(self._topic)
        except KafkaException as failure:
            if failure.args[0].code() == ERROR_UNKNOWN:
                raise TopicReplaced(f"topic {self._topic} was deleted") from failure
            raise
        if self._identity and identity != self._identity:
            raise TopicReplaced(f"topic {self._topic} was deleted and created again")
        self._identity = identity


@dataclass(frozen=True, slots=True)
class ReadBatch:
    """Records, the topic of each, and the next offset of each partition of each topic behind them."""

    records: Sequence[Record]
    topics: Sequence[str]
    after: Mapping[str, Positions]

    @property
    def is_full(self) -> bool:
        """True if more records may have been there already."""
        return len(self.records) == BATCH


class PushReader:
    """Reads topics; `positions` has the next offset of each partition of each topic. One thread reads.

    `open_consumer` opens a consumer without partitions. `exact`: it fails with BacklogLost if records from the start on
    are removed before they are read.
    """

    def __init__(
        self,
        starts: Mapping[str, Positions],
        exact: bool,
        kafka: PushAccess,
        open_consumer: Callable[[], AbstractContextManager[Consumer]],
    ) -> None:
        self.positions: dict[str, Positions] = {topic: dict(positions) for topic, positions in starts.items()}
        self._exact, self._kafka, self._open_consumer = exact, kafka, open_consumer
        self._identities: dict[str, TopicIdentity] = {}
        self._checked_at: float | None = None

    @contextmanager
    def consumer(self) -> Iterator[Consumer]:
        """A consumer at the positions. The topics are checked before it reads."""
        with self._open_consumer() as consumer:
            self._checked_at = None
            for topic, positions in self.positions.items():
                _assign(consumer, topic, positions)
            yield consumer

    def add(self, topic: str, positions: Positions, consumer: Consumer | None = None) -> None:
        """Read further partitions too, from these offsets on; `consumer` is the one that is open, if there is one."""
        self.positions[topic] = {**self.positions.get(topic, {}), **positions}
        if consumer is not None and positions:
            _assign(consumer, topic, positions)

    def read(self, consumer: Consumer, before_more: Callable[[], object] = lambda: None) -> ReadBatch:
        """The next records, after at most PULSE seconds; they are read again unless `advance` follows.

        `before_more` is called when it is known whether there is a record, before others are taken with it. Raises
        BacklogLost, TopicReplaced, KafkaException.
        """
        first = consumer.poll(PULSE)
        before_more()
        messages = [] if first is None else [first, *consumer.consume(BATCH - 1, 0)]
        errors = [message for message in messages if message.error() is not None]
        good = messages if not errors else [message for message in messages if message.error() is None]
        ends = self._reached_ends(consumer, errors)
        records, topics = [_record_of(message) for message in good], self._topics_of(good)
        after = {topic: dict(positions) for topic, positions in self.positions.items()}
        for topic, record in zip(topics, records, strict=True):
            after[topic][record.partition] = record.offset + 1
        # Behind the last record there may be the end of a transaction, which is not a record.
        for (topic, partition), end in ends.items():
            after[topic][partition] = max(end, after[topic].get(partition, 0))
        return ReadBatch(records, topics, after)

    def advance(self, batch: ReadBatch) -> None:
        """Move the positions behind a batch that was processed; without this call `read` returns its records again."""
        self.positions = dict(batch.after)

    def check(self) -> bool:
        """At the start, and every CHECKED_EVERY seconds, check that the topics still exist; False if that is not due.

        Consumers do not report a deletion. Raises TopicReplaced, KafkaException.
        """
        if self._checked_at is not None and time.monotonic() - self._checked_at < CHECKED_EVERY:
            return False
        self._check_now()
        return True

    def check_partitions(self, consumer: Consumer) -> None:
        """The same; partitions that were added to the topics are read from their beginning."""
        if self.check():
            for topic, known in list(self.positions.items()):
                self.add(topic, {p: 0 for p in self._kafka.ends(topic) if p not in known}, consumer)

    def _check_now(self) -> None:
        for topic in self.positions:
            self._identities.setdefault(topic, TopicIdentity(topic, self._kafka.identity)).check()
        self._checked_at = time.monotonic()

    def _topics_of(self, messages: Sequence[Message]) -> Sequence[str]:
        if len(self.positions) == 1:
            return [*self.positions] * len(messages)
        return [str(message.topic()) for message in messages]

    def _reached_ends(self, consumer: Consumer, errors: Sequence[Message]) -> dict[tuple[str, int], int]:
        """The ends of partitions that were reached. Raises BacklogLost, TopicReplaced, KafkaException for other
        errors."""
        partitions = [
            (topic, int(m.partition() or 0)) for topic, m in zip(self._topics_of(errors), errors, strict=True)
        ]
        codes = [_error_code(message) for message in errors]
        for message, code in zip(errors, codes, strict=True):
            if code not in (KafkaError._PARTITION_EOF, KafkaError._AUTO_OFFSET_RESET):
                self._check_now()
                raise KafkaException(message.error())
        for (topic, partition), code in zip(partitions, codes, strict=True):
            if code == KafkaError._AUTO_OFFSET_RESET:
                self._pass_removed(consumer, topic, partition)
        reached = zip(partitions, errors, codes, strict=True)
        return {partition: m.offset() or 0 for partition, m, code in reached if code == KafkaError._PARTITION_EOF}

    def _pass_removed(self, consumer: Consumer, topic: str, partition: int) -> None:
        """Go on at the next record that a partition still has. Raises BacklogLost if records must not be missing."""
        self._check_now()
        first, end = self._kafka.bounds(topic).get(partition, (0, 0))
        offset = self.positions[topic].get(partition, 0)
        if self._exact:
            raise BacklogLost(removed(topic, partition, offset, first))
        new_offset = max(first, min(offset, end))
        self.add(topic, {partition: new_offset})
        consumer.seek(TopicPartition(topic, partition, new_offset))
        text = "partition %d of topic %s no longer has offset %d; reading continues at %d"
        LOG.warning(text, partition, topic, offset, new_offset)


def _assign(consumer: Consumer, topic: str, positions: Positions) -> None:
    consumer.incremental_assign([TopicPartition(topic, p, offset) for p, offset in positions.items()])


def _error_code(message: Message) -> int:
    """The code of a message's error; 0 if it has none."""
    error = message.error()
    return 0 if error is None else int(error.code())


def _record_of(message: Message) -> Record:
    """A message of a consumer as a record."""
    partition, offset = int(message.partition() or 0), int(message.offset() or 0)
    key, value, time_ms = _bytes(message.key()), _bytes(message.value()), message.timestamp()[1]
    return Record(key, value, time_ms, headers_of(message), partition, offset)


def _bytes(data: str | bytes | None) -> bytes | None:
    return data.encode() if isinstance(data, str) else data
