"""A real Apache Kafka broker (KRaft, by default a cluster of its own) as a child process."""

import base64
import os
import subprocess
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from millstream.services import jars
from millstream.services.child import error_lines
from millstream.services.errors import SetupError
from millstream.services.java import java
from millstream.services.ports import free_port
from millstream.services.progress import Progress
from millstream.services.service import Service

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
    # After a crash the node cannot register until its old session has expired at the controller.
    "broker.session.timeout.ms": 4000,
    "broker.heartbeat.interval.ms": 1000,
    "auto.create.topics.enable": "false",
    # Record times are arbitrary event times: neither old nor future records may be refused or deleted.
    "log.retention.ms": -1,
    "log.message.timestamp.before.max.ms": FOREVER,
    "log.message.timestamp.after.max.ms": FOREVER,
    # Delete the files of a deleted topic soon.
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


class BrokerProcess(Service):
    """A broker; see Service for the arguments. `settings` are Kafka's own and override ours, `jvm_options` Java's.

    `cluster_id`: the id of its cluster, the same for all brokers of one; by default a new one.
    """

    name = "broker"
    title = "the Kafka broker"
    port_setting = "--kafka-port"

    def __init__(
        self,
        data: Path,
        port: int = 9092,
        host: str = "127.0.0.1",
        settings: Mapping[str, object] | None = None,
        heap: str = "1g",
        archive: Path | None = None,
        jvm_options: Sequence[str] = (),
        cluster_id: str = "",
    ) -> None:
        super().__init__(data, port, host, heap, archive)
        self._settings, self._jvm_options = dict(settings or {}), jvm_options
        self._cluster_id = cluster_id or new_cluster_id()

    @property
    def bootstrap(self) -> str:
        """The broker's host:port, which is the value for clients' `bootstrap.servers`."""
        return self.address

    def command(self, progress: Progress | None) -> list[str | Path]:
        """The broker's command line; the first time, formats its storage folder. Raises SetupError."""
        files = jars.fetch("broker", progress)
        program: list[str | Path] = [java(), "-cp", os.pathsep.join(map(str, files)), *self.class_options(files)]
        self._write_settings()
        # The second JVM is the one whose classes are worth an archive.
        self._format(program if self._archive is None else program[:3])
        logging = f"-Dlog4j2.configurationFile={self.home / 'log4j2.properties'}"
        limits = [f"-Xmx{self.heap}", "-Xms128m", "-XX:+UseG1GC", "-Djava.awt.headless=true", *self._jvm_options]
        return [*program, *limits, logging, "kafka.Kafka", self._properties]

    @property
    def _properties(self) -> Path:
        return self.home / "server.properties"

    def _write_settings(self) -> None:
        controller = f"{self.host}:{free_port()}"
        settings = {
            **SETTINGS,
            "listeners": f"PLAINTEXT://{self.bootstrap},CONTROLLER://{controller}",
            "controller.quorum.voters": f"1@{controller}",
            "log.dirs": self.home / "storage",
            **self._settings,
        }
        self._properties.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        (self.home / "log4j2.properties").write_text(LOGGING.replace("{level}", "INFO"))

    def _format(self, program: Sequence[str | Path]) -> None:
        if (self.home / "storage" / "meta.properties").exists():
            return
        # As one argument, because an id may begin with a minus.
        tool = ["kafka.tools.StorageTool", "format", f"--cluster-id={self._cluster_id}", "-c", str(self._properties)]
        quick = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
        result = subprocess.run([*program, *quick, *tool], capture_output=True, text=True)
        if result.returncode:
            output = "\n    ".join(error_lines((result.stdout + result.stderr).splitlines()))
            raise SetupError(f"Kafka could not format {self.home / 'storage'}; its output:\n    {output}")

    def answers(self) -> bool:
        """True if a client gets the list of brokers."""
        client = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})
        try:
            return bool(client.list_topics(timeout=1).brokers)
        except KafkaException:
            return False


def new_cluster_id() -> str:
    """A random id for a Kafka cluster."""
    return base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
