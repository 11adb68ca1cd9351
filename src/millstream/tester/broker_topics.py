"""Topics of a real broker: create them, write records one by one, and read them to their ends."""

import math
import time
from collections.abc import Mapping

from confluent_kafka import Message, TopicPartition

from millstream.engine.kafka import KafkaClient
from millstream.services.kafka_headers import headers_of
from millstream.spark import sink
from millstream.spark.bounded import Record
from millstream.spark.session import Session

# How long the broker may take to return a topic's records, in seconds.
PATIENCE = 60.0


class BrokerTopics:
    """A client of the broker at `bootstrap` that writes with Spark's producer; thread-safe."""

    def __init__(self, bootstrap: str, spark: Session) -> None:
        self.bootstrap, self._spark = bootstrap, spark
        self._kafka = KafkaClient({"bootstrap.servers": bootstrap})

    def create(self, topic: str, partitions: int) -> None:
        """Create a topic, and wait until it can be used. Raises KafkaException."""
        self._kafka.create(topic, partitions)

    def write(self, topic: str, record: Record) -> None:
        """Write a record and wait for the acknowledgement."""
        sink.put(self._spark, topic, record, self._kafka.java)

    def ends(self, topic: str) -> Mapping[int, int]:
        """The offset after the last record of each partition. Raises KafkaException."""
        # One request, while a consumer would need two for each partition: many cases wait by it at the same time.
        return self._kafka.ends(topic, max_age=math.inf)

    def count(self, topic: str) -> int:
        """The number of records written to a topic."""
        return sum(self.ends(topic).values())

    def read(self, topic: str) -> list[Record]:
        """The present records of a topic. Raises TimeoutError if the broker does not return them."""
        ends, deadline = self.ends(topic), time.monotonic() + PATIENCE
        count, records = sum(ends.values()), list[Record]()
        with self._kafka.reader() as reader:
            reader.assign([TopicPartition(topic, partition, 0) for partition in ends])
            while len(records) < count:
                records += [_record(m) for m in reader.consume(count - len(records), 0.1) if m.error() is None]
                if time.monotonic() > deadline:
                    raise TimeoutError(f"{topic} returned {len(records)} of {count} records in {PATIENCE:.0f} s")
        return records


def _record(message: Message) -> Record:
    place = (message.partition() or 0, message.offset() or 0)
    return Record(message.key(), message.value(), message.timestamp()[1], headers_of(message), *place)
