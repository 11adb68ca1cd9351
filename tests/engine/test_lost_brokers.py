"""Clients of librdkafka that have lost all brokers for good are replaced; see support/fenced_broker.py.

Only some clients lose them, so there are a few of each kind.
"""

import logging
import time

import pytest
from confluent_kafka import KafkaException, Producer, TopicPartition

from millstream.engine import kafka as kafka_module
from millstream.engine import watched_consumer
from millstream.engine.kafka import KafkaClient
from millstream.engine.watched_consumer import WatchedConsumer
from millstream.engine.watched_producer import WatchedProducer
from support.fenced_broker import FencedBroker, fenced_broker
from support.kafka import wait_for
from support.patience import PATIENCE

CLIENTS = 12


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
