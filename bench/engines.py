"""The engines under measurement: each runs a workload in processes of its own (Flink: `flink.py`)."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import httpx

from bench.topics import BenchTopics
from millstream.services import jars
from millstream.services.cluster import SparkCluster
from millstream.services.java import java
from millstream.services.ports import free_port

SOURCE = "CREATE STREAM S (K STRING KEY, A BIGINT, B STRING) WITH (kafka_topic='{source}', value_format='JSON');"
TABLE = "CREATE TABLE T (K STRING PRIMARY KEY, NAME STRING) WITH (kafka_topic='{other}', value_format='JSON');"
RIGHT = "CREATE STREAM R (K STRING KEY, C BIGINT) WITH (kafka_topic='{other}', value_format='JSON');"
CLEAR = (
    "TERMINATE ALL;",
    "DROP {kind} IF EXISTS O;",
    "DROP STREAM IF EXISTS S;",
    "DROP TABLE IF EXISTS T;",
    "DROP STREAM IF EXISTS R;",
)
TEN_SECONDS = "PARTITION BY K ORDER BY ROWTIME RANGE 10 SECONDS PRECEDING GRACE PERIOD 1 SECOND"
STATEMENTS: Mapping[str, tuple[str, ...]] = {
    "filter": (
        SOURCE,
        "CREATE STREAM O WITH (kafka_topic='{sink}') AS SELECT K, A*2 AS A2, UCASE(B) AS B FROM S WHERE A > 0;",
    ),
    "count": (
        SOURCE,
        "CREATE TABLE O WITH (kafka_topic='{sink}') AS SELECT K, COUNT(*) AS N, SUM(A) AS S FROM S GROUP BY K;",
    ),
    "window": (
        SOURCE,
        "CREATE TABLE O WITH (kafka_topic='{sink}') AS "
        "SELECT K, COUNT(*) AS N FROM S WINDOW TUMBLING (SIZE 1 MINUTE) GROUP BY K;",
    ),
    "table-join": (
        SOURCE,
        TABLE,
        "CREATE STREAM O WITH (kafka_topic='{sink}') AS SELECT S.K, A, NAME FROM S LEFT JOIN T ON S.K = T.K;",
    ),
    "stream-join": (
        SOURCE,
        RIGHT,
        "CREATE STREAM O WITH (kafka_topic='{sink}') AS SELECT S.K, A, C "
        "FROM S JOIN R WITHIN 500 MILLISECONDS GRACE PERIOD 5 MINUTES ON S.K = R.K;",
    ),
    "range": (
        SOURCE,
        "CREATE STREAM O WITH (kafka_topic='{sink}') AS "
        f"SELECT K, A, COUNT(*) OVER ({TEN_SECONDS}) AS N, SUM(A) OVER ({TEN_SECONDS}) AS S FROM S;",
    ),
}
SERVER = Path(sys.executable).with_name("millstream")
TABLES = ("count", "window")
# Those of OVER, which StreamsPeer.java does not have.
OVER_WORKLOADS = ("range",)
# As ksqlDB sets Kafka Streams up, with the cache off so that both engines write every change.
PEER_SETTINGS = {
    "statestore.cache.max.bytes": "0",
    "num.stream.threads": "2",
    "commit.interval.ms": "2000",
    "consumer.fetch.max.wait.ms": "10",
    # As millstream has it too: a backlog is a transaction.
    "consumer.isolation.level": "read_committed",
}


# How often both commit where the guarantee is exactly once: a reader of committed records waits for that.
ONCE, COMMIT_INTERVAL = "exactly_once_v2", "1000"


class EngineError(Exception):
    """An engine that failed to execute a request; the text is its answer."""


@dataclass(frozen=True, slots=True)
class EngineRun:
    """A running engine: its process, whose exit and resource usage are watched."""

    process: subprocess.Popen[bytes]

    def alive(self) -> bool:
        """Whether the engine still runs."""
        return self.process.poll() is None


class Engine(Protocol):
    """What runs a workload; `once`: each record counts once for readers of committed records."""

    @property
    def name(self) -> str:
        """Its name in the table."""

    @property
    def once(self) -> bool:
        """Whether it runs with exactly_once_v2, or what corresponds to that."""

    @property
    def coalesced(self) -> int:
        """For how many ms it coalesces the changes of a key; 0: it writes each."""

    def running(self, workload: str, topics: BenchTopics) -> AbstractContextManager[EngineRun]:
        """Run the workload while the block runs."""


def coalescing(ms: int, size: str) -> dict[str, str]:
    """The settings of an engine that coalesces changes for so long, in as many bytes as ksqlDB has by default, which it
    calls `size`. None for 0."""
    return {size: "10000000", "commit.interval.ms": str(ms)} if ms else {}


@dataclass(frozen=True, slots=True)
class Peer:
    """Kafka Streams; `linger` is its producer's, in ms; `once`: with exactly_once_v2; `coalesced`: see Engine."""

    folder: Path
    linger: int = 100
    name: str = "kafka streams"
    once: bool = False
    coalesced: int = 0

    @contextmanager
    def running(self, workload: str, topics: BenchTopics) -> Iterator[EngineRun]:
        """Run the workload while the block runs."""
        settings = {**PEER_SETTINGS, "producer.linger.ms": str(self.linger), "state.dir": str(self.folder / "state")}
        settings |= {"processing.guarantee": ONCE, "commit.interval.ms": COMMIT_INTERVAL} if self.once else {}
        settings |= coalescing(self.coalesced, "statestore.cache.max.bytes")
        arguments = [topics.bootstrap, topics.source, topics.sink, topics.other]
        settled = [f"{name}={value}" for name, value in settings.items()]
        command: list[str | Path] = [
            java(),
            "-Xmx1g",
            "-cp",
            self._classpath(),
            "StreamsPeer",
            workload,
            *arguments,
            *settled,
        ]
        with process(command, self.folder / "peer.log") as started:
            yield EngineRun(started)

    def _classpath(self) -> str:
        """The compiled program and its jars; compiled by a compiler in a jar, since a JRE has none."""
        return compiled("StreamsPeer", jars.fetch("bench"), self.folder / "classes")


@dataclass(frozen=True, slots=True)
class Millstream:
    """A millstream server, used over REST as by any client; `once`: with exactly_once_v2.

    `cluster`: its queries run on a Spark cluster of two workers with two task slots each, on this machine. `service` is
    its service id, if it is not the only server of the broker; `settings` are others of its settings;
    `coalesced`: see Engine.
    """

    folder: Path
    name: str = "millstream"
    once: bool = False
    cluster: bool = False
    service: str = ""
    settings: tuple[tuple[str, str], ...] = ()
    coalesced: int = 0

    @contextmanager
    def running(self, workload: str, topics: BenchTopics) -> Iterator[EngineRun]:
        """Run the workload while the block runs, and leave an empty catalog."""
        names = {"source": topics.source, "sink": topics.sink, "other": topics.other}
        with self.server(topics.bootstrap) as (running, execute):
            execute("".join(STATEMENTS[workload]).format(**names))
            yield running
            for statement in CLEAR:
                execute(statement.format(kind="TABLE" if workload in TABLES else "STREAM"))

    @contextmanager
    def server(self, bootstrap: str) -> Iterator[tuple[EngineRun, "StatementClient"]]:
        """A server with nothing to do yet, and how to ask it."""
        listen = f"http://127.0.0.1:{free_port()}"
        command: list[str | Path] = [SERVER, "server", "--bootstrap-servers", bootstrap, "--listen", listen]
        if self.once:
            command += [f"--set=processing.guarantee={ONCE}", f"--set=commit.interval.ms={COMMIT_INTERVAL}"]
        command += [f"--set=ksql.service.id={self.service}"] if self.service else []
        settings = {**dict(self.settings), **coalescing(self.coalesced, "cache.max.bytes.buffering")}
        command += [f"--set={name}={value}" for name, value in settings.items()]
        with ExitStack() as processes:
            if self.cluster:
                cluster = processes.enter_context(SparkCluster(self.folder / "spark", slots=2, memory="2g"))
                command += [f"--set={name}={value}" for name, value in cluster.settings.items()]
            running = EngineRun(processes.enter_context(process(command, self.folder / "server.log", self.folder)))
            _wait_for(listen, running, self.folder / "server.log")
            yield running, StatementClient(listen)


@dataclass(frozen=True, slots=True)
class StatementClient:
    """Sends statements to the server at `url`."""

    url: str

    def __call__(self, ksql: str) -> object:
        """The server's answer to the statements; EngineError when it refuses them."""
        body = {"ksql": ksql, "streamsProperties": {"auto.offset.reset": "earliest"}}
        answer = httpx.post(f"{self.url}/ksql", json=body, timeout=180)
        if not answer.is_success:
            raise EngineError(f"{ksql}\n  {answer.status_code}: {answer.text}")
        return answer.json()


def compiled(program: str, files: Sequence[Path], classes: Path) -> str:
    """The class path of a Java program beside this file, and its jars; compiled by ecj, since a JRE has no compiler."""
    classpath = os.pathsep.join(map(str, [classes, *files]))
    if not classes.exists():
        classes.mkdir()
        (compiler,) = [file for file in jars.fetch("bench") if file.name.startswith("ecj-")]
        source = Path(__file__).with_name(f"{program}.java")
        options = ["--release", "17", "-cp", classpath, "-d", str(classes), str(source)]
        subprocess.run([str(java()), "-jar", str(compiler), *options], check=True)
    return classpath


def _wait_for(url: str, running: EngineRun, log: Path) -> None:
    deadline = time.monotonic() + 180
    while not _answers(url):
        if not running.alive() or time.monotonic() > deadline:
            raise EngineError(f"the millstream server did not come up; its log ends:\n{log.read_text()[-2000:]}")
        time.sleep(0.1)


def _answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/info", timeout=2).is_success
    except httpx.TransportError:
        return False


@contextmanager
def process(command: Sequence[str | Path], log: Path, folder: Path | None = None) -> Iterator[subprocess.Popen[bytes]]:
    """A process of its own session while the block runs; all of the session is ended after it."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with open(log, "wb") as output:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True, cwd=folder
        )
    try:
        yield process
    finally:
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(30)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
