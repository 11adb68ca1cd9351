"""The first and last offsets of topics, as the engine's Kafka client sees them."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewPartitions  # type: ignore[attr-defined]

from millstream.engine import kafka_offsets
from millstream.engine.kafka import KafkaClient
from millstream.services.broker import BrokerProcess
from millstream.services.ports import is_free
from support.kafka import BrokerClient, wait_for


def test_bounds_are_those_for_readers_of_committed_records(kafka: BrokerClient, client: KafkaClient) -> None:
    topic = kafka.create_topic(partitions=2)
    kafka.produce(topic, "k", {"v": 1}, 1000, partition=0)
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "transactional.id": topic})
    producer.init_transactions()
    producer.begin_transaction()
    producer.produce(topic, b"open", b"k", partition=0)
    producer.produce(topic, b"open", b"k", partition=1)
    producer.flush()
    assert client.bounds(topic) == {0: (0, 1), 1: (0, 0)}, "not past the records of an open transaction"
    assert client.ends(topic) == {0: 1, 1: 0}
    producer.commit_transaction()
    # The broker writes the markers after it has answered.
    wait_for(lambda: client.bounds(topic) == {0: (0, 3), 1: (0, 2)}, "the records and the markers of the transaction")


def test_partitions_that_are_added_are_seen(kafka: BrokerClient, client: KafkaClient) -> None:
    topic = kafka.create_topic(partitions=1)
    assert client.ends(topic, 3600) == {0: 0}
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    admin.create_partitions([NewPartitions(topic, 3)])[topic].result()  # type: ignore[no-untyped-call]
    assert client.ends(topic, 3600) == {0: 0}, "the list of partitions is so old at most"
    assert client.bounds(topic) == {0: (0, 0), 1: (0, 0), 2: (0, 0)}


def test_a_topic_that_is_absent_is_an_error_at_once(client: KafkaClient) -> None:
    for offsets in (client.ends, client.bounds):
        with pytest.raises(KafkaException, match="UNKNOWN_TOPIC_OR_PART"):
            offsets("no-such-topic")


def test_a_request_that_waited_for_a_frozen_broker_is_repeated(
    kafka: BrokerClient, client: KafkaClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The broker that goes on reports leaders that do not lead yet; the time of the request is long over then."""
    topic, offsets = kafka.create_topic(partitions=1), client._offsets_now
    failures = [KafkaError.UNKNOWN_LEADER_EPOCH]

    def after_a_failure(*args: Any) -> dict[int, list[int]]:
        if failures:
            time.sleep(2 * kafka_offsets.SETTLE)
            raise KafkaException(KafkaError(failures.pop()))
        return offsets(*args)

    monkeypatch.setattr(client, "_offsets_now", after_a_failure)
    monkeypatch.setattr(client._admin, "is_renewed", lambda *_: False)
    monkeypatch.setattr(kafka_offsets, "SETTLE", 0.2)
    assert client.ends(topic) == {0: 0}


@pytest.mark.parametrize("code", [KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError.LEADER_NOT_AVAILABLE])
def test_a_request_is_repeated_for_a_while_where_brokers_are_not_up_to_date(
    code: int, kafka: BrokerClient, client: KafkaClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server did not start whose command topic one of three brokers did not know yet; and with a cached list of
    partitions a lasting failure was repeated without end."""
    topic, offsets = kafka.create_topic(partitions=1), client._offsets_now
    failures = [code, code]

    def after_failures(*args: Any) -> dict[int, list[int]]:
        if failures:
            raise KafkaException(KafkaError(failures.pop()))
        return offsets(*args)

    monkeypatch.setattr(client, "_offsets_now", after_failures)
    assert client.bounds(topic) == {0: (0, 0)}
    assert client.ends(topic, 3600) == {0: 0}
    failures.extend([code] * 10_000)
    monkeypatch.setattr(kafka_offsets, "SETTLE", 0.2)
    monkeypatch.setattr(client._admin, "is_renewed", lambda *_: False)
    with pytest.raises(KafkaException):
        client.ends(topic, 3600)


@pytest.mark.parametrize(("is_renewed", "requests"), [(False, 1), (True, 2)], ids=["away", "lost"])
def test_a_request_that_timed_out_is_repeated_by_a_new_client_only(
    is_renewed: bool, requests: int, kafka: BrokerClient, client: KafkaClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has waited for as long as a user waits; the list of partitions, which is cached, is not the reason."""
    topic, calls = kafka.create_topic(partitions=1), []
    assert client.ends(topic, 3600) == {0: 0}

    def timed_out(*args: Any) -> dict[int, list[int]]:
        calls.append(args)
        raise KafkaException(KafkaError(KafkaError._TIMED_OUT))

    monkeypatch.setattr(client, "_offsets_now", timed_out)
    monkeypatch.setattr(client._admin, "is_renewed", lambda *_: is_renewed)
    with pytest.raises(KafkaException):
        client.ends(topic, 3600)
    assert len(calls) == requests


@contextmanager
def none_within_patience() -> Iterator[None]:
    """Passes over an error that says that there was no answer in time."""
    try:
        yield
    except KafkaException as failure:
        if failure.args[0].code() != KafkaError._TIMED_OUT:
            raise


@pytest.mark.crash
def test_offsets_are_answered_through_the_restarts_of_a_broker(tmp_path: Path) -> None:
    """A broken connection, which librdkafka may report as an offset of -1001, and leaders that are not known yet."""
    own_broker = BrokerProcess(tmp_path, port=0, heap="512m")
    with own_broker, ThreadPoolExecutor(2) as threads:
        client, over = KafkaClient({"bootstrap.servers": own_broker.bootstrap}), threading.Event()
        client.create("kept", 3)
        answers = [0, 0]

        def ask(number: int) -> None:
            while not over.is_set():
                # The start of a broker may take longer than the client waits for it.
                with none_within_patience():
                    assert client.bounds("kept") == dict.fromkeys(range(3), (0, 0))
                    answers[number] += 1

        asking = [threads.submit(ask, number) for number in range(2)]
        try:
            for _ in range(2):
                before = [*answers]
                wait_for(lambda n=before: answers[0] > n[0] + 9 and answers[1] > n[1] + 9, "answers")  # type: ignore[misc]
                own_broker.kill()
                wait_for(lambda: is_free("127.0.0.1", own_broker.port), "the end of its JVM")
                own_broker.start()
        finally:
            over.set()
        for ended in asking:
            ended.result()


@pytest.mark.parametrize("code", [KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError.TOPIC_AUTHORIZATION_FAILED])
def test_a_topic_that_goes_between_two_requests_is_named(
    kafka: BrokerClient, client: KafkaClient, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    """The description has found it, and the request for its offsets, which has no names, does not."""

    def refuse(*_: object) -> None:
        raise KafkaException(KafkaError(code))

    topic = kafka.create_topic()
    monkeypatch.setattr(kafka_offsets, "SETTLE", 0.0)
    monkeypatch.setattr(client, "_offsets_now", refuse)
    with pytest.raises(KafkaException, match=f"topic {topic}"):
        client.ends(topic)
