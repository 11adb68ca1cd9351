"""Servers that a test starts and ends itself, over the session's broker."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from millstream.services.broker import BrokerProcess
from millstream.tester.environment import NO_RETENTION
from support.engine_process import EngineProcess
from support.kafka import BrokerClient
from support.restarted_server import RestartedServer

Begin = Callable[..., EngineProcess]
LOG_FOLDER = pytest.StashKey[Path]()
LAST = 200  # lines of a server's log that are shown of a test that failed


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Put the ends of the servers' logs beside the report of a test that failed."""
    outcome: Any = yield
    report, module = outcome.get_result(), item.getparent(pytest.Module)
    if report.failed and module is not None and LOG_FOLDER in module.stash:
        for log in sorted(module.stash[LOG_FOLDER].glob("*.log")):
            report.sections.append((f"log of server {log.stem}", "\n".join(log.read_text().splitlines()[-LAST:])))


@pytest.fixture
def own_broker(tmp_path: Path) -> Iterator[BrokerProcess]:
    """A broker of this test's own: the test may stop it, start it again, and change its files and its port."""
    broker = BrokerProcess(tmp_path / "kafka", port=0, settings=NO_RETENTION, heap="512m")
    broker.start()
    yield broker
    broker.stop()


@pytest.fixture(scope="module")
def begin(
    request: pytest.FixtureRequest, broker: BrokerProcess, kafka: BrokerClient, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Begin]:
    """Starts a server of this module's own service id; all share one data folder, and end with the module."""
    folder, service = tmp_path_factory.mktemp("server"), kafka.unique("live").replace("-", "_")
    request.node.stash[LOG_FOLDER] = folder
    processes: list[EngineProcess] = []

    def start(name: str = "one", **properties: str) -> EngineProcess:
        settings = {
            "bootstrap.servers": broker.bootstrap,
            "ksql.service.id": service,
            "millstream.server.id": name,
            "millstream.data.dir": str(folder / "data"),
            "millstream.slots": "32",
            "ksql.server.command.response.timeout.ms": "600000",
            "millstream.batch.duration": "2 seconds",
            "auto.offset.reset": "earliest",
            **properties,
        }
        processes.append(EngineProcess(settings, Path(folder) / f"{name}.log"))
        return processes[-1]

    yield start
    for process in processes:
        process.kill()


@pytest.fixture(scope="module")
def successive_servers(start_server: Callable[[], EngineProcess]) -> Iterator[RestartedServer]:
    """The server of all tests of a module, which start it again; the module's fixture `start_server` starts it.

    At the end it stops in an orderly way.
    """
    running = RestartedServer(start_server)
    yield running
    running.now.close()


@pytest.fixture
def restarted(successive_servers: RestartedServer) -> Iterator[RestartedServer]:
    """The server that a test starts again; queries and sources end with the test."""
    yield successive_servers
    successive_servers.now.clear()
