"""Fixtures of all tests: a broker, a registry, Spark and a server, one of each a process, started when first used.

`make test` runs groups of tests beside each other (pytest-xdist), each group in one process: `compute` keeps a core
busy; the others mostly wait for another process: `server` for the server that all its tests share, `live` for a broker
or a registry, a module's own group (`begin` or `crash` and its name) for those that it starts itself, by `begin`
(tests/live/conftest.py) or otherwise. The fast tests are in no group: they come last, where there is room.
"""

import gc
import os
from collections.abc import Iterator

import pytest
from hypothesis import settings
from pyspark.sql import SparkSession

from millstream.engine.session_options import CONF, LOCAL
from millstream.services.broker import BrokerProcess
from millstream.services.registry import RegistryProcess
from millstream.spark.session import create
from millstream.spark.session_settings import SessionOptions
from millstream.tester.environment import NO_RETENTION
from support.engine_process import NO_TIMER, EngineProcess
from support.kafka import BrokerClient
from support.longest_groups import LONGEST
from support.registry_proxy import USER, RegistryProxy, registry_proxy
from support.shared import ABSENT
from support.shared_trust import install

# Half of the processor time of a JVM that lives for minutes goes into its second compiler. bench/, which measures, has
# both.
os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m")

install()

# The items of five thousand tests live until the end: Python would look through them for garbage time and again.
gc.disable()


def pytest_collection_finish() -> None:
    """Leave what has been collected to itself, and collect garbage from now on."""
    gc.freeze()
    gc.enable()


# A submission is judged on examples that are the same each time; developers' runs look for new ones.
settings.register_profile("ci", derandomize=True, deadline=None)
if os.environ.get("CI"):
    settings.load_profile("ci")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print how many tests were skipped without the conformance cases, and how those failed that ran again."""
    for report in _second_runs(terminalreporter):
        terminalreporter.write_sep("=", f"FAILED AT FIRST: {report.nodeid}", yellow=True)
        terminalreporter.write_line(report.longreprtext)
    skipped = [report for report in terminalreporter.stats.get("skipped", ()) if ABSENT in str(report.longrepr)]
    if skipped:
        terminalreporter.write_line(
            f"CONFORMANCE NOT RUN: {len(skipped)} tests need the conformance cases, which are not in this repository; "
            "set MILLSTREAM_SHARED to the folder that has conformance/",
            yellow=True,
        )


# Tests of servers and brokers run again when they fail: once each, and no more of them than this in a run of the suite.
SECOND_RUNS = 2


def _second_runs(reporter: pytest.TerminalReporter) -> list[pytest.TestReport]:
    return list(reporter.stats.get("rerun", ()))


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """The run fails where more tests than SECOND_RUNS failed at first."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter and len(_second_runs(reporter)) > SECOND_RUNS:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


# The processor time of a pattern or of an expression's lambdas, in ms: tests that exceed the default take many seconds.
PATTERNS_MS = "300"

# A broker whose disk is slow for seconds is not a dead one: fenced for a moment, it would say that the cluster has no
# brokers, and the clients of tests would not connect again for a quarter of an hour (support/fenced_broker.py).
LONG_SESSION = {"broker.session.timeout.ms": 120_000}

# A test of one of these fixtures waits for what another process does.
PROCESSES = frozenset({"broker", "registry", "secured"})


# Before xdist's own, which reads the groups.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Function]) -> None:
    """Put each test that shares processes into its group, first; the others go where there is room, and may be fast."""
    turns = {}
    for item in items:
        group = _group(item)
        if group == "compute" and "spark" not in item.fixturenames:
            turns[item] = len(LONGEST) + 1
            if not item.get_closest_marker("slow"):
                item.add_marker(pytest.mark.fast)
        else:
            turns[item] = LONGEST.index(group) if group in LONGEST else len(LONGEST)
            item.add_marker(pytest.mark.xdist_group(group))
        if group != "compute":
            item.add_marker(pytest.mark.flaky(reruns=1))
    items.sort(key=turns.__getitem__)


def _group(item: pytest.Function) -> str:
    fixtures = set(item.fixturenames)
    if "begin" in fixtures:
        return f"begin {item.path.stem}"
    if item.get_closest_marker("crash"):
        return f"crash {item.path.stem}"
    if "shared_server" in fixtures:
        return "server"
    return "live" if item.get_closest_marker("live") or PROCESSES & fixtures else "compute"


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    """A real Kafka broker on a free port; `broker.bootstrap` is its address."""
    with BrokerProcess(
        tmp_path_factory.mktemp("kafka"), port=0, settings={**NO_RETENTION, **LONG_SESSION}, heap="512m"
    ) as started:
        yield started


@pytest.fixture(scope="session")
def kafka(broker: BrokerProcess) -> BrokerClient:
    """A client of the session's broker: create_topic, produce, consume_all."""
    return BrokerClient(broker.bootstrap)


@pytest.fixture(scope="session")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RegistryProcess]:
    """A real schema registry on a free port; `registry.url` is its Confluent API."""
    with RegistryProcess(tmp_path_factory.mktemp("registry"), port=0) as started:
        yield started


@pytest.fixture(scope="session")
def proxy(registry: RegistryProcess) -> Iterator[RegistryProxy]:
    """The address at which servers reach the registry: it requires a name and password, and can refuse requests."""
    with registry_proxy(registry.url) as started:
        yield started


@pytest.fixture(scope="session")
def shared_server(
    broker: BrokerProcess, kafka: BrokerClient, proxy: RegistryProxy, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[EngineProcess]:
    """One server for all tests that do not end it; use `server`, which leaves it as it was."""
    folder = tmp_path_factory.mktemp("server")
    # Rows are emitted at once and an orderly stop ends a batch: no test waits for the end of one, which costs more than
    # the rows in it.
    settings = {
        "bootstrap.servers": broker.bootstrap,
        "ksql.service.id": kafka.unique("shared").replace("-", "_"),
        "millstream.server.id": "one",
        "millstream.data.dir": str(folder / "data"),
        "millstream.slots": "96",
        "ksql.server.command.response.timeout.ms": "600000",
        "millstream.batch.duration": "20 seconds",
        "auto.offset.reset": "earliest",
        "ksql.schema.registry.url": proxy.url,
        "ksql.schema.registry.basic.auth.user.info": USER,
    }
    started = EngineProcess(settings, folder / "server.log")
    yield started
    started.kill()


@pytest.fixture
def server(shared_server: EngineProcess) -> Iterator[EngineProcess]:
    """The server: topics are read from their beginning; queries and sources end with the test."""
    yield shared_server
    shared_server.clear()


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A Spark session with the module's functions, and room for a few real-time queries."""
    conf = {
        **CONF,
        **LOCAL,
        **NO_TIMER,
        "spark.default.parallelism": "4",
        "spark.millstream.function.pattern.timeout.ms": PATTERNS_MS,
    }
    session = create(SessionOptions(tmp_path_factory.mktemp("spark"), slots=128, brief=True, conf=conf))
    yield session
    session.stop()
