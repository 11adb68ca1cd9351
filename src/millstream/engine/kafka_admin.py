"""The admin client of the engine: it is replaced when it has lost all brokers, and its answers are futures.

a broker is down              the admin client's own connections are made again
all addresses are outdated    the client never reaches a broker again: a new one is made, and the request repeated
"""

import logging
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any, TypeVar, cast

from confluent_kafka import KafkaError, KafkaException, TopicCollection
from confluent_kafka.admin import AdminClient, ClusterMetadata, TopicDescription  # type: ignore[attr-defined]

from millstream.services.kafka_errors import reason
from millstream.services.log_format import OncePerKind

T = TypeVar("T")
# The log of the clients, which repeat each message many times a second during an outage.
LOG = logging.getLogger(__name__)
LOG.addFilter(OncePerKind(60.0))
# How long, in seconds, an answer is waited for; the first one of a new client; and an effect that was acknowledged.
PATIENCE = 15.0
RENEWAL_PATIENCE = 2.0
SETTLE = 10.0
# The pauses in which a change of the topics is waited for: the first one, and the longest.
FIRST_PAUSE, LAST_PAUSE = 0.005, 0.1
ERROR_UNKNOWN = KafkaError.UNKNOWN_TOPIC_OR_PART
DENIED = KafkaError.TOPIC_AUTHORIZATION_FAILED
# A partition was just created, or its broker has just come back: a client, or the broker itself, is not up to date.
LEADERLESS = (
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.REPLICA_NOT_AVAILABLE,
    KafkaError.FENCED_LEADER_EPOCH,
    KafkaError.UNKNOWN_LEADER_EPOCH,
    KafkaError.OFFSET_NOT_AVAILABLE,
)
BROKEN_CONNECTION = KafkaError._TRANSPORT
# The errors of a client without connections: Kafka is away, or the client has lost all brokers (watched_consumer.py).
UNREACHABLE = (BROKEN_CONNECTION, KafkaError._TIMED_OUT, KafkaError._ALL_BROKERS_DOWN, KafkaError._DESTROY_BROKER)

# A topic's id, and its partitions.
TopicIdentity = tuple[str, tuple[int, ...]]


class KafkaAdmin:
    """The admin client of one Kafka cluster, with librdkafka's `settings`."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        """Raises KafkaException if a setting is wrong; it does not wait for a broker."""
        self._settings = settings
        self.client = self._new_client()
        self._lock = threading.Lock()

    def request(self, request: Callable[[AdminClient], T], renewal: float = RENEWAL_PATIENCE) -> T:
        """The result of `request`; it is repeated with a new client if this one has lost all brokers, and the new one
        reaches one in `renewal` seconds."""
        client = self.client
        try:
            return request(client)
        except KafkaException as failure:
            if not self.is_renewed(client, failure, renewal):
                raise
            return request(self.client)

    def is_renewed(self, client: AdminClient, failure: KafkaException, seconds: float = RENEWAL_PATIENCE) -> bool:
        """Replace a client that has lost all brokers; False if a new one does not reach any in `seconds` either."""
        if failure.args[0].code() not in UNREACHABLE:
            return False
        new = self._new_client()
        try:
            new.list_topics(timeout=seconds)
        except KafkaException:
            return False
        with self._lock:
            if self.client is client:
                self.client = new
        return True

    def _new_client(self) -> AdminClient:
        return AdminClient(dict(self._settings), logger=LOG)

    def metadata(self, seconds: float) -> ClusterMetadata:
        """The cluster's brokers and topics. Raises KafkaException if no broker answers in `seconds`."""
        return self.request(lambda client: client.list_topics(timeout=seconds))

    def metadata_within(self, seconds: float) -> ClusterMetadata:
        """The same; with a new client, if one has to be made, it takes `seconds` at most."""
        renewal = min(seconds / 2, RENEWAL_PATIENCE)
        return self.request(lambda client: client.list_topics(timeout=seconds - renewal), renewal)

    def description(self, topic: str, seconds: float = PATIENCE) -> "Future[TopicDescription]":
        """The future description of a topic, from the current client; `seconds` is the request's timeout."""
        return self.client.describe_topics(TopicCollection([topic]), request_timeout=seconds)[topic]

    def described(self, topic: str) -> TopicDescription:
        """The description of a topic. Raises KafkaException, with the topic's name."""
        try:
            return self.request(lambda _: cast(TopicDescription, answer(self.description(topic))))
        except KafkaException as failure:
            raise named(topic, failure) from None


def answer(future: "Future[Any]") -> Any:
    """The admin client's answer. Raises KafkaException, also if there is no answer in time."""
    try:
        return future.result(PATIENCE)
    except TimeoutError as none:
        raise KafkaException(KafkaError(KafkaError._TIMED_OUT)) from none


def answer_or_none(future: "Future[Any]", *more: int) -> Any:
    """The admin client's answer; None if the topic is absent or has no leader now, or for the errors `more`.

    Raises KafkaException.
    """
    try:
        return answer(future)
    except KafkaException as failure:
        if failure.args[0].code() not in (ERROR_UNKNOWN, *LEADERLESS, *more):
            raise
        return None


def identity_of(described: TopicDescription) -> TopicIdentity:
    """A topic's id and its partitions."""
    return str(described.topic_id), tuple(p.id for p in described.partitions)


def about(subject: str, failure: KafkaException) -> KafkaException:
    """The same failure with the subject in front of its message: Kafka's own message does not name the topic."""
    return KafkaException(KafkaError(failure.args[0].code(), f"{subject}: {reason(failure)}"))


def named(topic: str, failure: KafkaException) -> KafkaException:
    """The failure of a request about one topic, with its name if it does not exist or is denied: Kafka's own message
    does not name it."""
    code = failure.args[0].code()
    if code == ERROR_UNKNOWN:
        return KafkaException(KafkaError(ERROR_UNKNOWN, f"topic {topic} does not exist"))
    return about(f"topic {topic}", failure) if code == DENIED else failure


def wait_until(done: Callable[[], Any], seconds: float = SETTLE) -> Any:
    """The result of `done`, which is called until it is true or so many seconds have passed."""
    deadline, pause = time.monotonic() + seconds, FIRST_PAUSE
    while not (result := done()) and time.monotonic() < deadline:
        time.sleep(pause)
        pause = min(2 * pause, LAST_PAUSE)
    return result
