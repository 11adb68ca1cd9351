"""New streams and tables over new topics, for tests to which their names do not matter."""

from collections.abc import Callable

from support.kafka import BrokerClient


def declare(
    execute: Callable[[str], object],
    kafka: BrokerClient,
    columns: str,
    partitions: int = 1,
    kind: str = "STREAM",
    formats: str = "format='JSON'",
) -> tuple[str, str]:
    """A new stream or table (`kind`) with these columns, over a new topic; returns its name and the topic."""
    topic = kafka.create_topic(partitions=partitions)
    name = topic.replace("-", "_").upper()
    execute(f"CREATE {kind} {name} ({columns}) WITH (kafka_topic='{topic}', {formats});")
    return name, topic
