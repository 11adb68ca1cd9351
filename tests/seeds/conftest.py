"""What the tests of the five documents (docs/design/008-contradictions.md) have of the engine, broker and registry."""

import pytest

from millstream.services.registry import RegistryProcess
from support.confluent import DescriptorClient
from support.engine_process import EngineProcess
from support.kafka import BrokerClient
from support.seed_world import SeedWorld


@pytest.fixture(scope="session")
def client(registry: RegistryProcess) -> DescriptorClient:
    """Confluent's own client of the registry."""
    return DescriptorClient({"url": registry.url})


@pytest.fixture
def world(server: EngineProcess, kafka: BrokerClient, client: DescriptorClient) -> SeedWorld:
    """The engine, its broker and its registry, with a name of this test's own."""
    return SeedWorld(server, kafka, client)
