"""Latency: from produce to consume, at a fixed rate, seen by a consumer that answers at once."""

import threading
import time
from collections import defaultdict, deque
from dataclasses import dataclass

from confluent_kafka import Producer, TopicPartition

from bench.engines import Engine, EngineRun
from bench.topics import KEYS, PARTITIONS, BenchTopics, name_keys, new_topics, raw, reader

# Longer than the first batch, whose end is slow: a JVM does it for the first time.
WARM_UP = 15.0
# The keys of the warm-up are as many as those of the measurement: else one partition, and its task, would stay cold.
WARM = b"warm"


@dataclass(frozen=True, slots=True)
class Latency:
    """Milliseconds from produce to consume at a rate; `answers` of `records` came."""

    engine: str
    workload: str
    rate: int
    records: int
    answers: int
    p50: float
    p90: float
    p99: float
    worst: float


def latency(bootstrap: str, workload: str, rate: int, seconds: int, engine: Engine) -> Latency:
    """Measure one engine on topics of its own; RuntimeError when answers are missing."""
    topics = new_topics(bootstrap)
    if workload == "table-join":
        name_keys(topics, KEYS)
    pairs = workload == "stream-join"
    with engine.running(workload, topics) as running:
        tail = Tail(topics)
        try:
            _warm(topics, tail, running, rate, pairs)
            sent = _send(topics, rate, seconds, pairs)
            _wait(tail, len(sent))
        finally:
            tail.stop()
    return _summary(engine.name, workload, rate, sent, tail.arrivals)


class Tail(threading.Thread):
    """Notes when each record of the sink is seen; `seen` holds (key, seconds) in order."""

    def __init__(self, topics: BenchTopics) -> None:
        super().__init__(daemon=True)
        self.arrivals: list[tuple[bytes, float]] = []
        self._stopped = threading.Event()
        self._consumer = reader(topics.bootstrap, **{"fetch.wait.max.ms": 1000, "fetch.min.bytes": 1})
        self._consumer.assign([TopicPartition(topics.sink, p, 0) for p in range(PARTITIONS)])
        self.start()

    def run(self) -> None:
        """Poll until stopped."""
        while not self._stopped.is_set():
            message = self._consumer.poll(0.2)
            if message and not message.error():
                self.arrivals.append((message_key(message.key()), time.time()))

    def stop(self) -> None:
        """End the thread and its consumer."""
        self._stopped.set()
        self.join()
        self._consumer.close()

    def measured(self) -> int:
        """How many records of the measurement, not of the warm-up, were seen."""
        return sum(not key.startswith(WARM) for key, _ in self.arrivals)


def _warm(topics: BenchTopics, tail: Tail, running: EngineRun, rate: int, pairs: bool) -> None:
    """Send until the engine answers, then at the measured rate for a while."""
    producer, deadline = _producer(topics), time.monotonic() + 120
    while not tail.arrivals:
        if time.monotonic() > deadline or not running.alive():
            raise RuntimeError("the engine does not answer")
        _put(producer, topics, WARM, 1, pairs)
        producer.flush()
        time.sleep(0.5)
    for i in range(int(WARM_UP * rate)):
        _put(producer, topics, WARM + b"%d" % (i % KEYS), 1, pairs)
        producer.poll(0)
        time.sleep(1 / rate)
    producer.flush()
    time.sleep(2)


def _send(topics: BenchTopics, rate: int, seconds: int, pairs: bool) -> list[tuple[bytes, float]]:
    """Send at the rate; yields each record's key and the time when it was passed to the producer."""
    producer, start, sent = _producer(topics), time.time(), []
    for i in range(rate * seconds):
        time.sleep(max(0.0, start + i / rate - time.time()))
        key = b"k%d" % (i % KEYS)
        sent.append((key, time.time()))
        _put(producer, topics, key, i + 1, pairs)
        producer.poll(0)
    producer.flush()
    return sent


def _put(producer: Producer, topics: BenchTopics, key: bytes, number: int, pairs: bool) -> None:
    """A record; for a join, also the record of the other side that it is joined with."""
    producer.produce(topics.source, key=key, value=f'{{"A":{number},"B":"x"}}')
    if pairs:
        producer.produce(topics.other, key=key, value=f'{{"C":{number - 1}}}')


def message_key(key: bytes | str | None) -> bytes:
    """The key as it was sent: that of a window has eight bytes more, of which the first are zero."""
    return raw(key).split(b"\x00")[0]


def _producer(topics: BenchTopics) -> Producer:
    return Producer({"bootstrap.servers": topics.bootstrap, "linger.ms": 0, "partitioner": "murmur2_random"})


def _wait(tail: Tail, expected: int) -> None:
    deadline = time.monotonic() + 30
    while tail.measured() < expected and time.monotonic() < deadline:
        time.sleep(0.1)


def _summary(
    engine: str, workload: str, rate: int, sent: list[tuple[bytes, float]], seen: list[tuple[bytes, float]]
) -> Latency:
    begun: dict[bytes, deque[float]] = defaultdict(deque)
    for key, at in sent:
        begun[key].append(at)
    latencies = sorted((at - begun[key].popleft()) * 1000 for key, at in seen if begun.get(key))
    if len(latencies) < len(sent):
        raise RuntimeError(f"{engine} answered {len(latencies)} of {len(sent)} records")
    p50, p90, p99 = (round(latencies[len(latencies) * q // 100], 2) for q in (50, 90, 99))
    return Latency(engine, workload, rate, len(sent), len(latencies), p50, p90, p99, round(latencies[-1], 2))
