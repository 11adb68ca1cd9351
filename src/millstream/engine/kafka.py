"""The engine's Kafka client: topics, consumers, consumer groups; see kafka_offsets.py for offsets, kafka_writer.py."""

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import closing, contextmanager
from functools import cached_property
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourceType,
)

from millstream.catalog.facts import TopicFacts
from millstream.engine import first_connection
from millstream.engine.kafka_admin import (
    COORDINATING,
    DENIED,
    ERROR_UNKNOWN,
    LAST_PAUSE,
    LEADERLESS,
    LOG,
    PATIENCE,
    SETTLE,
    KafkaAdmin,
    about,
    answer,
    answer_or_none,
    wait_until,
)
from millstream.engine.kafka_offsets import Offsets, TopicOffsets
from millstream.engine.kafka_settings import java_settings, librdkafka_settings
from millstream.engine.kafka_writer import RecordWriter
from millstream.engine.watched_consumer import WatchedConsumer
from millstream.model.secrets import without_values
from millstream.model.settings import SettingRefused
from millstream.services.kafka_errors import is_denial, reason

DELETES_TOPICS = "delete.topic.enable"
ERROR_EXISTS = KafkaError.TOPIC_ALREADY_EXISTS
ERROR_NAME = KafkaError.TOPIC_EXCEPTION

READER = {
    "enable.auto.commit": False,
    "fetch.wait.max.ms": 100,
    "auto.offset.reset": "earliest",
}


class KafkaClient(TopicOffsets):
    """A client of one Kafka cluster; it takes the address and the security settings from the server's `settings`.

    `java` are the settings with which Spark's JVM reaches the same cluster; `writer` writes records. The offsets of
    topics are read by the base class.
    """

    def __init__(self, settings: Mapping[str, str]) -> None:
        """Raises SettingRefused if a setting of Kafka's clients is wrong; it does not wait for a broker."""
        self.java = java_settings(settings)
        self.bootstrap = self.java["bootstrap.servers"]
        self._settings = librdkafka_settings(self.java)
        # Readers commit nothing, but Kafka checks for each consumer with a group whether it may join that.
        self._group = f"_millstream-{settings.get('ksql.service.id', '')}-reader"
        try:
            admin = KafkaAdmin(self._settings)
        except KafkaException as failure:
            wrong = without_values(reason(failure), {**self.java, **self._settings})
            raise SettingRefused(f"a setting of Kafka's clients is wrong: {wrong}") from None
        super().__init__(admin)
        self.writer = RecordWriter(lambda own: self.producer(own, LOG), admin)

    def cluster(self) -> str:
        """The cluster's id. Raises KafkaException if no broker answers, with the reason of the connection's end."""
        try:
            return str(self._admin.client.list_topics(timeout=first_connection.ATTEMPT).cluster_id)
        except KafkaException:
            return first_connection.cluster_id(self._settings, LOG)

    def answers(self) -> bool:
        """True if a broker answers within some seconds."""
        try:
            return bool(self._admin.metadata(4.0).brokers)
        except KafkaException:
            return False

    def topics(self, seconds: float = PATIENCE) -> dict[str, tuple[int, ...]]:
        """Every topic's name, and the number of replicas of each of its partitions.

        Raises KafkaException if no broker answers in `seconds`.
        """
        topics = self._admin.metadata(seconds).topics
        return {n: tuple(len(p.replicas) for p in t.partitions.values()) for n, t in sorted(topics.items())}

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
        retentions = {}
        for resource, described in self._configs(resources).items():
            try:
                value = answer(described)["retention.ms"].value
            except KafkaException as failure:
                if failure.args[0].code() not in (ERROR_UNKNOWN, DENIED):
                    raise
                continue
            retentions[resource.name] = int(value)
        return retentions

    def topic_settings(self, name: str) -> dict[str, str]:
        """The settings of a topic, with their defaults. Raises KafkaException."""
        (described,) = self._configs([ConfigResource(ResourceType.TOPIC, name)]).values()
        return {setting: str(entry.value) for setting, entry in answer(described).items()}

    def set_topic_settings(self, name: str, settings: Mapping[str, str]) -> None:
        """Change these settings of a topic, and no other. Raises KafkaException."""
        set_to = AlterConfigOpType.SET
        entries = [ConfigEntry(n, value, incremental_operation=set_to) for n, value in settings.items()]
        changed = ConfigResource(ResourceType.TOPIC, name, incremental_configs=entries)
        (altered,) = self._admin.request(
            lambda client: client.incremental_alter_configs([changed], request_timeout=PATIENCE)
        ).values()
        answer(altered)

    def _configs(self, resources: list[ConfigResource]) -> "Mapping[ConfigResource, Future[Any]]":
        """The futures of the settings of topics or brokers."""
        return self._admin.request(lambda client: client.describe_configs(resources, request_timeout=PATIENCE))

    def allowed(self, names: Iterable[str]) -> dict[str, frozenset[str]]:
        """The operations that ACLs allow on each topic, such as READ and WRITE; empty if it must not even be described.

        Topics that do not exist, have no leader now or have an invalid name are left out; so are all topics if the
        brokers do not report the operations. Raises KafkaException.
        """
        desired = sorted(set(names))
        answers = self._admin.descriptions(desired, include_authorized_operations=True) if desired else {}
        allowed = {name: _operations(described) for name, described in answers.items()}
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
        topic, requests = NewTopic(name, partitions, replicas, config=dict(config or {})), list[AdminClient]()

        def send(client: AdminClient) -> "Mapping[str, Future[Any]]":
            requests.append(client)
            return client.create_topics([topic], validate_only=validate_only, request_timeout=PATIENCE)

        is_new = True
        try:
            answer(self._admin.request(send, lambda _, failure: self._is_fenced(failure, replicas))[name])
        except KafkaException as failure:
            if is_denial(failure):
                raise about(f"topic {name} cannot be created", failure) from failure
            if failure.args[0].code() != ERROR_EXISTS:
                raise
            # If the request was repeated, an earlier one may have created the topic.
            is_new = len(requests) > 1
        if not validate_only:
            self._admin.has_created(name)
            if is_new:
                wait_until(lambda: len(self.topics().get(name, ())) == partitions)
        return is_new

    def _is_fenced(self, failure: KafkaException, replicas: int) -> bool:
        """True if a topic was refused because brokers are fenced, which may pass: there are none now, or enough again.

        Raises KafkaException if Kafka does not answer.
        """
        if failure.args[0].code() != KafkaError.INVALID_REPLICATION_FACTOR:
            return False
        brokers = len(self._admin.metadata(PATIENCE).brokers)
        return not brokers or brokers >= replicas

    def delete(self, *names: str) -> None:
        """Delete the topics that exist, and wait until they are gone. Raises KafkaException."""
        existing = [name for name in names if name in self.topics()]
        if not existing:
            return
        answers = self._deleter.request(lambda client: client.delete_topics(existing, request_timeout=PATIENCE))
        for deleted in answers.values():
            try:
                answer(deleted)
            except KafkaException as failure:
                if failure.args[0].code() != ERROR_UNKNOWN:
                    raise
        self._admin.has_deleted(existing)
        wait_until(lambda: not set(existing) & set(self.topics()))

    @cached_property
    def _deleter(self) -> KafkaAdmin:
        """A client with connections of its own: a broker answers the requests of one in order, and that for a deletion
        only when the controller has answered it."""
        return KafkaAdmin(self._settings)

    def may_delete(self) -> bool:
        """False if the brokers delete no topics (`delete.topic.enable`); True also if they do not say so.

        Raises KafkaException if Kafka does not answer.
        """
        resources = [ConfigResource(ResourceType.BROKER, str(id)) for id in self._admin.metadata(PATIENCE).brokers][:1]
        try:
            answers = self._configs(resources) if resources else {}
            settings = [answer(described).get(DELETES_TOPICS) for described in answers.values()]
        except KafkaException as failure:
            if not is_denial(failure):
                raise
            return True
        return not any(setting is not None and setting.value == "false" for setting in settings)

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
        """A consumer with these settings in addition to the client's own; the caller closes it."""
        return WatchedConsumer({**self._settings, **settings}, self.answers, logger)

    def producer(self, settings: Mapping[str, Any], logger: logging.Logger) -> Producer:
        """A producer with these settings in addition to the client's own."""
        return Producer({**self._settings, **settings}, logger=logger)

    def committed(self, group: str, topic: str, partitions: Iterable[int] = (0,)) -> Offsets:
        """The offsets that a consumer group has committed of these partitions of a topic, by partition.

        Partitions of which it has committed none are left out. Raises KafkaException.
        """
        # Not by an admin client: librdkafka then follows a null pointer, which ends the process, where a broker answers
        # that it does not coordinate the group, as one does that has just started. A consumer that does not subscribe
        # is not a member of the group.
        desired = [TopicPartition(topic, partition) for partition in partitions]
        return self._read(group, COORDINATING, lambda consumer: consumer.committed(desired, timeout=PATIENCE))

    def since(self, topic: str, ms: int) -> Offsets:
        """The offset of the first record of each partition with this timestamp, in epoch ms, or a later one.

        That of a partition without such a record is its end. Raises KafkaException.
        """
        # Not by an admin client, whose answer is the same for no such record and for some broken connections.
        ends = self.ends(topic)
        times = [TopicPartition(topic, partition, ms) for partition in ends]
        since = self._read(self._group, LEADERLESS, lambda consumer: consumer.offsets_for_times(times, PATIENCE))
        return {partition: since.get(partition, end) for partition, end in ends.items()}

    def _read(
        self, group: str, passing: Sequence[int], request: Callable[[WatchedConsumer], list[TopicPartition]]
    ) -> Offsets:
        """The answer of a consumer that joins no group; the request is repeated for SETTLE seconds on a passing error.

        Partitions without an offset are left out. Raises KafkaException.
        """
        deadline = time.monotonic() + SETTLE
        with closing(self.consumer({"group.id": group, "enable.auto.commit": False}, LOG)) as consumer:
            while True:
                try:
                    return _offsets(request(consumer))
                except KafkaException as failure:
                    if failure.args[0].code() not in passing or time.monotonic() > deadline:
                        raise
                time.sleep(LAST_PAUSE)

    def client_ids(self, group: str) -> frozenset[str]:
        """The client ids of a consumer group's members, none if there is no such group. Raises KafkaException."""
        described = answer_or_none(self._groups([group])[group], KafkaError.GROUP_ID_NOT_FOUND)
        return frozenset(member.client_id for member in described.members) if described else frozenset()

    def _groups(self, ids: list[str]) -> "Mapping[str, Future[Any]]":
        """The futures of the descriptions of consumer groups."""
        return self._admin.request(lambda client: client.describe_consumer_groups(ids, request_timeout=PATIENCE))

    def groups(self) -> list[str]:
        """The ids of the consumer groups that may be listed. Raises KafkaException."""
        listing = self._admin.request(lambda client: {"": client.list_consumer_groups(request_timeout=PATIENCE)})
        return [group.group_id for group in answer(listing[""]).valid]

    def readers_of(self) -> dict[str, tuple[int, int]]:
        """For each topic that consumer groups read: the numbers of consumers and of groups, counted as ksqlDB's
        ListTopicsExecutor does: a consumer once for each partition of the topic that it is assigned."""
        ids = self.groups()
        counts: dict[str, tuple[int, int]] = {}
        for group in self._groups(ids).values() if ids else ():
            members = answer(group).members
            assigned = Counter(p.topic for m in members for p in m.assignment.topic_partitions)
            for topic, partitions in assigned.items():
                consumers, groups = counts.get(topic, (0, 0))
                counts[topic] = (consumers + partitions, groups + 1)
        return counts


def _offsets(positions: Iterable[TopicPartition]) -> Offsets:
    """The offsets of those positions that have one. Raises KafkaException if a partition has an error."""
    listed = list(positions)
    for position in listed:
        if position.error is not None:
            raise KafkaException(position.error)
    return {position.partition: position.offset for position in listed if position.offset >= 0}


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
