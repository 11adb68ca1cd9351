"""The command topic: one partition of commands, appended by any server, read by all of them in one order."""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from millstream.engine import commands
from millstream.engine.commands import Command, CommandUnreadable
from millstream.engine.internal_topics import correct_settings, create_internal_topic
from millstream.engine.kafka import KafkaClient
from millstream.engine.kafka_admin import ERROR_UNKNOWN, PATIENCE
from millstream.services.errors import SetupError

LOG = logging.getLogger(__name__)
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
    """Since the server has started the command topic was deleted, was deleted and created again, or lost its last
    commands."""


# Errors that may be temporary: commands can be read and appended again once their cause has passed.
OUTAGES = (KafkaException, CommandTopicReplaced)


class CommandLog:
    """The command topic of one service id; it is created if it does not exist.

    It is identified by its topic id, since offsets are meaningless in another topic of the same name; so they are where
    its last records were lost and others follow, as after an unclean leader election.
    """

    def __init__(self, kafka: KafkaClient, service: str, replicas: int, in_sync: int = 1) -> None:
        """`replicas` and the least number of them that are `in_sync` when it is written: for a new topic.

        Raises SetupError if the topic has several partitions, as its commands have no order then, or if there are fewer
        brokers than `replicas`; KafkaException.
        """
        self.topic = f"_millstream-{service}_command_topic"
        self._kafka = kafka
        create_internal_topic(kafka, self.topic, 1, replicas, {**RETENTION, "min.insync.replicas": str(in_sync)})
        correct_settings(kafka, self.topic, RETENTION)
        self._id = kafka.identity(self.topic)
        bounds = kafka.bounds(self.topic)
        if (partitions := len(bounds)) > 1:
            hint = "delete it if it has no commands, or restore it with one partition"
            raise SetupError(f"the command topic {self.topic} has {partitions} partitions, and must have one", hint)
        # The offset of the first command that was not in the log yet when the server started.
        self.end_at_start = max((end for _, end in bounds.values()), default=0)
        # Why the first commands cannot be read; "" if they are there.
        self.missing = _missing_message(self.topic, max((first for first, _ in bounds.values()), default=0))
        if self.missing:
            LOG.error("%s", self.missing)
        # The offset after the last command that was read, or could be.
        self._known_end = self.end_at_start
        self._cut = ""
        kafka.writer.open()

    def append(self, command: Command) -> int:
        """Append a command and wait until it is replicated; returns its offset.

        Raises KafkaException, CommandTopicReplaced.
        """
        self.check()
        return self._kafka.writer.write(self.topic, None, commands.dump(command))

    def has_read(self, end: int) -> None:
        """Remember that the commands before `end` were there."""
        self._known_end = max(self._known_end, end)

    def end(self) -> int:
        """The offset of the next command."""
        return self._kafka.ends(self.topic)[0]

    def check(self) -> None:
        """Raises CommandTopicReplaced if the topic is not the one that the server started with, or has lost commands
        that were read; for good then, as other servers may append to it. KafkaException if Kafka does not answer."""
        if self._cut:
            raise CommandTopicReplaced(self._cut)
        try:
            if self._kafka.identity(self.topic) != self._id:
                raise CommandTopicReplaced(_replaced_message(self.topic, "deleted and created again"))
        except KafkaException as failure:
            if failure.args[0].code() == ERROR_UNKNOWN:
                raise CommandTopicReplaced(_replaced_message(self.topic, "deleted")) from failure
            raise
        known = self._known_end
        if self.end() < known:
            raise self.cut(known)

    def cut(self, known: int) -> CommandTopicReplaced:
        """The last of the first `known` commands are lost: returns what `check` raises from now on."""
        self._cut = _cut_message(self.topic, known)
        return CommandTopicReplaced(self._cut)

    @contextmanager
    def reading(self, position: int = 0) -> Iterator["LogReader"]:
        """A reader of the log that begins at the command at `position`."""
        with self._kafka.reader(fetch_wait_max_ms=500, enable_partition_eof=True) as consumer:
            consumer.assign([TopicPartition(self.topic, 0, position)])
            yield LogReader(consumer, position, self)


RESTORE = "restore it from a copy if there is one, and restart the server"


def _replaced_message(topic: str, how: str) -> str:
    return f"the command topic {topic} was {how}: statements that change something are refused\n  hint: {RESTORE}"


def _cut_message(topic: str, known: int) -> str:
    return (
        f"the command topic {topic} has lost its last commands, of the {known} that this server has read: statements "
        f"that change something are refused\n  hint: {RESTORE}; without a copy, what the lost statements declared is "
        "unknown after the restart"
    )


def _missing_message(topic: str, first: int) -> str:
    if not first:
        return ""
    return (
        f"the command topic {topic} begins with command {first}: what the statements before it declared is not known; "
        f"{RESTORE}"
    )


class LogReader:
    """A position in the log that moves with each record read.

    At the end of the log it is the log's end, although the last offsets may have no records: those of transaction
    markers, if a copy of the topic was written in transactions, or of records that were deleted.
    """

    def __init__(self, consumer: Consumer, position: int, log: CommandLog) -> None:
        self._consumer, self.position, self._log = consumer, position, log
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
        is_end = error is not None and error.code() == KafkaError._PARTITION_EOF
        if error is not None and not is_end:
            raise KafkaException(error)
        if offset < self.position:
            # The position is past the topic's end, so the consumer has gone back to its beginning: of another topic?
            self._log.check()
            raise self._log.cut(self.position)
        if is_end:
            self.position = offset
            return None
        self.position = offset + 1
        try:
            return LogEntry(offset, commands.load(message.value() or b""))
        except CommandUnreadable as failure:
            return LogEntry(offset, None, str(failure))

    def _check(self) -> None:
        self._log.has_read(self.position)
        with suppress(KafkaException):
            self._log.check()
