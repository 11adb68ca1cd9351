"""A topic that gets more partitions, or is created again with others: rows go to those it has, as Kafka hashes keys."""

from collections.abc import Callable, Mapping

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import NewPartitions  # type: ignore[attr-defined]

from millstream.engine import kafka_writer
from millstream.engine.kafka import KafkaClient
from support.kafka import BrokerClient, wait_for

KEYS = [b"k%d" % i for i in range(20)]


def placed(kafka: BrokerClient, partitions: int) -> Mapping[int, int]:
    """How many records of the keys each partition of a topic has that was never another one."""
    client, topic = KafkaClient({"bootstrap.servers": kafka.bootstrap}), kafka.create_topic(partitions=partitions)
    assert client.writer.write_all(topic, [(key, b"{}", 1) for key in KEYS]) == [None] * len(KEYS)
    return client.ends(topic)


@pytest.mark.parametrize("partitions", [(4, 2), (2, 5)])
def test_inserted_rows(kafka: BrokerClient, client: KafkaClient, partitions: tuple[int, int]) -> None:
    """Before, keys went to the old partitions; with the old producer, one in five hundred was acknowledged and lost."""
    expected = placed(kafka, partitions[1])
    for _ in range(5):
        topic = kafka.create_topic(partitions=partitions[0])
        for source in ("a source", "another source of the topic"):
            client.writer.write_for(source, topic)
            assert client.writer.write_all(topic, [(key, b"{}", 1) for key in KEYS]) == [None] * len(KEYS)
        kafka.recreate_topic(topic, partitions[1])
        client.writer.write_for("a source", topic)
        client.writer.write_for("a source of the new topic", topic)
        assert client.writer.write_all(topic, [(key, b"{}", 1) for key in KEYS]) == [None] * len(KEYS)
        assert client.ends(topic) == expected


def replaced(kafka: BrokerClient, topic: str, partitions: int) -> None:
    kafka.recreate_topic(topic, partitions)


def extended(kafka: BrokerClient, topic: str, partitions: int) -> None:
    kafka.admin.create_partitions([NewPartitions(topic, partitions)])[topic].result()


CHANGES = [(replaced, (4, 2)), (replaced, (2, 5)), (extended, (2, 5))]


@pytest.mark.parametrize(("change", "partitions"), CHANGES)
def test_rows_of_a_source_that_stays(
    kafka: BrokerClient,
    client: KafkaClient,
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[BrokerClient, str, int], None],
    partitions: tuple[int, int],
) -> None:
    """Whoever owns the topic changes it: for five minutes rows went to the old partitions, or were refused."""
    monkeypatch.setattr(kafka_writer, "WRITTEN_FRESH", 0.0)
    expected, topic = placed(kafka, partitions[1]), kafka.create_topic(partitions=partitions[0])
    client.writer.write_for("a source", topic)
    assert client.writer.write_all(topic, [(key, b"{}", 1) for key in KEYS]) == [None] * len(KEYS)
    change(kafka, topic, partitions[1])
    wait_for(lambda: len(client.ends(topic)) == partitions[1], "the partitions")
    before = client.ends(topic)
    client.writer.write_for("a source", topic)
    assert client.writer.write_all(topic, [(key, b"{}", 1) for key in KEYS]) == [None] * len(KEYS)
    assert {partition: end - before[partition] for partition, end in client.ends(topic).items()} == expected


def test_the_topic_of_a_source_that_stays_is_deleted(
    kafka: BrokerClient, client: KafkaClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The write would wait for half a minute, and its error would not say why."""
    monkeypatch.setattr(kafka_writer, "WRITTEN_FRESH", 0.0)
    monkeypatch.setattr(kafka_writer, "UNKNOWN_TOPIC_SECONDS", 0.1)
    topic = kafka.create_topic()
    client.writer.write_for("a source", topic)
    kafka.delete_topic(topic)
    with pytest.raises(KafkaException, match=f"topic {topic} does not exist"):
        client.writer.write_for("a source", topic)
