"""The last records of a topic, for the page: as PRINT shows them, but from just before the end.

topic orders, 2 partitions, 3 records asked for
[{"time": 1700000000000, "key": "7", "value": "{\"ID\": 7}", "partition": 0, "offset": 41}, …]   oldest first
"""

import time
from collections.abc import Iterator

from confluent_kafka import Consumer, Message, TopicPartition

from millstream.engine.api import Entity
from millstream.engine.kafka import KafkaClient
from millstream.engine.printing import FormatGuess
from millstream.engine.schema_id_records import SchemaIdRecords

# Seconds that are waited for records which the offsets say are there; behind a transaction's marker there is none.
PATIENCE, PULSE = 2.0, 0.2


def records(topic: str, count: int, kafka: KafkaClient, coded: SchemaIdRecords) -> list[Entity]:
    """The last `count` records of a topic, at most. Raises KafkaException."""
    bounds = {p: (max(low, end - count), end) for p, (low, end) in kafka.bounds(topic).items()}
    places = [TopicPartition(topic, p, begin) for p, (begin, end) in bounds.items() if begin < end]
    if not places:
        return []
    key, value = FormatGuess("Key", coded), FormatGuess("Value", coded)
    with kafka.reader(enable_partition_eof=True) as reader:
        reader.assign(places)
        messages = sorted(_messages(reader, len(places)), key=lambda message: message.timestamp()[1])
    return [_entity(message, key, value) for message in messages[-count:]]


def _messages(reader: Consumer, partitions: int) -> Iterator[Message]:
    """What there is until the end of every partition."""
    deadline = time.monotonic() + PATIENCE
    while partitions and time.monotonic() < deadline:
        message = reader.poll(PULSE)
        if message is None:
            continue
        if message.error() is None:
            yield message
        else:
            partitions -= 1


def _entity(message: Message, key: FormatGuess, value: FormatGuess) -> Entity:
    return {
        "time": message.timestamp()[1],
        "key": key.show(message.key()),
        "value": value.show(message.value()),
        "partition": message.partition(),
        "offset": message.offset(),
    }
