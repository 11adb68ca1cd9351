"""A standalone Spark cluster on this machine: a master and workers, each a separate process, from pyspark's jars."""

import socket
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from millstream.services import shipped
from millstream.services.child import Child
from millstream.services.errors import SetupError
from millstream.services.java import java
from millstream.services.ports import free_port
from millstream.services.started import StartedInBlock

DEPLOY = "org.apache.spark.deploy"
REGISTERED = "Successfully registered with master"


@dataclass(frozen=True, slots=True)
class SparkProcess:
    """A process of a cluster, as it is watched and started again; `answers` is True when it can do its work."""

    child: Child
    answers: Callable[[], bool]

    @property
    def ending(self) -> str:
        """How it ended by itself, and its log; "" while it runs, and after a stop."""
        ending = self.child.ending
        return ending and f"{ending} (its log is {self.child.log})"

    def start(self) -> None:
        """Start it, and return when it answers. Raises SetupError."""
        self.child.start()
        self.child.wait_until(self.answers)

    def stop(self) -> None:
        """End the process, and return when it has ended."""
        self.child.stop()


class SparkCluster(StartedInBlock):
    """A master with `workers` workers under `data`; each gives an application one executor with `slots` task slots.

    `memory` is an executor's heap in Spark's words. Also a context manager.
    """

    def __init__(
        self, data: Path, workers: int = 2, slots: int = 64, memory: str = "1g", host: str = "127.0.0.1"
    ) -> None:
        self._host, self._port, self._slots, self._memory = host, free_port(), slots, memory
        self._home, self._logs = data.resolve() / "cluster", data.resolve() / "logs"
        self._master = self._child("the Spark master", "spark-master", "master.Master", self._master_arguments())
        self.workers = [
            self._child(f"Spark worker {n}", f"spark-worker-{n}", "worker.Worker", self._worker_arguments(n))
            for n in range(1, workers + 1)
        ]
        self._started = ExitStack()

    @property
    def master(self) -> str:
        """The master's address, spark://HOST:PORT, which is the value for `spark.master`."""
        return f"spark://{self._host}:{self._port}"

    @property
    def watched_master(self) -> SparkProcess:
        """The master's process; it answers when it listens."""
        return SparkProcess(self._master, self._listens)

    @property
    def watched_workers(self) -> list[SparkProcess]:
        """The workers' processes; each answers when it is registered at the master."""
        return [SparkProcess(worker, partial(_is_registered, worker)) for worker in self.workers]

    @property
    def settings(self) -> dict[str, str]:
        """The server's properties for running queries on this cluster."""
        log = shipped("jvm") / "log4j2.properties"
        return {
            "millstream.spark.master": self.master,
            "millstream.slots": str(len(self.workers) * self._slots),
            "spark.driver.host": self._host,
            "spark.executor.memory": self._memory,
            "spark.executor.extraJavaOptions": f"-Dlog4j2.configurationFile={log.as_uri()} -XX:+UseParallelGC",
        }

    def start(self) -> None:
        """Start the processes, and return when the workers are registered. Raises SetupError."""
        with ExitStack() as started:
            for child in (self._master, *self.workers):
                started.callback(child.stop)
                child.start()
            self._master.wait_until(self._listens)
            for worker in self.watched_workers:
                worker.child.wait_until(worker.answers)
            self._started = started.pop_all()

    def stop(self) -> None:
        """End the processes, which ends the executors too."""
        self._started.close()

    def _listens(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex((self._host, self._port)) == 0

    def _master_arguments(self) -> list[str]:
        return ["--host", self._host, "--port", str(self._port), "--webui-port", "0"]

    def _worker_arguments(self, number: int) -> list[str]:
        size = ["--cores", str(self._slots), "--memory", self._memory]
        options = ["--host", self._host, "--webui-port", "0", "--work-dir", str(self._home / f"worker-{number}")]
        return [*options, *size, self.master]

    def _child(self, title: str, log: str, program: str, words: list[str]) -> Child:
        home = spark_home()
        options = ["-Xmx256m", "-XX:+UseSerialGC", "-Dspark.worker.cleanup.enabled=true"]
        path = f"{home / 'jars'}/*"
        # A worker starts executors with these variables.
        homes = [f"SPARK_HOME={home}", f"JAVA_HOME={java().resolve().parents[1]}"]
        environment = ["env", *homes, f"SPARK_SCALA_VERSION={scala_version(home)}"]
        command = [*environment, str(java()), *options, "-cp", path, f"{DEPLOY}.{program}", *words]
        return Child(title, command, self._logs / f"{log}.log")


def _is_registered(worker: Child) -> bool:
    return REGISTERED in worker.output()


def spark_home() -> Path:
    """The folder of pyspark, which contains Spark's jars. Raises SetupError."""
    spec = find_spec("pyspark")
    if spec is None or not spec.submodule_search_locations:
        raise SetupError("pyspark is not installed")
    return Path(spec.submodule_search_locations[0])


def scala_version(home: Path) -> str:
    """The Scala version that Spark is built for, such as 2.13. Raises SetupError."""
    for jar in (home / "jars").glob("scala-library-*.jar"):
        return ".".join(jar.stem.removeprefix("scala-library-").split(".")[:2])
    raise SetupError(f"{home} has no Scala library")
