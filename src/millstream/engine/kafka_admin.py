"""The admin client of the engine: it is replaced when it has lost all brokers, and its requests are then repeated.

a broker is down              the admin client's own connections are made again
all addresses are outdated    the client never reaches a broker again: a new one is made, and the request repeated

    t=0    a request
    t=3    no answer: a new client gets metadata at once, and makes the request again
    t=9    still none: once more. The first answer of the three counts

While Kafka is away a new client gets none either: the request then takes its own timeout, and its client is kept.
"""

import ctypes
import logging
import sys
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future, wait
from importlib.metadata import version
from typing import Any, TypeVar, cast

from confluent_kafka import KafkaError, KafkaException, TopicCollection
from confluent_kafka.admin import AdminClient, ClusterMetadata, TopicDescription  # type: ignore[attr-defined]

from millstream.services.kafka_errors import reason
from millstream.services.log_format import OncePerKind

T = TypeVar("T")
K = TypeVar("K")
# The log of the clients, which repeat each message many times a second during an outage.
LOG = logging.getLogger(__name__)
LOG.addFilter(OncePerKind(60.0))
# How long, in seconds, an answer is waited for; the first one of a new client; and an effect that was acknowledged.
PATIENCE = 15.0
RENEWAL_PATIENCE = 2.0
SETTLE = 10.0
# The seconds without an answer after which a request is made again by a new client.
SILENCE = 3.0
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
    # librdkafka's own: the partitions of a request do not have leaders.
    KafkaError._NOENT,
)
# A group's coordinator has just begun to be that, or has just ended.
COORDINATING = (
    KafkaError.NOT_COORDINATOR,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
)
BROKEN_CONNECTION = KafkaError._TRANSPORT
# True for the versions of confluent_kafka that never free the id of a topic that they have described: 140 bytes, and
# each of a hundred push queries asks for its topics every five seconds. A later version is to be looked at first.
HAS_LEAK = version("confluent-kafka").startswith("2.16.")
# The errors of a client without connections: Kafka is away, or the client has lost all brokers (watched_consumer.py).
UNREACHABLE = (
    BROKEN_CONNECTION,
    KafkaError._TIMED_OUT,
    KafkaError._ALL_BROKERS_DOWN,
    KafkaError._DESTROY_BROKER,
    KafkaError._DESTROY,
)

# A topic's id, and its partitions.
TopicIdentity = tuple[str, tuple[int, ...]]


class KafkaAdmin:
    """The admin client of one Kafka cluster, with librdkafka's `settings`."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        """Raises KafkaException if a setting is wrong; it does not wait for a broker."""
        self._settings = settings
        self.client = self._new_client()
        self._lock, self._attempts = threading.Lock(), 0
        # When topics were found to exist so lately that some brokers may not have heard of them.
        self._new_topics: dict[str, float] = {}

    def has_created(self, topic: str) -> None:
        """Take note that a topic exists: for SETTLE, a broker that does not know it is asked again (`descriptions`)."""
        now = time.monotonic()
        self._new_topics[topic] = now
        self.has_deleted([t for t, at in list(self._new_topics.items()) if now - at > SETTLE])

    def has_deleted(self, topics: Collection[str]) -> None:
        """Forget that topics exist."""
        for topic in topics:
            self._new_topics.pop(topic, None)

    def _is_unheard_of(self, topic: str, failure: KafkaException) -> bool:
        is_new = time.monotonic() - self._new_topics.get(topic, -SETTLE) < SETTLE
        return is_new and failure.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART

    def request(
        self,
        send: Callable[[AdminClient], Mapping[K, "Future[Any]"]],
        is_transient: Callable[[K, KafkaException], bool] = lambda _, __: False,
    ) -> "Mapping[K, Future[Any]]":
        """The futures of a request that `send` makes with the client that it gets; waits about PATIENCE for them.

        `send` must be harmless if it is called twice: the request is made again if it is not answered soon while Kafka
        can be reached, and, for SETTLE, if it fails because a group's coordinator moves or as `is_transient` says of a
        key and its failure.
        """

        def repeatable(item: "tuple[K, Future[Any]]") -> bool:
            key, failure = item[0], _failure(item[1])
            return failure is not None and (_is_one_of(failure, COORDINATING) or is_transient(key, failure))

        deadline = time.monotonic() + SETTLE
        futures = self._answered(send)
        while any(map(repeatable, futures.items())) and time.monotonic() < deadline:
            time.sleep(LAST_PAUSE)
            futures = self._answered(send)
        return futures

    def _answered(self, send: Callable[[AdminClient], Mapping[K, "Future[Any]"]]) -> "Mapping[K, Future[Any]]":
        """The futures of the first request that is answered, of several by new clients; else of the first request."""
        silence, deadline = SILENCE, time.monotonic() + PATIENCE
        # A client without references is closed, and its requests fail.
        clients = [self.client]
        requests = [send(clients[0])]
        wait(requests[0].values(), silence)

        def answered() -> "Mapping[K, Future[Any]] | None":
            return next(filter(_is_answered, requests), None)

        while answered() is None and (left := deadline - time.monotonic()) > 0:
            if self._replaced(clients[-1]):
                clients.append(self.client)
                requests.append(send(clients[-1]))
            elif all(future.done() for futures in requests for future in futures.values()):
                break
            wait_until(answered, min(silence, left))
            silence *= 2
        return answered() or requests[0]

    def is_renewed(self, client: AdminClient, failure: KafkaException, seconds: float = RENEWAL_PATIENCE) -> bool:
        """Replace a client that has lost all brokers; False if a new one does not reach any in `seconds` either."""
        return _is_one_of(failure, UNREACHABLE) and self._replaced(client, seconds)

    def _replaced(self, client: AdminClient, seconds: float = RENEWAL_PATIENCE) -> bool:
        """Replace a client; False if a new one is told of no broker in `seconds`.

        Threads that do so at the same time share one attempt.
        """
        attempts = self._attempts
        with self._lock:
            if self.client is client and self._attempts == attempts:
                # A client without waiting requests is false.
                self.client = client if (new := self._reaching(seconds)) is None else new
                self._attempts += 1
            return self.client is not client

    def _reaching(self, seconds: float) -> AdminClient | None:
        """A new client that is told of brokers in `seconds`, or None: a fenced broker answers, but reports none."""
        new = self._new_client()
        try:
            return new if wait_until(lambda: new.list_topics(timeout=seconds).brokers, seconds) else None
        except KafkaException:
            return None

    def _new_client(self) -> AdminClient:
        return AdminClient(dict(self._settings), logger=LOG)

    def metadata(self, seconds: float) -> ClusterMetadata:
        """The cluster's brokers and topics. Raises KafkaException if no broker answers in `seconds`."""
        deadline = time.monotonic() + seconds
        client = self.client
        try:
            return client.list_topics(timeout=min(SILENCE, seconds / 2))
        except KafkaException as failure:
            if not _is_one_of(failure, UNREACHABLE):
                raise
            if self.is_renewed(client, failure, min(RENEWAL_PATIENCE, seconds / 4)):
                client = self.client
            if (left := deadline - time.monotonic()) <= 0:
                raise
        return client.list_topics(timeout=left)

    def descriptions(
        self, topics: Sequence[str], seconds: float = PATIENCE, **options: Any
    ) -> "Mapping[str, Future[TopicDescription]]":
        """The futures of the topics' descriptions; `seconds` is the request's timeout."""
        names = TopicCollection(list(topics))
        futures = self.request(
            lambda client: client.describe_topics(names, request_timeout=seconds, **options), self._is_unheard_of
        )
        for future in futures.values():
            if HAS_LEAK and future.done() and future.exception() is None:
                _release_id(future.result())
        return futures

    def described(self, topic: str) -> TopicDescription:
        """The description of a topic. Raises KafkaException, with the topic's name."""
        try:
            return cast(TopicDescription, answer(self.descriptions([topic])[topic]))
        except KafkaException as failure:
            raise named(topic, failure) from None

    def described_or_none(self, topic: str, seconds: float = PATIENCE) -> TopicDescription | None:
        """The same; None if the topic is absent or has no leader now. `seconds` is the request's timeout."""
        return cast("TopicDescription | None", answer_or_none(self.descriptions([topic], seconds)[topic]))


def _release_id(described: TopicDescription) -> None:
    """Give up the reference to a topic's id that confluent_kafka has taken too often (HAS_LEAK), if it has."""
    held_by_argument_and_description = 2
    if sys.getrefcount(described.topic_id) > held_by_argument_and_description:
        ctypes.pythonapi.Py_DecRef(ctypes.py_object(described.topic_id))


def _is_answered(futures: "Mapping[Any, Future[Any]]") -> bool:
    """True if a request is done, and has reached the brokers."""
    if not all(future.done() for future in futures.values()):
        return False
    return not any(_is_one_of(failure, UNREACHABLE) for failure in map(_failure, futures.values()) if failure)


def _failure(future: "Future[Any]") -> KafkaException | None:
    """Why a request failed; None if it has not failed, or is not done yet."""
    failure = future.exception() if future.done() else None
    return failure if isinstance(failure, KafkaException) else None


def _is_one_of(failure: KafkaException, codes: Collection[int]) -> bool:
    return failure.args[0].code() in codes


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
    """The result of `done`, which is called until it is true or `seconds` have passed."""
    deadline, pause = time.monotonic() + seconds, FIRST_PAUSE
    while not (result := done()) and time.monotonic() < deadline:
        time.sleep(pause)
        pause = min(2 * pause, LAST_PAUSE)
    return result
