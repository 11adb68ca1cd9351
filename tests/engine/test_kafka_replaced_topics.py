"""A topic that is deleted and created again, with other partitions: rows go to those it has, as Kafka hashes keys."""

from collections.abc import Mapping

import pytest

from millstream.engine.kafka import KafkaClient
from support.kafka import BrokerClient

KEYS = [b"k%d" % i for i in range(20)]


def placed(kafka: BrokerClient, partitions: int) -> Mapping[int, int]:
    """How many records of the keys each partition of a topic has that was never another one."""
    client, topic = KafkaClient({"bootstrap.servers": kafka.bootstrap}), kafka.create_topic(partitions=partitions)
    assert client.write_all(topic, [(key, b"{}", 1) for key in KEYS]) == [None] * len(KEYS)
    return client.ends(topic)


@pytest.mark.parametrize("partitions", [(4, 2), (2, 5)])
def test_inserted_rows(kafka: BrokerClient, client: KafkaClient, partitions: tuple[int, int]) -> None:
    """Before, keys went to the old partitions; with the old producer, one in five hundred was acknowledged and lost."""
    expected = placed(kafka, partitions[1])
    for _ in range(5):
        topic = kafka.create_topic(partitions=partitions[0])
        for source in ("a source", "another source of the topic"):
            client.write_for(source, topic)
            assert client.write_all(topic, [(key, b"{}", 1) for key in KEYS]) == [None] * len(KEYS)
        kafka.recreate_topic(topic, partitions[1])
        client.write_for("a source", topic)
        client.write_for("a source of the new topic", topic)
        assert client.write_all(topic, [(key, b"{}", 1) for key in KEYS]) == [None] * len(KEYS)
        assert client.ends(topic) == expected
