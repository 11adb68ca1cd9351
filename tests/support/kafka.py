"""Creates topics, produces and consumes, for tests against a real broker."""

import json
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec  # type: ignore[attr-defined]

from millstream.engine.kafka_admin import BROKEN_CONNECTION, LEADERLESS
from support.patience import PATIENCE

Bytes = bytes | str | Mapping[str, object] | None
# Seconds between two checks of a condition: the first and the last pause, or so many times as long as a check takes.
FIRST_PAUSE, LAST_PAUSE = 0.02, 0.25
LOOKS_APART, LONGEST_PAUSE = 4, 1.0
# The most records of a request of CommittedCounts, and its longest wait in seconds.
READ_AT_ONCE, READ_PATIENCE = 10_000, 0.1


@dataclass(frozen=True, slots=True)
class TopicRecord:
    """One record of a topic."""

    key: bytes | None
    value: bytes | None
    timestamp: int
    partition: int
    offset: int
    headers: tuple[tuple[str, bytes | None], ...] = field(default=())

    @property
    def json(self) -> Any:
        """The value read as JSON; None for a tombstone."""
        return None if self.value is None else json.loads(self.value)

    @property
    def window_start(self) -> int:
        """The start, in epoch ms, of the window of a row: its key's last eight bytes, but for session windows."""
        assert self.key is not None
        return int.from_bytes(self.key[-8:], "big", signed=True)


class BrokerClient:
    """A client of one broker: `bootstrap` is host:port."""

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap
        self.admin = AdminClient({"bootstrap.servers": bootstrap})
        self._producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 5, "enable.idempotence": True})

    def unique(self, stem: str = "t") -> str:
        """A topic name that no other test uses; the topic is not created."""
        return f"{stem}-{uuid.uuid4().hex[:8]}"

    def source_name(self, stem: str = "t") -> str:
        """The same as the name of a stream or table, which may be that of its topic too."""
        return self.unique(stem).replace("-", "_").upper()

    def create_topic(
        self, name: str = "", partitions: int = 1, config: Mapping[str, str] | None = None, replicas: int = 1
    ) -> str:
        """Create a topic, by default with a unique name, and return its name.

        The controller answers before the brokers know the topic: it is waited for, or a loaded broker denies it.
        """
        topic = name or self.unique()
        self.admin.create_topics([NewTopic(topic, partitions, replicas, config=dict(config or {}))])[topic].result()
        wait_for(lambda: topic in self.topics(), f"the topic {topic}")
        return topic

    def delete_topic(self, name: str) -> None:
        """Delete a topic."""
        self.admin.delete_topics([name])[name].result()

    def recreate_topic(self, name: str, partitions: int = 1, timeout: float = PATIENCE) -> None:
        """Delete a topic, wait up to `timeout` seconds for its end, and create it again."""
        self.delete_topic(name)
        wait_for(lambda: name not in self.topics(), f"the end of the topic {name}", timeout)
        self.create_topic(name, partitions)

    def topics(self) -> dict[str, int]:
        """Every topic's name and number of partitions."""
        topics = self.admin.list_topics(timeout=PATIENCE).topics
        return {name: len(topic.partitions) for name, topic in topics.items()}

    def produce(
        self,
        topic: str,
        key: Bytes,
        value: Bytes,
        timestamp: int = 0,
        headers: Sequence[tuple[str, bytes | None]] = (),
        partition: int = -1,
    ) -> None:
        """Write one record and wait for the acknowledgement; a mapping is sent as JSON, timestamp 0 means now."""
        self.send(topic, key, value, timestamp, headers, partition)
        self.flush()

    def send(
        self,
        topic: str,
        key: Bytes,
        value: Bytes,
        timestamp: int = 0,
        headers: Sequence[tuple[str, bytes | None]] = (),
        partition: int = -1,
    ) -> None:
        """As `produce`, without waiting: `flush` does."""
        self._producer.produce(
            topic,
            _raw(value),
            _raw(key),
            partition,
            timestamp=timestamp,
            headers=list(headers),
            on_delivery=_must_arrive,
        )
        self._producer.poll(0)

    def flush(self) -> None:
        """Wait until the broker has all that was sent."""
        assert self._producer.flush(PATIENCE) == 0, "the broker did not take every record"

    def ends(self, topic: str) -> int:
        """The number of records written to the topic so far, over all partitions; 0 if it does not exist yet."""
        return sum(self.high_watermarks(topic))

    def partitions(self, topic: str) -> range:
        """The numbers of the topic's partitions; none if it does not exist yet."""
        return range(len(self.admin.list_topics(topic, timeout=PATIENCE).topics[topic].partitions))

    def consume_all(self, topic: str, n: int, timeout: float = PATIENCE) -> list[TopicRecord]:
        """The first `n` records of a topic; AssertionError when fewer arrive in `timeout` seconds.

        The order holds within a partition only.
        """
        deadline, records = time.monotonic() + timeout, list[TopicRecord]()
        partitions = self.partitions(topic)
        assert partitions, f"there is no topic {topic}"
        with _reader(self.bootstrap) as reader:
            reader.assign([TopicPartition(topic, p, 0) for p in partitions])
            while len(records) < n and time.monotonic() < deadline:
                records += [
                    _record(message) for message in reader.consume(n - len(records), 0.2) if not message.error()
                ]
        assert len(records) >= n, f"{topic} has {len(records)} of {n} records after {timeout} s: {records}"
        return records

    def high_watermarks(self, topic: str) -> list[int]:
        """The offset behind the last record of each partition, committed or not, markers of transactions counted."""
        latest = OffsetSpec.latest()  # type: ignore[no-untyped-call]
        request = {TopicPartition(topic, p): latest for p in self.partitions(topic)}
        deadline = time.monotonic() + PATIENCE
        while request:
            try:
                ends = [answer.result().offset for answer in self.admin.list_offsets(request).values()]
                if min(ends) < 0:  # so librdkafka reports some broken connections
                    raise KafkaException(KafkaError(BROKEN_CONNECTION))
                return ends
            except KafkaException as failure:
                passing = failure.args[0].code() in (*LEADERLESS, BROKEN_CONNECTION)
                if not passing or time.monotonic() > deadline:
                    raise
                time.sleep(0.05)
        return []

    def commit(self, group: str, topic: str, offsets: Mapping[int, int]) -> None:
        """Commit the offsets of a consumer group, by partition; the group has no members."""
        consumer = Consumer({"bootstrap.servers": self.bootstrap, "group.id": group, "enable.auto.commit": False})
        consumer.commit(offsets=[TopicPartition(topic, p, at) for p, at in offsets.items()], asynchronous=False)
        consumer.close()

    def committed(self, topic: str) -> list[TopicRecord]:
        """The records of a topic that a reader of committed records gets now."""
        records, ended, partitions = list[TopicRecord](), set[int | None](), self.partitions(topic)
        assert partitions, f"there is no topic {topic}"
        with _reader(self.bootstrap, **{"enable.partition.eof": True}) as reader:
            reader.assign([TopicPartition(topic, p, 0) for p in partitions])
            while len(ended) < len(partitions):
                for message in reader.consume(1000, 0.2):
                    error = message.error()
                    if error is None:
                        records.append(_record(message))
                    elif error.code() == KafkaError._PARTITION_EOF:
                        ended.add(message.partition())
        return records


class CommittedCounts:
    """How many records of each topic a reader of committed records gets; each count reads only new records.

    So waiting for records costs as much as to read them once. The topics must exist at the first count. `close` it.
    """

    def __init__(self, kafka: BrokerClient, topics: Sequence[str]) -> None:
        self._kafka, self._counts = kafka, dict.fromkeys(topics, 0)
        self._reader: Consumer | None = None
        # The partitions of which not all is read.
        self._behind = set[tuple[str | None, int | None]]()

    def look(self) -> dict[str, int]:
        """The number of records of each topic."""
        reader = self._reader = self._reader or self._assigned()
        # Of these the end is awaited once, as it was at some moment of this look: records may never stop coming.
        unread = set(self._behind)
        while True:
            messages = reader.consume(READ_AT_ONCE, READ_PATIENCE)
            unread -= {ended for message in messages if (ended := self._count(message))}
            if not unread and len(messages) < READ_AT_ONCE:
                return dict(self._counts)

    def close(self) -> None:
        """End the reader."""
        if self._reader is not None:
            self._reader.close()

    def _assigned(self) -> Consumer:
        places = [TopicPartition(topic, p, 0) for topic in self._counts for p in self._kafka.partitions(topic)]
        assert {place.topic for place in places} == self._counts.keys(), "a topic does not exist"
        self._behind = {(place.topic, place.partition) for place in places}
        reader = Consumer({**_reading(self._kafka.bootstrap), "enable.partition.eof": True})
        reader.assign(places)
        return reader

    def _count(self, message: Message) -> tuple[str | None, int | None] | None:
        """Count a record; a partition whose end was read is returned."""
        place, error = (message.topic(), message.partition()), message.error()
        if error is None:
            self._counts[str(message.topic())] += 1
            self._behind.add(place)
        elif error.code() == KafkaError._PARTITION_EOF:
            self._behind.discard(place)
            return place
        return None


def wait_for(
    ready: Callable[[], object], what: str, timeout: float = PATIENCE, seen: Callable[[], object] = str
) -> None:
    """Return once `ready()` is true; AssertionError naming `what`, and what `seen` gives, after `timeout` seconds."""
    deadline, pause = time.monotonic() + timeout, FIRST_PAUSE
    while True:
        began = time.monotonic()
        if ready():
            return
        assert time.monotonic() < deadline, f"{what} did not happen in {timeout} s {seen()}"
        # A check uses processor time that the awaited work needs, here and in the broker.
        time.sleep(max(pause, min(LOOKS_APART * (time.monotonic() - began), LONGEST_PAUSE)))
        pause = min(1.5 * pause, LAST_PAUSE)


def _reading(bootstrap: str) -> dict[str, object]:
    """Settings of a consumer that reads committed records, in no group."""
    return {
        "bootstrap.servers": bootstrap,
        "group.id": uuid.uuid4().hex,
        "enable.auto.commit": False,
        "isolation.level": "read_committed",
    }


@contextmanager
def _reader(bootstrap: str, **more: object) -> Iterator[Consumer]:
    reader = Consumer({**_reading(bootstrap), **more})
    try:
        yield reader
    finally:
        reader.close()


def _raw(data: Bytes) -> bytes | None:
    if data is None or isinstance(data, bytes):
        return data
    return data.encode() if isinstance(data, str) else json.dumps(data).encode()


def _must_arrive(error: object, message: Message) -> None:
    assert error is None, f"{message.topic()} refused a record: {error}"


def _record(message: Message) -> TopicRecord:
    headers: Iterable[tuple[str, bytes | None]] = message.headers() or ()
    return TopicRecord(
        message.key(),
        message.value(),
        message.timestamp()[1],
        message.partition(),
        message.offset(),
        tuple(headers),
    )
