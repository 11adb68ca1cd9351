"""The lease: of the servers of one service id, the one that runs the queries (docs/design/002-command-log.md).

It is membership in a consumer group on the command topic: whoever is assigned its one partition holds the lease,
and the group's committed offset says up to which command the world agrees with the log.
"""

import contextlib
import logging
import threading

from confluent_kafka import Consumer, KafkaException, TopicPartition

from millstream.engine.kafka import KafkaClient

LOG = logging.getLogger(__name__)


class Lease:
    """One server's hope for the lease; `server` is its name, which a restarted server must keep."""

    def __init__(self, kafka: KafkaClient, topic: str, service: str, server: str, timeout_ms: int) -> None:
        self.group = f"_millstream-{service}"
        self._kafka, self._topic, self._server, self._timeout = kafka, topic, server, timeout_ms
        self._held = threading.Event()
        self._position = self._committed = -1
        self._closing = threading.Event()
        self._consumer = Consumer(
            {
                **kafka.client,
                "group.id": self.group,
                "group.instance.id": server,
                "enable.auto.commit": False,
                "session.timeout.ms": timeout_ms,
                "heartbeat.interval.ms": max(500, timeout_ms // 4),
                "auto.offset.reset": "earliest",
            },
            logger=LOG,
        )
        self._thread = threading.Thread(target=self._run, name="lease", daemon=True)

    def start(self) -> None:
        """Begin to hope."""
        self._consumer.subscribe([self._topic], on_assign=self._assigned, on_revoke=self._gone, on_lost=self._gone)
        self._thread.start()

    @property
    def held(self) -> bool:
        """Whether this server holds the lease."""
        return self._held.is_set()

    def wait(self, seconds: float) -> bool:
        """Whether the lease is held, waiting for it no longer than that."""
        return self._held.wait(seconds)

    def carried_out(self) -> int:
        """The first command that no holder has carried out."""
        return self._kafka.committed(self.group, self._topic)

    def commit(self, position: int) -> None:
        """Say that the commands before `position` were carried out; the next holder may repeat them if this fails."""
        self._position = position

    def close(self) -> None:
        """Give the lease up. (A static member stays in the group until its timeout: a restart gets it back at once.)"""
        self._closing.set()
        self._thread.join()
        self._save()
        self._consumer.close()
        self._held.clear()

    def _run(self) -> None:
        while not self._closing.is_set():
            message = self._consumer.poll(0.2)
            error = message.error() if message is not None else None
            if error is not None and error.fatal():
                LOG.error("the lease is lost for good: %s; is another server named %s?", error, self._server)
                self._held.clear()
                return
            self._save()

    def _save(self) -> None:
        """Commit what the holder said. Here, as a consumer is for one thread."""
        position = self._position
        if position == self._committed or not self.held:
            return
        with contextlib.suppress(KafkaException):
            self._consumer.commit(offsets=[TopicPartition(self._topic, 0, position)], asynchronous=False)
            self._committed = position

    def _assigned(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        if partitions:
            consumer.assign(partitions)
            consumer.pause(partitions)
            LOG.info("%s runs the queries of %s", self._server, self.group)
            self._held.set()

    def _gone(self, _consumer: Consumer, _partitions: list[TopicPartition]) -> None:
        self._held.clear()
