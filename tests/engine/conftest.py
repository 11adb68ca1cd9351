"""Fixtures of the engine's tests."""

from collections.abc import Iterator

import pytest

from millstream.engine.kafka import KafkaClient
from support.kafka import BrokerClient, wait_for
from support.memory_topic import MemoryPushes


@pytest.fixture
def pushed() -> Iterator[MemoryPushes]:
    """Push subscriptions over a topic in memory; at the end nothing may be left of them."""
    yield (pushes := MemoryPushes())
    wait_for(pushes.is_free, "the end of all consumers")


@pytest.fixture
def client(kafka: BrokerClient) -> KafkaClient:
    """The engine's client of the test's broker."""
    return KafkaClient({"bootstrap.servers": kafka.bootstrap})
