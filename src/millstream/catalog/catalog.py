"""The catalog: sources, types and queries as one frozen value; each change returns a new one, as for a dry run."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum

from millstream.catalog.functions import UserFunction
from millstream.catalog.schemas import PhysicalSchema
from millstream.model.schema import Schema
from millstream.model.types import SqlType


class RelationKind(Enum):
    """STREAM if a source's records are events, TABLE if they are the rows of a table."""

    STREAM = "STREAM"
    TABLE = "TABLE"


@dataclass(frozen=True, slots=True)
class Serde:
    """The format of one side of a record.

    `format` is its upper-case name. `wrap` is the explicit wrapping of a single column; None if the format and the
    settings decide. `properties` are the format's own, e.g. delimiter, ordered by name. `schema` is the schema of the
    records, if the format has schemas.
    """

    format: str
    wrap: bool | None = None
    properties: tuple[tuple[str, str], ...] = ()
    schema: PhysicalSchema | None = None

    def get(self, name: str) -> str | None:
        """The format property `name`; None if it is not set."""
        return dict(self.properties).get(name)


@dataclass(frozen=True, slots=True)
class Timestamp:
    """The column with a record's time, and the pattern to parse it if it is text."""

    column: str
    pattern: str | None = None


@dataclass(frozen=True, slots=True)
class Windowed:
    """The windows in a source's keys: their type (TUMBLING, HOPPING, SESSION) and size in ms (None for sessions)."""

    type: str
    size_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """A stream or table: a logical schema over a topic.

    `created_by` is the id of the query that CREATE … AS started; None for a declared source.
    `statement` is the text that created it. `read_only` marks CREATE SOURCE. `rebuilds` is the source whose
    name it will have when its query has caught up (CREATE OR REPLACE … WITH (REBUILD=true)). `derived_from` are the
    names of the sources that its query reads, or has read.
    """

    name: str
    kind: RelationKind
    schema: Schema
    topic: str
    key: Serde
    value: Serde
    statement: str = ""
    timestamp: Timestamp | None = None
    windowed: Windowed | None = None
    read_only: bool = False
    created_by: str | None = None
    rebuilds: str | None = None
    derived_from: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TableIndex:
    """An index of a table (CREATE INDEX): pull queries find rows by the values of these `columns`."""

    name: str
    table: str
    columns: tuple[str, ...]
    statement: str = ""


@dataclass(frozen=True, slots=True)
class View:
    """A view (CREATE VIEW): a query that FROM can name. It has no topic, no state, and no query that runs."""

    name: str
    statement: str


class QueryKind(Enum):
    """How a persistent query was created; the value is the prefix of its id."""

    CREATE_STREAM_AS = "CSAS"
    CREATE_TABLE_AS = "CTAS"
    INSERT = "INSERTQUERY"
    CREATE_SOURCE_TABLE = "CST"


class QueryState(Enum):
    """The state of a query that the user requested; the supervisor knows the actual one."""

    RUNNING = "RUNNING"
    PAUSED = "PAUSED"


@dataclass(frozen=True, slots=True)
class PersistentQuery:
    """A persistent query: reads `sources`, writes `sink`; `settings` are the session's overrides at its creation.

    `functions` are the names of the users' functions that it calls, `definitions` its sources as they were at its
    creation: a source may have more columns since, which the query's state does not have. `views` are those
    that it reads, also through others, as they were at that time.
    """

    id: str
    kind: QueryKind
    sources: tuple[str, ...]
    sink: str
    statement: str
    settings: tuple[tuple[str, str], ...] = ()
    state: QueryState = QueryState.RUNNING
    functions: tuple[str, ...] = ()
    definitions: tuple[Source, ...] = ()
    views: tuple[View, ...] = ()


@dataclass(frozen=True, slots=True)
class Catalog:
    """All sources, types, users' functions, persistent queries, indexes and views by name; the next query's number.

    `topics` are those that statements have created and not deleted, `system` the settings that ALTER SYSTEM has set, by
    canonical name.
    """

    sources: Mapping[str, Source] = field(default_factory=dict)
    types: Mapping[str, SqlType] = field(default_factory=dict)
    queries: Mapping[str, PersistentQuery] = field(default_factory=dict)
    next_query: int = 0
    functions: Mapping[str, UserFunction] = field(default_factory=dict)
    topics: frozenset[str] = frozenset()
    indexes: Mapping[str, TableIndex] = field(default_factory=dict)
    system: Mapping[str, str] = field(default_factory=dict)
    views: Mapping[str, View] = field(default_factory=dict)

    def with_source(self, source: Source) -> "Catalog":
        """This catalog with `source` added or replaced."""
        return replace(self, sources={**self.sources, source.name: source})

    def without_source(self, name: str) -> "Catalog":
        """This catalog without the source `name`."""
        return replace(self, sources={n: s for n, s in self.sources.items() if n != name})

    def with_query(self, query: PersistentQuery) -> "Catalog":
        """This catalog with `query` added or replaced."""
        return replace(self, queries={**self.queries, query.id: query})

    def with_new_query(self, query: PersistentQuery) -> "Catalog":
        """This catalog with `query` added or replaced; the number for the next query is incremented."""
        return replace(self.with_query(query), next_query=self.next_query + 1)

    def without_query(self, id: str) -> "Catalog":
        """This catalog without the query `id`."""
        return replace(self, queries={n: q for n, q in self.queries.items() if n != id})

    def with_type(self, name: str, type: SqlType) -> "Catalog":
        """This catalog with the custom type `name`."""
        return replace(self, types={**self.types, name: type})

    def without_type(self, name: str) -> "Catalog":
        """This catalog without the custom type `name`."""
        return replace(self, types={n: t for n, t in self.types.items() if n != name})

    def with_function(self, function: UserFunction) -> "Catalog":
        """This catalog with `function` added or replaced."""
        return replace(self, functions={**self.functions, function.name: function})

    def without_function(self, name: str) -> "Catalog":
        """This catalog without the user's function `name`."""
        return replace(self, functions={n: f for n, f in self.functions.items() if n != name})

    def with_index(self, index: TableIndex) -> "Catalog":
        """This catalog with `index` added."""
        return replace(self, indexes={**self.indexes, index.name: index})

    def without_index(self, name: str) -> "Catalog":
        """This catalog without the index `name`."""
        return replace(self, indexes={n: i for n, i in self.indexes.items() if n != name})

    def indexes_of(self, table: str) -> tuple[TableIndex, ...]:
        """The indexes of a table, in the order of their creation."""
        return tuple(index for index in self.indexes.values() if index.table == table)

    def with_view(self, view: View) -> "Catalog":
        """This catalog with `view` added or replaced."""
        return replace(self, views={**self.views, view.name: view})

    def without_view(self, name: str) -> "Catalog":
        """This catalog without the view `name`."""
        return replace(self, views={n: v for n, v in self.views.items() if n != name})

    def view_readers(self, name: str) -> tuple[str, ...]:
        """The ids of the queries that read the view `name`, or one of that name that was replaced."""
        return tuple(q.id for q in self.queries.values() if any(view.name == name for view in q.views))

    def with_system(self, name: str, value: str) -> "Catalog":
        """This catalog with the value that ALTER SYSTEM gives the setting `name`."""
        return replace(self, system={**self.system, name: value})

    def callers(self, name: str) -> tuple[str, ...]:
        """The ids of the queries that call the user's function `name`."""
        return tuple(q.id for q in self.queries.values() if name in q.functions)

    def rebuild_of(self, name: str) -> Source | None:
        """The source that will replace the source `name`; None if that is not being rebuilt."""
        return next((source for source in self.sources.values() if source.rebuilds == name), None)

    def derived(self, name: str) -> tuple[str, ...]:
        """The names of the sources that CREATE … AS has made from the source `name`, whether or not a query runs."""
        return tuple(sorted(source.name for source in self.sources.values() if name in source.derived_from))

    def readers(self, name: str) -> tuple[str, ...]:
        """The ids of the queries that read the source `name`."""
        return tuple(q.id for q in self.queries.values() if name in q.sources)

    def writers(self, name: str) -> tuple[str, ...]:
        """The ids of the queries that write the source `name`."""
        return tuple(q.id for q in self.queries.values() if q.sink == name)
