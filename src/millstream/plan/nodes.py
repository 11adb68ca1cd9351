"""The nodes of a plan: few kinds, each a frozen value whose schema is derived.

A node's rows have a key struct, a value struct (null: a null value, a tombstone of a table), headers, a rowtime, and
the partition and offset of their source record. References in a node's expressions are positions in its source's
schema. Header columns are value columns from the Read on.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum

from millstream.analysis.typed_expressions import ColumnPlace, ColumnReference, TypedExpression
from millstream.catalog.catalog import RelationKind, Source, Windowed
from millstream.functions.declare import Accumulator
from millstream.model.names import identifier
from millstream.model.schema import Column, RecordPart, Schema
from millstream.model.treenode import TreeNode
from millstream.model.types import SqlType


@dataclass(frozen=True, slots=True)
class NamedExpression:
    """An expression and the name of its column; `text` is its SQL, for messages."""

    name: str
    expression: TypedExpression
    text: str = ""


class PlanNode(TreeNode["PlanNode"]):
    """A relation: `schema` has its columns, `kind` says if its rows are events or rows of a table."""

    __slots__ = ()

    @property
    def schema(self) -> Schema:
        """The columns of the node's rows."""
        raise NotImplementedError

    @property
    def kind(self) -> RelationKind:
        """STREAM if the rows are events, TABLE if they are rows of a table."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Read(PlanNode):
    """The records of a source's topic, decoded; a record that cannot be read is logged and left out.

    Of a table, a record without key is left out too. The rowtime is the source's timestamp column if it has one; a
    record with an invalid time is left out, or ends the query if `strict` (ksql.timestamp.throw.on.invalid). If
    `fatal`, a record that cannot be read ends the query too (ksql.fail.on.deserialization.error).
    """

    origin: Source
    strict: bool = False
    fatal: bool = False

    @property
    def schema(self) -> Schema:
        """The source's columns; header columns are in the value."""
        return Schema(tuple(_as_value(c) for c in self.origin.schema))

    @property
    def kind(self) -> RelationKind:
        """The source's kind."""
        return self.origin.kind


def _as_value(column: Column) -> Column:
    return replace(column, part=RecordPart.VALUE) if column.part is RecordPart.HEADER else column


@dataclass(frozen=True, slots=True)
class Filter(PlanNode):
    """The rows for which `condition` is true; a row of a table that no longer satisfies it becomes a tombstone.

    The rows of a table that is read, of a foreign-key join, or of an inner query over a table do not carry the value
    they replace; over these the filter `is_stateful`: it stores for each key if its row has passed.
    """

    source: PlanNode
    condition: TypedExpression
    text: str = ""

    @property
    def schema(self) -> Schema:
        """The columns of its source."""
        return self.source.schema

    @property
    def kind(self) -> RelationKind:
        """The kind of its source."""
        return self.source.kind

    @property
    def is_stateful(self) -> bool:
        """True if the filter stores a state for each key."""
        foreign = isinstance(self.source, Join) and self.source.foreign
        return self.kind is RelationKind.TABLE and (isinstance(self.source, Read | Select) or foreign)


@dataclass(frozen=True, slots=True)
class Flatten(PlanNode):
    """A row for each element that the table `functions` return, zipped; shorter lists are padded with null.

    The elements are appended to the value. If all functions return nothing, there is no row.
    """

    source: PlanNode
    functions: tuple[NamedExpression, ...]

    @property
    def schema(self) -> Schema:
        """The columns of its source, then one for each table function."""
        flattened = tuple(Column(f.name, type_of(f.expression)) for f in self.functions)
        return Schema((*self.source.schema.columns, *flattened))

    @property
    def kind(self) -> RelationKind:
        """The kind of its source."""
        return self.source.kind


@dataclass(frozen=True, slots=True)
class Window:
    """How the rows of a group are divided by time, in milliseconds.

    `size` is the gap of a SESSION; `advance` is that of a HOPPING window, else the size. Windows start at `offset` and
    whole numbers of `advance` before and after it, in epoch ms. Rows that arrive more than `grace` after their window's
    end, in stream time, are left out. `final`: a window's row is emitted once, when it closes; with `drops_expired` it
    is not emitted if the window's start is older than the retention by then.
    """

    type: str
    size: int
    advance: int
    grace: int
    retention: int
    final: bool = False
    drops_expired: bool = False
    offset: int = 0

    @property
    def windowed(self) -> Windowed:
        """The windows in the keys of this aggregation's rows."""
        return Windowed(self.type, None if self.type == "SESSION" else self.size)

    @property
    def closing(self) -> int:
        """After the start of a window of fixed size, or the last row of a session, rows for it are late, in ms."""
        return self.size + self.grace


@dataclass(frozen=True, slots=True)
class AggregateCall:
    """One call of an aggregate function of a `category`, with the arguments that rows have, and then `constants`.

    Rows for which `filter` is not true do not change it.
    """

    name: str
    type: SqlType
    arguments: tuple[TypedExpression, ...]
    accumulator: Accumulator
    text: str = ""
    category: str = ""
    constants: tuple[TypedExpression, ...] = ()
    filter: TypedExpression | None = None

    @property
    def row_expressions(self) -> tuple[TypedExpression, ...]:
        """What is computed for each row: the arguments, and the filter if there is one."""
        return (*self.arguments, *((self.filter,) if self.filter is not None else ()))


@dataclass(frozen=True, slots=True)
class Aggregate(PlanNode):
    """A row for each group of the source's rows, emitted at each change; with a window, a row for each window.

    A row with a null key or without value is left out; for a table, the old row is first removed from its group.
    `ttl_ms`: a group of a stream that has had no rows for so long, in stream time, is deleted; None: it is kept.
    `append_only`: its windows are `final`, and their rows, which do not change, are those of a stream.
    """

    source: PlanNode
    keys: tuple[NamedExpression, ...]
    aggregations: tuple[AggregateCall, ...]
    window: Window | None = None
    ttl_ms: int | None = None
    append_only: bool = False

    @property
    def schema(self) -> Schema:
        """The grouping keys, then a column for each aggregate."""
        keys = (Column(k.name, type_of(k.expression), RecordPart.KEY) for k in self.keys)
        return Schema((*keys, *(Column(a.name, a.type) for a in self.aggregations)))

    @property
    def kind(self) -> RelationKind:
        """A table, unless it is `append_only`."""
        return RelationKind.STREAM if self.append_only else RelationKind.TABLE

    @property
    def shuffles(self) -> int:
        """The number of exchanges: a table's rows are first sent to the task that stores the old row of their key."""
        return 2 if self.source.kind is RelationKind.TABLE else 1


@dataclass(frozen=True, slots=True)
class Rekey(PlanNode):
    """The rows under a new key (empty: no key); the old key's columns are appended to the value."""

    source: PlanNode
    keys: tuple[NamedExpression, ...]

    @property
    def schema(self) -> Schema:
        """The new keys, then the value columns, including the old key."""
        keys = tuple(Column(k.name, type_of(k.expression), RecordPart.KEY) for k in self.keys)
        old = tuple(replace(c, part=RecordPart.VALUE) for c in self.source.schema.key)
        return Schema((*keys, *self.source.schema.value, *old))

    @property
    def kind(self) -> RelationKind:
        """The kind of its source."""
        return self.source.kind


class OuterSides(Enum):
    """The sides whose unmatched rows are emitted, with null for the other side's columns."""

    NONE = "INNER"
    LEFT = "LEFT"
    RIGHT = "RIGHT"
    FULL = "FULL OUTER"

    @property
    def left(self) -> bool:
        """True if unmatched rows of the left side are emitted."""
        return self in (OuterSides.LEFT, OuterSides.FULL)

    @property
    def right(self) -> bool:
        """True if unmatched rows of the right side are emitted."""
        return self in (OuterSides.RIGHT, OuterSides.FULL)


@dataclass(frozen=True, slots=True)
class JoinWindow:
    """The window of a stream-stream join, in ms: rows join where right - left is from -`before` to `after`.

    An outer join emits an unmatched row once stream time is more than `grace` past the window's end; with `eager` it
    emits it at once, and later a joined row if a match arrives.
    """

    before: int
    after: int
    grace: int
    eager: bool


@dataclass(frozen=True, slots=True)
class Join(PlanNode):
    """Joined rows of two sides with equal keys; the value is the left's columns, then the right's.

    The key has a column for each pair of compared expressions, except for a `foreign`-key join: there each row of the
    left table looks up the right row whose key equals `left_keys`, and keeps its own key. `left_keys` and `right_keys`
    are expressions over their side's rows; `names` are the key columns' names, as many. `window` is that of a
    stream-stream join. `repartitions` has, for each side, True if its rows are shuffled by the join key.
    """

    left: PlanNode
    right: PlanNode
    outer: OuterSides
    left_keys: tuple[TypedExpression, ...]
    right_keys: tuple[TypedExpression, ...]
    names: tuple[str, ...]
    window: JoinWindow | None = None
    foreign: bool = False
    repartitions: tuple[bool, bool] = (False, False)
    text: str = ""

    @property
    def shuffles(self) -> int:
        """The number of exchanges: a foreign-key join sends rows to the right table's task, and back."""
        return 3 if self.foreign else 1

    @property
    def schema(self) -> Schema:
        """The key, then the value columns of both sides."""
        named = zip(self.names, self.left_keys, strict=True)
        compared = (Column(name, type_of(key), RecordPart.KEY) for name, key in named)
        keys = self.left.schema.key if self.foreign else compared
        return Schema((*keys, *self.left.schema.value, *self.right.schema.value))

    @property
    def kind(self) -> RelationKind:
        """The kind of the left side."""
        return self.left.kind


@dataclass(frozen=True, slots=True)
class Select(PlanNode):
    """The rows with some of the source's key columns, in the order of `keys`, and a value of `columns`.

    `keys` are references to the source's key. A null value stays null.
    """

    source: PlanNode
    keys: tuple[NamedExpression, ...]
    columns: tuple[NamedExpression, ...]

    @property
    def schema(self) -> Schema:
        """The keys, then a column for each expression."""
        keys = (Column(k.name, type_of(k.expression), RecordPart.KEY) for k in self.keys)
        return Schema((*keys, *(Column(c.name, type_of(c.expression)) for c in self.columns)))

    @property
    def kind(self) -> RelationKind:
        """The kind of its source."""
        return self.source.kind


@dataclass(frozen=True, slots=True)
class UnionAll(PlanNode):
    """The rows of all `branches`, streams with equal types of key and value columns, in no order among each other."""

    branches: tuple[PlanNode, ...]

    @property
    def schema(self) -> Schema:
        """The columns of the first branch."""
        return self.branches[0].schema

    @property
    def kind(self) -> RelationKind:
        """Always a stream."""
        return RelationKind.STREAM


@dataclass(frozen=True, slots=True)
class Deduplicate(PlanNode):
    """The rows of a stream, but for those that are equal to an earlier one in key and value (SELECT DISTINCT).

    With `ttl_ms`, a row is emitted again if the last one equal to it is so long ago, in stream time.
    """

    source: PlanNode
    ttl_ms: int | None = None

    @property
    def schema(self) -> Schema:
        """The columns of its source."""
        return self.source.schema

    @property
    def kind(self) -> RelationKind:
        """Always a stream."""
        return RelationKind.STREAM

    @property
    def shuffles(self) -> int:
        """The number of exchanges."""
        return 1


@dataclass(frozen=True, slots=True)
class DistinctArguments(PlanNode):
    """The rows of a stream; columns of `distinct` have NULL in place of a value that the row's group has had before.

    The columns of one tuple have in each row the same value, or NULL (with FILTER), and share what is stored of it.
    `keys` and `distinct` are columns of the value. Rows of one group have equal `keys` and, with a `window` of fixed
    size, are in the same window: a row in several is as many rows. A row whose window has closed is left out.
    """

    source: PlanNode
    keys: tuple[ColumnReference, ...]
    distinct: tuple[tuple[ColumnReference, ...], ...]
    window: Window | None = None

    @property
    def schema(self) -> Schema:
        """The columns of its source."""
        return self.source.schema

    @property
    def kind(self) -> RelationKind:
        """Always a stream."""
        return RelationKind.STREAM

    @property
    def shuffles(self) -> int:
        """The number of exchanges."""
        return len(self.distinct)


@dataclass(frozen=True, slots=True)
class LastRows:
    """A row and the `count` rows that arrived before it."""

    count: int


@dataclass(frozen=True, slots=True)
class LastTime:
    """A row and those that arrived before it and are up to `length` ms older, not younger.

    Rows are stored until they are `length` + `grace` ms older than stream time, so a row that is later than `grace`
    may lack some.
    """

    length: int
    grace: int

    @property
    def stored_for(self) -> int:
        """The ms of stream time for which a row is stored."""
        return self.length + self.grace


@dataclass(frozen=True, slots=True)
class OverAggregate(PlanNode):
    """The rows of a stream, each with aggregates of those with equal `keys` that arrived before it, and of itself.

    Of these it takes those in the `frame`; None: all. Their values are appended to the row's. A row without value
    stays as it is, and belongs to no others. `ttl_ms`: rows before a time of that length without any, in stream time,
    are forgotten.
    """

    source: PlanNode
    keys: tuple[NamedExpression, ...]
    aggregations: tuple[AggregateCall, ...]
    frame: LastRows | LastTime | None = None
    ttl_ms: int | None = None

    @property
    def schema(self) -> Schema:
        """The columns of its source, then one for each aggregate."""
        return Schema((*self.source.schema.columns, *(Column(a.name, a.type) for a in self.aggregations)))

    @property
    def kind(self) -> RelationKind:
        """Always a stream."""
        return RelationKind.STREAM

    @property
    def shuffles(self) -> int:
        """The number of exchanges."""
        return 1


# What an operator with a state carries out, besides filters of tables.
STATEFUL = (Aggregate, Deduplicate, DistinctArguments, Join, OverAggregate)


@dataclass(frozen=True, slots=True)
class Write(PlanNode):
    """The rows written to the sink's topic, in its formats, with their rowtime or its timestamp column, and headers."""

    source: PlanNode
    sink: Source

    @property
    def schema(self) -> Schema:
        """The columns of the sink."""
        return self.sink.schema

    @property
    def kind(self) -> RelationKind:
        """The kind of the sink."""
        return self.sink.kind


@dataclass(frozen=True, slots=True)
class ClientOutput(PlanNode):
    """The rows for a client: `columns` computed over the source's rows, one flat row each (a transient query)."""

    source: PlanNode
    columns: tuple[NamedExpression, ...]
    limit: int | None = None

    @property
    def schema(self) -> Schema:
        """A column for each expression."""
        return Schema(tuple(Column(c.name, type_of(c.expression)) for c in self.columns))

    @property
    def kind(self) -> RelationKind:
        """The kind of its source."""
        return self.source.kind


def windowed(node: PlanNode) -> Windowed | None:
    """The windows in the keys of a node's rows; None if the keys have no windows."""
    if isinstance(node, Aggregate):
        return node.window.windowed if node.window else None
    if isinstance(node, Read):
        return node.origin.windowed
    return windowed(next(node.children()))


def type_of(expression: TypedExpression) -> SqlType:
    """The type of an expression that is not a bare NULL (analysis refuses those in a projection)."""
    assert expression.type is not None
    return expression.type


def leaves(node: PlanNode) -> tuple[Read, ...]:
    """The Reads of a plan, left to right; a source that is read twice has two."""
    return tuple(n for n in node.walk() if isinstance(n, Read))


def joins(node: PlanNode) -> Iterator[Join]:
    """The joins of a plan, the last one first."""
    return (n for n in node.walk() if isinstance(n, Join))


def has_union(node: PlanNode) -> bool:
    """True if rows of a plan come from several sources whose partitions have the same numbers."""
    return any(isinstance(n, UnionAll) for n in node.walk())


def scans_of_union(node: PlanNode) -> int:
    """The number of sources whose rows a node's rows are, unchanged but for their columns; 0 if it is only one.

    Their partitions have the same numbers. The rows of joins, groups and DISTINCT are those of no source.
    """
    if isinstance(node, UnionAll):
        return len(leaves(node))
    if isinstance(node, (*STATEFUL, Read)):
        return 0
    return scans_of_union(next(node.children()))


def lookup_tables(node: PlanNode) -> tuple[Source, ...]:
    """The distinct tables in which streams of a plan look up rows."""
    table_sides = (
        join.right for join in joins(node) if join.kind is RelationKind.STREAM and join.right.kind is RelationKind.TABLE
    )
    return tuple({leaf.origin.name: leaf.origin for table in table_sides for leaf in leaves(table)}.values())


def groups(node: PlanNode) -> Iterator[Aggregate]:
    """The groupings of a plan, the last one first."""
    return (n for n in node.walk() if isinstance(n, Aggregate))


def stateful_filters(node: PlanNode) -> tuple[Filter, ...]:
    """The filters of a plan that have a state. A filter whose rows are grouped needs no state: tombstones are not
    grouped."""
    grouped = [group.source for group in groups(node)]
    filters = (n for n in node.walk() if isinstance(n, Filter) and n.is_stateful)
    return tuple(f for f in filters if all(f is not source for source in grouped))


def node_has_state(node: PlanNode) -> bool:
    """Whether a node itself is carried out by a stateful operator."""
    return isinstance(node, STATEFUL) or (isinstance(node, Filter) and node.is_stateful)


def retention(node: PlanNode) -> int | None:
    """How long the windows of a table's rows are kept, in ms of stream time; None if these have none, or are events."""
    if isinstance(node, Aggregate):
        return node.window.retention if node.window and not node.append_only else None
    return None if isinstance(node, Read) else retention(next(node.children()))


def reads(node: PlanNode) -> tuple[Source, ...]:
    """The distinct sources that a plan reads, left to right."""
    return tuple({leaf.origin.name: leaf.origin for leaf in leaves(node)}.values())


def refs(schema: Schema) -> Iterator[ColumnReference]:
    """A reference to each column of a relation, in the schema's order."""
    counts = {RecordPart.KEY: 0, RecordPart.VALUE: 0}
    for column in schema:
        where = ColumnPlace.KEY if column.part is RecordPart.KEY else ColumnPlace.VALUE
        yield ColumnReference(column.type, where, counts[column.part], column.name)
        counts[column.part] += 1


def named_keys(schema: Schema) -> tuple[NamedExpression, ...]:
    """The key columns of a relation as expressions that keep their names."""
    return tuple(named_column(r) for r in key_refs(schema))


def named_column(ref: ColumnReference) -> NamedExpression:
    """A column as an expression that keeps its name."""
    return NamedExpression(ref.name, ref, identifier(ref.name))


def key_refs(schema: Schema) -> tuple[ColumnReference, ...]:
    """A reference to each key column of a relation, in the schema's order."""
    return tuple(reference for reference in refs(schema) if reference.where is ColumnPlace.KEY)
