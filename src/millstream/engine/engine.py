"""The engine: a server's components put together behind the interface api.Engine."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from confluent_kafka import KafkaException

from millstream.analysis.reserved_topics import deletable
from millstream.catalog.catalog import Catalog
from millstream.engine import bootstrap, execute, log_stream, printing, pull_queries, recent, transient
from millstream.engine.api import Entity, Inserter, MissingRight, PreparedLookup, Request, RequestFailed, Rows
from millstream.engine.cluster_status import KnownServers, own_status
from millstream.engine.context import EngineContext
from millstream.engine.entities import build
from millstream.engine.heartbeats import WINDOW, Heartbeats, intervals
from millstream.engine.insert import RowWriter
from millstream.engine.lookups import PlannedLookup, PlannedLookups, is_select
from millstream.engine.observation import Observer
from millstream.engine.queries_file import QUERIES_FILE, FileOutcome, carry_out, refusing_definitions
from millstream.engine.schema_id_records import SchemaIdRecords
from millstream.engine.session import RequestSession
from millstream.engine.state import QUEUED
from millstream.engine.supervisor import QueryHealth
from millstream.model.settings import SettingRefused, check_session
from millstream.services.loop import Loop
from millstream.spark.session import Session as Spark
from millstream.syntax import tree

# The ksqlDB whose language and API this engine follows. Clients of ksqlDB refuse servers of unknown versions.
KSQLDB_VERSION = "0.29.0"


class MillstreamEngine:
    """An open engine. `close` it when done."""

    def __init__(self, properties: Mapping[str, str], spark: Spark | None = None) -> None:
        """Open an engine with a server's properties; bootstrap.servers is required. Takes some seconds.

        `spark` is a session to share with others; by default the engine creates its own. Raises EngineCannotStart.
        """
        self._context: EngineContext = bootstrap.open_engine(properties, spark)
        self._cluster = self._context.kafka.cluster()
        self._lookups = PlannedLookups(self._context)
        log_stream.declare(self._context)
        self._observer = Observer(self._context)
        self._known_servers = KnownServers(int(self._context.server[WINDOW]) / 1000)
        self._sent = self._heartbeats()

    def close(self) -> None:
        """Stop everything that runs here; the next start resumes from the checkpoints."""
        if self._sent is not None:
            self._sent.close()
        bootstrap.close_engine(self._context)

    @property
    def catalog(self) -> Catalog:
        """The sources, types and queries that the statements have created."""
        return self._context.state.catalog

    def watch(self, loop: Loop[Any]) -> None:
        """Show a loop's failures in the health check, and end the process for one that will not recover."""
        self._context.loops.add(loop)

    # ------------------------------------------------------------ statements

    def execute(self, request: Request) -> list[Entity]:
        """Execute statements other than queries, in order; see docs/rest-api.md. Raises RequestFailed."""
        if file := self._context.server[QUERIES_FILE]:
            request = replace(request, missing_right=refusing_definitions(request.missing_right, file))
        return execute.execute(request, self._context)

    def carry_out_file(self) -> FileOutcome | None:
        """Bring into effect what the file `ksql.queries.file` says; None if there is no such file. Raises
        RequestFailed."""
        file = self._context.server[QUERIES_FILE]
        return carry_out(Path(file), self._context) if file else None

    def query(self, request: Request) -> Rows:
        """Start the only SELECT in the request's text. Raises RequestFailed."""
        execute.catch_up(request.sequence, self._context)
        lookup = self._lookups.find(request)
        if lookup is not None:
            return self._look_up(lookup, request)
        context = execute.only(request, self._context)
        if not isinstance(context.statement, tree.QueryStatement):
            raise RequestFailed(40000, "only SELECT and PRINT answer with rows: send this to /ksql", context.text)
        with execute.refusals(lambda: context.text):
            started = transient.start(context, self._context, request.continuation)
            if started.short:
                self._lookups.learn(request, lambda text: execute.parsed(text, request, self._context))
            return started

    def _look_up(self, lookup: PlannedLookup, request: Request) -> Rows:
        """The rows of a look-up whose shape is known. Raises RequestFailed."""
        text = request.text.strip()
        with execute.refusals(lambda: text):
            execute.check_right(lookup.statement, text, request, self._context)
            store = pull_queries.store_of(lookup.query.table, self._context)
            return pull_queries.TablePullQuery(lookup.query, lookup.accesses, store)

    def prepared_lookup(self, request: Request) -> PreparedLookup | None:
        """The look-up in the request's text, if its shape is known and its rows are plain; else None."""
        if request.sequence is not None or (lookup := self._lookups.find(request)) is None:
            return None
        if not lookup.query.reader.is_plain or request.missing_right(lookup.statement, self._context.state.catalog):
            return None
        return lookup

    def look_up(self, lookups: Sequence[PreparedLookup]) -> list[Rows]:
        """The rows of look-ups in one table, all of them from its store as of now. Raises RequestFailed."""
        planned = [lookup for lookup in lookups if isinstance(lookup, PlannedLookup)]
        with execute.refusals(lambda: ""):
            store = pull_queries.store_of(planned[0].query.table, self._context)
        return [pull_queries.TablePullQuery(lookup.query, lookup.accesses, store) for lookup in planned]

    def print_topic(self, request: Request) -> Iterator[str | None]:
        """The lines of the only PRINT in the request's text. Raises RequestFailed."""
        context = execute.only(request, self._context)
        if not isinstance(context.statement, tree.Print):
            raise RequestFailed(40000, "the statement is not a PRINT", context.text)
        with execute.refusals(lambda: context.text):
            printing.check(context.statement, self._context.kafka, self._context.server)
        schema_ids = SchemaIdRecords(self._context.schemas)
        return printing.lines(context.statement, context.settings, self._context.kafka, schema_ids)

    def is_print(self, request: Request) -> bool:
        """True if the request's only statement is a PRINT.

        Raises RequestFailed if it neither parses nor begins with SELECT, whose errors `query` raises.
        """
        # A text that begins with SELECT is not parsed here: `query` parses it, and refuses more than one statement.
        if is_select(request.text):
            return False
        return isinstance(execute.only(request, self._context).statement, tree.Print)

    def close_query(self, query_id: str) -> bool:
        """End a running push query; False if that id does not exist."""
        query = self._context.push.get(query_id)
        if query is not None:
            query.close()
        return query is not None

    def inserter(self, target: str, properties: Mapping[str, Any], missing_right: MissingRight) -> Inserter:
        """A writer of rows to `target`. Raises RequestFailed if it cannot be written to, or a right is missing."""
        session = RequestSession(Request("", properties), self._context.server)
        writer = RowWriter(target, session, self._context)
        missing = missing_right(tree.InsertValues(writer.source.name, (), ()), self.catalog)
        if missing:
            raise RequestFailed(execute.FORBIDDEN, missing)
        return writer

    # ------------------------------------------------------------ facts about the server

    def info(self) -> Entity:
        """The body of GET /info: versions of ksqlDB and of millstream, Kafka cluster, service id and status."""
        body = {
            "version": KSQLDB_VERSION,
            "millstreamVersion": version("millstream"),
            "kafkaClusterId": self._cluster,
            "ksqlServiceId": self._context.server["ksql.service.id"],
            "serverStatus": "RUNNING",
        }
        return {"KsqlServerInfo": body}

    def health(self) -> Entity:
        """The body of GET /healthcheck: ksqlDB's three details, and each loop of the server that is failing, with the
        reason."""
        return _health(self._context)

    def observe(self, missing_right: MissingRight) -> Entity:
        """The server, its sources and its queries with their figures, as far as the user may read them."""
        return self._observer.observe(missing_right)

    def progress(self, query_id: str) -> tuple[Mapping[str, Any], QueryHealth | None]:
        """Spark's report of a persistent query's last batch, empty before its end, and the query's health.

        The health is None if another server runs the query, or none. Sends no request to Kafka.
        """
        supervisor = self._context.supervisor
        return supervisor.progress(query_id), supervisor.health(query_id)

    def recent(self, topic: str, count: int, missing_right: MissingRight) -> list[Entity]:
        """The last records of a topic, at most `count`, oldest first.

        Raises RequestFailed if the user may not PRINT the topic, it does not exist, or Kafka does not answer.
        """
        context, printed = self._context, tree.Print(topic, limit=count)
        missing = missing_right(printed, self.catalog)
        if missing:
            raise RequestFailed(execute.FORBIDDEN, missing)
        with execute.refusals(lambda: ""):
            printing.check(printed, context.kafka, context.server)
            return recent.records(topic, count, context.kafka, SchemaIdRecords(context.schemas))

    def fatal(self) -> str:
        """Why a new process is needed: a loop has failed for a long time, or the JVM is dead; else ""."""
        return self._context.loops.fatal()

    def kill(self) -> None:
        """End the engine's JVM at once, as a crash would."""
        self._context.spark.kill()

    def status(self, command_id: str) -> Entity | None:
        """The status of a command by its id, type/name/action; None if it is unknown."""
        desired = _plain(command_id)
        matching = (status for path, status in self._context.statuses.items() if _plain(path) == desired)
        status = next(matching, None)
        return None if status is None else build.status_body(status)

    def statuses(self) -> dict[str, str]:
        """The state of every command, by its id."""
        return {path: status.state for path, status in self._context.statuses.items()}

    def is_valid_property(self, name: str) -> bool:
        """True if a session may set the property. Raises RequestFailed with 40000 and the reason if not."""
        try:
            check_session(name, None, self._context.server)
        except SettingRefused as refused:
            raise RequestFailed(40000, str(refused)) from refused
        return True

    def cluster_status(self, missing_right: MissingRight) -> Entity:
        """The body of GET /clusterStatus: this server, and the servers that have sent heartbeats."""
        queries, host = self._observer.observe(missing_right)["queries"], self._context.host
        others = self._known_servers.statuses({query["id"] for query in queries})
        return {"clusterStatus": {**others, host: own_status(queries, self._context.state.stateful)}}

    def heartbeat(self, host: str) -> None:
        """Another server of the service, at `host` (host:port), is alive."""
        self._known_servers.heartbeat(host)

    def report_lags(self, host: str, lags: Mapping[str, Any]) -> None:
        """Store the lags of the server at `host`: `hostStoreLags` of its /lag. It does not block."""
        self._known_servers.report_lags(host, lags)

    def _own_lags(self) -> Entity:
        """This server's lags in the form of `hostStoreLags`, for the other servers."""
        queries = self._observer.observe(lambda statement, catalog: "")["queries"]
        return dict(own_status(queries, self._context.state.stateful)["hostStoreLags"])

    def _heartbeats(self) -> Heartbeats | None:
        """What sends heartbeats to the other servers, started; None if it is off."""
        context = self._context
        delays = intervals(context.server)
        if delays is None:
            return None
        heartbeats = Heartbeats(
            context.url, delays, lambda: context.kafka.client_ids(context.lease.group), self._own_lags
        )
        context.loops.add(heartbeats.loop)
        heartbeats.loop.start()
        return heartbeats

    def terminate_cluster(self, delete_topics: Sequence[str]) -> Entity:
        """Stop all queries, delete the sink topics that match the patterns, and the command topic.

        Returns ksqlDB's answer: the status of a command, though none is logged. Raises RequestFailed.
        """
        patterns = [_pattern(text) for text in delete_topics]
        state, kafka = self._context.state, self._context.kafka
        if state.desired:
            self.execute(Request("TERMINATE ALL;"))
        catalog, server = state.catalog, self._context.server
        sinks = {s.topic for s in catalog.sources.values() if deletable(s.topic, catalog, server)}
        deleted_topics = [topic for topic in sinks if any(pattern.fullmatch(topic) for pattern in patterns)]
        try:
            kafka.delete(*deleted_topics, self._context.log.topic)
        except KafkaException as failure:
            raise RequestFailed(50000, f"could not delete the topics: {failure}") from failure
        position = self._context.state.position
        return build.current_status("TERMINATE CLUSTER;", "terminate/CLUSTER/execute", QUEUED, position)


def _pattern(text: str) -> re.Pattern[str]:
    """A compiled pattern of topic names. Raises RequestFailed 40000 if it is not valid."""
    try:
        return re.compile(text)
    except (re.error, RecursionError, OverflowError) as error:
        raise RequestFailed(40000, f'"deleteTopicList" has no valid pattern: {text[:100]} ({error})') from error


def _health(context: EngineContext) -> Entity:
    loops = context.loops.health()
    errors = {name: health.error for name, health in loops.items() if health.error}
    kafka = context.kafka.answers()
    log = errors.pop(context.follower.loop.name, "")
    details: Entity = {
        "metastore": _detail(log),
        "kafka": _detail("" if kafka else "no broker answers"),
        "commandRunner": _detail(log),
        **{name: _detail(error) for name, error in errors.items()},
    }
    if context.follower.skipped:
        details["commandRunner"]["skippedCommands"] = list(context.follower.skipped)
    healthy = all(detail["isHealthy"] for detail in details.values())
    return {"isHealthy": healthy, "details": details, "serverState": "READY" if healthy else "ERROR"}


def _detail(error: str) -> Entity:
    """One line of /healthcheck in ksqlDB's form, with the error."""
    return {"isHealthy": not error, **({"message": error} if error else {})}


def _plain(path: str) -> str:
    """A command's id without quotes around names."""
    return path.replace("`", "")
