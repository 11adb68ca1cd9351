"""Everything on one machine: Kafka, schema registry, engine and server, started in order and stopped in reverse."""

import contextlib
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console

from millstream.cli.service import LISTENERS, serving
from millstream.server.run import PORT
from millstream.services.broker import BrokerProcess
from millstream.services.cluster import SparkCluster
from millstream.services.errors import SetupError
from millstream.services.jars import cache_folder
from millstream.services.ports import check_free
from millstream.services.progress import Counter
from millstream.services.registry import RegistryProcess

KAFKA_PORT, REGISTRY_PORT = 9092, 8081
LOCAL = "127.0.0.1"
Tell = Callable[[str, str], None]


@dataclass(frozen=True, slots=True)
class StackOptions:
    """What is to be started: where data lives, the ports (0 = any free one), with or without the registry.

    `settings` are the engine's, `kafka` the broker's. `workers`: of a Spark cluster that runs the queries, 0 for none.
    """

    data: Path
    port: int = PORT
    kafka_port: int = KAFKA_PORT
    registry_port: int = REGISTRY_PORT
    registry: bool = True
    host: str = LOCAL
    settings: Mapping[str, str] = field(default_factory=dict)
    kafka: Mapping[str, object] = field(default_factory=dict)
    workers: int = 0


@dataclass(frozen=True, slots=True)
class RunningStack:
    """What runs: where its parts answer; `registry` is "" where there is none."""

    url: str
    bootstrap: str
    registry: str
    data: Path


def data_folder() -> Path:
    """Where data lives by default: $XDG_DATA_HOME/millstream, by default under ~/.local/share."""
    return Path(os.environ.get("XDG_DATA_HOME") or "~/.local/share").expanduser() / "millstream"


@contextmanager
def running(wish: StackOptions, report: Tell) -> Iterator[RunningStack]:
    """Everything that is wished for, running while the block runs.

    `tell` hears of each part as it answers: its name, and where. Raises SetupError where one cannot start. The
    registry, which may have to be downloaded first, starts in the background: nothing waits for it.
    """
    _check_ports(wish)
    wish.data.mkdir(parents=True, exist_ok=True)
    with logged(wish.data / "logs" / "server.log"), ExitStack() as stack:
        broker = BrokerProcess(wish.data, wish.kafka_port, wish.host, settings=wish.kafka)
        with _timed(report, "Kafka", lambda: broker.bootstrap):
            stack.callback(broker.stop)
            broker.start()
        registry = stack.enter_context(_registry(wish, report)) if wish.registry else ""
        spark = _cluster(wish, report, stack) if wish.workers else {}
        with _timed(report, "engine and REST server", lambda: server.url):
            server = stack.enter_context(serving({**spark, **_properties(wish, broker.bootstrap, registry)}))
        yield RunningStack(server.url, broker.bootstrap, registry, wish.data)


def _check_ports(wish: StackOptions) -> None:
    """Raise SetupError where a port is busy: better now than when half of the parts run."""
    ports = [(wish.port, "the REST server", "--port"), (wish.kafka_port, "Kafka", "--kafka-port")]
    if wish.registry:
        ports.append((wish.registry_port, "the schema registry", "--registry-port"))
    for port, what, setting in ports:
        if port:
            check_free(wish.host, port, what, setting)


def _properties(wish: StackOptions, bootstrap: str, registry: str) -> dict[str, str]:
    return {
        "bootstrap.servers": bootstrap,
        "ksql.schema.registry.url": registry,
        "millstream.data.dir": str(wish.data / "engine"),
        LISTENERS: f"http://{wish.host}:{wish.port}",
        **wish.settings,
    }


def _cluster(wish: StackOptions, report: Tell, stack: ExitStack) -> dict[str, str]:
    """Start a Spark cluster, which ends with `stack`; the server's properties by which its queries run there."""
    cluster = SparkCluster(wish.data, wish.workers, host=wish.host)
    with _timed(report, f"Spark, {wish.workers} workers", lambda: cluster.master):
        stack.enter_context(cluster)
    return cluster.settings


@contextmanager
def _timed(report: Tell, name: str, where: Callable[[], str]) -> Iterator[None]:
    start = time.monotonic()
    yield
    report(name, f"{where()}  ({time.monotonic() - start:.1f} s)")


@contextmanager
def _registry(wish: StackOptions, report: Tell) -> Iterator[str]:
    """A registry that starts in the background; its URL."""
    registry = RegistryProcess(wish.data, wish.registry_port, wish.host)
    leaving = threading.Event()

    def start() -> None:
        try:
            registry.start(Counter())
        except SetupError as error:
            if not leaving.is_set():
                report("schema registry", f"did not start, and AVRO, PROTOBUF and JSON_SR need it: {error.fact}")

    threading.Thread(target=start, name="registry", daemon=True).start()
    fetched = any((cache_folder() / "jars").glob("apicurio-registry-app-*.tar.gz"))
    report("schema registry", f"{registry.url}  ({'starting' if fetched else 'starting, downloads 109 MB first'})")
    try:
        yield registry.url
    finally:
        leaving.set()
        registry.stop()


def report(out: Console, name: str, where: str) -> None:
    """One line of what runs where."""
    out.print(f"  {name:24}[cyan]{where}[/]", soft_wrap=True)


@contextmanager
def logged(file: Path) -> Iterator[None]:
    """What the engine and Spark log goes to a file while the block runs: the terminal belongs to the user."""
    file.parent.mkdir(parents=True, exist_ok=True)
    handler = logging.FileHandler(file)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    root = logging.getLogger()
    root.addHandler(handler)
    try:
        with _errors_to(file):
            yield
    finally:
        root.removeHandler(handler)
        handler.close()


@contextmanager
def _errors_to(file: Path) -> Iterator[None]:
    """Standard error of the JVM that Spark starts; ours stays where it is."""
    ours = os.dup(2)
    with open(file, "ab") as log, os.fdopen(ours, "w", buffering=1) as pipe:
        os.dup2(log.fileno(), 2)
        try:
            with contextlib.redirect_stderr(pipe):
                yield
        finally:
            os.dup2(ours, 2)
