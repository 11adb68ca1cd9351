"""Topics that a server creates for itself when it starts, perhaps while the brokers are starting, too."""

import time
from collections.abc import Mapping

from confluent_kafka import KafkaError, KafkaException

from millstream.engine.kafka import KafkaClient
from millstream.services.errors import SetupError
from millstream.services.kafka_errors import reason

# How long, in seconds, to wait for the brokers that are to hold a topic's replicas, and between two tries.
BROKERS_START, PAUSE = 20.0, 0.5


def create_internal_topic(
    kafka: KafkaClient, name: str, partitions: int, replicas: int, config: Mapping[str, str] | None = None
) -> None:
    """Create a topic, unless it exists; while Kafka has fewer brokers than `replicas`, further ones may be starting.

    Raises SetupError if there are still too few after BROKERS_START seconds, KafkaException.
    """
    deadline = time.monotonic() + BROKERS_START
    while True:
        try:
            kafka.create(name, partitions, replicas, config)
            return
        except KafkaException as failure:
            if failure.args[0].code() != KafkaError.INVALID_REPLICATION_FACTOR:
                raise
            if time.monotonic() > deadline:
                fact = f"the topic {name} cannot be created: {reason(failure)}"
                hint = "start more brokers, or set ksql.internal.topic.replicas to the number of brokers or less"
                raise SetupError(fact, hint) from failure
        time.sleep(PAUSE)
