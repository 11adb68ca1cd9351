"""Clients of librdkafka that have lost all brokers for good are replaced; see support/fenced_broker.py.

Only some clients lose them, so there are a few of each kind.
"""

import logging
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from millstream.engine import kafka as kafka_module
from millstream.engine import kafka_admin, watched_consumer
from millstream.engine.kafka import KafkaClient
from millstream.engine.watched_consumer import WatchedConsumer
from millstream.engine.watched_producer import WatchedProducer
from millstream.services.ports import free_port
from support.fenced_broker import FencedBroker, fenced_broker
from support.kafka import BrokerClient, wait_for
from support.patience import PATIENCE

CLIENTS = 12
# Each request of a client about the topic `t`, which has one partition and one record of the time 7; and its answer.
REQUESTS: dict[str, tuple[Callable[[KafkaClient, str], object], object]] = {
    "topics": (lambda client, t: client.topics()[t], (1,)),
    "facts": (lambda client, t: client.facts([t])[t].partitions, 1),
    "allowed": (lambda client, t: "READ" in client.allowed([t])[t], True),
    "create": (lambda client, t: client.create(f"{t}-new", 1) and client.topics()[f"{t}-new"], (1,)),
    "check": (lambda client, t: client.create(f"{t}-checked", 1, validate_only=True), True),
    "delete": (lambda client, t: client.delete(t), None),
    "may delete": (lambda client, t: client.may_delete(), True),
    "client ids": (lambda client, t: client.client_ids(f"{t}-group"), frozenset()),
    "readers": (lambda client, t: client.readers_of().get(t), None),
    "ends": (lambda client, t: client.ends(t), {0: 1}),
    "bounds": (lambda client, t: client.bounds(t), {0: (0, 1)}),
    "ends of topics": (lambda client, t: client.ends_of([t], 2.0), lambda t: {t: {0: 1}}),
    "trim": (lambda client, t: client.trim(t, 0), {}),
    "identity": (lambda client, t: len(client.identity(t)), 22),
    "write": (lambda client, t: client.writer.write_for("owner", t), None),
}


def fence(broker: FencedBroker, clients: list[KafkaClient] | list[WatchedConsumer] | list[Producer]) -> None:
    """Every client is told that there is no broker; then there is one again."""
    broker.fenced = True
    for client in clients:
        try:
            client.topics() if isinstance(client, KafkaClient) else client.list_topics(timeout=1)
        except KafkaException:
            continue
    broker.fenced = False


def test_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kafka_module, "PATIENCE", 1.0)
    with fenced_broker() as broker:
        clients = [KafkaClient({"bootstrap.servers": broker.bootstrap}) for _ in range(CLIENTS)]
        assert [client.answers() for client in clients] == [True] * CLIENTS
        fence(broker, clients)
        wait_for(lambda: all(client.answers() for client in clients), "every client reaches the broker")
        assert all(client.topics() == {"t": (1,)} for client in clients)


def test_a_client_is_kept_while_no_other_reaches_a_broker() -> None:
    with fenced_broker() as broker:
        client = KafkaClient({"bootstrap.servers": broker.bootstrap})
        assert client.answers()
        admin = client._admin.client
    with pytest.raises(KafkaException):
        client._admin.metadata(0.5)
    assert client._admin.client is admin


@pytest.mark.parametrize("name", REQUESTS)
def test_each_request_is_repeated_with_a_new_client(
    name: str, kafka: BrokerClient, client: KafkaClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SHOW TOPICS EXTENDED, DROP … DELETE TOPIC and others failed with a client that had lost all brokers."""
    monkeypatch.setattr(kafka_admin, "SILENCE", 0.2)
    topic, (request, answer) = kafka.create_topic(), REQUESTS[name]
    kafka.produce(topic, "k", {"v": 1}, 7)
    lost = client._admin.client = AdminClient({"bootstrap.servers": f"127.0.0.1:{free_port()}", "log_level": 0})
    assert request(client, topic) == (answer(topic) if callable(answer) else answer)
    assert client._admin.client is not lost


def test_the_first_answer_to_a_request_that_is_made_again_counts(
    client: KafkaClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first client is slow, and not lost: it answers when the request was made three times."""
    monkeypatch.setattr(kafka_admin, "SILENCE", 0.1)
    requests = list[tuple[AdminClient, Future[int]]]()

    def send(to: AdminClient) -> dict[str, Future[int]]:
        requests.append((to, Future()))
        if len(requests) == 3:
            requests[0][1].set_result(1)
        return {"one": requests[-1][1]}

    assert kafka_admin.answer(client._admin.request(send)["one"]) == 1
    assert len({id(to) for to, _ in requests}) == 3


def test_a_client_that_is_replaced_is_kept_until_its_requests_are_done(
    kafka: BrokerClient, client: KafkaClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A request failed with _DESTROY when another thread's had replaced the client; and one new client is enough."""
    monkeypatch.setattr(kafka_admin, "SILENCE", 1.0)
    topic, opened = kafka.create_topic(), client._admin._new_client
    new = list[AdminClient]()
    monkeypatch.setattr(client._admin, "_new_client", lambda: new.append(opened()) or new[-1])  # type: ignore[func-returns-value]
    client._admin.client = AdminClient({"bootstrap.servers": f"127.0.0.1:{free_port()}", "log_level": 0})
    with ThreadPoolExecutor(CLIENTS) as threads:
        assert [*threads.map(lambda _: client.facts([topic])[topic].partitions, range(CLIENTS))] == [1] * CLIENTS
    assert len(new) < CLIENTS


def test_a_request_that_does_not_find_the_coordinator_is_repeated(client: KafkaClient) -> None:
    admin, requests = client._admin.client, list[AdminClient]()

    def send(to: AdminClient) -> dict[str, Future[str]]:
        future = Future[str]()
        if requests:
            future.set_result("it")
        else:
            future.set_exception(KafkaException(KafkaError(KafkaError.NOT_COORDINATOR)))
        requests.append(to)
        return {"one": future}

    assert kafka_admin.answer(client._admin.request(send)["one"]) == "it"
    assert requests == [admin, admin]


class FencedController:
    """An admin client whose broker is fenced at the first request to create a topic; `real` is asked for all else."""

    def __init__(self, real: AdminClient) -> None:
        self._real, self.requests = real, 0

    def create_topics(self, topics: list[NewTopic], **options: Any) -> Mapping[str, Future[None]]:
        self.requests += 1
        if self.requests > 1:
            return self._real.create_topics(topics, **options)
        refused, fenced = Future[None](), KafkaError(KafkaError.INVALID_REPLICATION_FACTOR, "All brokers are fenced")
        refused.set_exception(KafkaException(fenced))
        return {topic.topic: refused for topic in topics}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


def test_a_topic_is_created_when_the_broker_is_not_fenced_any_more(kafka: BrokerClient, client: KafkaClient) -> None:
    fenced = FencedController(client._admin.client)
    client._admin.client = fenced  # type: ignore[assignment]
    topic = kafka.unique()
    assert client.create(topic, 1)
    assert (fenced.requests, client.topics()[topic]) == (2, (1,))


def test_too_many_replicas_are_refused_at_once(kafka: BrokerClient, client: KafkaClient) -> None:
    fenced = FencedController(client._admin.client)
    client._admin.client = fenced  # type: ignore[assignment]
    with pytest.raises(KafkaException, match="fenced"):
        client.create(kafka.unique(), 1, replicas=3)
    assert fenced.requests == 1


def test_a_groups_offset_is_read_though_its_coordinator_was_another_broker() -> None:
    """librdkafka ended the process: the request of an admin client follows the null pointer to its own group."""
    with fenced_broker() as broker:
        broker.not_coordinator = 2
        client = KafkaClient({"bootstrap.servers": broker.bootstrap})
        assert client.committed("group", "t") == {0: 7}
        assert broker.not_coordinator == 0


def test_a_new_client_that_is_told_of_no_broker_is_not_taken() -> None:
    with fenced_broker() as broker:
        client = KafkaClient({"bootstrap.servers": broker.bootstrap})
        broker.fenced, admin = True, client._admin.client
        lost = KafkaException(KafkaError(KafkaError._ALL_BROKERS_DOWN))
        assert not client._admin.is_renewed(admin, lost, 0.3)
        broker.fenced = False
        assert client._admin.is_renewed(admin, lost)


def test_consumers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each goes on, or fails so that its owner opens another one."""
    monkeypatch.setattr(watched_consumer, "SILENCE", 0.1)
    monkeypatch.setattr(watched_consumer, "PATIENCE", 0.5)
    settings = {"group.id": "g", "auto.offset.reset": "earliest"}
    with fenced_broker() as broker:
        kafka = KafkaClient({"bootstrap.servers": broker.bootstrap})
        consumers = [kafka.consumer(settings, logging.getLogger(__name__)) for _ in range(CLIENTS)]
        for consumer in consumers:
            consumer.assign([TopicPartition("t", 0, 0)])
            assert consumer.list_topics(timeout=PATIENCE).brokers
        fence(broker, consumers)
        for consumer in consumers:
            wait_for(lambda one=consumer: goes_on_or_fails(one), "the consumer to go on, or to fail")  # type: ignore[misc]
        for consumer in consumers:
            consumer.close()


def goes_on_or_fails(consumer: WatchedConsumer) -> bool:
    """Whether a consumer has connected again, or has failed since it will not."""
    try:
        time.sleep(0.1)
        consumer.poll(0.1)
        return bool(consumer.list_topics("t", timeout=0.5).brokers)
    except KafkaException as failure:
        return "has lost all brokers" in str(failure)


def test_producers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each goes on, or is replaced by one that sends what waits."""
    monkeypatch.setattr(watched_consumer, "SILENCE", 0.1)
    monkeypatch.setattr(watched_consumer, "PATIENCE", 0.5)
    opened: list[Producer] = []

    def open() -> Producer:
        opened.append(Producer({"bootstrap.servers": broker.bootstrap}))
        return opened[-1]

    with fenced_broker() as broker:
        kafka = KafkaClient({"bootstrap.servers": broker.bootstrap})
        producers = [WatchedProducer(open, kafka.answers) for _ in range(CLIENTS)]
        for producer in producers:
            assert producer._producer.list_topics(timeout=PATIENCE).brokers
            producer.write("t", b"1")
            producer.write("t", b"2")
        fence(broker, [producer._producer for producer in producers])
        for producer in producers:
            wait_for(lambda one=producer: reaches(one), "the producer to go on, or to be replaced")  # type: ignore[misc]
        # The broker takes no records, so that both wait still, in the producer of that moment.
        assert [(len(producer), len(producer._producer)) for producer in producers] == [(2, 2)] * CLIENTS
        for one in opened:
            one.purge()


def reaches(producer: WatchedProducer) -> bool:
    """Whether a producer reaches the broker, after it has handled what has come."""
    try:
        producer.poll(0.1)
        return bool(producer._producer.list_topics("t", timeout=0.5).brokers)
    except KafkaException:
        return False
