"""Fixtures of the engine's tests."""

from collections.abc import Iterator

import pytest

from support.kafka import wait_for
from support.memory_topic import MemoryPushes


@pytest.fixture
def pushed() -> Iterator[MemoryPushes]:
    """Push subscriptions over a topic in memory; at the end nothing may be left of them."""
    yield (pushes := MemoryPushes())
    wait_for(pushes.is_free, "the end of all consumers")
