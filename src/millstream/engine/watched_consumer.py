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

from confluent_kafka import Consumer, KafkaError, KafkaException, Message

# After so many seconds without a message the brokers are asked for metadata; librdkafka connects again within 10 s.
SILENCE = 10.0
PATIENCE = 2.0


class WatchedConsumer(Consumer):
    """A consumer whose `poll` raises KafkaException once its client has lost all brokers for good.

    `answers` is True if another client reaches a broker now.
    """

    def __init__(self, settings: Mapping[str, Any], answers: Callable[[], bool], logger: Logger) -> None:
        super().__init__(dict(settings), logger=logger)
        self._answers = answers
        self._heard_at, self._was_lost = time.monotonic(), False

    def poll(self, timeout: float = -1) -> Message | None:
        """The next message or event; None if there was none within `timeout` seconds."""
        message = super().poll(timeout)
        if message is not None:
            self._heard_at, self._was_lost = time.monotonic(), False
        elif time.monotonic() - self._heard_at > SILENCE:
            self._check()
            self._heard_at = time.monotonic()
        return message

    def _check(self) -> None:
        topic = next((place.topic for place in self.assignment()), None)
        if topic is None:
            return
        try:
            self.list_topics(topic, timeout=PATIENCE)
        except KafkaException as failure:
            is_lost = self._answers()
            if is_lost and self._was_lost:
                lost = "a Kafka client has lost all brokers, while others reach them: it is opened again"
                raise KafkaException(KafkaError(KafkaError._ALL_BROKERS_DOWN, lost)) from failure
            self._was_lost = is_lost
        else:
            self._was_lost = False
