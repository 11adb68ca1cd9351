"""Writes the records of INSERT VALUES, of DELETE FROM and of the command topic, and waits for their acknowledgement.

write("orders", b"1", b"{}")    → 7, its offset: all in-sync replicas have it
                                → KafkaException: it is not written, and will not be when the broker is back
"""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from millstream.engine.kafka_admin import (
    PATIENCE,
    RENEWAL_PATIENCE,
    KafkaAdmin,
    TopicIdentity,
    identity_of,
    wait_until,
)

# The producer's delivery timeout in seconds, less than PATIENCE: a record whose write was reported as failed must not
# be written once the broker is back.
DELIVERY_SECONDS = 12.0
# How long, in seconds, a new topic that is to be written may be unknown to the brokers.
UNKNOWN_TOPIC_SECONDS = 5.0
# The number of topics for which the source that last wrote them is remembered, and for how many seconds it is not
# checked whether a topic is still the same.
MOST_WRITTEN, WRITTEN_FRESH = 10_000, 1.0
UNWRITTEN = (KafkaError._TIMED_OUT, KafkaError._MSG_TIMED_OUT)
# The same partition for a key as Kafka's Java clients choose.
WRITER = {"partitioner": "murmur2_random", "acks": "all", "linger.ms": 0, "enable.idempotence": True}

Bytes = bytes | None


@dataclass(frozen=True, slots=True)
class _WrittenTopic:
    """A topic that was written: for whom, its id and its partitions, and when they were read (monotonic seconds)."""

    owner: object
    identity: TopicIdentity
    read_at: float


class _Delivery:
    """A record that is being sent: its offset, or why it was not written."""

    __slots__ = ("done", "failure", "offset", "producer")

    def __init__(self, producer: Producer) -> None:
        self.producer, self.done, self.offset = producer, False, -1
        self.failure: KafkaException | None = None

    def arrived(self, error: KafkaError | None, message: Message) -> None:
        """The producer's delivery callback: records the offset, or why the record was not written."""
        self.failure = None if error is None else KafkaException(error)
        self.offset, self.done = message.offset() or 0, True


class RecordWriter:
    """Writes records with one producer, which it replaces when the producer accepts no more.

    `new_producer` returns a producer with the settings that it gets, `admin` reads the topics that are written.
    """

    def __init__(self, new_producer: Callable[[Mapping[str, Any]], Producer], admin: KafkaAdmin) -> None:
        self._new_producer, self._admin = new_producer, admin
        self._producer: Producer | None = None
        self._lock = threading.Lock()
        self._written: dict[str, _WrittenTopic] = {}

    def open(self) -> None:
        """Connect the producer in the background: its id takes half a second, and writes wait for it."""
        self._current_producer()

    def write_for(self, owner: object, topic: str) -> None:
        """Call before writes to the topic of `owner`, a source. Raises KafkaException if Kafka does not answer.

        The topic may have been deleted and created again, or have more partitions. The producer would choose partitions
        by their old number, as it refreshes its metadata only every five minutes; and records that librdkafka sends
        with the old topic's sequence numbers are at times acknowledged and lost, even with fresh metadata. So the next
        write gets a new producer.
        """
        earlier, now = self._written.get(topic), time.monotonic()
        if earlier is not None and earlier.owner is owner:
            if now - earlier.read_at < WRITTEN_FRESH:
                return
            if self._is_still(topic, earlier.identity):
                self._written[topic] = replace(earlier, read_at=now)
                return
        # A topic that was just created may be unknown to a broker for a moment.
        described = wait_until(lambda: self._admin.described_or_none(topic), UNKNOWN_TOPIC_SECONDS)
        identity = identity_of(described or self._admin.described(topic))
        if earlier is not None and earlier.identity != identity:
            self._replace_producer()
        if len(self._written) >= MOST_WRITTEN:
            self._written.clear()
        self._written[topic] = _WrittenTopic(owner, identity, now)

    def _is_still(self, topic: str, identity: TopicIdentity) -> bool:
        """True if a topic has this id and these partitions, or Kafka does not answer soon: the write waits for it."""
        try:
            described = self._admin.described_or_none(topic, RENEWAL_PATIENCE)
        except KafkaException:
            return True
        return described is not None and identity_of(described) == identity

    def write(self, topic: str, key: Bytes, value: Bytes, timestamp: int | None = None) -> int:
        """Write one record and wait until all in-sync replicas have it; returns its offset. Raises KafkaException.

        `timestamp` None means now.
        """
        return self._wait([self._send(topic, key, value, timestamp)])[0].offset

    def write_all(self, topic: str, records: Sequence[tuple[Bytes, Bytes, int]]) -> list[KafkaException | None]:
        """Write records (key, value, timestamp) in order and wait for all; for each None, or why it was not written."""
        return [
            sent.failure for sent in self._wait([self._send(topic, *record) for record in records], all_or_none=False)
        ]

    def _send(self, topic: str, key: Bytes, value: Bytes, timestamp: int | None) -> _Delivery:
        """Pass a record to the producer, and wait only for room in its queue; a callback completes the delivery."""
        producer = self._current_producer()
        sent = _Delivery(producer)
        when = int(time.time() * 1000) if timestamp is None else timestamp
        while True:
            try:
                producer.produce(topic, value, key, on_delivery=sent.arrived, timestamp=when)
            except BufferError:
                producer.poll(0.1)
            except KafkaException as failure:
                sent.failure, sent.done = failure, True
                if failure.args[0].fatal():
                    self._replace_producer()
                return sent
            else:
                return sent

    def _wait(self, records: Sequence[_Delivery], all_or_none: bool = True) -> Sequence[_Delivery]:
        deadline = time.monotonic() + PATIENCE
        while (sent := next((sent for sent in records if not sent.done), None)) and time.monotonic() < deadline:
            sent.producer.poll(0.01)
        for sent in records:
            if not sent.done:
                sent.failure = KafkaException(KafkaError(KafkaError._TIMED_OUT))
            if sent.failure is not None and _needs_new_producer(sent.failure.args[0]):
                self._replace_producer()
            if all_or_none and sent.failure is not None:
                raise sent.failure
        return records

    def _current_producer(self) -> Producer:
        with self._lock:
            if self._producer is None:
                limits = {"message.timeout.ms": round(DELIVERY_SECONDS * 1000)}
                self._producer = self._new_producer({**WRITER, **limits})
            return self._producer

    def _replace_producer(self) -> None:
        """Let the next write create a new producer."""
        with self._lock:
            self._producer = None


def _needs_new_producer(failure: KafkaError) -> bool:
    """True if the producer accepts no more records, or may have lost all brokers."""
    return failure.fatal() or failure.code() in UNWRITTEN
