"""Deletions of topics that Kafka has not answered: the leader tries them again, apart from the commands after them.

command 7   DROP STREAM s DELETE TOPIC     Kafka does not answer: its topic is kept here, with offset 7
command 8   PAUSE CSAS_BIG_1               executed; the position that the lease commits stays 7, so that another
                                           leader would delete the topic
            Kafka answers                  the topic is deleted, the position is 9
"""

import threading
from collections.abc import Callable, Mapping

from confluent_kafka import KafkaException

from millstream.services.kafka_errors import UNANSWERED, reason
from millstream.services.loop import Loop, no_resource

# Seconds between two tries.
PAUSE = 1.0


class TopicDeletions:
    """The topics that are still to be deleted, each with the offset of the command that says so. Thread-safe."""

    def __init__(
        self, delete: Callable[[str], None], is_used: Callable[[str, int], bool], refused: Callable[[int, str], None]
    ) -> None:
        """`delete` raises KafkaException. A topic that `is_used`, which gets the command's offset too, is not deleted;
        `refused` gets the offset, and why Kafka does not delete the topic."""
        self._delete, self._is_used, self._refused = delete, is_used, refused
        self._offsets: dict[str, int] = {}
        self._lock = threading.Lock()
        self.loop = Loop("deletions", lambda _: self._step(), no_resource, outages=(KafkaException,), pause=PAUSE)

    @property
    def offsets(self) -> Mapping[str, int]:
        """The topics, and the offsets of their commands."""
        with self._lock:
            return dict(self._offsets)

    def add(self, topic: str, offset: int) -> None:
        """Delete a topic as soon as Kafka answers."""
        with self._lock:
            self._offsets[topic] = offset

    def take(self) -> Mapping[str, int]:
        """Give up all deletions, and return them: another server may lead."""
        with self._lock:
            taken, self._offsets = self._offsets, {}
            return taken

    def _step(self) -> None:
        for topic, offset in self.offsets.items():
            self._try(topic, offset)

    def _try(self, topic: str, offset: int) -> None:
        try:
            if not self._is_used(topic, offset):
                self._delete(topic)
        except KafkaException as failure:
            if failure.args[0].code() in UNANSWERED:
                raise
            self._refused(offset, f"delete topic {topic}: {reason(failure)}")
        with self._lock:
            if self._offsets.get(topic) == offset:
                del self._offsets[topic]
