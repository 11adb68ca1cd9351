"""What the storm rages over: a broker, a schema registry, one or two servers of one service, their disk and clock."""

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from chaos.load import Load
from millstream.services.broker import BrokerProcess
from millstream.services.cluster import SparkCluster
from millstream.services.java import java
from millstream.services.registry import RegistryProcess
from support.kafka import BrokerClient
from support.server_process import ServerProcess

SERVICE = "chaos_"


@dataclass(slots=True)
class World:
    """The processes; `settings` are the servers' own, `patience` the seconds that anything may take.

    The queries run on `cluster`, in the servers' own JVMs where it is None. `clock`: the file that sets the servers'
    clock, None where they have the machine's.
    """

    broker: BrokerProcess
    registry: RegistryProcess
    folder: Path
    settings: Mapping[str, str]
    patience: float
    load: Load
    cluster: SparkCluster | None = None
    clock: Path | None = None
    servers: dict[str, ServerProcess] = field(default_factory=dict)

    @property
    def kafka(self) -> BrokerClient:
        """A client of the broker."""
        return BrokerClient(self.broker.bootstrap)

    def server(self) -> ServerProcess:
        """A server that runs; beside another, whichever it is."""
        return next(server for server in self.servers.values() if server.running)

    def start_server(self, name: str) -> ServerProcess:
        """Start a server, or start it again; it takes up the queries that there are if no other has them."""
        server = self.servers.get(name) or self._server(name)
        server.start()
        self.servers[name] = server
        return server

    def start_second(self) -> ServerProcess:
        """Start another server beside the one that runs."""
        return self.start_server("two" if self.server() is self.servers.get("one") else "one")

    def queries(self) -> dict[str, str]:
        """The state of each persistent query by id."""
        (shown,) = self.server().ksql("SHOW QUERIES;")
        return {query["id"]: query["state"] for query in shown["queries"] if query["queryType"] == "PERSISTENT"}

    @property
    def data(self) -> Path:
        """The folder of the servers' checkpoints."""
        return self.folder / "data"

    def kill_broker(self) -> None:
        """Kill the broker; what is to be written from now on waits for it."""
        self.load.hold()
        self.broker.kill()
        self.load.resume()

    def set_clock(self, seconds: float) -> None:
        """Set the servers' clock to the machine's plus `seconds`; at once, as a person would set it."""
        assert self.clock is not None
        beside = self.clock.with_suffix(".new")
        beside.write_text(f"{seconds:+.0f}\n")
        beside.replace(self.clock)

    def _server(self, name: str) -> ServerProcess:
        server = ServerProcess(self.broker.bootstrap, self.folder, name, **self.settings)
        if self.clock is not None:
            server.environment.update(clocked_java(self.clock))
        return server

    def close(self) -> None:
        """End the servers as a crash would."""
        for server in self.servers.values():
            server.kill()


def clock_library() -> Path | None:
    """The libfaketime of this machine (Debian: apt-get install libfaketime); None where it is not installed."""
    return next(iter(sorted(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))), None)


def clocked_java(clock: Path) -> dict[str, str]:
    """Variables by which a server's JVM has the clock that the file sets; clocks that measure spans stay as they are.

    They name a Java that starts the machine's with libfaketime: Python itself cannot sleep with that library. It is
    always the same file, since an archive of classes is kept for each Java.
    """
    home = Path(tempfile.gettempdir()) / "millstream-clocked-java"
    program, text = home / "bin" / "java", f'#!/bin/sh\nLD_PRELOAD={clock_library()} exec {java()} "$@"\n'
    if not program.exists() or program.read_text() != text:
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text(text)
        program.chmod(0o755)
    return {
        "JAVA_HOME": str(home),
        "FAKETIME_TIMESTAMP_FILE": str(clock),
        "FAKETIME_CACHE_DURATION": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        # Else the waits of a JVM end at once, and it spins.
        "FAKETIME_FORCE_MONOTONIC_FIX": "0",
    }
