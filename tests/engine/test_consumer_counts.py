"""The consumers and groups of a topic that SHOW TOPICS EXTENDED counts."""

from contextlib import ExitStack, closing

from confluent_kafka import Consumer

from millstream.engine.kafka import KafkaClient
from support.kafka import BrokerClient, wait_for


def test_a_consumer_counts_once_for_each_of_its_partitions(kafka: BrokerClient, client: KafkaClient) -> None:
    """As in ksqlDB: two groups of one and two consumers, which read four partitions each."""
    topic, group = kafka.create_topic(partitions=4), kafka.unique()
    with ExitStack() as stack:
        consumers = [
            stack.enter_context(closing(Consumer({"bootstrap.servers": kafka.bootstrap, "group.id": f"{group}-{id}"})))
            for id in ("one", "two", "two")
        ]
        for consumer in consumers:
            consumer.subscribe([topic])

        def counted() -> bool:
            for consumer in consumers:
                consumer.poll(0.1)
            return client.readers_of().get(topic) == (8, 2)

        wait_for(counted, "the consumers' assignments")
    wait_for(lambda: topic not in client.readers_of(), "the end of the consumers")
