"""Latency: from produce to consume, at a fixed rate, seen by a consumer that answers at once."""

import threading
import time
from collections import defaultdict, deque
from dataclasses import dataclass

from confluent_kafka import Producer, TopicPartition

from bench.engines import Millstream, Peer, Running
from bench.topics import KEYS, PARTITIONS, Topics, new_topics, reader, text

WARM_UP = 10.0


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


def latency(bootstrap: str, workload: str, rate: int, seconds: int, engine: Peer | Millstream) -> Latency:
    """Measure one engine on topics of its own; RuntimeError when answers are missing."""
    topics = new_topics(bootstrap)
    with engine.running(workload, topics) as running:
        tail = Tail(topics)
        try:
            _warm(topics, tail, running, rate)
            sent = _send(topics, rate, seconds)
            _wait(tail, len(sent))
        finally:
            tail.stop()
    return _summary(engine.name, workload, rate, sent, tail.seen)


class Tail(threading.Thread):
    """Notes when each record of the sink is seen; `seen` holds (key, seconds) in order."""

    def __init__(self, topics: Topics) -> None:
        super().__init__(daemon=True)
        self.seen: list[tuple[str, float]] = []
        self._stopped = threading.Event()
        self._consumer = reader(topics.bootstrap, **{"fetch.wait.max.ms": 1000, "fetch.min.bytes": 1})
        self._consumer.assign([TopicPartition(topics.sink, p, 0) for p in range(PARTITIONS)])
        self.start()

    def run(self) -> None:
        """Poll until stopped."""
        while not self._stopped.is_set():
            message = self._consumer.poll(0.2)
            if message and not message.error():
                self.seen.append((text(message.key()), time.time()))

    def stop(self) -> None:
        """End the thread and its consumer."""
        self._stopped.set()
        self.join()
        self._consumer.close()

    def measured(self) -> int:
        """How many records of the measurement, not of the warm-up, were seen."""
        return sum(key != "warm" for key, _ in self.seen)


def _warm(topics: Topics, tail: Tail, running: Running, rate: int) -> None:
    """Send until the engine answers, then at the measured rate for a while."""
    producer, deadline = _producer(topics), time.monotonic() + 120
    while not tail.seen:
        if time.monotonic() > deadline or not running.alive():
            raise RuntimeError("the engine does not answer")
        producer.produce(topics.source, key="warm", value='{"A":1,"B":"x"}')
        producer.flush()
        time.sleep(0.5)
    for _ in range(int(WARM_UP * rate)):
        producer.produce(topics.source, key="warm", value='{"A":1,"B":"x"}')
        producer.poll(0)
        time.sleep(1 / rate)
    producer.flush()
    time.sleep(2)


def _send(topics: Topics, rate: int, seconds: int) -> list[tuple[str, float]]:
    """Send at the rate; each record's key and when it was given to the producer."""
    producer, start, sent = _producer(topics), time.time(), []
    for i in range(rate * seconds):
        time.sleep(max(0.0, start + i / rate - time.time()))
        key = f"k{i % KEYS}"
        sent.append((key, time.time()))
        producer.produce(topics.source, key=key, value=f'{{"A":{i + 1},"B":"x"}}')
        producer.poll(0)
    producer.flush()
    return sent


def _producer(topics: Topics) -> Producer:
    return Producer({"bootstrap.servers": topics.bootstrap, "linger.ms": 0, "partitioner": "murmur2_random"})


def _wait(tail: Tail, wanted: int) -> None:
    deadline = time.monotonic() + 30
    while tail.measured() < wanted and time.monotonic() < deadline:
        time.sleep(0.1)


def _summary(
    engine: str, workload: str, rate: int, sent: list[tuple[str, float]], seen: list[tuple[str, float]]
) -> Latency:
    begun: dict[str, deque[float]] = defaultdict(deque)
    for key, at in sent:
        begun[key].append(at)
    taken = sorted((at - begun[key].popleft()) * 1000 for key, at in seen if begun.get(key))
    if len(taken) < len(sent):
        raise RuntimeError(f"{engine} answered {len(taken)} of {len(sent)} records")
    p50, p90, p99 = (round(taken[len(taken) * q // 100], 2) for q in (50, 90, 99))
    return Latency(engine, workload, rate, len(sent), len(taken), p50, p90, p99, round(taken[-1], 2))
