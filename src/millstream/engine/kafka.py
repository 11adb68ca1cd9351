"""The engine's Kafka client: topics, consumers, producers. Its base classes: kafka_groups.py and kafka_offsets.py."""

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from functools import cached_property
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Producer
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
    DENIED,
    ERROR_UNKNOWN,
    LOG,
    PATIENCE,
    KafkaAdmin,
    about,
    answer,
    answer_or_none,
    wait_until,
)
from millstream.engine.kafka_groups import ConsumerGroups
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


class KafkaClient(ConsumerGroups):
    """A client of one Kafka cluster; it takes the address and the security settings from the server's `settings`.

    `java` are the settings with which Spark's JVM reaches the same cluster; `writer` writes records. The offsets of
    topics and the positions of consumer groups are read by the base classes.
    """

    def __init__(self, settings: Mapping[str, str]) -> None:
        """Raises SettingRefused if a setting of Kafka's clients is wrong; it does not wait for a broker."""
        self.java = java_settings(settings)
        self.bootstrap = self.java["bootstrap.servers"]
        self._settings = librdkafka_settings(self.java)
        # Readers commit nothing, but Kafka checks for each consumer with a group whether it may join that.
        group = f"_millstream-{settings.get('ksql.service.id', '')}-reader"
        try:
            admin = KafkaAdmin(self._settings)
        except KafkaException as failure:
            wrong = without_values(reason(failure), {**self.java, **self._settings})
            raise SettingRefused(f"a setting of Kafka's clients is wrong: {wrong}") from None
        super().__init__(admin, group, lambda own: self.consumer(own, LOG))
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
        consumer = self.consumer({**READER, "group.id": self._reading_group, **named}, LOG)
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
