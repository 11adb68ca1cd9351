"""Topics of the benchmarks: create and fill them, and read when the broker appended which record."""

import json
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, IsolationLevel, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec  # type: ignore[attr-defined]

from millstream.services.broker import BrokerProcess

PARTITIONS = 2
# The default number of partitions.
KEYS = 1000
# The errors of a request about a topic that was just created.
NEW_TOPIC = (
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError._UNKNOWN_PARTITION,
    KafkaError._UNKNOWN_TOPIC,
)
# Of so many records in a row some are in each partition.
TIED = 20
APPEND_TIME = {"message.timestamp.type": "LogAppendTime"}


# Those of Kafka's own scripts. With the small heap of `millstream dev`, which grows as needed, the broker collected
# garbage so often that it was the cause of the worst latencies.
BROKER_JVM = (
    "-Xms1g",
    "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent",
)


def new_broker(folder: Path) -> BrokerProcess:
    """A broker for a measurement, on a free port, with its data in a folder; a context manager, which starts it."""
    return BrokerProcess(folder, 0, jvm_options=BROKER_JVM)


@dataclass(frozen=True, slots=True)
class BenchTopics:
    """The topics of one measurement: the input, the sink, and `other`, the right side of a join."""

    bootstrap: str
    source: str
    sink: str
    other: str

    def with_new_sink(self) -> "BenchTopics":
        """The same inputs, and an empty sink topic."""
        sink = f"out-{uuid.uuid4().hex[:8]}"
        create(self.bootstrap, [sink], config=APPEND_TIME)
        return replace(self, sink=sink)


def create(
    bootstrap: str, names: list[str], partitions: int = PARTITIONS, config: dict[str, str] | None = None
) -> None:
    """Create topics and wait until they exist."""
    expected = [NewTopic(name, partitions, 1, config=config or {}) for name in names]
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 3})
    for done in admin.create_topics(expected).values():
        done.result()


def new_topics(bootstrap: str) -> BenchTopics:
    """Fresh topics."""
    tag = uuid.uuid4().hex[:8]
    topics = BenchTopics(bootstrap, f"in-{tag}", f"out-{tag}", f"other-{tag}")
    create(bootstrap, [topics.source, topics.other])
    create(bootstrap, [topics.sink], config=APPEND_TIME)
    return topics


def delete(topics: BenchTopics) -> None:
    """Delete the topics, for the sake of the disk; that they are gone is not waited for."""
    admin = AdminClient({"bootstrap.servers": topics.bootstrap, "log_level": 3})
    for done in admin.delete_topics([topics.source, topics.sink, topics.other]).values():
        done.result()


def name_keys(topics: BenchTopics, keys: int) -> None:
    """Put a name for each key into the other topic, before any record's time."""
    producer, at = bulk_producer(topics.bootstrap), started() - 1000
    for i in range(keys):
        produce(producer, topics.other, i, f'{{"NAME":"name{i}"}}', at)
    producer.flush()


def fill(topics: BenchTopics, records: int, keys: int, both: bool, tied: bool = True) -> Callable[[], float]:
    """Put a backlog into the source topic, or with `both` half of it into each input.

    Until the function is called that is returned, readers of committed records get the first TIED records of each input
    only; it returns when that was, in epoch s.

    Records are a millisecond apart: A counts from 1, B is letters and a number. With `both`, a record is joined with
    the one of its number, which is 1 ms away. If `tied`, the first and the last TIED records have one time each, which
    all partitions have then: an engine whose stream time is that of the partition that is behind sees all records be
    past. Else each has a time of its own: Flink's OVER leaves out a record with the time of one that it has answered.
    """
    producer = bulk_producer(topics.bootstrap, **{"transactional.id": topics.source, "transaction.timeout.ms": 900_000})
    producer.init_transactions()
    put, numbers, at = (_put_both, records // 2, started()) if both else (_put, records, started())
    producer.begin_transaction()
    for i in range(TIED):
        put(producer, topics, i, keys, at if tied else at + i)
    producer.commit_transaction()
    producer.begin_transaction()
    for i in range(TIED, numbers):
        put(producer, topics, i, keys, at + (i if i < numbers - TIED or not tied else numbers - 1))
    producer.flush()

    def let_through() -> float:
        began = time.time()
        producer.commit_transaction()
        return began

    return let_through


def _put(producer: Producer, topics: BenchTopics, i: int, keys: int, at: int) -> None:
    produce(producer, topics.source, i % keys, f'{{"A":{i + 1},"B":"abcdefgh{i}"}}', at)


def _put_both(producer: Producer, topics: BenchTopics, i: int, keys: int, at: int) -> None:
    _put(producer, topics, i, keys, at)
    produce(producer, topics.other, i % keys, f'{{"C":{i}}}', at + 1)


def started() -> int:
    """The time of a backlog's first record: the beginning of a minute, long enough ago for all to be past."""
    return (int(time.time()) // 60 - 30) * 60_000


def produce(producer: Producer, topic: str, number: int, value: str, at: int) -> None:
    """One record of a backlog."""
    producer.produce(topic, key=f"k{number}", value=value, timestamp=at)
    if number % 10_000 == 0:
        producer.poll(0)


def bulk_producer(bootstrap: str, **settings: object) -> Producer:
    """A producer for loading: large batches, and room for the whole backlog."""
    buffers = {"queue.buffering.max.messages": 3_000_000, "queue.buffering.max.kbytes": 2_000_000}
    return Producer(
        {
            "bootstrap.servers": bootstrap,
            "linger.ms": 20,
            "partitioner": "murmur2_random",
            "enable.idempotence": True,
            **buffers,
            **settings,
        }
    )


def reader(bootstrap: str, **settings: object) -> Consumer:
    """A consumer with a group of its own and manually assigned partitions."""
    return Consumer({"bootstrap.servers": bootstrap, "group.id": uuid.uuid4().hex, **settings})


def wait_for_committed(
    topics: BenchTopics, expected: int, patience: float, alive: Callable[[], bool]
) -> tuple[int, float]:
    """Wait until `expected` records of the sink are committed; returns their number, and the time (epoch s)."""
    admin = AdminClient({"bootstrap.servers": topics.bootstrap})
    deadline, ended, committed_records = time.monotonic() + patience, time.time(), 0
    while committed_records < expected and time.monotonic() < deadline and alive():
        ends, committed = (_end_offsets(admin, topics.sink, level) for level in IsolationLevel)
        ended = time.time()
        # Markers of transactions have offsets too: only a reader knows how many records there are.
        committed_records = count(topics) if ends == committed and sum(ends) > expected else committed_records
        time.sleep(0.02)
    return committed_records, ended


def _end_offsets(admin: AdminClient, topic: str, level: IsolationLevel) -> list[int]:
    """The end offset of each partition at an isolation level; zeros while the topic does not exist."""
    latest = OffsetSpec.latest()  # type: ignore[no-untyped-call]
    requested = admin.list_offsets({TopicPartition(topic, p): latest for p in range(PARTITIONS)}, isolation_level=level)
    try:
        return [answer.result().offset for answer in requested.values()]
    except KafkaException:
        return [0] * PARTITIONS


def count(topics: BenchTopics) -> int:
    """How many records of the sink a reader of committed records gets."""
    consumer, ended, records = reader(topics.bootstrap, **{"enable.partition.eof": True}), 0, 0
    try:
        consumer.assign([TopicPartition(topics.sink, p, 0) for p in range(PARTITIONS)])
        while ended < PARTITIONS:
            batch = consumer.consume(10_000, 1)
            at_end = sum(message.error() is not None for message in batch)
            ended, records = ended + at_end, records + len(batch) - at_end
    finally:
        consumer.close()
    return records


def wait_for_records(topics: BenchTopics, expected: int, patience: float, alive: Callable[[], bool]) -> int:
    """Wait for `expected` records in the sink; returns their number then, or when no more arrive."""
    consumer, records, moved = reader(topics.bootstrap), 0, time.monotonic()
    try:
        while records < expected and time.monotonic() - moved < patience and alive():
            number = _records(consumer, topics.sink, records)
            if number != records:
                records, moved = number, time.monotonic()
            time.sleep(0.05)
    finally:
        consumer.close()
    return records


def wait_for_total(topics: BenchTopics, expected: int, patience: float, alive: Callable[[], bool]) -> int:
    """Wait until the last counts of all keys in the sink add up to so many; returns their sum then, or when no further
    one arrives."""
    consumer, counts, moved = reader(topics.bootstrap), dict[bytes, int](), time.monotonic()
    try:
        consumer.assign([TopicPartition(topics.sink, p, 0) for p in range(PARTITIONS)])
        while sum(counts.values()) < expected and time.monotonic() - moved < patience and alive():
            for message in consumer.consume(10_000, 0.05):
                if not message.error():
                    counts[raw(message.key())] = json.loads(raw(message.value()))["N"]
                    moved = time.monotonic()
    finally:
        consumer.close()
    return sum(counts.values())


def _records(consumer: Consumer, topic: str, last_count: int) -> int:
    """The number of records in the topic; `last_count` while a new topic has no leader, or is unknown."""
    try:
        return sum(consumer.get_watermark_offsets(TopicPartition(topic, p))[1] for p in range(PARTITIONS))
    except KafkaException as failure:
        if failure.args[0].code() not in NEW_TOPIC:
            raise
        return last_count


def appended_between(topics: BenchTopics) -> float:
    """Seconds between the broker's first and last append to the sink."""
    first, last = appends(topics)
    return last - first


def appends(topics: BenchTopics) -> tuple[float, float]:
    """When the broker appended the first and the last record of the sink, which is not empty, in epoch s."""
    consumer = reader(topics.bootstrap)
    try:
        times = [_timestamp(consumer, topics.sink, p, offset) for p, offset in _ends(consumer, topics.sink)]
    finally:
        consumer.close()
    return min(times) / 1000, max(times) / 1000


def _ends(consumer: Consumer, topic: str) -> list[tuple[int, int]]:
    bounds = [(p, *consumer.get_watermark_offsets(TopicPartition(topic, p))) for p in range(PARTITIONS)]
    return [(p, offset) for p, low, high in bounds if high > low for offset in (low, high - 1)]


def _timestamp(consumer: Consumer, topic: str, partition: int, offset: int) -> int:
    consumer.assign([TopicPartition(topic, partition, offset)])
    message = consumer.poll(30)
    if message is None or message.error():
        raise RuntimeError(f"{topic}/{partition} has no readable record at {offset}")
    return int(message.timestamp()[1])


def sample(topics: BenchTopics, records: int) -> list[tuple[bytes, dict[str, Any]]]:
    """The first records of the sink, as key and value; those of a partition are in order."""
    consumer = reader(topics.bootstrap)
    try:
        consumer.assign([TopicPartition(topics.sink, p, 0) for p in range(PARTITIONS)])
        messages = consumer.consume(records, 10)
        return [(raw(message.key()), json.loads(raw(message.value()))) for message in messages]
    finally:
        consumer.close()


def raw(field: bytes | str | None) -> bytes:
    """A key or value as bytes; none when there is none."""
    return field.encode() if isinstance(field, str) else field or b""
