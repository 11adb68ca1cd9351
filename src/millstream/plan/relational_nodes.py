"""The plan nodes of relational pull queries: operators of relational algebra over the current rows of tables.

All columns of a node are value columns; expressions refer to them as ColumnPlace.VALUE with an index into the columns
of the node's source. The columns of a table are its key, the window bounds if it is windowed, ROWTIME, and its value,
in this order.
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
    """A relation without a key. Its rows have no defined order, except for those of a Sort."""

    __slots__ = ()

    @property
    def kind(self) -> RelationKind:
        """Always TABLE."""
        return RelationKind.TABLE

    @property
    def columns(self) -> tuple[ColumnReference, ...]:
        """A reference to each column, in order."""
        return tuple(ColumnReference(c.type, ColumnPlace.VALUE, i, c.name) for i, c in enumerate(self.schema.columns))


@dataclass(frozen=True, slots=True)
class TableRows(RelationalNode):
    """The scan of a table: the rows that `accesses` select, with the columns that the module's docstring lists.

    `with_key` adds a last column: the bytes of the record's key without its window, to sort by.
    """

    source: Source
    accesses: tuple[Access, ...]
    with_key: bool = False

    @property
    def schema(self) -> Schema:
        """Key, window bounds, ROWTIME and value; header columns count as value columns."""
        schema = self.source.schema
        pseudo = (*(WINDOW_BOUNDS if self.source.windowed else ()), "ROWTIME")
        values = (c for c in schema if c.part is not RecordPart.KEY)
        bytes_of_key = (Column("KEY", BYTES),) if self.with_key else ()
        columns = (*schema.key, *(Column(name, BIGINT) for name in pseudo), *values, *bytes_of_key)
        return Schema(tuple(replace(c, part=RecordPart.VALUE) for c in columns))

    @property
    def visible(self) -> tuple[int, ...]:
        """The indexes of the columns that `*` expands to: all except ROWTIME."""
        rowtime = len(self.source.schema.key) + (2 if self.source.windowed else 0)
        return tuple(i for i in range(len(self.schema.columns)) if i != rowtime)


@dataclass(frozen=True, slots=True)
class Where(RelationalNode):
    """The rows for which `condition` is true; `text` is its SQL, for EXPLAIN and the processing log."""

    source: PlanNode
    condition: TypedExpression
    text: str

    @property
    def schema(self) -> Schema:
        """The columns of the source, unchanged."""
        return self.source.schema


@dataclass(frozen=True, slots=True)
class Project(RelationalNode):
    """Evaluates `expressions` for each row. One that fails is NULL and gets an entry in the processing log."""

    source: PlanNode
    expressions: tuple[NamedExpression, ...]

    @property
    def schema(self) -> Schema:
        """One column for each expression."""
        return Schema(tuple(Column(e.name, type_of(e.expression)) for e in self.expressions))


@dataclass(frozen=True, slots=True)
class RowJoin(RelationalNode):
    """A join: the pairs of rows for which `condition`, on the left's columns followed by the right's, is true.

    `left_keys` and `right_keys`, each on its own side's columns, are the hash keys: the condition implies that they
    are pairwise equal and not NULL. `outer` names the sides whose unmatched rows are kept, padded with NULLs.
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
        """The columns of the left side, then those of the right side."""
        return Schema((*self.left.schema.columns, *self.right.schema.columns))


@dataclass(frozen=True, slots=True)
class GroupedCall:
    """An aggregate call in a Group; with `distinct`, each combination of its arguments is aggregated once a group."""

    call: AggregateCall
    distinct: bool = False


@dataclass(frozen=True, slots=True)
class Group(RelationalNode):
    """GROUP BY: one row for each distinct value of `keys`; without keys exactly one row, even if the source is empty.

    A row with a NULL key is in no group, as in a persistent query.
    """

    source: PlanNode
    keys: tuple[NamedExpression, ...]
    aggregations: tuple[GroupedCall, ...]

    @property
    def schema(self) -> Schema:
        """The keys, then one column for each aggregate."""
        keys = (Column(k.name, type_of(k.expression)) for k in self.keys)
        return Schema((*keys, *(Column(a.call.name, a.call.type) for a in self.aggregations)))


@dataclass(frozen=True, slots=True)
class SortKey:
    """A sort criterion: the column at `index`, its direction, and whether NULLs come first.

    `unsigned` compares bytes as a table's store does; BYTES of the language are compared as signed bytes.
    """

    index: int
    descending: bool
    nulls_first: bool
    unsigned: bool = False


@dataclass(frozen=True, slots=True)
class Sort(RelationalNode):
    """The rows sorted by `keys`, then only the first `limit` of them (None: all)."""

    source: PlanNode
    keys: tuple[SortKey, ...]
    limit: int | None = None

    @property
    def schema(self) -> Schema:
        """The columns of the source, unchanged."""
        return self.source.schema


@dataclass(frozen=True, slots=True)
class Slice(RelationalNode):
    """Skips the first `offset` rows, then keeps at most `limit` rows (None: all)."""

    source: PlanNode
    offset: int
    limit: int | None

    @property
    def schema(self) -> Schema:
        """The columns of the source, unchanged."""
        return self.source.schema


@dataclass(frozen=True, slots=True)
class Distinct(RelationalNode):
    """The rows without duplicates: of rows that are equal in all columns there is one."""

    source: PlanNode

    @property
    def schema(self) -> Schema:
        """The columns of the source, unchanged."""
        return self.source.schema


@dataclass(frozen=True, slots=True)
class Union(RelationalNode):
    """The rows of all branches, with duplicates (UNION ALL); the branches have equal column types."""

    branches: tuple[PlanNode, ...]

    @property
    def schema(self) -> Schema:
        """The columns of the first branch, whose names are the union's."""
        return self.branches[0].schema


def tables_of(node: PlanNode) -> tuple[TableRows, ...]:
    """The scans of a plan, from left to right; a table that is scanned twice is listed twice."""
    return tuple(n for n in node.walk() if isinstance(n, TableRows))
