"""A consumer that notices that its client will never connect again.

A broker that was frozen for longer than its session says for a moment, when it continues, that the cluster has no
brokers. librdkafka (2.10 to 2.16 at least, its issue 5301) may then forget all of them, those of bootstrap.servers too:
the client reports nothing, connects to nothing, and `poll` returns None for ever.

    t=0    the last message
    t=10   no message: a request for metadata fails, and another client reaches a broker     perhaps it connects soon
    t=20   the same again                                                                    KafkaException

While Kafka is away, other clients reach no broker either, and the consumer is kept.
"""

import time
from collections.abc import Callable, Mapping
from logging import Logger
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer

# The seconds without a message after which the brokers are asked for metadata; librdkafka connects again within 10 s.
SILENCE = 10.0
# How long a client may take to get a topic's metadata, in seconds.
PATIENCE = 2.0


class BrokerWatch:
    """Detects that a client has lost all brokers for good. `answers` is True if another one reaches a broker now."""

    def __init__(self, answers: Callable[[], bool]) -> None:
        self._answers = answers
        self._contact_at, self._was_lost = time.monotonic(), False

    def record_contact(self) -> None:
        """Record that the client has received something from a broker, or waits for nothing."""
        self._contact_at, self._was_lost = time.monotonic(), False

    def is_lost(self, client: Consumer | Producer, topic: str) -> bool:
        """True if, after a silence, the client has failed twice to get a topic's metadata, which another gets."""
        if time.monotonic() - self._contact_at <= SILENCE:
            return False
        was_lost, self._contact_at, self._was_lost = self._was_lost, time.monotonic(), False
        try:
            client.list_topics(topic, timeout=PATIENCE)
        except KafkaException:
            self._was_lost = self._answers()
        return was_lost and self._was_lost


class WatchedConsumer(Consumer):
    """A consumer whose `poll` raises KafkaException once its client has lost all brokers for good.

    `answers` is True if another client reaches a broker now.
    """

    def __init__(self, settings: Mapping[str, Any], answers: Callable[[], bool], logger: Logger) -> None:
        super().__init__(dict(settings), logger=logger)
        self._watch = BrokerWatch(answers)

    def poll(self, timeout: float = -1) -> Message | None:
        """The next message or event; None if there was none within `timeout` seconds."""
        message = super().poll(timeout)
        if message is not None:
            self._watch.record_contact()
        else:
            self._check()
        return message

    def _check(self) -> None:
        topic = next((partition.topic for partition in self.assignment()), None)
        if topic is not None and self._watch.is_lost(self, topic):
            lost = "a Kafka client has lost all brokers, while others reach them: it is opened again"
            raise KafkaException(KafkaError(KafkaError._ALL_BROKERS_DOWN, lost))
