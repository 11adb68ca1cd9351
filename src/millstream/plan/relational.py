"""Plans relational pull queries: from the syntax tree to relational algebra (docs/design/018-pull-queries.md).

    SELECT c.name, SUM(o.amount) AS total FROM orders o JOIN customers c ON o.customer = c.id
      WHERE o.amount > 10 GROUP BY c.name ORDER BY total DESC LIMIT 3

over two tables becomes this plan, the last operator first, as EXPLAIN prints it:

    Take 3 rows
      Sort by TOTAL DESC
        Project C.NAME AS NAME, SUM(O.AMOUNT) AS TOTAL
          Group by C.NAME: SUM(O.AMOUNT)
            Join (INNER) on O.CUSTOMER = C.ID
              Where O.AMOUNT > 10
                Rows of TABLE ORDERS: read the whole table
              Rows of TABLE CUSTOMERS: read the whole table

Expressions are typed and evaluated by the same code as in persistent queries; only the operators differ.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce

from millstream.analysis import record_views
from millstream.analysis.expressions import resolved_condition, type_expression
from millstream.analysis.scope import NameScope, ScopeColumn, unresolved
from millstream.analysis.typed_expressions import (
    ColumnPlace,
    ColumnReference,
    TypedCast,
    TypedExpression,
    TypedLogical,
    bare,
)
from millstream.catalog.catalog import Catalog, RelationKind
from millstream.functions import Library
from millstream.functions.python import library
from millstream.model.errors import Span, StatementError
from millstream.model.settings import is_on
from millstream.model.types import BOOLEAN, INTEGER, Array, Map, SqlType, Struct
from millstream.plan.aggregation import aggregate_call, aggregate_calls, not_grouped
from millstream.plan.clauses import RELATIONAL, check_places, table_calls
from millstream.plan.column_names import Aliases, origin
from millstream.plan.nodes import ClientOutput, Filter, NamedExpression, type_of
from millstream.plan.pull_queries import FullScan, PullPlan, table_accesses
from millstream.plan.relational_joins import JoinedSource, conjuncts, join_tables, moved, side_of
from millstream.plan.relational_nodes import (
    Distinct,
    Group,
    GroupedCall,
    Project,
    RelationalNode,
    RowJoin,
    Slice,
    Sort,
    SortKey,
    TableRows,
    Union,
    Where,
    tables_of,
)
from millstream.plan.steps import TransientQuery
from millstream.plan.unions import common_types
from millstream.plan.views import in_view
from millstream.syntax import tree
from millstream.syntax.printer import to_sql

# Aggregates whose result depends on the order of records.
_BY_OFFSET = ("EARLIEST_BY_OFFSET", "LATEST_BY_OFFSET")


@dataclass(frozen=True, slots=True)
class _Planning:
    """The context of planning one query: the catalog and the session's settings."""

    catalog: Catalog
    settings: Mapping[str, str]

    @property
    def functions(self) -> Library:
        """The built-in functions, and those of the catalog that users wrote."""
        return library(self.catalog.functions)


@dataclass(frozen=True, slots=True)
class _Item:
    """A column of the projection, `*` already expanded; `alias` is None if the column is still to be named."""

    expression: tree.Expression
    alias: str | None
    at: Span


def is_relational(query: tree.SelectQuery, catalog: Catalog, settings: Mapping[str, str]) -> bool:
    """Whether a pull query needs relational operators, that is, more than WHERE, SELECT and LIMIT over one table.

    False for push queries, for queries that read a stream, and if `millstream.pull.relational` is false.
    """
    if query.emit is not None or not is_on(settings, RELATIONAL):
        return False
    sources = [catalog.sources.get(name) for name in query.tables_read()]
    if any(source is not None and source.kind is RelationKind.STREAM for source in sources):
        return False
    inner = isinstance(query.source, tree.FromQuery | tree.FromUnion)
    clauses = query.joins or query.group_by is not None or query.having or query.order_by or query.offset
    calls = aggregate_calls(query.items, library(catalog.functions))
    return bool(inner or clauses or query.distinct or calls)


def plan_relational(query: tree.SelectQuery, catalog: Catalog, settings: Mapping[str, str]) -> TransientQuery:
    """The plan of a relational pull query: its operators, its result columns and the distinct sources it reads.

    Raises StatementError if a clause, a name or a type is not allowed.
    """
    node = _planned(query, _Planning(catalog, settings))
    columns = tuple(NamedExpression(c.name, c) for c in node.columns)
    sources = tuple({rows.source.name: rows.source for rows in tables_of(node)}.values())
    return TransientQuery(ClientOutput(node, columns, query.limit), False, sources)


def _planned(query: tree.SelectQuery, planning: _Planning) -> RelationalNode:
    _check_clauses(query, planning)
    sources = [_source(s, planning) for s in query.sources()]
    scope = _scope(sources, planning)
    node = _reached(query, join_tables(query, sources, scope), sources, planning)
    node, scope, over = _grouped(query, node, scope)
    items = list(_items(query, sources))
    return _answer(query, node, _columns(query, items, scope, over, sources), items, (scope, over))


def _check_clauses(query: tree.SelectQuery, planning: _Planning) -> None:
    clauses = {"WINDOW": query.window, "PARTITION BY": query.partition_by, "EMIT": query.emit}
    for name, clause in clauses.items():
        if clause is not None:
            hint = "EMIT CHANGES is for whole queries" if name == "EMIT" else "CREATE TABLE … AS may have it"
            raise StatementError(f"Pull queries don't support {name} clauses.", query.span, hint)
    if query.group_by == ():
        raise StatementError(
            "GROUP BY does not name an expression", query.span, "a constant puts all rows in one group"
        )
    check_places(query)
    calls = table_calls(query, planning.functions)
    if calls:
        raise StatementError("Table source is not supported with table functions", calls[0].span)


def scanned(pulled: PullPlan) -> RelationalNode | None:
    """A pull query that filters a whole table, as relational algebra with the same rows in the same order (by key).

    None if it reads rows by key or by a range of keys, or has no condition.
    """
    plan, source = pulled.plan, pulled.source
    if not isinstance(pulled.accesses[0], FullScan) or not isinstance(plan.source, Filter):
        return None
    rows = TableRows(source, (FullScan(),), with_key=True)
    node = Where(rows, _over_columns(plan.source.condition, rows), plan.source.text)
    width, keys = len(plan.columns), len(source.schema.key)
    places = [len(rows.columns) - 1, *((keys, keys + 1) if source.windowed else ())]
    columns = (replace(c, expression=_over_columns(c.expression, rows)) for c in plan.columns)
    order = (NamedExpression(f"SORT_{i}", rows.columns[place]) for i, place in enumerate(places))
    sort = tuple(SortKey(width + i, False, False, unsigned=True) for i in range(len(places)))
    answer = Sort(Project(node, (*columns, *order)), sort, plan.limit)
    shown = answer.columns[:width]
    return Project(Slice(answer, 0, plan.limit), tuple(NamedExpression(c.name, c, c.name) for c in shown))


# ---------------------------------------------------------------- FROM


def _source(source: tree.FromSource, planning: _Planning) -> JoinedSource:
    if isinstance(source, tree.FromQuery):
        with in_view(source):
            node = _planned(source.query, planning)
        return _derived(node, source)
    if isinstance(source, tree.FromUnion):
        return _derived(_union(source, planning), source)
    table = origin(source, planning.catalog)
    node = TableRows(table, (FullScan(),))
    columns = [*table.schema.key, *(c for c in table.schema if c not in table.schema.key)]
    parts = {c.name: record_views.part_of(c) for c in columns}
    names = [c.name for c in node.schema]
    return JoinedSource(node, source.alias or table.name, node.visible, tuple(parts.get(n) for n in names))


def _derived(node: RelationalNode, source: tree.FromSource) -> JoinedSource:
    width = len(node.columns)
    return JoinedSource(node, source.alias, tuple(range(width)), (None,) * width)


def _union(source: tree.FromUnion, planning: _Planning) -> RelationalNode:
    """The rows of all branches. Columns are matched by position and converted to the branches' common types."""
    branches = [_planned(branch, planning) for branch in source.branches]
    columns = [[(c.name, type_of(c)) for c in branch.columns] for branch in branches]
    types = common_types(columns, [branch.span for branch in source.branches])
    names = [c.name for c in branches[0].columns]
    union = Union(tuple(_converted(branch, names, types) for branch in branches))
    return Distinct(union) if source.distinct else union


def _converted(branch: RelationalNode, names: Sequence[str], types: Sequence[SqlType | None]) -> RelationalNode:
    columns = branch.columns
    if [c.type for c in columns] == list(types) and [c.name for c in columns] == list(names):
        return branch
    values = (c if c.type == type else TypedCast(type, c) for c, type in zip(columns, types, strict=True))
    texts = zip(names, values, columns, strict=True)
    return Project(branch, tuple(NamedExpression(name, value, c.name) for name, value, c in texts))


def _scope(sources: Sequence[JoinedSource], planning: _Planning) -> NameScope:
    """The scope for expressions over the joined row, in which the columns of the sources follow one another."""
    columns, offset = list[ScopeColumn](), 0
    for source in sources:
        refs = [replace(c, index=c.index + offset) for c in source.node.columns]
        parts = zip(refs, source.parts, strict=True)
        columns += [ScopeColumn(ref.name, source.alias, ref, part) for ref, part in parts]
        offset += len(refs)
    return NameScope(tuple(columns), {}, planning.catalog.types, planning.settings, planning.functions, clause="SELECT")


# ---------------------------------------------------------------- WHERE


def _reached(
    query: tree.SelectQuery, node: RelationalNode, sources: Sequence[JoinedSource], planning: _Planning
) -> RelationalNode:
    """Applies WHERE: each conjunct is pushed down as far as possible, and chooses how its table is read."""
    scope = _scope(sources, planning)
    conditions = [] if query.where is None else conjuncts(resolved_condition(query.where, scope, "WHERE"), query.where)
    for typed, written in conditions:
        _check_columns(typed, written, "WHERE")
    return _narrowed(node, [(typed, to_sql(written)) for typed, written in conditions], query.span, planning)


# Conditions, each with its text.
_Conditions = Sequence[tuple[TypedExpression, str]]


def _narrowed(node: RelationalNode, conditions: _Conditions, at: Span, planning: _Planning) -> RelationalNode:
    """`node` filtered by all conditions, each evaluated as far down the tree as possible.

    So the rows of `SELECT * FROM (SELECT id AS x, n FROM t WHERE n > 1) WHERE x = 'a'` are looked up by their key.
    """
    match node:
        case TableRows():
            key_condition = _all([_over_record(typed, node) for typed, _ in conditions])
            indexes = planning.catalog.indexes_of(node.source.name)
            accesses = table_accesses(node.source, key_condition, planning.settings, at, indexes)
            return _where(replace(node, accesses=accesses), conditions)
        case Where(source=RelationalNode() as source) if conditions:
            return _narrowed(source, [(node.condition, node.text), *conditions], at, planning)
        case Project(source=RelationalNode() as source) if conditions:
            below = [(_before_projection(typed, node), text) for typed, text in conditions]
            passed = [(typed, text) for typed, text in below if typed is not None]
            rest = [condition for condition, (typed, _) in zip(conditions, below, strict=True) if typed is None]
            return _where(replace(node, source=_narrowed(source, passed, at, planning)), rest)
        case RowJoin():
            return _narrowed_join(node, conditions, at, planning)
    return _where(node, conditions)


def _before_projection(typed: TypedExpression, projection: Project) -> TypedExpression | None:
    """A condition on a projection's columns as one on those of its source; None if a column of it is computed."""
    parts = [p.expression for p in projection.expressions]
    if not all(isinstance(parts[p.index], ColumnReference) for p in typed.walk() if isinstance(p, ColumnReference)):
        return None
    return typed.transform(lambda part: parts[part.index] if isinstance(part, ColumnReference) else None)


def _narrowed_join(node: RowJoin, conditions: _Conditions, at: Span, planning: _Planning) -> RelationalNode:
    width = len(node.left.schema.columns)
    sides = [side_of(typed, width) for typed, _ in conditions]
    # A condition on the nullable side of an outer join must not be pushed below the join: it filters the joined rows.
    left = [c for c, side in zip(conditions, sides, strict=True) if side == "left" and not node.outer.right]
    right = [c for c, side in zip(conditions, sides, strict=True) if side == "right" and not node.outer.left]
    rest = [c for c in conditions if c not in left and c not in right]
    right_conditions = [(moved(typed, -width), text) for typed, text in right]
    assert isinstance(node.left, RelationalNode)
    assert isinstance(node.right, RelationalNode)
    joined = replace(
        node, left=_narrowed(node.left, left, at, planning), right=_narrowed(node.right, right_conditions, at, planning)
    )
    return _where(joined, rest)


def _where(node: RelationalNode, conditions: _Conditions) -> RelationalNode:
    conjunction = _all([typed for typed, _ in conditions])
    text = " AND ".join(text for _, text in conditions)
    return node if conjunction is None else Where(node, conjunction, text)


def _all(conditions: Sequence[TypedExpression]) -> TypedExpression | None:
    """The conditions combined with AND; None if there are none."""
    if not conditions:
        return None
    return reduce(lambda left, right: TypedLogical(BOOLEAN, "AND", left, right), conditions)


def _over_record(typed: TypedExpression, rows: TableRows) -> TypedExpression:
    """Rewrites a condition on a relation's columns to one on the key, value and pseudo-columns of a record."""
    keys = len(rows.source.schema.key)
    bounds = (ColumnPlace.WINDOWSTART, ColumnPlace.WINDOWEND) if rows.source.windowed else ()
    pseudo = (*bounds, ColumnPlace.ROWTIME)

    def place(part: TypedExpression) -> TypedExpression | None:
        """The part of the record that a column of the relation comes from; None for other expressions."""
        if not isinstance(part, ColumnReference):
            return None
        if part.index < keys:
            return replace(part, where=ColumnPlace.KEY)
        if part.index < keys + len(pseudo):
            return replace(part, where=pseudo[part.index - keys], index=0)
        return replace(part, index=part.index - keys - len(pseudo))

    return typed.transform(place)


def _over_columns(typed: TypedExpression, rows: TableRows) -> TypedExpression:
    """The inverse: rewrites an expression on parts of a record to one on the columns of a relation."""
    keys = len(rows.source.schema.key)
    pseudo = [*((ColumnPlace.WINDOWSTART, ColumnPlace.WINDOWEND) if rows.source.windowed else ()), ColumnPlace.ROWTIME]

    def place(part: TypedExpression) -> TypedExpression | None:
        """The column of the relation for a reference to a part of the record; None for other expressions."""
        if not isinstance(part, ColumnReference) or part.where is ColumnPlace.KEY:
            return replace(part, where=ColumnPlace.VALUE) if isinstance(part, ColumnReference) else None
        if part.where is ColumnPlace.VALUE:
            return replace(part, index=part.index + keys + len(pseudo))
        return replace(part, where=ColumnPlace.VALUE, index=keys + pseudo.index(part.where))

    return typed.transform(place)


def _check_columns(typed: TypedExpression, written: tree.Expression, clause: str) -> None:
    """Raises StatementError for a record's pseudo-column (ROWOFFSET, for example), which relations do not have."""
    for part in typed.walk():
        if isinstance(part, ColumnReference) and part.where is not ColumnPlace.VALUE:
            raise StatementError(unresolved(clause, part.name), written.span, "only rows of a table have it")


# ---------------------------------------------------------------- GROUP BY

# Rewrites an expression on the rows of FROM to one on the output of the Group; raises StatementError if it cannot.
_Over = Callable[[TypedExpression, tree.Expression], TypedExpression]


def _grouped(
    query: tree.SelectQuery, node: RelationalNode, scope: NameScope
) -> tuple[RelationalNode, NameScope, _Over]:
    """Applies GROUP BY and HAVING. Returns the node, the scope for SELECT, and the rewriting to group columns."""
    places = [*query.items, *([query.having] if query.having else []), *query.order_by]
    calls = aggregate_calls(places, scope.functions)
    if query.group_by is None and not calls:
        if query.having is not None:
            raise StatementError("HAVING needs GROUP BY or an aggregate function", query.having.span)
        return node, scope, lambda typed, written: typed
    if not calls:
        fact = "Pull queries don't support GROUP BY clauses without aggregate functions."
        raise StatementError(fact, query.span, "SELECT DISTINCT gives each row once")
    keys = tuple(_key(e, scope) for e in query.group_by or ())
    scopes = (scope.inside(_clause_of(c, query, scope.functions)) for c in calls)
    group = Group(node, keys, tuple(map(_grouped_call, calls, scopes)))
    width, columns = len(node.columns), group.columns
    computed: dict[tree.Expression, ColumnReference] = {
        c: replace(columns[len(keys) + i], index=width + i) for i, c in enumerate(calls)
    }
    inside = replace(scope, computed=computed)
    by_key = {bare(k.expression): columns[i] for i, k in enumerate(keys)}

    def over(typed: TypedExpression, written: tree.Expression, clause: str = "SELECT") -> TypedExpression:
        """An expression over the rows of FROM, rewritten to the columns of the Group."""

        def swap(part: TypedExpression) -> TypedExpression | None:
            key = by_key.get(bare(part))
            if key is not None or not isinstance(part, ColumnReference):
                return key
            if part.index >= width:
                return replace(part, index=part.index - width + len(keys))
            raise not_grouped([(written, [part])], clause, scope.functions)

        return typed.transform(swap)

    if query.having is None:
        return group, inside, over
    having = over(resolved_condition(query.having, inside, "HAVING"), query.having, "HAVING")
    return Where(group, having, to_sql(query.having)), inside, over


def _clause_of(call: tree.Call, query: tree.SelectQuery, functions: Library) -> str:
    """The first clause that has the call of an aggregate function, for errors."""
    if call in aggregate_calls(query.items, functions):
        return "SELECT"
    return "HAVING" if query.having and call in aggregate_calls([query.having], functions) else "ORDER BY"


def _key(expression: tree.Expression, scope: NameScope) -> NamedExpression:
    inner = aggregate_calls([expression], scope.functions)
    if inner:
        fact = f"GROUP BY does not support aggregate functions: {inner[0].name} is an aggregate function."
        raise StatementError(fact, inner[0].span)
    typed = type_expression(expression, scope.inside("GROUP BY"))
    if typed.type is None:
        raise StatementError("GROUP BY NULL does not form a group: a row without a key is left out", expression.span)
    _check_columns(typed, expression, "GROUP BY")
    name = expression.name if isinstance(expression, tree.ColumnRef) else to_sql(expression)
    return NamedExpression(name, typed, to_sql(expression))


def _grouped_call(call: tree.Call, scope: NameScope) -> GroupedCall:
    if call.name in _BY_OFFSET:
        fact = f"{call.name} depends on the order of records, which the rows of a table do not have"
        raise StatementError(fact, call.span, "MIN, MAX or COLLECT_LIST")
    nested = aggregate_calls(call.children(), scope.functions)
    if nested:
        raise StatementError(f"Aggregate functions cannot be nested: {to_sql(call)}", nested[0].span)
    typed = aggregate_call(call, scope, RelationKind.TABLE)
    for expression in typed.row_expressions:
        _check_columns(expression, call, scope.clause)
    if call.distinct and not typed.arguments:
        raise StatementError(f"{call.name}(DISTINCT …) needs an argument", call.span)
    return GroupedCall(typed, call.distinct)


# ---------------------------------------------------------------- SELECT, ORDER BY, LIMIT


def _items(query: tree.SelectQuery, sources: Sequence[JoinedSource]) -> Iterator[_Item]:
    joined = len(sources) > 1
    for item in query.items:
        match item:
            case tree.SelectOne(expression, alias):
                yield _Item(expression, alias, item.span)
            case tree.SelectAll(name):
                yield from _star(name, sources, joined, item.span)
            case _:
                raise StatementError("->* is not supported in this query", item.span, "name the fields")


def _star(name: str | None, sources: Sequence[JoinedSource], joined: bool, at: Span) -> Iterator[_Item]:
    matching = [s for s in sources if name in (None, s.alias)]
    if not matching:
        raise StatementError(f"'{name}' is not a valid stream/table name or alias.", at)
    for source in matching:
        columns = [source.node.columns[i] for i in source.visible]
        called = Counter(c.name for c in columns)
        for place in source.visible:
            column = source.node.columns[place].name
            part = source.parts[place] if called[column] > 1 else None
            alias = f"{source.alias}_{column}" if joined and source.alias else None
            yield _Item(tree.ColumnRef(column, source.alias, part), alias, at)


def _columns(
    query: tree.SelectQuery, items: Sequence[_Item], scope: NameScope, over: _Over, sources: Sequence[JoinedSource]
) -> tuple[NamedExpression, ...]:
    """The named columns of the SELECT."""
    names = Counter(c.name for s in sources for c in s.node.columns)
    aliases = Aliases(set(names), shared=frozenset(n for n, times in names.items() if times > 1))
    columns = list[NamedExpression]()
    for item in items:
        typed = type_expression(item.expression, scope)
        if typed.type is None:
            hint = "give it one: CAST(NULL AS STRING)"
            raise StatementError("a bare NULL has no type and cannot be a column", item.at, hint)
        typed = over(typed, item.expression)
        _check_columns(typed, item.expression, "SELECT")
        name = aliases.of(item.expression, item.alias)
        if name in [c.name for c in columns]:
            text = f"`{name}` {typed.type}"
            fact = f"Duplicate value columns found in schema: {text}"
            raise StatementError(fact, item.at, "give one of them an alias")
        columns.append(NamedExpression(name, typed, to_sql(item.expression)))
    return tuple(columns)


def _answer(
    query: tree.SelectQuery,
    node: RelationalNode,
    columns: tuple[NamedExpression, ...],
    items: Sequence[_Item],
    typing: tuple[NameScope, _Over],
) -> RelationalNode:
    """Applies SELECT, DISTINCT, ORDER BY, LIMIT and OFFSET. Columns that only ORDER BY needs are dropped at the end."""
    hidden = list[NamedExpression]()
    keys = [_sort_key(o, columns, items, hidden, typing) for o in query.order_by]
    if hidden and query.distinct:
        raise StatementError("with SELECT DISTINCT, ORDER BY names columns of the SELECT", query.order_by[0].span)
    answer: RelationalNode = Project(node, (*columns, *hidden))
    if query.distinct:
        answer = Distinct(answer)
    if keys:
        most = None if query.limit is None else query.limit + query.offset
        answer = Sort(answer, tuple(keys), most)
    if query.offset or query.limit is not None:
        answer = Slice(answer, query.offset, query.limit)
    if hidden:
        shown = answer.columns[: len(columns)]
        answer = Project(answer, tuple(NamedExpression(c.name, c, c.name) for c in shown))
    return answer


def _sort_key(
    order: tree.OrderItem,
    columns: Sequence[NamedExpression],
    items: Sequence[_Item],
    hidden: list[NamedExpression],
    typing: tuple[NameScope, _Over],
) -> SortKey:
    """The sort key of an ORDER BY item: a SELECT column (by number, name or equal expression), else one added to
    `hidden`."""
    written = order.expression
    index = _selected(written, columns, items)
    if index is None:
        scope, over = typing
        typed = over(type_expression(written, scope.inside("ORDER BY")), written)
        _check_columns(typed, written, "ORDER BY")
        index = len(columns) + len(hidden)
        hidden.append(NamedExpression(f"SORT_{len(hidden)}", typed, to_sql(written)))
    type = (*columns, *hidden)[index].expression.type
    if type is None or isinstance(type, Array | Map | Struct):
        raise StatementError(f"rows cannot be sorted by a value of type {type or 'NULL'}", written.span)
    nulls_first = order.descending if order.nulls_first is None else order.nulls_first
    return SortKey(index, order.descending, nulls_first)


def _selected(written: tree.Expression, columns: Sequence[NamedExpression], items: Sequence[_Item]) -> int | None:
    if isinstance(written, tree.Literal) and written.type == INTEGER:
        place = written.value
        if not isinstance(place, int) or not 1 <= place <= len(columns):
            raise StatementError(f"ORDER BY {place}: the SELECT has {len(columns)} columns", written.span)
        return place - 1
    if isinstance(written, tree.ColumnRef) and written.source is None:
        positions = [i for i, c in enumerate(columns) if c.name == written.name]
        if positions:
            return positions[0]
    return next((i for i, item in enumerate(items) if item.expression == written), None)
