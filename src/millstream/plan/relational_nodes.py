"""The plan of a relational pull query: the operators of relational algebra over the rows that tables have.

A node's columns are all value columns: expressions refer to them as ColumnPlace.VALUE by position in the node's source.
Of a table these are its key, the bounds of its windows if it has any, ROWTIME, and its value, in this order.
"""

from dataclasses import dataclass, replace

from millstream.analysis.typed_expressions import ColumnPlace, ColumnReference, TypedExpression
from millstream.catalog.catalog import RelationKind, Source
from millstream.model.schema import Column, RecordPart, Schema
from millstream.model.types import BIGINT, BYTES
from millstream.plan.nodes import AggregateCall, NamedExpression, OuterSides, PlanNode, type_of
from millstream.plan.pull_queries import Access

WINDOW_BOUNDS = ("WINDOWSTART", "WINDOWEND")


class RelationalNode(PlanNode):
    """A relation without keys: rows, in no order but below a Sort."""

    __slots__ = ()

    @property
    def kind(self) -> RelationKind:
        """A table."""
        return RelationKind.TABLE

    @property
    def columns(self) -> tuple[ColumnReference, ...]:
        """A reference to each column."""
        return tuple(ColumnReference(c.type, ColumnPlace.VALUE, i, c.name) for i, c in enumerate(self.schema.columns))


@dataclass(frozen=True, slots=True)
class TableRows(RelationalNode):
    """The rows that `accesses` reach of a table, in the order that the module's text says.

    `with_key`: behind the other columns stand the bytes of the record's key, without its window.
    """

    source: Source
    accesses: tuple[Access, ...]
    with_key: bool = False

    @property
    def schema(self) -> Schema:
        """Key, window bounds, ROWTIME, value; a header column is one of the value's."""
        own = self.source.schema
        pseudo = (*(WINDOW_BOUNDS if self.source.windowed else ()), "ROWTIME")
        values = (c for c in own if c.part is not RecordPart.KEY)
        bytes_of_key = (Column("KEY", BYTES),) if self.with_key else ()
        columns = (*own.key, *(Column(name, BIGINT) for name in pseudo), *values, *bytes_of_key)
        return Schema(tuple(replace(c, part=RecordPart.VALUE) for c in columns))

    @property
    def visible(self) -> tuple[int, ...]:
        """The places of the columns that `*` stands for: all but ROWTIME."""
        rowtime = len(self.source.schema.key) + (2 if self.source.windowed else 0)
        return tuple(i for i in range(len(self.schema.columns)) if i != rowtime)


@dataclass(frozen=True, slots=True)
class Where(RelationalNode):
    """The rows for which `condition` is true."""

    source: PlanNode
    condition: TypedExpression
    text: str

    @property
    def schema(self) -> Schema:
        """The columns of its source."""
        return self.source.schema


@dataclass(frozen=True, slots=True)
class Project(RelationalNode):
    """A row of `expressions` for each row; one that fails is null, and in the processing log."""

    source: PlanNode
    expressions: tuple[NamedExpression, ...]

    @property
    def schema(self) -> Schema:
        """A column for each expression."""
        return Schema(tuple(Column(e.name, type_of(e.expression)) for e in self.expressions))


@dataclass(frozen=True, slots=True)
class RowJoin(RelationalNode):
    """Pairs of rows of two sides for which `condition`, over the left's columns and then the right's, is true.

    Of rows for which it is true the expressions `left_keys` and `right_keys`, over their side's rows, are equal, and
    none is null. A row without counterpart stays where `outer` says so, with nulls.
    """

    left: PlanNode
    right: PlanNode
    outer: OuterSides
    left_keys: tuple[TypedExpression, ...]
    right_keys: tuple[TypedExpression, ...]
    condition: TypedExpression
    text: str

    @property
    def schema(self) -> Schema:
        """The columns of both sides."""
        return Schema((*self.left.schema.columns, *self.right.schema.columns))


@dataclass(frozen=True, slots=True)
class GroupedCall:
    """An aggregate of a group; `distinct`: rows of which its arguments were seen before do not count."""

    call: AggregateCall
    distinct: bool = False


@dataclass(frozen=True, slots=True)
class Group(RelationalNode):
    """A row for each group of rows whose `keys` are equal; without keys one row of all, even of none.

    A row of which a key is null is in no group, as in a persistent query.
    """

    source: PlanNode
    keys: tuple[NamedExpression, ...]
    aggregations: tuple[GroupedCall, ...]

    @property
    def schema(self) -> Schema:
        """The keys, then a column for each aggregate."""
        keys = (Column(k.name, type_of(k.expression)) for k in self.keys)
        return Schema((*keys, *(Column(a.call.name, a.call.type) for a in self.aggregations)))


@dataclass(frozen=True, slots=True)
class SortKey:
    """The column number `index` by which rows are sorted."""

    index: int
    descending: bool
    nulls_first: bool


@dataclass(frozen=True, slots=True)
class Sort(RelationalNode):
    """The rows in order, the first `limit` of them (None: all)."""

    source: PlanNode
    keys: tuple[SortKey, ...]
    limit: int | None = None

    @property
    def schema(self) -> Schema:
        """The columns of its source."""
        return self.source.schema


@dataclass(frozen=True, slots=True)
class Slice(RelationalNode):
    """The rows after the first `offset`, at most `limit` of them (None: all)."""

    source: PlanNode
    offset: int
    limit: int | None

    @property
    def schema(self) -> Schema:
        """The columns of its source."""
        return self.source.schema


@dataclass(frozen=True, slots=True)
class Distinct(RelationalNode):
    """Each row once."""

    source: PlanNode

    @property
    def schema(self) -> Schema:
        """The columns of its source."""
        return self.source.schema


@dataclass(frozen=True, slots=True)
class Union(RelationalNode):
    """The rows of all branches, which have the same types."""

    branches: tuple[PlanNode, ...]

    @property
    def schema(self) -> Schema:
        """The columns of the first branch."""
        return self.branches[0].schema


def tables_of(node: PlanNode) -> tuple[TableRows, ...]:
    """The tables that a plan reads, left to right; one that is read twice is there twice."""
    return tuple(n for n in node.walk() if isinstance(n, TableRows))
