"""The engine's interface, as the server and the tests use it.

Entities are JSON objects of the REST API (docs/reference/rest.md), each with "@type", "statementText" and "warnings".
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from millstream.catalog.catalog import Catalog
from millstream.model.secrets import masked
from millstream.model.types import SqlType
from millstream.services.loop import Loop
from millstream.syntax import tree

Entity = dict[str, Any]
MissingRight = Callable[[tree.Statement, Catalog], str]


@dataclass(frozen=True, slots=True)
class Request:
    """Statements and the session in which they are executed.

    `properties` are the session's SETs, `variables` its DEFINEs. `sequence` is the number of a command that must have
    been applied before the statements run (read-your-writes); None if there is no such condition. `missing_right` is
    called for each statement before it is executed; it returns the right that the user lacks, "" if none.
    `continuation` is the token after which a push query goes on, "" if it begins anew.
    """

    text: str
    properties: Mapping[str, Any] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    sequence: int | None = None
    missing_right: MissingRight = lambda statement, catalog: ""
    continuation: str = ""


class RequestFailed(Exception):
    """A refused request: `code` as in docs/rest-api.md (HTTP status × 100 + detail), `message` for the user.

    `statement` is the text of the failed statement with its passwords masked ("" if there is none); `entities` are the
    answers of the statements before it.
    """

    def __init__(self, code: int, message: str, statement: str = "", entities: Sequence[Entity] = ()) -> None:
        self.code, self.message, self.statement, self.entities = code, message, masked(statement), tuple(entities)
        super().__init__(message)


class Tombstone(list[Any]):
    """A row of a table's changelog that deletes a key: the key's columns have values, the others are None."""


class RowBatch(list[list[Any]]):
    """Rows that several clients get, and the next offset of each partition after them.

    `texts` has their text in each form that was needed, so that it is computed once.
    """

    def __init__(self, rows: Iterable[list[Any]], positions: Mapping[int, int] | None = None) -> None:
        super().__init__(rows)
        self.positions: Mapping[int, int] = positions or {}
        self.texts: dict[object, str] = {}


class Rows(Protocol):
    """The answer of a query: its columns, and its rows one by one as they arrive."""

    query_id: str
    names: Sequence[str]
    types: Sequence[SqlType]
    schema: str  # "`A` INTEGER, `B` STRING"
    push: bool
    short: bool  # a look-up by key: its rows are few, and are read without waiting
    ending: str  # after the last row of /query: "Limit Reached", "Query Completed", "" (a pull from a table)

    def __iter__(self) -> Iterator[list[Any] | None]:
        """Rows as JSON values; at times None while no row arrives, so that a caller may stop; ends at LIMIT."""
        ...

    def close(self) -> None:
        """End the query and free its resources; may be called from another thread, and more than once."""
        ...


class PreparedLookup(Protocol):
    """A look-up by key that is already planned."""

    @property
    def table(self) -> str:
        """The name of the table that it reads; look-ups in one table can run together."""
        ...


@runtime_checkable
class BatchedRows(Rows, Protocol):
    """Rows that come in batches.

    `token` encodes the positions of a RowBatch as a continuation token; None if the client gets no tokens.
    """

    token: Callable[[Mapping[int, int]], str] | None

    @property
    def ended(self) -> bool:
        """True once no more rows will arrive."""
        ...

    def arrived(self) -> list[Sequence[list[Any]]]:
        """The batches that have arrived since the last call, without waiting; a RowBatch is shared with other clients.

        An empty RowBatch has positions only. Raises RequestFailed if the query has failed.
        """
        ...

    def listen(self, on_arrival: Callable[[], object]) -> None:
        """Call a function after batches have arrived, and after the end; any thread calls it, so it must not block."""
        ...


class Engine(Protocol):
    """The engine: it takes statements and returns entities and rows. All methods are thread-safe and block."""

    @property
    def catalog(self) -> Catalog:
        """The sources, types and queries that the statements have created; each change gives a new value."""
        ...

    def watch(self, loop: Loop[Any]) -> None:
        """Show a loop's failures in the health check, and end the process for one that will not recover."""
        ...

    def execute(self, request: Request) -> list[Entity]:
        """Execute statements other than queries, in order; return the entities of those that have one.

        SET/UNSET/DEFINE/UNDEFINE in the text apply to the statements after them. Raises RequestFailed.
        """
        ...

    def query(self, request: Request) -> Rows:
        """Start the only SELECT in the text. Raises RequestFailed."""
        ...

    def prepared_lookup(self, request: Request) -> PreparedLookup | None:
        """The look-up by key in the text, if its shape is known, the user may run it, and Python evaluates its rows.

        None for every other text: `query` runs or refuses it. It does not block.
        """
        ...

    def look_up(self, lookups: Sequence[PreparedLookup]) -> list[Rows]:
        """Start look-ups in one table, all of them as of one moment after the call. Raises RequestFailed."""
        ...

    def print_topic(self, request: Request) -> Iterator[str | None]:
        """The lines of the only PRINT in the text; at times None while no record arrives. Raises RequestFailed."""
        ...

    def is_print(self, request: Request) -> bool:
        """True if the text's only statement is a PRINT.

        Raises RequestFailed if it neither parses nor begins with SELECT, whose errors `query` raises.
        """
        ...

    def close_query(self, query_id: str) -> bool:
        """End a running push query; False if that id does not exist."""
        ...

    def inserter(self, target: str, properties: Mapping[str, Any], missing_right: MissingRight) -> "Inserter":
        """A writer of rows to a source. Raises RequestFailed if it does not exist, or is read-only, or a right is
        missing."""
        ...

    def info(self) -> Entity:
        """The body of GET /info: `version` is the ksqlDB's that is followed, `millstreamVersion` our own."""
        ...

    def health(self) -> Entity:
        """The body of GET /healthcheck."""
        ...

    def observe(self, missing_right: MissingRight) -> Entity:
        """The server, its sources and its queries with their figures, in the form that engine/observation.py shows.

        Sources and queries for which `missing_right` reports a missing right are left out.
        """
        ...

    def recent(self, topic: str, count: int, missing_right: MissingRight) -> list[Entity]:
        """The last records of a topic, at most `count`, oldest first, in the form that engine/recent.py shows.

        Raises RequestFailed if a right is missing, the topic does not exist, or Kafka does not answer.
        """
        ...

    def fatal(self) -> str:
        """Why the engine needs a new process to recover; "" if it works or recovers by itself. Cheap to call."""
        ...

    def kill(self) -> None:
        """End the engine's JVM at once, as a crash would."""
        ...

    def status(self, command_id: str) -> Entity | None:
        """The status of one command by its id type/name/action; None if it is unknown."""
        ...

    def statuses(self) -> dict[str, str]:
        """The state of every command by id."""
        ...

    def is_valid_property(self, name: str) -> bool:
        """True if a session may set the property. Raises RequestFailed with 40000 and a reason if not."""
        ...

    def cluster_status(self, missing_right: MissingRight) -> Entity:
        """The body of GET /clusterStatus, in the form that engine/cluster_status.py shows.

        Queries whose sources `missing_right` reports as not readable are left out.
        """
        ...

    def heartbeat(self, host: str) -> None:
        """Another server of the service, at `host` (host:port), is alive. It does not block."""
        ...

    def report_lags(self, host: str, lags: Mapping[str, Any]) -> None:
        """Store how far the stores of the server at `host` are behind: `hostStoreLags` of /lag. It does not block."""
        ...

    def terminate_cluster(self, delete_topics: Sequence[str]) -> Entity:
        """Stop all queries, delete the topics that match the patterns and the command topic; the answer's entity."""
        ...


class Inserter(Protocol):
    """A writer of JSON rows to one source."""

    def insert(self, row: Mapping[str, Any]) -> None:
        """Write a row (column name → JSON value), and wait until Kafka has acknowledged it. Raises RequestFailed."""
        ...

    def insert_all(self, rows: Sequence[Mapping[str, Any]]) -> Sequence[RequestFailed | None]:
        """Write rows in order, up to the first that is refused, and wait until Kafka has acknowledged them.

        Returns None for each row, and at last why one was refused. What Kafka refuses is found out later: rows behind
        it may be written. /inserts-stream calls this with all rows that have arrived: one wait for Kafka instead of one
        for each row.
        """
        ...

    def close(self) -> None:
        """Release resources; rows that were acknowledged stay written."""
        ...
