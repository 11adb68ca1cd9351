"""What is left of the descriptions of topics that the server asks for all the time."""

import gc

from confluent_kafka import Uuid

from millstream.engine.kafka import KafkaClient
from support.kafka import BrokerClient


def ids() -> int:
    """How many ids of topics Python has."""
    gc.collect()
    return sum(isinstance(one, Uuid) for one in gc.get_objects())


def test_the_ids_of_topics_are_freed(client: KafkaClient, kafka: BrokerClient) -> None:
    """confluent_kafka keeps each for ever: a hundred push queries took 200 MB a day."""
    topic = kafka.create_topic()
    identity, before = client.identity(topic), ids()
    for _ in range(10):
        assert client.identity(topic) == identity
        assert client.facts([topic])[topic].partitions == 1
        assert client.allowed([topic]) is not None
    assert ids() == before


def test_an_id_that_is_in_use_is_kept(client: KafkaClient, kafka: BrokerClient) -> None:
    topic = kafka.create_topic()
    described = [client._admin.described(topic) for _ in range(10)]
    gc.collect()
    assert {str(one.topic_id) for one in described} == {client.identity(topic)}
