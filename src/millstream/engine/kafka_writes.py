"""What the engine's Kafka client remembers of a write: the topic as it was, and the outcome of a record."""

from dataclasses import dataclass

from confluent_kafka import KafkaError, KafkaException, Message, Producer

Bytes = bytes | None


@dataclass(frozen=True, slots=True)
class WrittenTopic:
    """A topic that was written: for whom, its id and its partitions, and when they were read (monotonic seconds)."""

    owner: object
    identity: tuple[str, tuple[int, ...]]
    read_at: float


class Delivery:
    """A record that is being sent: its offset, or why it was not written."""

    __slots__ = ("done", "failure", "offset", "producer")

    def __init__(self, producer: Producer) -> None:
        self.producer, self.done, self.offset = producer, False, -1
        self.failure: KafkaException | None = None

    def arrived(self, error: KafkaError | None, message: Message) -> None:
        """The producer's delivery callback."""
        self.failure = None if error is None else KafkaException(error)
        self.offset, self.done = message.offset() or 0, True
