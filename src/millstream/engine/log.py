"""The command topic: one partition of commands, appended by any server, read by all of them in one order."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from millstream.engine import commands
from millstream.engine.commands import Command, CommandUnreadable
from millstream.engine.internal_topics import create_internal_topic
from millstream.engine.kafka import KafkaClient
from millstream.engine.kafka_admin import ERROR_UNKNOWN, PATIENCE
from millstream.services.errors import SetupError

# How often, in seconds, a reader checks that the topic is still the one that it has read.
CHECK_EVERY = 5.0
RETENTION = {"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"}


@dataclass(frozen=True, slots=True)
class LogEntry:
    """A record of the log; `command` is None if it cannot be read, for the given `reason`."""

    offset: int
    command: Command | None
    reason: str = ""


class CommandTopicReplaced(Exception):
    """The command topic was deleted, or deleted and created again, since the server has started."""


# Errors that may be temporary: commands can be read and appended again once their cause has passed.
OUTAGES = (KafkaException, CommandTopicReplaced)


class CommandLog:
    """The command topic of one service id; it is created if it does not exist.

    It is identified by its topic id, since offsets are meaningless in another topic of the same name.
    """

    def __init__(self, kafka: KafkaClient, service: str, replicas: int, in_sync: int = 1) -> None:
        """`replicas` and the least number of them that are `in_sync` when it is written: for a new topic.

        Raises SetupError if the topic has several partitions, as its commands have no order then, or if there are fewer
        brokers than `replicas`; KafkaException.
        """
        self.topic = f"_millstream-{service}_command_topic"
        self._kafka = kafka
        create_internal_topic(kafka, self.topic, 1, replicas, {**RETENTION, "min.insync.replicas": str(in_sync)})
        self._id = kafka.identity(self.topic)
        bounds = kafka.bounds(self.topic)
        if (partitions := len(bounds)) > 1:
            hint = "delete it if it has no commands, or restore it with one partition"
            raise SetupError(f"the command topic {self.topic} has {partitions} partitions, and must have one", hint)
        # The offset of the first command that was not in the log yet when the server started.
        self.end_at_start = max((end for _, end in bounds.values()), default=0)
        kafka.writer.open()

    def append(self, command: Command) -> int:
        """Append a command and wait until it is replicated; returns its offset.

        Raises KafkaException, CommandTopicReplaced.
        """
        self.check()
        return self._kafka.writer.write(self.topic, None, commands.dump(command))

    def end(self) -> int:
        """The offset of the next command."""
        return self._kafka.ends(self.topic)[0]

    def check(self) -> None:
        """Raises CommandTopicReplaced if the topic is not the one that the server started with, KafkaException if Kafka
        does not answer."""
        try:
            if self._kafka.identity(self.topic) != self._id:
                raise CommandTopicReplaced(_replaced_message(self.topic, "deleted and created again"))
        except KafkaException as failure:
            if failure.args[0].code() == ERROR_UNKNOWN:
                raise CommandTopicReplaced(_replaced_message(self.topic, "deleted")) from failure
            raise

    @contextmanager
    def reading(self, position: int = 0) -> Iterator["LogReader"]:
        """A reader of the log that begins at the command at `position`."""
        with self._kafka.reader(fetch_wait_max_ms=500, enable_partition_eof=True) as consumer:
            consumer.assign([TopicPartition(self.topic, 0, position)])
            yield LogReader(consumer, position, self._check_if_kafka_answers)

    def _check_if_kafka_answers(self) -> None:
        with suppress(KafkaException):
            self.check()


def _replaced_message(topic: str, how: str) -> str:
    return (
        f"the command topic {topic} was {how}: statements that change something are refused\n"
        "  hint: restore it from a copy if there is one, and restart the server"
    )


class LogReader:
    """A position in the log that moves with each record read.

    At the end of the log it is the log's end, although the last offsets may have no records: those of transaction
    markers, if a copy of the topic was written in transactions, or of records that were deleted.
    """

    def __init__(self, consumer: Consumer, position: int, check: Callable[[], None]) -> None:
        """`check` raises CommandTopicReplaced; it is called now and then."""
        self._consumer, self.position, self._check = consumer, position, check
        self._checked_at = 0.0

    def next(self, patience: float = PATIENCE) -> LogEntry | None:
        """The next record; None if there was none within `patience` seconds.

        Raises KafkaException if Kafka is away, CommandTopicReplaced.
        """
        if time.monotonic() - self._checked_at > CHECK_EVERY:
            self._check()
            self._checked_at = time.monotonic()
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
