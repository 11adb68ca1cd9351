"""The command topic: one partition of commands, appended by any server, read by all of them in one order."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from millstream.engine import commands
from millstream.engine.commands import Command, CommandUnreadable
from millstream.engine.kafka import PATIENCE, KafkaClient

RETENTION = {"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"}


@dataclass(frozen=True, slots=True)
class LogEntry:
    """A record of the log; `command` is None if it cannot be read, for the given `reason`."""

    offset: int
    command: Command | None
    reason: str = ""


class CommandLog:
    """The command topic of one service id; it is created if it does not exist."""

    def __init__(self, kafka: KafkaClient, service: str, replicas: int) -> None:
        self.topic = f"_millstream-{service}_command_topic"
        self._kafka = kafka
        kafka.create(self.topic, 1, replicas, RETENTION)
        kafka.open_writer()

    def append(self, command: Command) -> int:
        """Append a command and wait until it is replicated; returns its offset. Raises KafkaException."""
        return self._kafka.write(self.topic, None, commands.dump(command))

    def end(self) -> int:
        """The offset of the next command."""
        return self._kafka.ends(self.topic)[0]

    @contextmanager
    def reading(self, position: int = 0) -> Iterator["LogReader"]:
        """A reader of the log that begins at the command at `position`."""
        with self._kafka.reader(fetch_wait_max_ms=500, enable_partition_eof=True) as consumer:
            consumer.assign([TopicPartition(self.topic, 0, position)])
            yield LogReader(consumer, position)


class LogReader:
    """A position in the log that moves with each record read.

    At the end of the log it is the log's end, although the last offsets may have no records: those of transaction
    markers, if a copy of the topic was written in transactions, or of records that were deleted.
    """

    def __init__(self, consumer: Consumer, position: int) -> None:
        self._consumer, self.position = consumer, position

    def next(self, patience: float = PATIENCE) -> LogEntry | None:
        """The next record; None if there was none within `patience` seconds. Raises KafkaException if Kafka is away."""
        message = self._consumer.poll(patience)
        if message is None:
            return None
        error, offset = message.error(), message.offset() or 0
        if error is not None and error.code() == KafkaError._PARTITION_EOF:
            self.position = max(self.position, offset)
            return None
        if error is not None:
            raise KafkaException(error)
        self.position = offset + 1
        try:
            return LogEntry(offset, commands.load(message.value() or b""))
        except CommandUnreadable as failure:
            return LogEntry(offset, None, str(failure))
