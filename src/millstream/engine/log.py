"""The command topic: one partition of commands, appended by any server, read by all of them in one order."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from confluent_kafka import Consumer, TopicPartition

from millstream.engine import commands
from millstream.engine.commands import Command, CommandUnreadable
from millstream.engine.kafka import PATIENCE, KafkaClient

RETENTION = {"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"}


@dataclass(frozen=True, slots=True)
class LogEntry:
    """A record of the log: `command` None where it cannot be read, for the `reason`."""

    offset: int
    command: Command | None
    reason: str = ""


class CommandLog:
    """The command topic of one service id; it is made where it does not exist."""

    def __init__(self, kafka: KafkaClient, service: str, replicas: int) -> None:
        self.topic = f"_millstream-{service}_command_topic"
        self._kafka = kafka
        kafka.create(self.topic, 1, replicas, RETENTION)

    def append(self, command: Command) -> int:
        """Append a command and wait until it is safe; its place in the log. Raises KafkaException."""
        return self._kafka.write(self.topic, None, commands.dump(command))

    def end(self) -> int:
        """The place of the next command."""
        return self._kafka.ends(self.topic)[0]

    @contextmanager
    def reading(self) -> Iterator["LogReader"]:
        """A reader of the log from its beginning."""
        with self._kafka.reader(fetch_wait_max_ms=500) as consumer:
            consumer.assign([TopicPartition(self.topic, 0, 0)])
            yield LogReader(consumer)


class LogReader:
    """A reader's place in the log."""

    def __init__(self, consumer: Consumer) -> None:
        self._consumer = consumer

    def next(self, patience: float = PATIENCE) -> LogEntry | None:
        """The next record, or None if none came in `patience` seconds."""
        message = self._consumer.poll(patience)
        if message is None or message.error() is not None:
            return None
        offset = message.offset() or 0
        try:
            return LogEntry(offset, commands.load(message.value() or b""))
        except CommandUnreadable as failure:
            return LogEntry(offset, None, str(failure))
