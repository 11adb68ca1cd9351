"""Reads the last records of a topic for the page, in the text form of PRINT.

For example the last 3 records of the topic orders, with 2 partitions, oldest first:
[{"time": 1700000000000, "key": "7", "value": "{\"ID\": 7}", "partition": 0, "offset": 41}, …]
"""

import time
from collections.abc import Iterator

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from millstream.engine.api import Entity
from millstream.engine.kafka import KafkaClient
from millstream.engine.printing import FormatGuess
from millstream.engine.schema_id_records import SchemaIdRecords

# The longest wait for the records below the end offsets, and the poll interval, in seconds. The wait is limited because
# offsets of aborted transactions and of transaction markers have no record.
PATIENCE, PULSE = 2.0, 0.2


def records(topic: str, count: int, kafka: KafkaClient, schema_ids: SchemaIdRecords) -> list[Entity]:
    """The last records of a topic over all partitions, at most `count`, ordered by timestamp (epoch ms).

    `schema_ids` decodes records that begin with a schema id. Raises KafkaException if Kafka does not answer.
    """
    bounds = {p: (max(low, end - count), end) for p, (low, end) in kafka.bounds(topic).items()}
    partitions = [TopicPartition(topic, p, begin) for p, (begin, end) in bounds.items() if begin < end]
    if not partitions:
        return []
    key, value = FormatGuess("Key", schema_ids), FormatGuess("Value", schema_ids)
    with kafka.reader(enable_partition_eof=True) as reader:
        reader.assign(partitions)
        messages = sorted(_messages(reader, len(partitions)), key=lambda message: message.timestamp()[1])
    return [_entity(message, key, value) for message in messages[-count:]]


def _messages(reader: Consumer, partitions: int) -> Iterator[Message]:
    """Yields the records up to the end of every partition, or until PATIENCE has passed. Raises KafkaException."""
    deadline = time.monotonic() + PATIENCE
    while partitions and time.monotonic() < deadline:
        message = reader.poll(PULSE)
        if message is None:
            continue
        error = message.error()
        if error is None:
            yield message
        elif error.code() == KafkaError._PARTITION_EOF:
            partitions -= 1
        else:
            raise KafkaException(error)


def _entity(message: Message, key: FormatGuess, value: FormatGuess) -> Entity:
    return {
        "time": message.timestamp()[1],
        "key": key.show(message.key()),
        "value": value.show(message.value()),
        "partition": message.partition(),
        "offset": message.offset(),
    }
