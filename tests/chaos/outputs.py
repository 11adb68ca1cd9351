"""Reads what the queries have written, as any consumer would, and compares it with the expected output."""

import json
import uuid
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient

from chaos.shapes import Row, Shape, StreamShape, TableShape

# The bytes of the window's start, behind a windowed key.
WINDOW_BYTES = 8


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a sink compares: the numbers of missing rows, of wrong rows or final rows, and of repeated rows."""

    lost: int = 0
    wrong: int = 0
    repeated: int = 0

    def __add__(self, other: "Verdict") -> "Verdict":
        return Verdict(self.lost + other.lost, self.wrong + other.wrong, self.repeated + other.repeated)


@dataclass(slots=True)
class Sink:
    """The rows of one shape's topic so far, with how often each was read; of a table also each key's last row."""

    shape: Shape
    rows: Counter[Row] = field(default_factory=Counter)
    last: dict[Row, Row] = field(default_factory=dict)

    def add(self, key: bytes, value: Any) -> None:
        """Take one record, its key in bytes and its value read as JSON."""
        if isinstance(self.shape, StreamShape):
            self.rows[self.shape.row(json.loads(key), value)] += 1
        else:
            plain = key[:-WINDOW_BYTES] if self.shape.windowed else key
            at, row = self.shape.key(json.loads(plain), value), self.shape.row(value)
            self.rows[at + row] += 1
            self.last[at] = row

    def verdict(self, n: int, exact: bool) -> Verdict:
        """Compare with what n inputs give; `exact`: also a count of another query's rows must be right."""
        repeated = self.rows.total() - len(self.rows)
        if isinstance(self.shape, TableShape):
            return self._table(self.shape, n, exact, repeated)
        expected = self.shape.expected(n)
        return Verdict(len(expected - self.rows.keys()), len(self.rows.keys() - expected), repeated)

    def _table(self, shape: TableShape, n: int, exact: bool, repeated: int) -> Verdict:
        expected = shape.expected(n)
        lost = wrong = 0
        for key, row in expected.items():
            last = self.last.get(key)
            if last is None or last[0] < row[0]:
                lost += 1
            elif last != row and (exact or not shape.chained):
                wrong += 1
        return Verdict(lost, wrong + len(self.last.keys() - expected.keys()), repeated)


class Outputs:
    """Follows the topics of all shapes; `isolation` is Kafka's isolation.level."""

    def __init__(self, bootstrap: str, shapes: Sequence[Shape], isolation: str) -> None:
        self.sinks = {shape.name: Sink(shape) for shape in shapes}
        self._admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": f"chaos-{uuid.uuid4().hex}",
                "enable.auto.commit": False,
                "isolation.level": isolation,
                "auto.offset.reset": "earliest",
                "log_level": 0,
            }
        )
        topics = self._admin.list_topics(timeout=60).topics
        self._consumer.assign([TopicPartition(name, p, 0) for name in self.sinks for p in topics[name].partitions])

    def read(self, seconds: float) -> None:
        """Read the records so far, and wait for more for so many seconds."""
        for message in self._consumer.consume(20_000, seconds):
            if message.error() is None:
                key, value = message.key(), message.value()
                assert key is not None, f"{message.topic()} has a record without a key"
                assert value is not None, f"{message.topic()} has a tombstone"
                self.sinks[str(message.topic())].add(key, json.loads(value))

    def verdicts(self, n: int, exact: bool) -> dict[str, Verdict]:
        """Each sink's verdict after n inputs."""
        return {name: sink.verdict(n, exact) for name, sink in self.sinks.items()}

    def close(self) -> None:
        self._consumer.close()
