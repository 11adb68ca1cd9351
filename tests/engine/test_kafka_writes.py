"""Records that the engine's Kafka client writes: INSERT VALUES, and the commands of the command log."""

import pytest
from confluent_kafka import KafkaException

from millstream.engine import kafka as kafka_module
from millstream.engine.kafka import KafkaClient
from millstream.services.ports import free_port


def test_a_record_that_was_reported_as_failed_is_not_written_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """A broker that is away for a minute would get it when it is back, beside the one that its client sends again."""
    monkeypatch.setattr(kafka_module, "GIVEN_UP_AFTER", 1.0)
    client = KafkaClient({"bootstrap.servers": f"127.0.0.1:{free_port()}"})
    with pytest.raises(KafkaException, match="Message timed out"):
        client.write("t", b"k", b"v")
    assert client._producer is not None
    assert len(client._producer) == 0
    assert [f is not None for f in client.write_all("t", [(None, b"1", 0), (None, b"2", 0)])] == [True, True]
    assert len(client._producer) == 0
