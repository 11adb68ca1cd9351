"""A real Apache Kafka broker (KRaft, one node) as a child process."""

import base64
import os
import subprocess
import uuid
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from millstream.parts import jars
from millstream.parts.child import Child
from millstream.parts.errors import SetupError
from millstream.parts.java import java
from millstream.parts.ports import free_port, need_free
from millstream.parts.progress import Progress

FOREVER = 2**63 - 1
SETTINGS: Mapping[str, object] = {
    "process.roles": "broker,controller",
    "node.id": 1,
    "controller.listener.names": "CONTROLLER",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
    "offsets.topic.replication.factor": 1,
    "offsets.topic.num.partitions": 4,
    "transaction.state.log.replication.factor": 1,
    "transaction.state.log.min.isr": 1,
    "transaction.state.log.num.partitions": 4,
    "share.coordinator.state.topic.replication.factor": 1,
    "share.coordinator.state.topic.min.isr": 1,
    "share.coordinator.state.topic.num.partitions": 1,
    "group.initial.rebalance.delay.ms": 0,
    "auto.create.topics.enable": "false",
    # Event time is whatever the data says: neither old nor future records may be refused or deleted.
    "log.retention.ms": -1,
    "log.message.timestamp.before.max.ms": FOREVER,
    "log.message.timestamp.after.max.ms": FOREVER,
    # A topic that is deleted should be gone for those who look next.
    "log.segment.delete.delay.ms": 1000,
    "message.max.bytes": 8 * 1024 * 1024,
}
LOGGING = """\
appender.out.type = Console
appender.out.name = OUT
appender.out.layout.type = PatternLayout
appender.out.layout.pattern = %d{ISO8601} %p %m (%c{1})%n
rootLogger.level = {level}
rootLogger.appenderRef.out.ref = OUT
"""


class Broker:
    """A broker that keeps its data under `data` and listens on `host`:`port`; also a context manager.

    `port` 0 takes a free one. `settings` are broker settings that come before ours, `heap` is Java's -Xmx.
    """

    def __init__(
        self,
        data: Path,
        port: int = 9092,
        host: str = "127.0.0.1",
        settings: Mapping[str, object] | None = None,
        heap: str = "1g",
    ) -> None:
        self.data, self.port, self.host, self.heap = data.resolve(), port or free_port(), host, heap
        self._settings = dict(settings or {})
        self._child: Child | None = None

    @property
    def bootstrap(self) -> str:
        """What clients call bootstrap.servers."""
        return f"{self.host}:{self.port}"

    @property
    def log(self) -> Path:
        """The file that the broker's output is appended to."""
        return self.data / "logs" / "broker.log"

    @property
    def running(self) -> bool:
        """Whether the broker's process is alive."""
        return self._child is not None and self._child.running

    def start(self, progress: Progress | None = None) -> None:
        """Fetch, format and start what is not yet, and return when clients are answered.

        Raises SetupError: busy port, no Java, no network, or a broker that does not come up.
        """
        need_free(self.host, self.port, "Kafka", "--kafka-port")
        command, files = java(), jars.fetch("broker", progress)
        classpath = os.pathsep.join(map(str, files))
        self._write_settings()
        self._format(command, classpath)
        self._child = Child("the Kafka broker", self._command(command, classpath), self.log)
        self._child.start()
        self._child.wait_until(self._answers, patience=60)

    def stop(self) -> None:
        """Stop the broker cleanly; nothing happens if it does not run."""
        if self._child:
            self._child.stop()

    def kill(self) -> None:
        """End the broker as a crash would."""
        if self._child:
            self._child.kill()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()

    @property
    def _home(self) -> Path:
        return self.data / "broker"

    @property
    def _properties(self) -> Path:
        return self._home / "server.properties"

    def _write_settings(self) -> None:
        controller = f"{self.host}:{free_port()}"
        settings = {
            **SETTINGS,
            "listeners": f"PLAINTEXT://{self.bootstrap},CONTROLLER://{controller}",
            "controller.quorum.voters": f"1@{controller}",
            "log.dirs": self._home / "storage",
            **self._settings,
        }
        self._home.mkdir(parents=True, exist_ok=True)
        self._properties.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        (self._home / "log4j2.properties").write_text(LOGGING.replace("{level}", "INFO"))

    def _format(self, command: Path, classpath: str) -> None:
        if (self._home / "storage" / "meta.properties").exists():
            return
        name = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        tool = ["kafka.tools.StorageTool", "format", "-t", name, "-c", str(self._properties)]
        quick = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
        done = subprocess.run([command, *quick, "-cp", classpath, *tool], capture_output=True, text=True)
        if done.returncode:
            raise SetupError(f"Kafka could not format {self._home / 'storage'}: {done.stdout}{done.stderr}")

    def _command(self, command: Path, classpath: str) -> list[str | Path]:
        logging = f"-Dlog4j2.configurationFile={self._home / 'log4j2.properties'}"
        limits = [f"-Xmx{self.heap}", "-Xms128m", "-XX:+UseG1GC", "-Djava.awt.headless=true"]
        return [command, *limits, logging, "-cp", classpath, "kafka.Kafka", self._properties]

    def _answers(self) -> bool:
        client = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})
        try:
            return bool(client.list_topics(timeout=1).brokers)
        except KafkaException:
            return False
