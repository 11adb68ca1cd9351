"""Records that the engine's Kafka client writes: INSERT VALUES, and the commands of the command log."""

import pytest
from confluent_kafka import KafkaError, KafkaException

from millstream.engine import kafka_writer
from millstream.engine.kafka import KafkaClient
from millstream.services.ports import free_port


def test_a_record_that_was_reported_as_failed_is_not_written_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """A broker that is away for a minute would get it when it is back, beside the one that its client sends again."""
    monkeypatch.setattr(kafka_writer, "DELIVERY_SECONDS", 1.0)
    client = KafkaClient({"bootstrap.servers": f"127.0.0.1:{free_port()}"})
    producer = client.writer._current_producer()
    with pytest.raises(KafkaException) as failed:
        client.writer.write("t", b"k", b"v")
    assert failed.value.args[0].code() == KafkaError._MSG_TIMED_OUT, "the producer has given it up"
    assert client.writer._current_producer() is not producer, "it may have lost all brokers for good"
