"""One broker, one registry and one engine for all the tests of the five documents in ../shared/seeds."""

from collections.abc import Iterator

import pytest

from millstream.services.broker import BrokerProcess
from millstream.services.registry import RegistryProcess
from support.confluent import DescriptorClient
from support.engine_process import EngineProcess
from support.kafka import BrokerClient
from support.registry_proxy import USER, RegistryProxy, registry_proxy
from support.seed_world import SeedWorld


@pytest.fixture(scope="session")
def client(registry: RegistryProcess) -> DescriptorClient:
    """Confluent's own client of the registry."""
    return DescriptorClient({"url": registry.url})


@pytest.fixture(scope="session")
def door(registry: RegistryProcess) -> Iterator[RegistryProxy]:
    """The door by which the engine reaches the registry; it asks for a name and password."""
    with registry_proxy(registry.url) as made:
        yield made


@pytest.fixture(scope="session")
def life(
    broker: BrokerProcess, kafka: BrokerClient, door: RegistryProxy, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[EngineProcess]:
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
    started = EngineProcess(settings, folder / "engine.log")
    yield started
    started.kill()


@pytest.fixture
def world(life: EngineProcess, kafka: BrokerClient, client: DescriptorClient) -> Iterator[SeedWorld]:
    """The engine, its broker and its registry, with a name of this test's own; its queries end with the test."""
    made = SeedWorld(life, kafka, client)
    yield made
    made.close()
