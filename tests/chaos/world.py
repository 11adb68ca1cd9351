"""The system under test: a broker, a schema registry, one or two servers of one service id, their disk and clock."""

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
    """The processes of a storm.

    `settings` are the servers' settings, `patience` is the timeout in seconds of every wait. The queries run on
    `cluster`, or in the servers' JVMs if it is None. `clock` is the file that sets the servers' clock, None if they use
    the machine's.
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
        """A new client of the broker."""
        return BrokerClient(self.broker.bootstrap)

    def server(self) -> ServerProcess:
        """A running server; if two run, any of them."""
        return next(server for server in self.servers.values() if server.running)

    def start_server(self, name: str) -> ServerProcess:
        """Start or restart the server `name`; it runs the queries if no other server leads."""
        server = self.servers.get(name) or self._server(name)
        server.start()
        self.servers[name] = server
        return server

    def start_second(self) -> ServerProcess:
        """Start a second server beside the running one."""
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
        """Kill the broker while no input is in flight (see Load.hold); inputs then wait for its return."""
        self.load.flush_inputs()
        self.broker.kill()
        self.load.resume()

    def set_clock(self, seconds: float) -> None:
        """Set the servers' clock to the machine's plus `seconds`, in one step (the file is replaced atomically)."""
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
        """Kill the servers."""
        for server in self.servers.values():
            server.kill()


def clock_library() -> Path | None:
    """The path of libfaketime on this machine (Debian: apt-get install libfaketime); None if it is not installed."""
    return next(iter(sorted(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))), None)


def clocked_java(clock: Path) -> dict[str, str]:
    """Environment variables that make a server's JVM use the wall clock set in the file `clock`; monotonic clocks stay.

    JAVA_HOME points to a script that starts the machine's Java with libfaketime, because Python cannot sleep with that
    library. The script's path is constant, since a class archive is cached for each Java.
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
        # Otherwise timed waits of the JVM return at once, and it spins.
        "FAKETIME_FORCE_MONOTONIC_FIX": "0",
    }
