"""A producer that detects that its client has lost all brokers for good, and sends its records with a new client.

write a, b      Kafka is away: they wait in the client
Kafka is back   a and b are sent; or the client has lost all brokers (watched_consumer.py), and a new one sends them:
                records that the first had sent without an acknowledgement are then in the topic twice
"""

import logging
from collections import deque
from collections.abc import Callable
from itertools import count
from threading import Lock

from confluent_kafka import KafkaError, KafkaException, Producer

from millstream.engine.watched_consumer import BrokerWatch

LOG = logging.getLogger(__name__)


# The errors for a topic that the brokers do not know, or not yet. librdkafka waits for a topic half a minute from the
# first record on (topic.metadata.propagation.max.ms): after a longer outage not at all.
UNKNOWN_TOPIC = (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC)
# The most records that wait for their topic to be known.
MOST_UNSENT = 10_000


class WatchedProducer:
    """A producer whose caller does not wait for acknowledgements. `write` may be called by any thread, all else by one.

    `open` makes a producer; `answers` is True if another client reaches a broker now.
    """

    def __init__(self, open: Callable[[], Producer], answers: Callable[[], bool]) -> None:
        self._open, self._answers = open, answers
        self._lock = Lock()
        self._numbers = count()
        # The records that Kafka has not acknowledged, by number, in order: topic and value.
        self._waiting: dict[int, tuple[str, bytes]] = {}
        # The numbers of those that are sent again, since their topic was unknown.
        self._unsent: list[int] = []
        self._watch = BrokerWatch(answers)
        self._producer = open()
        self.refused: KafkaError | None = None

    def __len__(self) -> int:
        """The number of records that wait for Kafka."""
        return len(self._waiting)

    def write(self, topic: str, value: bytes) -> None:
        """Send a record later; never waits for Kafka. Raises BufferError or KafkaException if it is lost."""
        with self._lock:
            number = next(self._numbers)
            self._waiting[number] = topic, value
            try:
                self._send(number)
            except (BufferError, KafkaException):
                del self._waiting[number]
                raise

    def poll(self, timeout: float) -> None:
        """Handle acknowledgements for `timeout` seconds.

        Raises KafkaException if records wait and no broker answers, or their topic is unknown; they are sent again.
        """
        self._producer.poll(timeout)
        if self._unsent:
            self._send_again()
        if not self._waiting:
            self._watch.record_contact()
        elif not self._answers():
            raise no_broker(len(self))
        elif self._watch.is_lost(self._producer, self._first_topic()):
            LOG.warning(
                "a producer has lost all brokers while other clients reach them: a new one sends its waiting records"
            )
            self._replace()

    def flush(self, timeout: float) -> int:
        """Wait up to `timeout` seconds for acknowledgements; returns the number of those that are missing."""
        return self._producer.flush(timeout)

    def _first_topic(self) -> str:
        with self._lock:
            return next(topic for topic, _ in self._waiting.values())

    def _send_again(self) -> None:
        with self._lock:
            unsent, self._unsent = deque(self._unsent), []
            try:
                while unsent:
                    self._send(unsent[0])
                    unsent.popleft()
            except BufferError:
                LOG.info("the client's queue is full: %d records are sent later", len(unsent))
            finally:
                self._unsent += unsent
        if self._unsent:
            unknown = f"topic {self._first_topic()} is unknown; {len(self)} records wait"
            raise KafkaException(KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART, unknown))

    def _replace(self) -> None:
        with self._lock:
            lost, self._producer, self._unsent = self._producer, self._open(), []
            for number in self._waiting:
                self._send(number)
        lost.purge()
        lost.poll(0)

    def _send(self, number: int) -> None:
        """Send the waiting record `number`; if its topic is not known yet, it is to be sent again."""
        topic, value = self._waiting[number]
        producer = self._producer

        def acknowledged(error: KafkaError | None, _: object) -> None:
            """The producer's delivery callback for record `number`."""
            if error is not None and producer is self._producer and error.code() in UNKNOWN_TOPIC:
                self._unsent.append(number)
            # A producer that was replaced reports what it did not send; the one in its place sends it.
            elif error is None or producer is self._producer:
                self._watch.record_contact()
                self._waiting.pop(number, None)
                self.refused = error

        try:
            producer.produce(topic, value, on_delivery=acknowledged)
        except KafkaException as failure:
            if failure.args[0].code() not in UNKNOWN_TOPIC or len(self._unsent) >= MOST_UNSENT:
                raise
            self._unsent.append(number)


def no_broker(waiting: int) -> KafkaException:
    """The error while `waiting` records wait for a broker."""
    return KafkaException(KafkaError(KafkaError._TRANSPORT, f"no broker answers; {waiting} records wait"))
