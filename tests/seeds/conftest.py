"""One broker, one registry and one engine for the tests of the five documents (docs/design/008-contradictions.md)."""

from collections.abc import Iterator

import pytest

from millstream.parts.broker import Broker
from millstream.parts.registry import Registry
from support.confluent import Client
from support.gate import USER, Gate, gate
from support.kafka import Kafka
from support.life import Life
from support.world import World


@pytest.fixture(scope="session")
def client(registry: Registry) -> Client:
    """Confluent's own client of the registry."""
    return Client({"url": registry.url})


@pytest.fixture(scope="session")
def door(registry: Registry) -> Iterator[Gate]:
    """The door by which the engine reaches the registry; it asks for a name and password."""
    with gate(registry.url) as made:
        yield made


@pytest.fixture(scope="session")
def life(broker: Broker, kafka: Kafka, door: Gate, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Life]:
    """The engine: its queries read topics from their beginning."""
    folder = tmp_path_factory.mktemp("seeds")
    settings = {
        "bootstrap.servers": broker.bootstrap,
        "ksql.service.id": kafka.unique("seeds").replace("-", "_"),
        "millstream.data.dir": str(folder / "data"),
        "millstream.slots": "48",
        "millstream.batch.duration": "5 seconds",
        "auto.offset.reset": "earliest",
        "ksql.schema.registry.url": door.url,
        "ksql.schema.registry.basic.auth.user.info": USER,
    }
    started = Life(settings, folder / "engine.log")
    yield started
    started.kill()


@pytest.fixture
def world(life: Life, kafka: Kafka, client: Client) -> Iterator[World]:
    """The engine, its broker and its registry, with a name of this test's own; its queries end with the test."""
    made = World(life, kafka, client)
    yield made
    made.close()
