"""All components on one machine: Kafka, schema registry, engine and server, started in order, stopped in reverse."""

import contextlib
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from rich.console import Console

from millstream.cli.properties import LISTENERS
from millstream.cli.service import serving
from millstream.server.run import PORT
from millstream.services.broker import BrokerProcess
from millstream.services.cluster import SparkCluster
from millstream.services.connect import ConnectProcess
from millstream.services.errors import EndedWhileStarting, SetupError
from millstream.services.folders import check_writable
from millstream.services.jars import cache_folder
from millstream.services.ports import check_free
from millstream.services.progress import Counter
from millstream.services.registry import RegistryProcess
from millstream.services.restarts import Restartable, keep_running, report_end

KAFKA_PORT, REGISTRY_PORT, CONNECT_PORT = 9092, 8081, 8083
LOCAL = "127.0.0.1"
Report = Callable[[str, str], None]
WITHOUT_MASTER = "queries go on, but executors that end are not replaced; stop all this, and start it again"


@dataclass(frozen=True, slots=True)
class StackOptions:
    """What to start: the data folder, the ports (0 = any free one), with or without the registry and Kafka Connect.

    `plugins` are folders with Connect's plugins. `settings` are the engine's, `kafka` the broker's. `workers`: the
    number of Spark workers of a cluster, 0 for none.
    """

    data: Path
    port: int = PORT
    kafka_port: int = KAFKA_PORT
    registry_port: int = REGISTRY_PORT
    registry: bool = True
    connect_port: int = CONNECT_PORT
    connect: bool = False
    plugins: tuple[Path, ...] = ()
    host: str = LOCAL
    settings: Mapping[str, str] = field(default_factory=dict)
    kafka: Mapping[str, object] = field(default_factory=dict)
    workers: int = 0


@dataclass(frozen=True, slots=True)
class RunningStack:
    """The addresses of the running components; `registry` and `connect` are "" if there is none."""

    url: str
    bootstrap: str
    registry: str
    connect: str
    data: Path


def data_folder() -> Path:
    """The default data folder: $XDG_DATA_HOME/millstream, by default under ~/.local/share."""
    return Path(os.environ.get("XDG_DATA_HOME") or "~/.local/share").expanduser() / "millstream"


@contextmanager
def running(options: StackOptions, report: Report) -> Iterator[RunningStack]:
    """Start the components; they run while the block runs.

    `report` is called when a component answers, with its name and address. Raises SetupError if one cannot start. The
    registry and Kafka Connect, which may have to be downloaded first, start in the background: nothing waits for them.
    """
    _check_ports(options)
    check_writable(options.data, "choose another folder with --data")
    with logged(options.data / "logs" / "server.log"), ExitStack() as stack:
        broker = BrokerProcess(options.data, options.kafka_port, options.host, settings=options.kafka)
        with _timed(report, "Kafka", lambda: broker.bootstrap):
            stack.callback(broker.stop)
            broker.start()
        stack.enter_context(_kept_running(broker, report, "Kafka"))
        registry = stack.enter_context(_registry(options, report)) if options.registry else ""
        connect = stack.enter_context(_connect(options, broker.bootstrap, report)) if options.connect else ""
        spark = _cluster(options, report, stack) if options.workers else {}
        with _timed(report, "engine and REST server", lambda: server.url):
            properties = _properties(options, broker.bootstrap, registry, connect)
            server = stack.enter_context(serving({**spark, **properties}))
        yield RunningStack(server.url, broker.bootstrap, registry, connect, options.data)


def _check_ports(options: StackOptions) -> None:
    """Raises SetupError if a port is in use, before anything is started."""
    ports = [(options.port, "the REST server", "--port"), (options.kafka_port, "Kafka", "--kafka-port")]
    if options.registry:
        ports.append((options.registry_port, "the schema registry", "--registry-port"))
    if options.connect:
        ports.append((options.connect_port, "Kafka Connect", "--connect-port"))
    for port, service, setting in ports:
        if port:
            check_free(options.host, port, service, setting)


def _properties(options: StackOptions, bootstrap: str, registry: str, connect: str) -> dict[str, str]:
    return {
        "bootstrap.servers": bootstrap,
        "ksql.schema.registry.url": registry,
        **({"ksql.connect.url": connect} if connect else {}),
        "millstream.data.dir": str(options.data / "engine"),
        LISTENERS: f"http://{options.host}:{options.port}",
        **options.settings,
    }


def _cluster(options: StackOptions, report: Report, stack: ExitStack) -> dict[str, str]:
    """Start a Spark cluster, which ends with `stack`; returns the server's properties for running queries on it.

    A worker that ends is started again. Not the master: it would end the executors, whose application it does not know.
    """
    cluster = SparkCluster(options.data, options.workers, host=options.host)
    with _timed(report, f"Spark, {options.workers} workers", lambda: cluster.master):
        stack.enter_context(cluster)
    stack.enter_context(_end_reported(cluster.watched_master, report, "Spark master", WITHOUT_MASTER))
    for number, worker in enumerate(cluster.watched_workers, 1):
        stack.enter_context(_kept_running(worker, report, f"Spark worker {number}"))
    return cluster.settings


@contextmanager
def _timed(report: Report, name: str, where: Callable[[], str]) -> Iterator[None]:
    start = time.monotonic()
    yield
    report(name, f"{where()}  ({time.monotonic() - start:.1f} s)")


@contextmanager
def _registry(options: StackOptions, report: Report) -> Iterator[str]:
    """Start a registry in the background; yields its URL."""
    registry = RegistryProcess(options.data, options.registry_port, options.host)
    start, need = partial(registry.start, Counter()), "AVRO, PROTOBUF and JSON_SR need it"
    with _kept_running(registry, report, "schema registry", start, need):
        fetched = any((cache_folder() / "jars").glob("apicurio-registry-app-*.tar.gz"))
        report("schema registry", f"{registry.url}  ({'starting' if fetched else 'starting, downloads 109 MB first'})")
        yield registry.url


@contextmanager
def _connect(options: StackOptions, bootstrap: str, report: Report) -> Iterator[str]:
    """Start a Kafka Connect worker in the background; yields its URL."""
    worker = ConnectProcess(options.data, bootstrap, options.connect_port, options.host, options.plugins)
    with _kept_running(worker, report, "Kafka Connect", partial(worker.start, Counter()), "connectors need it"):
        report("Kafka Connect", f"{worker.url}  (starting; plugins are read from {worker.plugin_folder})")
        yield worker.url


@contextmanager
def _kept_running(
    service: Restartable, report: Report, name: str, start: Callable[[], None] | None = None, need: str = ""
) -> Iterator[None]:
    """While the block runs, a service is started again if it ends, which is reported; it is stopped at the block's end.

    `start`, if it does not run yet, starts it in the background; if it cannot, that is reported with its `need`.
    """
    leaving = threading.Event()

    def run() -> None:
        ending = ""
        try:
            if start is not None:
                start()
        except EndedWhileStarting as error:
            ending = error.fact
        except SetupError as error:
            if not leaving.is_set():
                report(name, f"did not start, and {need}: {error.fact}")
            return
        keep_running(service, leaving, lambda event: report(name, event), ending=ending)

    watch = threading.Thread(target=run, name=name, daemon=True)
    watch.start()
    try:
        yield
    finally:
        leaving.set()
        service.stop()
        # A start that is going on ends as soon as the process is stopped; not one that still downloads.
        if start is None:
            watch.join()


@contextmanager
def _end_reported(service: Restartable, report: Report, name: str, consequence: str) -> Iterator[None]:
    """While the block runs, the end of a service that cannot be started again is reported."""
    leaving = threading.Event()
    watch = threading.Thread(
        target=report_end, args=(service, leaving, lambda event: report(name, event), consequence), daemon=True
    )
    watch.start()
    try:
        yield
    finally:
        leaving.set()
        watch.join()


def report(out: Console, name: str, where: str) -> None:
    """Print a component's name and address."""
    out.print(f"  {name:24}[cyan]{where}[/]", soft_wrap=True)


@contextmanager
def logged(file: Path) -> Iterator[None]:
    """Writes the logs of the engine and Spark to a file while the block runs, to keep the terminal free."""
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
    """Redirects standard error of the JVM that Spark starts; this process's is unchanged."""
    ours = os.dup(2)
    with open(file, "ab") as log, os.fdopen(ours, "w", buffering=1) as pipe:
        os.dup2(log.fileno(), 2)
        try:
            with contextlib.redirect_stderr(pipe):
                yield
        finally:
            os.dup2(ours, 2)
