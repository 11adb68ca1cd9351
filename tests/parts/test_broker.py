"""The broker as a user's machine runs it: records go round, what is stored stays, failures are sentences."""

from pathlib import Path

import pytest

from millstream.parts.broker import Broker
from millstream.parts.errors import SetupError
from support.kafka import Kafka

pytestmark = pytest.mark.live
FAR_FUTURE = 4_102_444_800_000


def test_a_record_comes_back_as_it_was_sent(kafka: Kafka) -> None:
    topic = kafka.create_topic()
    kafka.produce(topic, "k", {"A": 1}, timestamp=FAR_FUTURE, headers=[("h", b"1"), ("n", None)])
    kafka.produce(topic, None, None, timestamp=1)
    first, second = kafka.consume_all(topic, 2)
    assert (first.key, first.json, first.timestamp) == (b"k", {"A": 1}, FAR_FUTURE)
    assert first.headers == (("h", b"1"), ("n", None))
    assert (second.key, second.value, second.timestamp) == (None, None, 1)


def test_a_second_broker_on_the_port_is_told_so(broker: Broker, tmp_path: Path) -> None:
    with pytest.raises(SetupError, match=f"port {broker.port} is in use, so Kafka cannot listen on it"):
        Broker(tmp_path, broker.port).start()


def test_records_survive_a_stop_and_a_crash(tmp_path: Path) -> None:
    with Broker(tmp_path, 0, heap="256m") as broker:
        Kafka(broker.bootstrap).create_topic("kept")
        Kafka(broker.bootstrap).produce("kept", "a", "1")
    with Broker(tmp_path, 0, heap="256m") as broker:
        Kafka(broker.bootstrap).produce("kept", "b", "2")
        broker.kill()
    with Broker(tmp_path, 0, heap="256m") as broker:
        assert [record.key for record in Kafka(broker.bootstrap).consume_all("kept", 2)] == [b"a", b"b"]


def test_a_broker_that_cannot_start_says_what_kafka_said(tmp_path: Path) -> None:
    with (
        Broker(tmp_path, 0, heap="256m") as first,
        pytest.raises(SetupError, match=r"(?s)broker ended while starting; it said:.*lock.*broker\.log"),
    ):
        Broker(tmp_path, 0, heap="256m").start()
    assert not first.running
