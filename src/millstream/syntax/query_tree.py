"""The trees of queries: SELECT … FROM … and its clauses; see tree.py."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum

from millstream.model.units import MILLISECONDS
from millstream.syntax.expression_tree import Expression, SyntaxNode


@dataclass(frozen=True, slots=True)
class Duration(SyntaxNode):
    """`10 SECONDS`: `count` and a unit in the plural, upper case (MILLISECONDS, SECONDS, MINUTES, HOURS, DAYS)."""

    count: int
    unit: str

    @property
    def milliseconds(self) -> int:
        """The duration in milliseconds."""
        return self.count * MILLISECONDS[self.unit]


class WindowKind(Enum):
    """The kinds of windows, by keyword."""

    TUMBLING = "TUMBLING"
    HOPPING = "HOPPING"
    SESSION = "SESSION"


@dataclass(frozen=True, slots=True)
class WindowClause(SyntaxNode):
    """`WINDOW kind (…)`; `size` is the gap of a SESSION."""

    kind: WindowKind
    size: Duration
    advance: Duration | None = None
    retention: Duration | None = None
    grace: Duration | None = None


@dataclass(frozen=True, slots=True)
class SelectItem(SyntaxNode):
    """Something in a projection."""


@dataclass(frozen=True, slots=True)
class SelectOne(SelectItem):
    """`expression [AS alias]`."""

    expression: Expression
    alias: str | None = None


@dataclass(frozen=True, slots=True)
class SelectAll(SelectItem):
    """`*` or `source.*`."""

    source: str | None = None


@dataclass(frozen=True, slots=True)
class SelectFields(SelectItem):
    """`struct->*`."""

    struct: Expression


@dataclass(frozen=True, slots=True)
class FromSource(SyntaxNode):
    """A source in FROM, with its alias where one is given."""

    name: str
    alias: str | None = None


@dataclass(frozen=True, slots=True)
class FromQuery(FromSource):
    """`(query) [AS alias]` in FROM; `name` is the alias, "" without one."""

    query: "SelectQuery" = field(kw_only=True)


@dataclass(frozen=True, slots=True)
class FromUnion(FromSource):
    """`(query UNION [ALL] query …) [AS alias]` in FROM: the rows of all `branches`, each once where `distinct`."""

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
    """`WITHIN d` (before = after) or `WITHIN (before, after)`, with its GRACE PERIOD."""

    before: Duration
    after: Duration
    grace: Duration | None = None


@dataclass(frozen=True, slots=True)
class JoinClause(SyntaxNode):
    """`kind JOIN source [WITHIN …] ON condition`."""

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
    """`expression [ASC | DESC] [NULLS FIRST | LAST]` of ORDER BY; `nulls_first` None where it is not said."""

    expression: Expression
    descending: bool = False
    nulls_first: bool | None = None


@dataclass(frozen=True, slots=True)
class SelectQuery(SyntaxNode):
    """SELECT …; `group_by`/`partition_by` are None where the clause is absent.

    `key_names` are the names that the clause gives its expressions with AS, None or () where it gives none;
    `structured` says that they are written STRUCT<…>, the key's own fields. `emit` None is a pull query (or unstated).
    `distinct`, `order_by` and `offset` are of pull queries only.
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
        """The sources of its FROM, left to right."""
        return (self.source, *(join.source for join in self.joins))

    def tables_read(self) -> Iterator[str]:
        """The names of the streams and tables that it reads, those of inner queries too."""
        for source in self.walk():
            if isinstance(source, FromSource) and not isinstance(source, FromQuery | FromUnion):
                yield source.name
