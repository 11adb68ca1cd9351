"""What the server and the tests may ask of an engine: the one door to it.

Entities are JSON objects of the REST API (docs/reference/rest.md), each with "@type", "statementText" and "warnings".
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from millstream.catalog.catalog import Catalog
from millstream.model.secrets import masked
from millstream.model.types import SqlType
from millstream.syntax import tree

Entity = dict[str, Any]
MissingRight = Callable[[tree.Statement, Catalog], str]


@dataclass(frozen=True, slots=True)
class Request:
    """Statements and the session they are said in.

    `properties` are the session's SETs, `variables` its DEFINEs. `sequence` is the command number that must have
    been applied before the statements run (read-your-writes), None where it does not matter. `missing_right` says of
    each statement, before it is carried out, what right is lacking, "" where none is.
    """

    text: str
    properties: Mapping[str, Any] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    sequence: int | None = None
    missing_right: MissingRight = lambda statement, catalog: ""


class RequestFailed(Exception):
    """A request that was refused: `code` as in docs/rest-api.md (HTTP status × 100 + detail), `message` for the user.

    `statement` is the text of the statement at fault, its passwords masked ("" where none is), `entities` what was done
    before it.
    """

    def __init__(self, code: int, message: str, statement: str = "", entities: Sequence[Entity] = ()) -> None:
        self.code, self.message, self.statement, self.entities = code, message, masked(statement), tuple(entities)
        super().__init__(message)


class Tombstone(list[Any]):
    """A row of a table's changes that tells that the row of this key is gone: the key's columns, else None."""


class Rows(Protocol):
    """The answer of a query, being made: its columns, and its rows one by one as they come."""

    query_id: str
    names: Sequence[str]
    types: Sequence[SqlType]
    schema: str  # "`A` INTEGER, `B` STRING"
    push: bool
    ending: str  # what /query says after the last row: "Limit Reached", "Query Completed", "" (a pull from a table)

    def __iter__(self) -> Iterator[list[Any] | None]:
        """Rows as JSON values; None now and then while nothing comes, so that a caller may stop; ends at LIMIT."""
        ...

    def close(self) -> None:
        """End the query and free what it holds; may be called from another thread, and more than once."""
        ...


class Engine(Protocol):
    """The engine: statements in, entities and rows out. All methods may be called from any thread, and block."""

    def execute(self, request: Request) -> list[Entity]:
        """Carry out statements that are not queries, in order; the entities of those that answer.

        SET/UNSET/DEFINE/UNDEFINE inside the text hold for the statements after them. Raises RequestFailed.
        """
        ...

    def query(self, request: Request) -> Rows:
        """Start the one SELECT in the text. Raises RequestFailed."""
        ...

    def print_topic(self, request: Request) -> Iterator[str | None]:
        """The lines of the one PRINT in the text; None now and then while nothing comes. Raises RequestFailed."""
        ...

    def is_print(self, request: Request) -> bool:
        """Whether the (single) statement of the text is a PRINT. Raises RequestFailed where it does not parse."""
        ...

    def close_query(self, query_id: str) -> bool:
        """End a running push query; False where there is none of that id."""
        ...

    def inserter(self, target: str, properties: Mapping[str, Any], missing_right: MissingRight) -> "Inserter":
        """A writer of rows to a source. Raises RequestFailed where it is none that can be written to, or may not be."""
        ...

    def info(self) -> Entity:
        """The body of GET /info."""
        ...

    def health(self) -> Entity:
        """The body of GET /healthcheck."""
        ...

    def observe(self, missing_right: MissingRight) -> Entity:
        """The server, the sources and the queries that one may read, with their figures; see observation.py."""
        ...

    def recent(self, topic: str, count: int, missing_right: MissingRight) -> list[Entity]:
        """The last records of a topic, at most `count`; see recent.py. Raises RequestFailed."""
        ...

    def fatal(self) -> str:
        """Why only a new process will mend the engine, "" where it is well or mends itself; costs little."""
        ...

    def kill(self) -> None:
        """End the engine's JVM at once, as a crash would."""
        ...

    def status(self, command_id: str) -> Entity | None:
        """The status of one command by its id type/name/action, None where unknown."""
        ...

    def statuses(self) -> dict[str, str]:
        """The state of every command by id."""
        ...

    def is_valid_property(self, name: str) -> bool:
        """Whether a session may set the property. Raises RequestFailed with 40000 and a reason where not."""
        ...

    def cluster_status(self) -> Entity:
        """The body of GET /clusterStatus."""
        ...

    def terminate_cluster(self, delete_topics: Sequence[str]) -> None:
        """Stop all queries, delete the topics that match the patterns and the command topic."""
        ...


class Inserter(Protocol):
    """A writer of JSON rows to one source."""

    def insert(self, row: Mapping[str, Any]) -> None:
        """Write a row given as column name → JSON value, and wait until Kafka has it. Raises RequestFailed."""
        ...

    def insert_all(self, rows: Sequence[Mapping[str, Any]]) -> Sequence[RequestFailed | None]:
        """Write rows in order and wait until Kafka has them all; for each row None, or why it was refused.

        /inserts-stream calls this with all rows that have arrived: one wait for Kafka instead of one a row.
        """
        ...

    def close(self) -> None:
        """Release what the inserts need; rows that were acknowledged stay written."""
        ...
