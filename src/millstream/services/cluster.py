"""A standalone Spark cluster on this machine: a master and workers, each a separate process, from pyspark's jars."""

import socket
from contextlib import ExitStack
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
        """The value for `spark.master`."""
        return f"spark://{self._host}:{self._port}"

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
            for worker in self.workers:
                worker.wait_until(lambda worker=worker: REGISTERED in worker.output())  # type: ignore[misc]
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
        place = ["--host", self._host, "--webui-port", "0", "--work-dir", str(self._home / f"worker-{number}")]
        return [*place, *size, self.master]

    def _child(self, title: str, log: str, program: str, words: list[str]) -> Child:
        home = spark_home()
        options = ["-Xmx256m", "-XX:+UseSerialGC", "-Dspark.worker.cleanup.enabled=true"]
        path = f"{home / 'jars'}/*"
        # A worker starts executors with these variables.
        places = [f"SPARK_HOME={home}", f"JAVA_HOME={java().resolve().parents[1]}"]
        environment = ["env", *places, f"SPARK_SCALA_VERSION={scala_version(home)}"]
        command = [*environment, str(java()), *options, "-cp", path, f"{DEPLOY}.{program}", *words]
        return Child(title, command, self._logs / f"{log}.log")


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
