"""The syntax tree of queries: SELECT … FROM … and its clauses. tree.py exports these classes too."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import Enum

from millstream.syntax.expression_tree import Duration, Expression, SyntaxNode


class WindowKind(Enum):
    """The kinds of windows, by keyword."""

    TUMBLING = "TUMBLING"
    HOPPING = "HOPPING"
    SESSION = "SESSION"


@dataclass(frozen=True, slots=True)
class WindowClause(SyntaxNode):
    """`WINDOW kind (…)`; for SESSION windows `size` is the inactivity gap. Absent clauses are None.

    `offset` is the time after midnight UTC at which windows of a day begin, and shifts those of other sizes likewise.
    """

    kind: WindowKind
    size: Duration
    advance: Duration | None = None
    offset: Duration | None = None
    retention: Duration | None = None
    grace: Duration | None = None


@dataclass(frozen=True, slots=True)
class SelectItem(SyntaxNode):
    """An item of the projection."""


@dataclass(frozen=True, slots=True)
class SelectOne(SelectItem):
    """A projected expression: `expression [AS alias]`."""

    expression: Expression
    alias: str | None = None


@dataclass(frozen=True, slots=True)
class SelectAll(SelectItem):
    """All columns: `*`, or `source.*` if `source` is set."""

    source: str | None = None


@dataclass(frozen=True, slots=True)
class SelectFields(SelectItem):
    """All fields of a struct: `struct->*`."""

    struct: Expression


@dataclass(frozen=True, slots=True)
class FromSource(SyntaxNode):
    """A stream or table in FROM, with its alias if it has one."""

    name: str
    alias: str | None = None


@dataclass(frozen=True, slots=True)
class FromQuery(FromSource):
    """An inner query: `(query) [AS alias]` in FROM; `name` is the alias, or "" if there is none.

    `view` is the name of the view whose query it is, if FROM names a view; a parsed tree has FromSource for that.
    """

    query: "SelectQuery" = field(kw_only=True)
    view: str | None = field(default=None, kw_only=True)


@dataclass(frozen=True, slots=True)
class FromUnion(FromSource):
    """A union as a source: `(query UNION [ALL] query …) [AS alias]`; `distinct` is false for UNION ALL."""

    branches: tuple["SelectQuery", ...] = field(kw_only=True)
    distinct: bool = field(kw_only=True)


class JoinKind(Enum):
    """The kinds of joins, by keyword."""

    INNER = "INNER"
    LEFT = "LEFT"
    RIGHT = "RIGHT"
    FULL = "FULL"


@dataclass(frozen=True, slots=True)
class Within(SyntaxNode):
    """The window of a stream-stream join: `WITHIN d` (before = after) or `WITHIN (before, after)`, with its grace."""

    before: Duration
    after: Duration
    grace: Duration | None = None


@dataclass(frozen=True, slots=True)
class JoinClause(SyntaxNode):
    """A join clause: `kind JOIN source [WITHIN …] ON condition`."""

    kind: JoinKind
    source: FromSource
    condition: Expression
    within: Within | None = None


class Emit(Enum):
    """When rows are emitted: at each change, or once when their window closes."""

    CHANGES = "CHANGES"
    FINAL = "FINAL"


@dataclass(frozen=True, slots=True)
class OrderItem(SyntaxNode):
    """An ORDER BY item: `expression [ASC | DESC] [NULLS FIRST | LAST]`; `nulls_first` is None if unspecified."""

    expression: Expression
    descending: bool = False
    nulls_first: bool | None = None


@dataclass(frozen=True, slots=True)
class SelectQuery(SyntaxNode):
    """A query; `group_by` and `partition_by` are None if the clause is absent.

    `key_names` are the aliases (AS) in GROUP BY or PARTITION BY, None for an expression without one, () if there are
    none at all; `structured` is true if the key is written STRUCT<…>. `emit` is None for a pull query, and for a
    persistent query that does not specify it. Only pull queries may have `distinct`, `order_by` and `offset`.
    """

    items: tuple[SelectItem, ...]
    source: FromSource
    joins: tuple[JoinClause, ...] = ()
    window: WindowClause | None = None
    where: Expression | None = None
    group_by: tuple[Expression, ...] | None = None
    partition_by: tuple[Expression, ...] | None = None
    having: Expression | None = None
    emit: Emit | None = None
    limit: int | None = None
    key_names: tuple[str | None, ...] = ()
    structured: bool = False
    distinct: bool = False
    order_by: tuple[OrderItem, ...] = ()
    offset: int = 0

    def sources(self) -> tuple[FromSource, ...]:
        """The sources in FROM, from left to right."""
        return (self.source, *(join.source for join in self.joins))

    def inner(self) -> tuple["SelectQuery", ...]:
        """The inner queries in FROM, from left to right, the branches of unions included."""
        return tuple(query for source in self.sources() for query in _queries(source))

    def without_inner(self) -> "SelectQuery":
        """The query's own clauses: in FROM a source of its alias stands for each inner query."""
        joins = tuple(replace(join, source=_named(join.source)) for join in self.joins)
        return replace(self, source=_named(self.source), joins=joins)

    def tables_read(self) -> Iterator[str]:
        """Yields the names of the streams and tables it reads, including those of inner queries, with repetitions."""
        for source in self.walk():
            if isinstance(source, FromSource) and not isinstance(source, FromQuery | FromUnion):
                yield source.name


def _named(source: FromSource) -> FromSource:
    inner = isinstance(source, FromQuery | FromUnion)
    return FromSource(source.name, source.alias, span=source.span) if inner else source


def _queries(source: FromSource) -> tuple[SelectQuery, ...]:
    match source:
        case FromQuery(query=query):
            return (query,)
        case FromUnion(branches=branches):
            return branches
    return ()
