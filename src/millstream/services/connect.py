"""A real Kafka Connect worker (distributed mode, one node) with Kafka's file connectors, as a child process."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import httpx

from millstream.services import jars
from millstream.services.broker import LOGGING
from millstream.services.java import java
from millstream.services.progress import Progress
from millstream.services.service import Service

SETTINGS: Mapping[str, object] = {
    "group.id": "millstream-connect",
    # ksqlDB and millstream hide these names from SHOW TOPICS (ksql.hidden.topics).
    "config.storage.topic": "connect-configs",
    "offset.storage.topic": "connect-offsets",
    "status.storage.topic": "connect-status",
    "config.storage.replication.factor": 1,
    "offset.storage.replication.factor": 1,
    "offset.storage.partitions": 4,
    "status.storage.replication.factor": 1,
    "status.storage.partitions": 1,
    # The formats that a source has by default: KAFKA for a key of text, JSON for the value.
    "key.converter": "org.apache.kafka.connect.storage.StringConverter",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "false",
    "offset.flush.interval.ms": 5000,
    # A node that joins again after a restart gets its connectors at once; the default lets it wait for five minutes.
    "scheduled.rebalance.max.delay.ms": 0,
}


class ConnectProcess(Service):
    """A worker at `bootstrap`; see Service for `data`, `port`, `host` and `heap`.

    `plugins` are more folders with plugins, besides `plugin_folder`. `settings` are the worker's own and override ours.
    """

    name = "connect"
    title = "Kafka Connect"
    port_setting = "--connect-port"

    def __init__(
        self,
        data: Path,
        bootstrap: str,
        port: int = 8083,
        host: str = "127.0.0.1",
        plugins: Sequence[Path] = (),
        settings: Mapping[str, object] | None = None,
        heap: str = "512m",
    ) -> None:
        super().__init__(data, port, host, heap)
        self._bootstrap, self._plugins, self._settings = bootstrap, tuple(plugins), dict(settings or {})

    @property
    def url(self) -> str:
        """The URL of the worker's REST API, which is the value for `ksql.connect.url`."""
        return f"http://{self.address}"

    @property
    def plugin_folder(self) -> Path:
        """The folder whose plugins the worker loads at its start: a folder or a jar each."""
        return self.home / "plugins"

    def command(self, progress: Progress | None) -> list[str | Path]:
        """The worker's command line. Raises SetupError."""
        classpath = os.pathsep.join(map(str, jars.fetch("connect", progress)))
        self.plugin_folder.mkdir(parents=True, exist_ok=True)
        self._write_settings([*jars.fetch("connect-plugins", progress), self.plugin_folder, *self._plugins])
        logging = f"-Dlog4j2.configurationFile={self.home / 'log4j2.properties'}"
        limits = [f"-Xmx{self.heap}", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Djava.awt.headless=true"]
        program = "org.apache.kafka.connect.cli.ConnectDistributed"
        return [java(), *limits, logging, "-cp", classpath, program, self._properties]

    @property
    def _properties(self) -> Path:
        return self.home / "worker.properties"

    def _write_settings(self, plugin_path: Sequence[Path]) -> None:
        settings = {
            **SETTINGS,
            "bootstrap.servers": self._bootstrap,
            "listeners": self.url,
            "plugin.path": ",".join(map(str, plugin_path)),
            **self._settings,
        }
        self._properties.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        (self.home / "log4j2.properties").write_text(LOGGING.replace("{level}", "INFO"))

    def answers(self) -> bool:
        """True if the worker lists its connectors, for which it must have read its topics and joined its group."""
        try:
            return httpx.get(f"{self.url}/connectors", timeout=2).is_success
        except httpx.TransportError:
            return False
