"""What the storm rages over: a broker, one or two servers of one service, and the load."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from millstream.services.broker import BrokerProcess
from millstream.services.cluster import SparkCluster
from support.kafka import BrokerClient
from support.server_process import ServerProcess

SERVICE = "chaos_"


@dataclass(slots=True)
class World:
    """The processes; `settings` are the servers' own, `patience` the seconds that anything may take.

    The queries run on `cluster`, in the servers' own JVMs where it is None.
    """

    broker: BrokerProcess
    folder: Path
    settings: Mapping[str, str]
    patience: float
    cluster: SparkCluster | None = None
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
        server = self.servers.get(name) or ServerProcess(self.broker.bootstrap, self.folder, name, **self.settings)
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

    def close(self) -> None:
        """End the servers as a crash would."""
        for server in self.servers.values():
            server.kill()
