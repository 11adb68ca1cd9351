"""The engine's Kafka client: topics, offsets, records to read; what it writes is in kafka_writer.py."""

import logging
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

from confluent_kafka import (
    ConsumerGroupTopicPartitions,
    IsolationLevel,
    KafkaError,
    KafkaException,
    Producer,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    ConfigResource,
    ListOffsetsResultInfo,
    NewTopic,
    OffsetSpec,
    ResourceType,
)

from millstream.catalog.facts import TopicFacts
from millstream.engine import first_connection
from millstream.engine.kafka_admin import (
    BROKEN_CONNECTION,
    DENIED,
    ERROR_UNKNOWN,
    LEADERLESS,
    LOG,
    PATIENCE,
    SETTLE,
    KafkaAdmin,
    TopicIdentity,
    about,
    answer,
    answer_or_none,
    identity_of,
    named,
    wait_until,
)
from millstream.engine.kafka_settings import java_settings, librdkafka_settings
from millstream.engine.kafka_writer import RecordWriter
from millstream.engine.watched_consumer import WatchedConsumer
from millstream.model.secrets import without_values
from millstream.model.settings import SettingRefused
from millstream.services.kafka_errors import is_denial, reason

DELETES_TOPICS = "delete.topic.enable"
ERROR_EXISTS = KafkaError.TOPIC_ALREADY_EXISTS
ERROR_NAME = KafkaError.TOPIC_EXCEPTION

Offsets = dict[int, int]
# The next offset of each partition; the offsets of the first record and after the last one of each partition.
Positions = Mapping[int, int]
Bounds = Mapping[int, tuple[int, int]]

READER = {
    "enable.auto.commit": False,
    "fetch.wait.max.ms": 100,
    "auto.offset.reset": "earliest",
}


class KafkaClient:
    """A client of one Kafka cluster; it takes the address and the security settings from the server's `settings`.

    `java` are the settings with which Spark's JVM reaches the same cluster; `writer` writes records.
    """

    def __init__(self, settings: Mapping[str, str]) -> None:
        """Raises SettingRefused if a setting of Kafka's clients is wrong; it does not wait for a broker."""
        self.java = java_settings(settings)
        self.bootstrap = self.java["bootstrap.servers"]
        self._settings = librdkafka_settings(self.java)
        # Readers commit nothing, but Kafka checks for each consumer with a group whether it may join that.
        self._group = f"_millstream-{settings.get('ksql.service.id', '')}-reader"
        try:
            self._admin = KafkaAdmin(self._settings)
        except KafkaException as failure:
            wrong = without_values(reason(failure), {**self.java, **self._settings})
            raise SettingRefused(f"a setting of Kafka's clients is wrong: {wrong}") from None
        self.writer = RecordWriter(lambda own: self.producer(own, LOG), self._admin)
        # The ids and partitions of topics, each with the monotonic time in seconds at which they were read.
        self._known: dict[str, tuple[float, TopicIdentity]] = {}

    def cluster(self) -> str:
        """The cluster's id. Raises KafkaException if no broker answers, with the reason of the connection's end."""
        try:
            return str(self._admin.client.list_topics(timeout=first_connection.ATTEMPT).cluster_id)
        except KafkaException:
            return first_connection.cluster_id(self._settings, LOG)

    def answers(self) -> bool:
        """True if a broker answers within some seconds."""
        try:
            return bool(self._admin.metadata(2.0).brokers)
        except KafkaException:
            return False

    def topics(self, seconds: float | None = None) -> dict[str, tuple[int, ...]]:
        """Every topic's name, and the number of replicas of each of its partitions.

        Raises KafkaException if no broker answers; `seconds` are how long that takes at most, else as for any request.
        """
        metadata = (self._admin.metadata(PATIENCE) if seconds is None else self._admin.metadata_within(seconds)).topics
        return {n: tuple(len(p.replicas) for p in t.partitions.values()) for n, t in sorted(metadata.items())}

    def facts(self, names: Iterable[str]) -> dict[str, TopicFacts]:
        """The facts that planning needs about those of `names` that exist."""
        existing = self.topics()
        desired = [name for name in names if name in existing]
        retentions = self._retentions(desired)
        return {n: TopicFacts(len(existing[n]), min(existing[n], default=1), retentions.get(n)) for n in desired}

    def _retentions(self, names: Sequence[str]) -> dict[str, int]:
        if not names:
            return {}
        resources = [ConfigResource(ResourceType.TOPIC, name) for name in names]
        answers = self._admin.client.describe_configs(resources, request_timeout=PATIENCE)
        retentions = {}
        for resource, described in answers.items():
            try:
                value = answer(described)["retention.ms"].value
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
            return {name: _operations(described) for name, described in answers.items()}

        allowed = self._admin.request(request)
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
            created = self._admin.client.create_topics([topic], validate_only=validate_only, request_timeout=PATIENCE)
            answer(created[name])
        except KafkaException as failure:
            if is_denial(failure):
                raise about(f"topic {name} cannot be created", failure) from failure
            if failure.args[0].code() != ERROR_EXISTS:
                raise
            return False
        if not validate_only:
            wait_until(lambda: len(self.topics().get(name, ())) == partitions)
        return True

    def delete(self, *names: str) -> None:
        """Delete the topics that exist, and wait until they are gone. Raises KafkaException."""
        existing = [name for name in names if name in self.topics()]
        if not existing:
            return
        for deleted in self._admin.client.delete_topics(existing, request_timeout=PATIENCE).values():
            try:
                answer(deleted)
            except KafkaException as failure:
                if failure.args[0].code() != ERROR_UNKNOWN:
                    raise
        wait_until(lambda: not set(existing) & set(self.topics()))

    def may_delete(self) -> bool:
        """False if the brokers delete no topics (`delete.topic.enable`); True also if they do not say so.

        Raises KafkaException if Kafka does not answer.
        """
        resources = [ConfigResource(ResourceType.BROKER, str(id)) for id in self._admin.metadata(PATIENCE).brokers][:1]
        try:
            answers = self._admin.client.describe_configs(resources, request_timeout=PATIENCE) if resources else {}
            settings = [answer(described).get(DELETES_TOPICS) for described in answers.values()]
        except KafkaException as failure:
            if not is_denial(failure):
                raise
            return True
        return not any(setting is not None and setting.value == "false" for setting in settings)

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

        The request is repeated if partitions have no leaders yet, if a broker does not know the topic that another one
        does, and if the connection breaks; the next one then waits until a broker answers.
        """
        deadline, renewed, may_be_outdated = 0.0, False, max_age > 0 and topic in self._known
        while True:
            client = self._admin.client
            try:
                _, partitions = self._recent(topic, max_age)
                return self._offsets_now([TopicPartition(topic, p) for p in partitions], specs)
            except KafkaException as failure:
                code, is_known = failure.args[0].code(), self._known.pop(topic, None) is not None
                is_timeout = code == KafkaError._TIMED_OUT
                if may_be_outdated and not is_timeout:
                    may_be_outdated = False
                    continue
                passing = code in (*LEADERLESS, BROKEN_CONNECTION, KafkaError._DESTROY_BROKER)
                passing = passing or (is_known and code == ERROR_UNKNOWN)
                # The first request may have waited long for a broker that was frozen.
                deadline = deadline or time.monotonic() + SETTLE
                if is_timeout or time.monotonic() > deadline:
                    passing = not renewed and self._admin.client is client and self._admin.is_renewed(client, failure)
                    renewed = True
                if not passing:
                    raise named(topic, failure) from None
                time.sleep(0.05)

    def _offsets_now(self, partitions: Sequence[TopicPartition], specs: Sequence[OffsetSpec]) -> dict[int, list[int]]:
        committed = IsolationLevel.READ_COMMITTED
        by_spec = [self._requested_offsets(dict.fromkeys(partitions, spec), committed) for spec in specs]
        return {p.partition: [_offset(answer(answers[p])) for answers in by_spec] for p in partitions}

    def _recent(self, topic: str, max_age: float) -> TopicIdentity:
        """The topic's id and partitions, as they were at most `max_age` seconds ago. Raises KafkaException."""
        now, known = time.monotonic(), self._known.get(topic)
        if known is None or now - known[0] >= max_age:
            known = now, identity_of(self._admin.described(topic))
            self._known[topic] = known
        return known[1]

    def ends_of(self, topics: Iterable[str], seconds: float) -> dict[str, Offsets]:
        """The end offsets by partition of several topics, in two requests.

        Topics that do not exist, or that ACLs deny, are left out. `seconds` is the timeout of each request. Raises
        KafkaException if Kafka does not answer.
        """
        names = sorted(topics)
        if not names:
            return {}
        answers = self._admin.client.describe_topics(TopicCollection(names), request_timeout=seconds)
        latest = OffsetSpec.latest()  # type: ignore[no-untyped-call]
        described = {name: answer_or_none(future, DENIED) for name, future in answers.items()}
        specs = {TopicPartition(n, p.id): latest for n, topic in described.items() if topic for p in topic.partitions}
        ends: dict[str, Offsets] = {name: {} for name, topic in described.items() if topic}
        for p, future in self._requested_offsets(specs, IsolationLevel.READ_COMMITTED, seconds).items():
            if (end := answer_or_none(future, DENIED)) is not None:
                ends[p.topic][p.partition] = _offset(end)
        return ends

    def trim(self, topic: str, retention_ms: int) -> Offsets:
        """Remove records whose time is more than `retention_ms` before the newest record of their partition.

        In each partition the records before the first one to keep are removed. Returns that offset for each partition
        in which records were removed. Raises KafkaException.
        """
        partitions = [TopicPartition(topic, p.id) for p in self._admin.described(topic).partitions]
        newest = self._listed(dict.fromkeys(partitions, OffsetSpec.max_timestamp()))  # type: ignore[no-untyped-call]
        times = {p: at.timestamp - retention_ms for p, at in newest.items() if at.offset >= 0}
        since = {p: OffsetSpec.for_timestamp(time) for p, time in times.items() if time >= 0}
        first_kept = {p: at.offset for p, at in self._listed(since).items()}
        first = self._listed(dict.fromkeys(first_kept, OffsetSpec.earliest()))  # type: ignore[no-untyped-call]
        old = [TopicPartition(topic, p.partition, at) for p, at in first_kept.items() if at > first[p].offset]
        for removed in self._admin.client.delete_records(old, request_timeout=PATIENCE).values() if old else ():
            answer(removed)
        return {p.partition: p.offset for p in old}

    def _listed(self, specs: Mapping[TopicPartition, Any]) -> dict[TopicPartition, ListOffsetsResultInfo]:
        """The offsets of the specs, as a consumer with isolation level read_uncommitted sees them."""
        answers = self._requested_offsets(specs, IsolationLevel.READ_UNCOMMITTED)
        return {p: answer(future) for p, future in answers.items()}

    def _requested_offsets(
        self, specs: Mapping[TopicPartition, Any], isolation: IsolationLevel, seconds: float = PATIENCE
    ) -> dict[TopicPartition, "Future[ListOffsetsResultInfo]"]:
        """Futures of the offsets that a consumer of that isolation level sees; `seconds` is the request's timeout."""
        if not specs:
            return {}
        return self._admin.client.list_offsets(dict(specs), isolation_level=isolation, request_timeout=seconds)

    def identity(self, topic: str, max_age: float = 0.0) -> str:
        """The topic's id, which another topic of the same name does not have, as it was at most `max_age` seconds ago.

        Raises KafkaException.
        """
        return self._recent(topic, max_age)[0]

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

    def committed(self, group: str, topic: str) -> int | None:
        """The offset that a consumer group has committed of a topic's first partition; None if there is none.

        Raises KafkaException.
        """
        asked = [ConsumerGroupTopicPartitions(group, [TopicPartition(topic, 0)])]
        answers = self._admin.client.list_consumer_group_offsets(asked, request_timeout=PATIENCE)
        (position,) = answer(answers[group]).topic_partitions
        if position.error is not None:
            raise KafkaException(position.error)
        return position.offset if position.offset >= 0 else None

    def client_ids(self, group: str) -> frozenset[str]:
        """The client ids of a consumer group's members. Raises KafkaException if Kafka does not answer."""
        described = self._admin.client.describe_consumer_groups([group], request_timeout=PATIENCE)
        return frozenset(member.client_id for member in answer(described[group]).members)

    def readers_of(self) -> dict[str, tuple[int, int]]:
        """For each topic that consumer groups read: the numbers of consumers and of groups, counted as ksqlDB's
        ListTopicsExecutor does: a consumer once for each partition of the topic that it is assigned."""
        listed = answer(self._admin.client.list_consumer_groups(request_timeout=PATIENCE))
        ids = [group.group_id for group in listed.valid]
        if not ids:
            return {}
        counts: dict[str, tuple[int, int]] = {}
        described = self._admin.client.describe_consumer_groups(ids, request_timeout=PATIENCE)
        for group in described.values():
            members = answer(group).members
            assigned = Counter(p.topic for m in members for p in m.assignment.topic_partitions)
            for topic, partitions in assigned.items():
                consumers, groups = counts.get(topic, (0, 0))
                counts[topic] = (consumers + partitions, groups + 1)
        return counts


def _offset(listed: ListOffsetsResultInfo) -> int:
    """The offset of an answer. Raises KafkaException if it has none: so librdkafka reports some broken connections."""
    if listed.offset < 0:
        raise KafkaException(KafkaError(BROKEN_CONNECTION))
    return listed.offset


def _operations(future: "Future[Any]") -> frozenset[str] | None:
    """What the answer about a topic allows; None if it does not say. Raises KafkaException."""
    try:
        described = answer_or_none(future, ERROR_NAME)
    except KafkaException as failure:
        if failure.args[0].code() != DENIED:
            raise
        return frozenset()
    # A topic that can be described has at least the right DESCRIBE: without any right, the broker does not report them.
    rights = described.authorized_operations if described else None
    return frozenset(operation.name for operation in rights) if rights else None
