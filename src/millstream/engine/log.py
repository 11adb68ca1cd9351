"""The command topic: one partition of commands, appended by any server, read by all of them in one order."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from confluent_kafka import Consumer, KafkaException, TopicPartition

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
        with self._kafka.reader(fetch_wait_max_ms=500) as consumer:
            consumer.assign([TopicPartition(self.topic, 0, position)])
            yield LogReader(consumer)


class LogReader:
    """A position in the log that moves with each record read."""

    def __init__(self, consumer: Consumer) -> None:
        self._consumer = consumer

    def next(self, patience: float = PATIENCE) -> LogEntry | None:
        """The next record; None if there was none within `patience` seconds. Raises KafkaException if Kafka is away."""
        message = self._consumer.poll(patience)
        if message is None:
            return None
        error = message.error()
        if error is not None:
            raise KafkaException(error)
        offset = message.offset() or 0
        try:
            return LogEntry(offset, commands.load(message.value() or b""))
        except CommandUnreadable as failure:
            return LogEntry(offset, None, str(failure))
