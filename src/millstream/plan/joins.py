"""FROM … JOIN …: from several sources to a chain of joins, and the scope that resolves names to its columns.

Rules: docs/reference/joins.md.

Each source is first reduced to the columns that the query uses. The joins nest to the left; the key of a join is the
expression that its condition compares, and a side with another key is repartitioned. So the last statement of

    CREATE STREAM orders (id INT KEY, item STRING, place STRING)
      WITH (kafka_topic='orders', value_format='JSON', partitions=1);
    CREATE STREAM shipments (id INT KEY, order_id INT)
      WITH (kafka_topic='shipments', value_format='JSON', partitions=1);
    CREATE STREAM shipped AS
      SELECT o.id, item FROM orders o JOIN shipments s WITHIN 1 HOUR GRACE PERIOD 5 MINUTES ON o.id = s.order_id;

becomes

    Select O.ID AS O_ID KEY, ITEM
      Join (INNER) on O.ID = S.ORDER_ID within 3600000 ms before, 3600000 ms after, grace 300000 ms;
          repartition of the right side by the join key
        Select ID KEY, ID, ITEM
          Read STREAM ORDERS from topic orders (key KAFKA, value JSON)
        Select ID KEY, ID, ORDER_ID
          Read STREAM SHIPMENTS from topic shipments (key KAFKA, value JSON)

The joined value is the left side's columns, then the right's: ID, ITEM, ID, ORDER_ID.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from millstream.analysis import typed_expressions as typed
from millstream.analysis.scope import PSEUDO, NameScope, ScopeColumn
from millstream.analysis.typed_expressions import bare
from millstream.catalog.catalog import RelationKind
from millstream.model.errors import Span, StatementError
from millstream.model.names import identifier
from millstream.plan.aggregation import WINDOW_COLUMNS
from millstream.plan.join_criteria import check_kinds, check_types, criterion, join_window
from millstream.plan.join_sides import JoinInput, JoinSide, check_sources, join_sides, windowed_repartition
from millstream.plan.nodes import Join, OuterSides, PlanNode, has_union, key_refs, leaves, windowed
from millstream.syntax import tree
from millstream.syntax.printer import to_sql

# The sides of a kind of join whose unmatched rows are emitted.
OUTER_SIDES = {
    tree.JoinKind.INNER: OuterSides.NONE,
    tree.JoinKind.LEFT: OuterSides.LEFT,
    tree.JoinKind.RIGHT: OuterSides.RIGHT,
    tree.JoinKind.FULL: OuterSides.FULL,
}


@dataclass(frozen=True, slots=True)
class JoinedSources:
    """A query's joins: `node` produces the rows, `scope` resolves names to columns, all of which are in the value.

    `star_columns` has the columns of `*` as (alias, name), `shared` the names that more than one source has. `viable`
    has the columns that may name the key; if there is none, `synthetic` is its name. For a foreign-key join,
    `primary_keys` has the left table's key columns, which stay the key.
    """

    node: Join
    scope: NameScope
    star_columns: tuple[tuple[str, str], ...]
    shared: frozenset[str]
    viable: tuple[ScopeColumn, ...]
    synthetic: str | None
    primary_keys: tuple[ScopeColumn, ...] = ()

    def keyed(self, scope: NameScope, selected: Iterable[typed.TypedExpression], sink: str, at: Span) -> NameScope:
        """`scope` in which the selected column that names the key refers to the key. Raises StatementError."""
        outputs = set(map(bare, selected))
        if self.synthetic is not None:
            if self._key(0) not in outputs:
                raise _missing_synthetic(self.synthetic, sink, at)
            return scope
        if self.primary_keys:
            return self._keyed_by_primary(scope, outputs, at)
        column = next((c for c in self.viable if bare(c.ref) in outputs), None)
        if column is None:
            raise _missing(self.viable, sink, at)
        return _with_key_columns(scope, {bare(column.ref): 0})

    def _keyed_by_primary(self, scope: NameScope, outputs: set[typed.TypedExpression], at: Span) -> NameScope:
        missing = [c.name for c in self.primary_keys if bare(c.ref) not in outputs]
        if missing:
            table = identifier(str(self.primary_keys[0].source))
            raise StatementError(
                "Primary key column missing in projection. For foreign-key table-table joins, the projection must "
                f"include all primary key columns from the left input table ({table}). "
                f"Missing column: {', '.join(map(identifier, missing))}.",
                at,
            )
        return _with_key_columns(scope, {bare(c.ref): i for i, c in enumerate(self.primary_keys)})

    def names_key(self, selected: Iterable[typed.TypedExpression]) -> bool:
        """Whether a selected column is one that names the key."""
        outputs = set(map(bare, selected))
        return self._key(0) in outputs or any(bare(column.ref) in outputs for column in self.viable)

    def _key(self, index: int) -> typed.TypedExpression:
        return bare(key_refs(self.node.schema)[index])


def _with_key_columns(scope: NameScope, keys: dict[typed.TypedExpression, int]) -> NameScope:
    """The scope in which these columns refer to the key columns at these indexes."""
    columns = []
    for column in scope.columns:
        index = keys.get(bare(column.ref))
        ref = column.ref if index is None else replace(column.ref, where=typed.ColumnPlace.KEY, index=index)
        columns.append(replace(column, ref=ref))
    return replace(scope, columns=tuple(columns))


def _missing(viable: Sequence[ScopeColumn], sink: str, at: Span) -> StatementError:
    names = [f"{c.source}.{c.name}" for c in viable]
    listed = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"
    plural = "s" if len(names) > 1 else ""
    return StatementError(
        f"Key missing from projection (ie, SELECT). The query used to build {identifier(sink)} must include the join "
        f"expression{plural} {listed} in its projection (eg, SELECT {names[0]}...).",
        at,
    )


def _missing_synthetic(name: str, sink: str, at: Span) -> StatementError:
    return StatementError(
        f"Key missing from projection (ie, SELECT). The query used to build {identifier(sink)} must include the join "
        f"expression {name} in its projection (eg, SELECT {name}...). {name} was added as a synthetic key column "
        "because the join criteria did not match any source column. This expression must be included in the "
        "projection and may be aliased.",
        at,
    )


def join_sources(query: tree.SelectQuery, inputs: Sequence[JoinInput], base: NameScope) -> JoinedSources:
    """The joins of a query; `base` has the settings and types. Raises StatementError."""
    check_sources(inputs)
    sides = join_sides(query, inputs)
    synthetic = _free_name([c.name for i in inputs for c in i.node.schema])
    chain = _JoinChain(sides, base, synthetic)
    for place, join in enumerate(query.joins, 1):
        chain.add(join, place)
    assert isinstance(chain.node, Join)
    columns = tuple(c for s in sides for c in s.columns)
    viable = chain.viable(columns)
    primary_keys = sides[0].keys if chain.foreign and len(query.joins) == 1 else ()
    key: tuple[ScopeColumn, ...] = ()
    if not viable and not primary_keys:
        (ref,) = key_refs(chain.node.schema)
        key = (ScopeColumn(synthetic, None, ref),)
    return JoinedSources(
        chain.node,
        replace(base, columns=(*key, *columns)),
        tuple(c for c in _star_columns(inputs, query.partition_by is not None) if base.enabled(c[1])),
        _shared(inputs),
        viable,
        synthetic if key else None,
        primary_keys,
    )


def _free_name(used_names: Sequence[str]) -> str:
    name, n = "ROWKEY", 0
    while name in used_names:
        n += 1
        name = f"ROWKEY_{n}"
    return name


def _shared(inputs: Sequence[JoinInput]) -> frozenset[str]:
    names = [c.name for i in inputs for c in i.node.schema]
    twice = {n for n in names if names.count(n) > 1}
    return frozenset({*twice, *PSEUDO, *(r.name for r in WINDOW_COLUMNS)})


def _star_columns(inputs: Sequence[JoinInput], moved: bool) -> Iterable[tuple[str, str]]:
    """The columns of `*`. With PARTITION BY they include pseudocolumns, as in ksqlDB."""
    for i in inputs:
        yield from ((i.alias, name) for name in _names(i.node, moved))


def _names(node: PlanNode, moved: bool) -> list[str]:
    keys, all_ = [c.name for c in node.schema.key], [c.name for c in node.schema]
    bounds = [r.name for r in WINDOW_COLUMNS] if windowed(node) is not None else []
    rest = [name for name in all_ if name not in keys]
    if moved:
        return [*rest, *PSEUDO, *bounds, *keys]
    return [*keys, *bounds, *rest] if bounds else all_


# ---------------------------------------------------------------- the chain


class _JoinChain:
    """The joins so far. `same` has the expressions that are known to equal the current key of the rows."""

    def __init__(self, sides: tuple[JoinSide, ...], base: NameScope, synthetic: str) -> None:
        self.sides, self.base, self.synthetic = sides, base, synthetic
        self.node: PlanNode = sides[0].node
        self.foreign = False
        first = sides[0].key
        self.same: list[typed.TypedExpression] = [first] if first is not None else []

    def viable(self, columns: Iterable[ScopeColumn]) -> tuple[ScopeColumn, ...]:
        """The columns that equal the key, in order of preference."""
        places = {bare(c.ref): c for c in columns if c.ref.index >= 0}
        return tuple(places[s] for s in self.same if s in places)

    def add(self, join: tree.JoinClause, place: int) -> None:
        """Add a join to the chain. Raises StatementError."""
        right, visible = self.sides[place], self.sides[: place + 1]
        scope = replace(self.base, columns=tuple(c for s in visible for c in s.columns))
        left_key, right_key = criterion(join, scope, visible)
        check_kinds(join, self.node, self.sides[0], right)
        check_types(join, left_key, right_key)
        outer = OUTER_SIDES[join.kind]
        moves = bare(left_key) not in self.same, bare(right_key) != right.key
        self._check_tables(join, moves, place)
        if any(moves) and right.input.windows is not None:
            raise windowed_repartition(join.span)
        foreign = moves[0] and self.node.kind is RelationKind.TABLE
        window = join_window(join, self.node.kind, right.node.kind)
        width = len(self.node.schema.value)
        # A tombstone has a key but no value.
        rows_key = left_key if moves[0] else _key(self.node)
        right_rows_key = _shifted(right_key, width) if moves[1] else _key(right.node)
        name, text = self._name(left_key, right_key, outer), to_sql(join.condition)
        repartitioned = self._moving(moves, right)
        self.node = Join(
            self.node, right.node, outer, rows_key, right_rows_key, name, window, foreign, repartitioned, text
        )
        self._follow(left_key, right_key, outer, moves[0], foreign)

    def _moving(self, moves: tuple[bool, bool], right: JoinSide) -> tuple[bool, bool]:
        """Which sides are repartitioned: those with another key or of several topics, and one of two whose keys are
        encoded differently."""
        inputs = (self.sides[0].input, right.input)
        alike = inputs[0].origins[0].key == inputs[1].origins[0].key
        unions = [has_union(i.node) for i in inputs]
        if any(moves) or any(unions) or alike:
            return moves[0] or unions[0], moves[1] or unions[1]
        stays = self.node.kind is RelationKind.STREAM and right.node.kind is RelationKind.TABLE
        return (stays, not stays)

    def _follow(
        self,
        left_key: typed.TypedExpression,
        right_key: typed.TypedExpression,
        outer: OuterSides,
        moved: bool,
        foreign: bool,
    ) -> None:
        self.foreign = self.foreign or foreign
        if foreign:
            return
        if outer is OuterSides.FULL:
            self.same = []
        else:
            before = [] if moved else self.same
            self.same = list(dict.fromkeys([*before, bare(left_key), bare(right_key)]))

    def _name(self, left_key: typed.TypedExpression, right_key: typed.TypedExpression, outer: OuterSides) -> str:
        """The key's name in messages: that of the first column that may name it."""
        places = {bare(c.ref): c for s in self.sides for c in s.columns if c.ref.index >= 0}
        column = places.get(bare(left_key)) or places.get(bare(right_key))
        return self.synthetic if column is None or outer is OuterSides.FULL else f"{column.source}_{column.name}"

    def _check_tables(self, join: tree.JoinClause, moves: tuple[bool, bool], place: int) -> None:
        right, shown = self.sides[place], f"Got {to_sql(join.condition)}."
        if right.node.kind is RelationKind.STREAM:
            return
        if moves[1]:
            which = (
                "stream-table joins require to join on the table's primary key"
                if self.node.kind is RelationKind.STREAM
                else "table-table joins require to join on the primary key of the right input table"
            )
            raise StatementError(f"Invalid join condition: {which}. {shown}", join.span)
        if moves[0] and self.node.kind is RelationKind.TABLE:
            self._check_foreign(join, place, shown)

    def _check_foreign(self, join: tree.JoinClause, place: int, shown: str) -> None:
        if place > 1:
            raise StatementError(
                "Invalid join condition: foreign-key table-table joins are not supported as part of n-way joins. "
                f"{shown}",
                join.span,
                "a foreign-key join may be the first of the chain",
            )
        if join.kind not in (tree.JoinKind.INNER, tree.JoinKind.LEFT):
            raise StatementError(
                f"Invalid join type: {join.kind.value} OUTER JOIN on a foreign key is not supported. {shown}",
                join.span,
            )


def _key(node: PlanNode) -> typed.TypedExpression:
    return key_refs(node.schema)[0]


def repartition_streams(plan: PlanNode, partitions: Mapping[str, int]) -> PlanNode:
    """The plan in which a stream-stream join repartitions its right side if the topics' partitions differ.

    `partitions` has the number of partitions of each known topic.
    """

    def repartitioned(node: PlanNode) -> PlanNode | None:
        """A join with rewritten sides, whose right one is repartitioned if the topics differ; None for other nodes."""
        if not isinstance(node, Join):
            return None
        left, right = repartition_streams(node.left, partitions), repartition_streams(node.right, partitions)
        join = replace(node, left=left, right=right)
        if join.window is None or any(join.repartitions):
            return join
        counts = {partitions.get(leaves(side)[0].origin.topic) for side in (left, right)} - {None}
        return join if len(counts) < 2 else replace(join, repartitions=(False, True))

    return plan.transform(repartitioned)


def _shifted(expression: typed.TypedExpression, width: int) -> typed.TypedExpression:
    """An expression over the joined value, rewritten to the right side's value."""

    def swap(part: typed.TypedExpression) -> typed.TypedExpression | None:
        return replace(part, index=part.index - width) if isinstance(part, typed.ColumnReference) else None

    return expression.transform(swap)
