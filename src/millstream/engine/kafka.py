"""The engine's Kafka client: topics, offsets, records to write and to read."""

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeVar, cast

from confluent_kafka import (
    OFFSET_END,
    IsolationLevel,
    KafkaError,
    KafkaException,
    Producer,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    ClusterMetadata,
    ConfigResource,
    ListOffsetsResultInfo,
    NewTopic,
    OffsetSpec,
    ResourceType,
    TopicDescription,
)

from millstream.catalog.facts import TopicFacts
from millstream.engine import first_connection
from millstream.engine.kafka_settings import java_settings, librdkafka_settings
from millstream.engine.kafka_writes import Bytes, Delivery, WrittenTopic
from millstream.engine.watched_consumer import WatchedConsumer
from millstream.model.secrets import without_values
from millstream.model.settings import SettingRefused
from millstream.services.kafka_errors import is_denial, reason
from millstream.services.log_format import OncePerKind

T = TypeVar("T")
# The log of the clients, which repeat each message many times a second during an outage.
LOG = logging.getLogger(__name__)
LOG.addFilter(OncePerKind(60.0))
PATIENCE = 30.0
RENEWAL_PATIENCE = 2.0
SETTLE = 10.0
# The producer's delivery timeout in seconds, less than PATIENCE: a record whose write was reported as failed must not
# be written once the broker is back.
DELIVERY_SECONDS = 25.0
# How long, in seconds, a new topic that is to be written may be unknown to the brokers.
UNKNOWN_TOPIC_SECONDS = 5.0
# The number of topics for which the source that last wrote them is remembered, and for how many seconds it is not
# checked whether a topic is still the same.
MOST_WRITTEN, WRITTEN_FRESH = 10_000, 1.0
# The pauses in which a change of the topics is waited for: the first one, and the longest.
FIRST_PAUSE, LAST_PAUSE = 0.005, 0.1
DELETES_TOPICS = "delete.topic.enable"
ERROR_EXISTS = KafkaError.TOPIC_ALREADY_EXISTS
ERROR_UNKNOWN = KafkaError.UNKNOWN_TOPIC_OR_PART
ERROR_NAME = KafkaError.TOPIC_EXCEPTION
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
UNWRITTEN = (KafkaError._TIMED_OUT, KafkaError._MSG_TIMED_OUT)

Offsets = dict[int, int]
# The next offset of each partition; the offsets of the first record and after the last one of each partition.
Positions = Mapping[int, int]
Bounds = Mapping[int, tuple[int, int]]
# The same partition for a key as Kafka's Java clients choose.
WRITER = {"partitioner": "murmur2_random", "acks": "all", "linger.ms": 0, "enable.idempotence": True}

READER = {
    "enable.auto.commit": False,
    "fetch.wait.max.ms": 100,
    "auto.offset.reset": "earliest",
}


@dataclass(frozen=True, slots=True)
class ConsumerGroup:
    """A consumer group: its id, state, and how many members it has."""

    id: str
    state: str
    members: int


class KafkaClient:
    """A client of one Kafka cluster; it takes the address and the security settings from the server's `settings`.

    `java` are the settings with which Spark's JVM reaches the same cluster.
    """

    def __init__(self, settings: Mapping[str, str]) -> None:
        """Raises SettingRefused if a setting of Kafka's clients is wrong; it does not wait for a broker."""
        self.java = java_settings(settings)
        self.bootstrap = self.java["bootstrap.servers"]
        self._settings = librdkafka_settings(self.java)
        # Readers commit nothing, but Kafka asks of each consumer with a group whether it may be in it.
        self._group = f"_millstream-{settings.get('ksql.service.id', '')}-reader"
        try:
            self._admin = self._new_admin()
        except KafkaException as failure:
            wrong = without_values(reason(failure), {**self.java, **self._settings})
            raise SettingRefused(f"a setting of Kafka's clients is wrong: {wrong}") from None
        self._producer: Producer | None = None
        self._lock = threading.Lock()
        # The ids and partitions of topics, each with the monotonic time in seconds at which they were read.
        self._known: dict[str, tuple[float, str, tuple[int, ...]]] = {}
        self._written: dict[str, WrittenTopic] = {}

    def cluster(self) -> str:
        """The cluster's id. Raises KafkaException if no broker answers, with the reason of the connection's end."""
        try:
            return str(self._admin.list_topics(timeout=first_connection.ATTEMPT).cluster_id)
        except KafkaException:
            return first_connection.cluster_id(self._settings, LOG)

    def answers(self) -> bool:
        """True if a broker answers within some seconds."""
        try:
            return bool(self._list_topics(2.0).brokers)
        except KafkaException:
            return False

    def topics(self) -> dict[str, tuple[int, ...]]:
        """Every topic's name, and the number of replicas of each of its partitions."""
        metadata = self._list_topics(PATIENCE).topics
        return {n: tuple(len(p.replicas) for p in t.partitions.values()) for n, t in sorted(metadata.items())}

    def _list_topics(self, seconds: float) -> ClusterMetadata:
        return self._with_reachable_admin(lambda admin: admin.list_topics(timeout=seconds))

    def _with_reachable_admin(self, request: Callable[[AdminClient], T]) -> T:
        """The result of `request`; it is repeated with a new admin client if this one has lost all brokers."""
        admin = self._admin
        try:
            return request(admin)
        except KafkaException as failure:
            if not self._is_renewed(admin, failure):
                raise
            return request(self._admin)

    def _is_renewed(self, admin: AdminClient, failure: KafkaException) -> bool:
        """Replace an admin client that has lost all brokers; False if a new one does not reach any either."""
        if failure.args[0].code() not in UNREACHABLE:
            return False
        new = self._new_admin()
        try:
            new.list_topics(timeout=RENEWAL_PATIENCE)
        except KafkaException:
            return False
        with self._lock:
            if self._admin is admin:
                self._admin = new
        return True

    def _new_admin(self) -> AdminClient:
        return AdminClient(dict(self._settings), logger=LOG)

    def facts(self, names: Iterable[str]) -> dict[str, TopicFacts]:
        """The facts that planning needs about those of `names` that exist."""
        existing = self.topics()
        desired = [name for name in names if name in existing]
        retentions = self._retentions(desired)
        return {n: TopicFacts(len(existing[n]), min(existing[n], default=1), retentions.get(n)) for n in desired}

    def _retentions(self, names: Sequence[str]) -> dict[str, int]:
        if not names:
            return {}
        answers = self._admin.describe_configs([ConfigResource(ResourceType.TOPIC, name) for name in names])
        retentions = {}
        for resource, answer in answers.items():
            try:
                value = _answer(answer)["retention.ms"].value
            except KafkaException as failure:
                if failure.args[0].code() not in (ERROR_UNKNOWN, DENIED):
                    raise
                continue
            retentions[resource.name] = int(value)
        return retentions

    def allowed(self, names: Iterable[str]) -> dict[str, frozenset[str]]:
        """The operations that ACLs allow on each topic, such as READ and WRITE; none if it must not even be described.

        Topics that do not exist, have no leader now or have an invalid name are left out; so are all topics if the
        brokers do not report the operations. Raises KafkaException.
        """
        desired = sorted(set(names))
        if not desired:
            return {}

        def request(admin: AdminClient) -> dict[str, frozenset[str] | None]:
            answers = admin.describe_topics(
                TopicCollection(desired), include_authorized_operations=True, request_timeout=PATIENCE
            )
            return {name: _operations(answer) for name, answer in answers.items()}

        allowed = self._with_reachable_admin(request)
        return {name: operations for name, operations in allowed.items() if operations is not None}

    def create(
        self,
        name: str,
        partitions: int,
        replicas: int = 1,
        config: Mapping[str, str] | None = None,
        validate_only: bool = False,
    ) -> bool:
        """Create a topic and wait until it can be used; False if it exists already. Raises KafkaException.

        `validate_only`: only check that Kafka would create it.
        """
        topic = NewTopic(name, partitions, replicas, config=dict(config or {}))
        try:
            _answer(self._admin.create_topics([topic], validate_only=validate_only)[name])
        except KafkaException as failure:
            if is_denial(failure):
                raise _about(f"topic {name} cannot be created", failure) from failure
            if failure.args[0].code() != ERROR_EXISTS:
                raise
            return False
        if not validate_only:
            self._settle(lambda: len(self.topics().get(name, ())) == partitions)
        return True

    def delete(self, *names: str) -> None:
        """Delete the topics that exist, and wait until they are gone. Raises KafkaException."""
        existing = [name for name in names if name in self.topics()]
        if not existing:
            return
        for answer in self._admin.delete_topics(existing).values():
            try:
                _answer(answer)
            except KafkaException as failure:
                if failure.args[0].code() != ERROR_UNKNOWN:
                    raise
        self._settle(lambda: not set(existing) & set(self.topics()))

    def may_delete(self) -> bool:
        """False if the brokers delete no topics (`delete.topic.enable`); True also if they do not say so.

        Raises KafkaException if Kafka does not answer.
        """
        resources = [ConfigResource(ResourceType.BROKER, str(id)) for id in self._list_topics(PATIENCE).brokers][:1]
        try:
            answers = self._admin.describe_configs(resources, request_timeout=PATIENCE) if resources else {}
            settings = [_answer(answer).get(DELETES_TOPICS) for answer in answers.values()]
        except KafkaException as failure:
            if not is_denial(failure):
                raise
            return True
        return not any(setting is not None and setting.value == "false" for setting in settings)

    @staticmethod
    def _settle(done: Callable[[], Any], seconds: float = SETTLE) -> Any:
        """The result of `done`, which is called until it is true or so many seconds have passed."""
        deadline, pause = time.monotonic() + seconds, FIRST_PAUSE
        while not (answer := done()) and time.monotonic() < deadline:
            time.sleep(pause)
            pause = min(2 * pause, LAST_PAUSE)
        return answer

    def ends(self, topic: str, max_age: float = 0.0) -> Offsets:
        """The offset after the last record of each partition. Raises KafkaException if the topic does not exist.

        A partition that was added in the last `max_age` seconds may be missing, since the list of partitions is cached
        so long. It is the end for consumers of committed records, since our readers do not read further.
        """
        latest = OffsetSpec.latest()  # type: ignore[no-untyped-call]
        return {partition: end for partition, (end,) in self._offsets(topic, (latest,), max_age).items()}

    def bounds(self, topic: str) -> dict[int, tuple[int, int]]:
        """The offset of the first record and the offset after the last one, by partition. Raises KafkaException."""
        specs = (OffsetSpec.earliest(), OffsetSpec.latest())  # type: ignore[no-untyped-call]
        return {partition: (first, end) for partition, (first, end) in self._offsets(topic, specs, 0.0).items()}

    def _offsets(self, topic: str, specs: Sequence[OffsetSpec], max_age: float) -> dict[int, list[int]]:
        """The offset of each of `specs` in each partition, over the existing connection, in a few milliseconds.

        The request is repeated if partitions have no leaders yet, and if the connection breaks; the next one then waits
        until a broker answers.
        """
        deadline: float | None = None
        while True:
            admin = self._admin
            try:
                _, partitions = self._recent(topic, max_age)
                return self._offsets_now([TopicPartition(topic, p) for p in partitions], specs)
            except KafkaException as failure:
                # The cached list of partitions may be outdated: try once more without it.
                was_cached = self._known.pop(topic, None) is not None and max_age > 0
                if not was_cached:
                    passing = failure.args[0].code() in (*LEADERLESS, BROKEN_CONNECTION, KafkaError._DESTROY_BROKER)
                    # The first request may have waited long for a broker that was frozen.
                    deadline = deadline or time.monotonic() + SETTLE
                    if time.monotonic() > deadline:
                        passing = self._admin is admin and self._is_renewed(admin, failure)
                    if not passing:
                        raise
                    time.sleep(0.05)

    def _offsets_now(self, partitions: Sequence[TopicPartition], specs: Sequence[OffsetSpec]) -> dict[int, list[int]]:
        committed = IsolationLevel.READ_COMMITTED
        by_spec = [self._requested_offsets(dict.fromkeys(partitions, spec), committed) for spec in specs]
        return {p.partition: [_offset(_answer(answers[p])) for answers in by_spec] for p in partitions}

    def _recent(self, topic: str, max_age: float) -> tuple[str, tuple[int, ...]]:
        """The topic's id and partitions, as they were at most `max_age` seconds ago. Raises KafkaException."""
        now, (read_at, id, partitions) = time.monotonic(), self._known.get(topic, (0.0, "", ()))
        if not partitions or now - read_at >= max_age:
            id, partitions = _identity(self._described(topic))
            self._known[topic] = now, id, partitions
        return id, partitions

    def ends_of(self, topics: Iterable[str], seconds: float) -> dict[str, Offsets]:
        """The end offsets by partition of several topics, in two requests.

        Topics that do not exist, or that ACLs deny, are left out. `seconds` is the timeout of each request. Raises
        KafkaException if Kafka does not answer.
        """
        names = sorted(topics)
        if not names:
            return {}
        answers = self._admin.describe_topics(TopicCollection(names), request_timeout=seconds)
        latest = OffsetSpec.latest()  # type: ignore[no-untyped-call]
        described = {name: _answer_or_none(answer, DENIED) for name, answer in answers.items()}
        places = {TopicPartition(n, p.id): latest for n, topic in described.items() if topic for p in topic.partitions}
        ends: dict[str, Offsets] = {name: {} for name, topic in described.items() if topic}
        for place, answer in self._requested_offsets(places, IsolationLevel.READ_COMMITTED, seconds).items():
            if (end := _answer_or_none(answer, DENIED)) is not None:
                ends[place.topic][place.partition] = _offset(end)
        return ends

    def trim(self, topic: str, retention_ms: int) -> Offsets:
        """Remove records whose time is more than `retention_ms` before the newest record of their partition.

        In each partition the records before the first one to keep are removed. Returns that offset for each partition
        in which records were removed. Raises KafkaException.
        """
        partitions = [TopicPartition(topic, p.id) for p in self._described(topic).partitions]
        newest = self._listed(dict.fromkeys(partitions, OffsetSpec.max_timestamp()))  # type: ignore[no-untyped-call]
        times = {p: at.timestamp - retention_ms for p, at in newest.items() if at.offset >= 0}
        since = {p: OffsetSpec.for_timestamp(time) for p, time in times.items() if time >= 0}
        first_kept = {p: at.offset for p, at in self._listed(since).items()}
        first = self._listed(dict.fromkeys(first_kept, OffsetSpec.earliest()))  # type: ignore[no-untyped-call]
        old = [TopicPartition(topic, p.partition, at) for p, at in first_kept.items() if at > first[p].offset]
        for answer in self._admin.delete_records(old, request_timeout=PATIENCE).values() if old else ():
            _answer(answer)
        return {place.partition: place.offset for place in old}

    def _listed(self, specs: Mapping[TopicPartition, Any]) -> dict[TopicPartition, ListOffsetsResultInfo]:
        """The offsets of the specs, as a consumer with isolation level read_uncommitted sees them."""
        answers = self._requested_offsets(specs, IsolationLevel.READ_UNCOMMITTED)
        return {place: _answer(answer) for place, answer in answers.items()}

    def _requested_offsets(
        self, specs: Mapping[TopicPartition, Any], isolation: IsolationLevel, seconds: float = PATIENCE
    ) -> dict[TopicPartition, "Future[ListOffsetsResultInfo]"]:
        """Futures of the offsets that a consumer of that isolation level sees; `seconds` is the request's timeout."""
        if not specs:
            return {}
        return self._admin.list_offsets(dict(specs), isolation_level=isolation, request_timeout=seconds)

    def identity(self, topic: str, max_age: float = 0.0) -> str:
        """The topic's id, which another topic of the same name does not have, as it was at most `max_age` seconds ago.

        Raises KafkaException.
        """
        return self._recent(topic, max_age)[0]

    def _description(self, topic: str, seconds: float = PATIENCE) -> "Future[TopicDescription]":
        return self._admin.describe_topics(TopicCollection([topic]), request_timeout=seconds)[topic]

    def _described(self, topic: str) -> TopicDescription:
        try:
            return self._with_reachable_admin(lambda _: cast(TopicDescription, _answer(self._description(topic))))
        except KafkaException as failure:
            if failure.args[0].code() == ERROR_UNKNOWN:
                # Kafka's own message does not name it.
                raise KafkaException(KafkaError(ERROR_UNKNOWN, f"topic {topic} does not exist")) from failure
            if failure.args[0].code() == DENIED:
                raise _about(f"topic {topic}", failure) from failure
            raise

    @contextmanager
    def reader(self, **settings: object) -> Iterator[WatchedConsumer]:
        """A consumer without group or commits; the caller assigns it."""
        named = {name.replace("_", "."): value for name, value in settings.items()}
        consumer = self.consumer({**READER, "group.id": self._group, **named}, LOG)
        try:
            yield consumer
        finally:
            consumer.close()

    def consumer(self, settings: Mapping[str, Any], logger: logging.Logger) -> WatchedConsumer:
        """A consumer with these settings beside the client's own; the caller closes it."""
        return WatchedConsumer({**self._settings, **settings}, self.answers, logger)

    def producer(self, settings: Mapping[str, Any], logger: logging.Logger) -> Producer:
        """A producer with these settings beside the client's own."""
        return Producer({**self._settings, **settings}, logger=logger)

    def open_writer(self) -> None:
        """Connect the producer of `write` in the background: its id takes half a second, and writes wait for it."""
        self._writer()

    def write_for(self, owner: object, topic: str) -> None:
        """Call before writes to the topic of `owner`, a source. Raises KafkaException if Kafka does not answer.

        The topic may have been deleted and created again, or have more partitions. The producer would choose partitions
        by their old number, as it refreshes its metadata only every five minutes; and records that librdkafka sends
        with the old topic's sequence numbers are at times acknowledged and lost, even with fresh metadata. So the next
        write gets a new producer.
        """
        earlier, now = self._written.get(topic), time.monotonic()
        if earlier is not None and earlier.owner is owner:
            if now - earlier.read_at < WRITTEN_FRESH:
                return
            if self._is_still(topic, earlier.identity):
                self._written[topic] = replace(earlier, read_at=now)
                return
        # A topic that was just created may be unknown to a broker for a moment.
        described = self._settle(lambda: _answer_or_none(self._description(topic)), UNKNOWN_TOPIC_SECONDS)
        identity = _identity(described or self._described(topic))
        if earlier is not None and earlier.identity != identity:
            self._replace_writer()
        if len(self._written) >= MOST_WRITTEN:
            self._written.clear()
        self._written[topic] = WrittenTopic(owner, identity, now)

    def _is_still(self, topic: str, identity: tuple[str, tuple[int, ...]]) -> bool:
        """True if a topic has this id and these partitions, or Kafka does not answer soon: the write waits for it."""
        try:
            described = _answer_or_none(self._description(topic, RENEWAL_PATIENCE))
        except KafkaException:
            return True
        return described is not None and _identity(described) == identity

    def write(self, topic: str, key: Bytes, value: Bytes, timestamp: int | None = None) -> int:
        """Write one record and wait until all in-sync replicas have it; returns its offset. Raises KafkaException.

        `timestamp` None means now.
        """
        return self._wait([self._send(topic, key, value, timestamp)])[0].offset

    def write_all(self, topic: str, records: Sequence[tuple[Bytes, Bytes, int]]) -> list[KafkaException | None]:
        """Write records (key, value, timestamp) in order and wait for all; for each None, or why it was not written."""
        return [
            sent.failure for sent in self._wait([self._send(topic, *record) for record in records], all_or_none=False)
        ]

    def _send(self, topic: str, key: Bytes, value: Bytes, timestamp: int | None) -> "Delivery":
        producer = self._writer()
        sent = Delivery(producer)
        when = int(time.time() * 1000) if timestamp is None else timestamp
        while True:
            try:
                producer.produce(topic, value, key, on_delivery=sent.arrived, timestamp=when)
            except BufferError:
                producer.poll(0.1)
            except KafkaException as failure:
                sent.failure, sent.done = failure, True
                if failure.args[0].fatal():
                    self._replace_writer()
                return sent
            else:
                return sent

    def _wait(self, records: Sequence["Delivery"], all_or_none: bool = True) -> Sequence["Delivery"]:
        deadline = time.monotonic() + PATIENCE
        while (sent := next((sent for sent in records if not sent.done), None)) and time.monotonic() < deadline:
            sent.producer.poll(0.01)
        for sent in records:
            if not sent.done:
                sent.failure = KafkaException(KafkaError(KafkaError._TIMED_OUT))
            if sent.failure is not None and _needs_new_writer(sent.failure.args[0]):
                self._replace_writer()
            if all_or_none and sent.failure is not None:
                raise sent.failure
        return records

    def _writer(self) -> Producer:
        with self._lock:
            if self._producer is None:
                limits = {"message.timeout.ms": round(DELIVERY_SECONDS * 1000)}
                self._producer = self.producer({**WRITER, **limits}, LOG)
            return self._producer

    def _replace_writer(self) -> None:
        """Let the next write create a new producer."""
        with self._lock:
            self._producer = None

    def groups(self) -> list[ConsumerGroup]:
        """The existing consumer groups."""
        listed = _answer(self._admin.list_consumer_groups(request_timeout=PATIENCE)).valid
        return [ConsumerGroup(g.group_id, str(g.state), 0) for g in listed]

    def client_ids(self, group: str) -> frozenset[str]:
        """The client ids of a consumer group's members. Raises KafkaException if Kafka does not answer."""
        described = self._admin.describe_consumer_groups([group], request_timeout=PATIENCE)
        return frozenset(member.client_id for member in _answer(described[group]).members)

    def readers_of(self) -> dict[str, tuple[int, int]]:
        """For each topic that consumer groups read: the numbers of consumers and of groups, counted as ksqlDB's
        ListTopicsExecutor does: a consumer once for each partition of the topic that it is assigned."""
        ids = [g.id for g in self.groups()]
        if not ids:
            return {}
        counts: dict[str, tuple[int, int]] = {}
        described = self._admin.describe_consumer_groups(ids, request_timeout=PATIENCE)
        for answer in described.values():
            members = _answer(answer).members
            assigned = Counter(p.topic for m in members for p in m.assignment.topic_partitions)
            for topic, partitions in assigned.items():
                consumers, groups = counts.get(topic, (0, 0))
                counts[topic] = (consumers + partitions, groups + 1)
        return counts


def _needs_new_writer(failure: KafkaError) -> bool:
    """True if the producer accepts no more records, or may have lost all brokers."""
    return failure.fatal() or failure.code() in UNWRITTEN


def _answer(future: "Future[Any]") -> Any:
    """The admin client's answer. Raises KafkaException, also if there is no answer in time."""
    try:
        return future.result(PATIENCE)
    except TimeoutError as none:
        raise KafkaException(KafkaError(KafkaError._TIMED_OUT)) from none


def _identity(described: TopicDescription) -> tuple[str, tuple[int, ...]]:
    """A topic's id and its partitions."""
    return str(described.topic_id), tuple(p.id for p in described.partitions)


def _offset(answer: ListOffsetsResultInfo) -> int:
    """The offset of an answer. Raises KafkaException if it has none: so librdkafka reports some broken connections."""
    if answer.offset < 0:
        raise KafkaException(KafkaError(BROKEN_CONNECTION))
    return answer.offset


def _answer_or_none(future: "Future[Any]", *more: int) -> Any:
    """The admin client's answer; None if the topic is absent or has no leader now, or for the errors `more`.

    Raises KafkaException.
    """
    try:
        return _answer(future)
    except KafkaException as failure:
        if failure.args[0].code() not in (ERROR_UNKNOWN, *LEADERLESS, *more):
            raise
        return None


def _operations(future: "Future[Any]") -> frozenset[str] | None:
    """What the answer about a topic allows; None if it does not say. Raises KafkaException."""
    try:
        described = _answer_or_none(future, ERROR_NAME)
    except KafkaException as failure:
        if failure.args[0].code() != DENIED:
            raise
        return frozenset()
    # A topic that can be described has at least the right DESCRIBE: without any right, the broker does not report them.
    rights = described.authorized_operations if described else None
    return frozenset(operation.name for operation in rights) if rights else None


def _about(subject: str, failure: KafkaException) -> KafkaException:
    """The same failure with the subject in front of its message: Kafka's own message does not name the topic."""
    return KafkaException(KafkaError(failure.args[0].code(), f"{subject}: {reason(failure)}"))


END = OFFSET_END
