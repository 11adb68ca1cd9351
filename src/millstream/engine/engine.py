"""The engine: the parts of a server put together, and what can be asked of it (see api.Engine)."""

import re
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from typing import Any

from confluent_kafka import KafkaException

from millstream.catalog.catalog import Catalog
from millstream.engine import bootstrap, execute, log_stream, printing, transient
from millstream.engine.api import Entity, Inserter, Request, RequestFailed, Rows
from millstream.engine.context import EngineContext
from millstream.engine.entities import build
from millstream.engine.insert import RowWriter
from millstream.engine.schema_id_records import SchemaIdRecords
from millstream.engine.session import RequestSession
from millstream.model.settings import SettingRefused, check_session
from millstream.spark.session import Session as Spark
from millstream.syntax import tree


class MillstreamEngine:
    """An open engine; see api.Engine for its methods. `close` it when done."""

    def __init__(self, properties: Mapping[str, str], spark: Spark | None = None) -> None:
        """Open an engine with a server's properties, of which bootstrap.servers is needed; takes some seconds.

        `spark` is a session that it shares with others, else it makes its own. Raises EngineCannotStart.
        """
        self._parts: EngineContext = bootstrap.open_engine(properties, spark)
        self._cluster = self._parts.kafka.cluster()
        log_stream.declare(self._parts)

    def close(self) -> None:
        """Stop all that runs here; the next start goes on from the checkpoints."""
        bootstrap.close_engine(self._parts)

    @property
    def catalog(self) -> Catalog:
        """The sources, types and queries that the statements have made."""
        return self._parts.state.catalog

    # ------------------------------------------------------------ statements

    def execute(self, request: Request) -> list[Entity]:
        """See api.Engine."""
        return execute.execute(request, self._parts)

    def query(self, request: Request) -> Rows:
        """See api.Engine."""
        execute.catch_up(request.sequence, self._parts)
        said = execute.only(request, self._parts)
        if not isinstance(said.statement, tree.QueryStatement):
            raise RequestFailed(40000, "only SELECT and PRINT answer with rows: send this to /ksql", said.text)
        with execute.refusals(lambda: said.text):
            return transient.start(said, self._parts)

    def print_topic(self, request: Request) -> Iterator[str | None]:
        """See api.Engine."""
        said = execute.only(request, self._parts)
        if not isinstance(said.statement, tree.Print):
            raise RequestFailed(40000, "this is no PRINT statement", said.text)
        with execute.refusals(lambda: said.text):
            printing.check(said.statement, self._parts.kafka)
        return printing.lines(said.statement, self._parts.kafka, SchemaIdRecords(self._parts.schemas))

    def is_print(self, request: Request) -> bool:
        """See api.Engine."""
        return isinstance(execute.only(request, self._parts).statement, tree.Print)

    def close_query(self, query_id: str) -> bool:
        """See api.Engine."""
        query = self._parts.push.get(query_id)
        if query is not None:
            query.close()
        return query is not None

    def inserter(self, target: str, properties: Mapping[str, Any]) -> Inserter:
        """See api.Engine."""
        return RowWriter(target, RequestSession(Request("", properties), self._parts.server), self._parts)

    # ------------------------------------------------------------ facts about the server

    def info(self) -> Entity:
        """See api.Engine."""
        body = {
            "version": version("millstream"),
            "kafkaClusterId": self._cluster,
            "ksqlServiceId": self._parts.server["ksql.service.id"],
            "serverStatus": "RUNNING",
        }
        return {"KsqlServerInfo": body}

    def health(self) -> Entity:
        """See api.Engine."""
        kafka, log = self._parts.kafka.answers(), self._parts.follower.alive
        details = {"metastore": log, "kafka": kafka, "commandRunner": log}
        shown = {name: {"isHealthy": healthy} for name, healthy in details.items()}
        return {"isHealthy": kafka and log, "details": shown, "serverState": "READY"}

    def status(self, command_id: str) -> Entity | None:
        """See api.Engine."""
        wanted = _plain(command_id)
        found = (status for path, status in self._parts.state.statuses.items() if _plain(path) == wanted)
        status = next(found, None)
        return None if status is None else build.status_body(status)

    def statuses(self) -> dict[str, str]:
        """See api.Engine."""
        return {path: status.state for path, status in self._parts.state.statuses.items()}

    def is_valid_property(self, name: str) -> bool:
        """See api.Engine."""
        try:
            check_session(name, None, self._parts.server)
        except SettingRefused as refused:
            raise RequestFailed(40000, str(refused)) from refused
        return True

    def cluster_status(self) -> Entity:
        """See api.Engine. Nothing is kept on a server but what Spark's checkpoints and Kafka have."""
        alive = {"hostAlive": True, "lastStatusUpdateTimeMs": 0, "activeStandbyPerQuery": {}, "hostStoreLags": {}}
        return {"clusterStatus": {self._parts.host: alive}}

    def terminate_cluster(self, delete_topics: Sequence[str]) -> None:
        """See api.Engine."""
        state, kafka = self._parts.state, self._parts.kafka
        if state.wanted:
            self.execute(Request("TERMINATE ALL;"))
        sinks = {s.topic for s in state.catalog.sources.values()}
        doomed = [t for t in sinks if any(re.fullmatch(pattern, t) for pattern in delete_topics)]
        try:
            kafka.delete(*doomed, self._parts.log.topic)
        except KafkaException as failure:
            raise RequestFailed(50000, f"could not delete the topics: {failure}") from failure


def _plain(path: str) -> str:
    """A command's id without the quotes around names."""
    return path.replace("`", "")
