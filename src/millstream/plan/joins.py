"""FROM … JOIN …: from several sources to a chain of joins, and the scope that resolves names to its columns.

Rules: docs/reference/joins.md.

Each source is first reduced to the columns that the query uses. The joins nest to the left; the key of a join has a
column for each equality of its condition, and a side with another key is repartitioned. So the last statement of

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

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from millstream.analysis import typed_expressions as typed
from millstream.analysis.scope import PSEUDO, NameScope, ScopeColumn
from millstream.analysis.typed_expressions import bare
from millstream.catalog.catalog import RelationKind
from millstream.model.errors import Span, StatementError
from millstream.model.names import identifier
from millstream.plan.aggregation import WINDOW_COLUMNS
from millstream.plan.join_criteria import Equality, check_kinds, check_types, equalities, join_window
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


# Columns that refer to the key where they are a whole item of SELECT, and to the value inside of expressions.
KeyItems = Mapping[typed.TypedExpression, typed.TypedExpression]


@dataclass(frozen=True, slots=True)
class JoinedSources:
    """A query's joins: `node` produces the rows, `scope` resolves names to columns, all of which are in the value.

    `star_columns` has the columns of `*` as (alias, name), `shared` the names that more than one source has. `viable`
    has for each key column the columns that may name it; if there is none, `synthetic` has its name, else None. For a
    foreign-key join both are empty: `primary_keys` has the left table's key columns, which stay the key.
    """

    node: Join
    scope: NameScope
    star_columns: tuple[tuple[str, str], ...]
    shared: frozenset[str]
    viable: tuple[tuple[ScopeColumn, ...], ...]
    synthetic: tuple[str | None, ...]
    primary_keys: tuple[ScopeColumn, ...] = ()

    def keyed(
        self, scope: NameScope, selected: Iterable[typed.TypedExpression], sink: str, at: Span
    ) -> tuple[NameScope, KeyItems]:
        """`scope`, changed so that the selected columns that name the key refer to the key; and the exceptions.

        The exceptions are columns that may be NULL in a row whose key is not (the padded side of an outer join). They
        refer to the key only where they are a whole item of SELECT. Raises StatementError if no column names the key.
        """
        keys = self._named(set(map(bare, selected)), sink, at)
        padded = {column: key_refs(self.node.schema)[i] for column, i in keys.items() if self._is_padded(column)}
        return _with_key_columns(scope, {c: i for c, i in keys.items() if c not in padded}), padded

    def _named(self, outputs: set[typed.TypedExpression], sink: str, at: Span) -> dict[typed.TypedExpression, int]:
        """The selected columns that name the key, each with the index of its key column. Raises StatementError."""
        if self.primary_keys:
            return self._named_by_primary(outputs, at)
        keys = {}
        for index, (viable, synthetic) in enumerate(zip(self.viable, self.synthetic, strict=True)):
            if synthetic is not None:
                if self._key(index) not in outputs:
                    raise _missing_synthetic(synthetic, sink, at)
                continue
            column = next((c for c in viable if bare(c.ref) in outputs), None)
            if column is None:
                raise _missing(viable, sink, at)
            keys[bare(column.ref)] = index
        return keys

    def _named_by_primary(self, outputs: set[typed.TypedExpression], at: Span) -> dict[typed.TypedExpression, int]:
        missing = [c.name for c in self.primary_keys if bare(c.ref) not in outputs]
        if missing:
            table = identifier(str(self.primary_keys[0].source))
            raise StatementError(
                "Primary key column missing in projection. For foreign-key table-table joins, the projection must "
                f"include all primary key columns from the left input table ({table}). "
                f"Missing column: {', '.join(map(identifier, missing))}.",
                at,
            )
        return {bare(c.ref): i for i, c in enumerate(self.primary_keys)}

    def is_key(self, expressions: Sequence[typed.TypedExpression], selected: Iterable[typed.TypedExpression]) -> bool:
        """Whether expressions of GROUP BY or PARTITION BY are the selected columns that name the key, one of which may
        be NULL where the key is not: rows keep their key then, as in ksqlDB."""
        compared = [bare(e) for e in expressions]
        if not any(map(self._is_padded, compared)):
            return False
        outputs = set(map(bare, selected))
        viable = [[bare(c.ref) for c in columns] for columns in self.viable]
        return compared == [next((ref for ref in refs if ref in outputs), None) for refs in viable]

    def _is_padded(self, column: typed.TypedExpression) -> bool:
        return isinstance(column, typed.ColumnReference) and _is_padded(self.node, column.index)

    def names_key(self, selected: Iterable[typed.TypedExpression]) -> bool:
        """Whether for each column of the key a selected column names it."""
        outputs = set(map(bare, selected))
        return all(
            self._key(i) in outputs or any(bare(column.ref) in outputs for column in viable)
            for i, viable in enumerate(self.viable)
        )

    def _key(self, index: int) -> typed.TypedExpression:
        return bare(key_refs(self.node.schema)[index])


def _is_padded(node: PlanNode, index: int) -> bool:
    """Whether a value column of joined rows is NULL in those without a match."""
    if not isinstance(node, Join):
        return False
    width = len(node.left.schema.value)
    if index < width:
        return node.outer.right or _is_padded(node.left, index)
    return node.outer.left or _is_padded(node.right, index - width)


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
    chain = _JoinChain(sides, base, tuple(c.name for i in inputs for c in i.node.schema))
    for place, join in enumerate(query.joins, 1):
        chain.add(join, place)
    assert isinstance(chain.node, Join)
    columns = tuple(c for s in sides for c in s.columns)
    primary_keys = sides[0].keys if chain.foreign and len(query.joins) == 1 else ()
    viable = () if primary_keys else chain.viable(columns)
    synthetic = chain.synthetic_names([bool(named) for named in viable])
    named_keys = zip(synthetic, key_refs(chain.node.schema), strict=False)
    keys = (ScopeColumn(name, None, ref) for name, ref in named_keys if name is not None)
    return JoinedSources(
        chain.node,
        replace(base, columns=(*keys, *columns)),
        tuple(c for c in _star_columns(inputs, query.partition_by is not None) if base.enabled(c[1])),
        _shared(inputs),
        viable,
        synthetic,
        primary_keys,
    )


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
    """The joins so far. `same` has for each column of the rows' key the expressions that are known to equal it."""

    def __init__(self, sides: tuple[JoinSide, ...], base: NameScope, used_names: tuple[str, ...]) -> None:
        self.sides, self.base, self.used_names = sides, base, used_names
        self.node: PlanNode = sides[0].node
        self.foreign = False
        self.same: tuple[tuple[typed.TypedExpression, ...], ...] = tuple((bare(c.ref),) for c in sides[0].keys)

    def viable(self, columns: Iterable[ScopeColumn]) -> tuple[tuple[ScopeColumn, ...], ...]:
        """For each column of the key, the columns that equal it, in order of preference."""
        places = {bare(c.ref): c for c in columns if c.ref.index >= 0}
        return tuple(tuple(places[s] for s in same if s in places) for same in self.same)

    def synthetic_names(self, named: Sequence[bool]) -> tuple[str | None, ...]:
        """The names of the key columns that no column names: ROWKEY, or ROWKEY_1, … if a source has that name."""
        numbers = ("ROWKEY", *(f"ROWKEY_{n}" for n in range(1, len(self.used_names) + len(named) + 1)))
        free = (name for name in numbers if name not in self.used_names)
        return tuple(None if each else next(free) for each in named)

    def add(self, join: tree.JoinClause, place: int) -> None:
        """Add a join to the chain. Raises StatementError."""
        right, visible = self.sides[place], self.sides[: place + 1]
        scope = replace(self.base, columns=tuple(c for s in visible for c in s.columns))
        compared, left_places, is_right_key = self._in_key_order(equalities(join, scope, visible), right)
        check_kinds(join, self.node, self.sides[0], right)
        for equality in compared:
            check_types(equality)
        outer = OUTER_SIDES[join.kind]
        self._check_tables(join, (left_places is None, not is_right_key), place)
        moves = left_places != list(range(len(compared))), not is_right_key
        if any(moves) and right.input.windows is not None:
            raise windowed_repartition(join.span)
        foreign = left_places is None and self.node.kind is RelationKind.TABLE
        window = join_window(join, self.node.kind, right.node.kind)
        left_keys, right_keys = self._keys(compared, left_places, right.node if is_right_key else None)
        names, text = self._names(compared, outer), to_sql(join.condition)
        repartitioned = self._moving(moves, right)
        self.node = Join(
            self.node, right.node, outer, left_keys, right_keys, names, window, foreign, repartitioned, text
        )
        self._follow(compared, outer, left_places, foreign)

    def _in_key_order(
        self, written: tuple[Equality, ...], right: JoinSide
    ) -> tuple[list[Equality], list[int] | None, bool]:
        """The equalities in the order of the new source's key columns, else of the rows' so far, else as written.

        With them: the places of their left sides in the rows' key, None if they are not the key, and whether their
        right sides are the new source's key.
        """
        left_places = _places([e.left for e in written], self.same)
        right_places = _places([e.right for e in written], right.key)
        order = sorted(range(len(written)), key=(right_places or left_places or range(len(written))).__getitem__)
        in_order = [left_places[i] for i in order] if left_places is not None else None
        return [written[i] for i in order], in_order, right_places is not None

    def _keys(
        self, compared: Sequence[Equality], left_places: Sequence[int] | None, right: PlanNode | None
    ) -> tuple[tuple[typed.TypedExpression, ...], tuple[typed.TypedExpression, ...]]:
        """The join's key as expressions over the rows of either side, the left one first.

        A side whose own key is the join's key uses its key columns, since a tombstone has no value to compute from.
        `left_places` is None if that is not so on the left, `right` is None if it is not so on the right.
        """
        width, key = len(self.node.schema.value), key_refs(self.node.schema)
        left = [e.left for e in compared] if left_places is None else [key[i] for i in left_places]
        shifted = (_shifted(e.right, width) for e in compared)
        return tuple(left), tuple(shifted if right is None else key_refs(right.schema))

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
        self, compared: Sequence[Equality], outer: OuterSides, left_places: Sequence[int] | None, foreign: bool
    ) -> None:
        self.foreign = self.foreign or foreign
        if foreign:
            return
        if outer is OuterSides.FULL:
            self.same = tuple(() for _ in compared)
        else:
            before = [self.same[i] for i in left_places] if left_places is not None else [() for _ in compared]
            pairs = zip(before, compared, strict=True)
            self.same = tuple(tuple(dict.fromkeys((*same, bare(e.left), bare(e.right)))) for same, e in pairs)

    def _names(self, compared: Sequence[Equality], outer: OuterSides) -> tuple[str, ...]:
        """The key columns' names in messages: that of the first column that may name each."""
        places = {bare(c.ref): c for s in self.sides for c in s.columns if c.ref.index >= 0}
        named = [places.get(bare(e.left)) or places.get(bare(e.right)) for e in compared]
        columns = [None if outer is OuterSides.FULL else column for column in named]
        synthetic = self.synthetic_names([column is not None for column in columns])
        names = zip(columns, synthetic, strict=True)
        return tuple(f"{c.source}_{c.name}" if c is not None else str(name) for c, name in names)

    def _check_tables(self, join: tree.JoinClause, moves: tuple[bool, bool], place: int) -> None:
        """Raises StatementError for a join with a table that is by another key; `moves`: whether each side's is."""
        right, shown = self.sides[place], f"Got {to_sql(join.condition)}."
        if right.node.kind is RelationKind.STREAM:
            return
        if moves[1]:
            which = (
                "stream-table joins require to join on the table's primary key"
                if self.node.kind is RelationKind.STREAM
                else "table-table joins require to join on the primary key of the right input table"
            )
            keys = " AND ".join(f"… = {identifier(right.alias)}.{identifier(c.name)}" for c in right.keys)
            hint = f"its key has several columns: ON {keys}" if len(right.keys) > 1 else ""
            raise StatementError(f"Invalid join condition: {which}. {shown}", join.span, hint)
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


def _places(
    expressions: Sequence[typed.TypedExpression], key: Sequence[Collection[typed.TypedExpression]]
) -> list[int] | None:
    """The index of the key column that each expression equals; None unless they are the whole key, in any order.

    `key` has for each key column the expressions that equal it.
    """
    equal = [[i for i, same in enumerate(key) if bare(e) in same] for e in expressions]
    places = [i for indexes in equal for i in indexes[:1]]
    return places if sorted(places) == list(range(len(key))) and len(places) == len(expressions) else None


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
