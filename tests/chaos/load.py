"""Writes the storm's inputs: records 0, 1, 2, … to both topics, at a constant rate, during all faults."""

import json
import threading
import time
import uuid

from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition

from chaos.shapes import BASE, KEYS, STEP_MS, key_of
from support.kafka import BrokerClient

SEND_EVERY = 0.02


class Load:
    """Writes `rate` inputs a second between `resume` and `pause`; `written` is the number of inputs so far."""

    def __init__(self, bootstrap: str, rate: int) -> None:
        self.written = 0
        self._each = max(1, round(rate * SEND_EVERY))
        self._on, self._closed, self._failures = threading.Event(), threading.Event(), list[str]()
        # Idempotent, so that retries keep the order and write no duplicates; the timeout exceeds the longest outage.
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "delivery.timeout.ms": 900_000,
                "linger.ms": 5,
                "log_level": 0,
            }
        )
        self._log = InputLog(bootstrap)
        self._thread = threading.Thread(target=self._run, daemon=True)

    def begin(self) -> None:
        """Write the table of names, and start the thread, which writes inputs only after `resume`."""
        for number in range(KEYS):
            name = {"NAME": f"name of {key_of(number)}"}
            self._send("NAMES", key_of(number), name, 1)
        self._flush()
        self._thread.start()

    def resume(self) -> None:
        """Start or continue writing."""
        self._on.set()

    def flush_inputs(self) -> None:
        """Stop writing, and wait until the broker has acknowledged all inputs.

        The broker must only be killed in this state: otherwise the producer may, although it is idempotent, write an
        unacknowledged record twice after the broker's restart (observed with librdkafka 2.16).
        """
        self._on.clear()
        time.sleep(3 * SEND_EVERY)
        self._flush()

    def pause(self) -> int:
        """Stop writing, and return the number of inputs once the topics have them all.

        A broker that is killed can lose acknowledged records; these are written again.
        """
        self.flush_inputs()
        for topic, number in self._log.missing(self.written):
            self._write(topic, number)
        self._flush()
        return self.written

    def close(self) -> None:
        """End the thread."""
        self._closed.set()
        self._on.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._closed.wait(SEND_EVERY):
            self._on.wait()
            for _ in range(self._each if self._on.is_set() else 0):
                v = self.written
                self._write("LEFT", v)
                self._write("RIGHT", v)
                self.written = v + 1

    def _write(self, topic: str, v: int) -> None:
        if topic == "LEFT":
            self._send(topic, key_of(v), {"V": v, "ID": str(v)}, BASE + v * STEP_MS)
        else:
            self._send(topic, str(v), {"W": 2 * v}, BASE + v * STEP_MS)

    def _send(self, topic: str, key: str, value: object, at: int) -> None:
        while True:
            try:
                self._producer.produce(
                    topic, json.dumps(value), json.dumps(key), timestamp=at, on_delivery=self._arrived
                )
                break
            except BufferError:
                self._producer.poll(0.1)
        self._producer.poll(0)

    def _flush(self) -> None:
        assert self._producer.flush(900) == 0, "the broker did not take every input"
        assert not self._failures, f"inputs that the broker refused: {self._failures[:3]}"

    def _arrived(self, error: KafkaError | None, _: Message) -> None:
        if error is not None:
            self._failures.append(str(error))


class InputLog:
    """Reads the input topics, to find inputs that the broker lost."""

    def __init__(self, bootstrap: str) -> None:
        self._seen: dict[str, set[int]] = {"LEFT": set(), "RIGHT": set()}
        settings = {"bootstrap.servers": bootstrap, "group.id": f"chaos-{uuid.uuid4().hex}", "log_level": 0}
        self._consumer = Consumer({**settings, "enable.auto.commit": False, "auto.offset.reset": "earliest"})
        # A consumer that was made before a partition was added may not know it yet.
        self._kafka = BrokerClient(bootstrap)
        self._places: dict[tuple[str, int], int] = {}

    def missing(self, n: int) -> list[tuple[str, int]]:
        """Topic and number of each input below n that is not in its topic. Raises AssertionError for a duplicate."""
        self._read()
        return [(topic, v) for topic, seen in self._seen.items() for v in sorted(set(range(n)) - seen)]

    def _read(self) -> None:
        """Read both topics up to their current end offsets."""
        ends = self._ends()
        self._consumer.assign([TopicPartition(*place, self._places.get(place, 0)) for place in ends])
        while any(self._places.get(place, 0) < end for place, end in ends.items()):
            for message in self._consumer.consume(20_000, 0.2):
                if message.error() is None:
                    topic, value = str(message.topic()), json.loads(message.value() or b"")
                    v = value["V"] if topic == "LEFT" else value["W"] // 2
                    assert v not in self._seen[topic], f"input {v} is twice in {topic}: not the queries' fault"
                    self._seen[topic].add(v)
                    self._places[topic, int(message.partition() or 0)] = int(message.offset() or 0) + 1

    def _ends(self) -> dict[tuple[str, int], int]:
        return {(topic, p): end for topic in self._seen for p, end in enumerate(self._kafka.high_watermarks(topic))}
