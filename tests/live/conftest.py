"""Servers that a test starts and ends itself, over the session's broker."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from millstream.services.broker import BrokerProcess
from support.engine_process import EngineProcess
from support.kafka import BrokerClient

Begin = Callable[..., EngineProcess]


@pytest.fixture(scope="module")
def begin(broker: BrokerProcess, kafka: BrokerClient, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Begin]:
    """Starts a server of this module's own service id; all share one data folder, and end with the module."""
    folder, service = tmp_path_factory.mktemp("server"), kafka.unique("live").replace("-", "_")
    processes: list[EngineProcess] = []

    def start(name: str = "one", **properties: str) -> EngineProcess:
        settings = {
            "bootstrap.servers": broker.bootstrap,
            "ksql.service.id": service,
            "millstream.server.id": name,
            "millstream.data.dir": str(folder / "data"),
            "millstream.slots": "32",
            "millstream.batch.duration": "2 seconds",
            "auto.offset.reset": "earliest",
            **properties,
        }
        processes.append(EngineProcess(settings, Path(folder) / f"{name}.log"))
        return processes[-1]

    yield start
    for process in processes:
        process.kill()
