"""SELECT: from the tree of a query to its plan (docs/reference/queries.md).

The order of a query is fixed: read, filter, flatten (table functions), rekey (PARTITION BY) or aggregate (GROUP BY),
select. Each step is a function from one Relation (a plan node, and the names that resolve to its columns) to the next;
`plan_persistent` and `plan_transient` compose them. So the last statement of

    CREATE STREAM flights (id STRING KEY, origin STRING, delays ARRAY<INT>)
      WITH (kafka_topic='flights', value_format='JSON', partitions=1);
    CREATE STREAM late AS
      SELECT origin, id, EXPLODE(delays) * 60 AS delay FROM flights WHERE origin <> 'JFK' PARTITION BY origin;

becomes (the last node first, as EXPLAIN prints it)

    Select ORIGIN KEY, ID, EXPLODE(DELAYS) * 60 AS DELAY
      Partition by ORIGIN
        Flatten EXPLODE(DELAYS)
          Filter ORIGIN <> 'JFK'
            Read STREAM FLIGHTS from topic flights (key KAFKA, value JSON)

The nodes' expressions contain no names: ID is the position of the column that Partition appended to the value, the old
key.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from millstream.analysis import record_views
from millstream.analysis.expressions import condition, function_call, type_expression
from millstream.analysis.scope import NameScope, ScopeColumn, check_names
from millstream.analysis.typed_expressions import ColumnPlace, ColumnReference, bare
from millstream.catalog.catalog import Catalog, RelationKind, Source
from millstream.functions.declare import FunctionKind
from millstream.functions.python import library
from millstream.model.errors import Span, StatementError
from millstream.model.names import quoted
from millstream.model.schema import Schema
from millstream.model.settings import is_on
from millstream.plan import clauses, inner_queries, over_aggregates
from millstream.plan.aggregation import WINDOW_COLUMNS, group_rows
from millstream.plan.column_names import Aliases, origin
from millstream.plan.inner_queries import InnerRows
from millstream.plan.join_sides import JoinInput, windowed_repartition
from millstream.plan.joins import join_sources
from millstream.plan.nodes import (
    ClientOutput,
    Filter,
    Flatten,
    NamedExpression,
    PlanNode,
    Read,
    Rekey,
    Select,
    key_refs,
    leaves,
    reads,
    refs,
    windowed,
)
from millstream.plan.projection import (
    ProjectionItem,
    Relation,
    check_alias,
    check_pseudo,
    projected_items,
    select_columns,
    typed_item,
    with_values,
)
from millstream.plan.pull_queries import is_key_of_answer, place_of_name
from millstream.plan.relational import is_relational, plan_relational
from millstream.plan.steps import TransientQuery
from millstream.plan.views import in_view, with_view_queries, without_emit_changes
from millstream.syntax import tree
from millstream.syntax.printer import to_sql

FATAL_RECORDS = "ksql.fail.on.deserialization.error"
STRICT_TIME = "ksql.timestamp.throw.on.invalid"
_SIDES = {ColumnPlace.KEY, ColumnPlace.VALUE}


def plan_persistent(query: tree.SelectQuery, sink: str, catalog: Catalog, settings: Mapping[str, str]) -> Select:
    """The plan of a query with a sink, whose key columns are each projected once. Raises StatementError."""
    if query.limit is not None:
        raise StatementError(
            "a persistent query cannot have LIMIT", query.span, "LIMIT is for a SELECT that a client reads"
        )
    clauses.check_only_plain(query, "persistent queries")
    query = inner_queries.distinct_inside(query)
    sources, query = query.sources(), _logical_view(query, catalog)
    relation, aliases = _rows(query, sources, catalog, settings)
    _check_windowed_table(query, relation)
    relation = _with_join_key(query, relation, sink)
    relation, items = _projected(query, relation)
    for item in items:
        check_pseudo(item)
    return select_columns(query, items, relation, aliases, sink, settings)


def plan_transient(statement: tree.QueryStatement, catalog: Catalog, settings: Mapping[str, str]) -> TransientQuery:
    """The plan of a SELECT for a client: any columns, with or without keys. Raises StatementError."""
    select = with_view_queries(statement, catalog).query
    if is_relational(select, catalog, settings):
        return plan_relational(select, catalog, settings)
    if select.emit is not None:
        clauses.check_only_plain(select, "Push queries")
    else:
        clauses.check_pull(select)
    written = inner_queries.distinct_inside(select)
    query = clauses.in_one_group(_logical_view(written, catalog), library(catalog.functions))
    relation, aliases = _rows(query, written.sources(), catalog, settings)
    if query.emit is None and query.where is not None and relation.node.kind is RelationKind.TABLE:
        _check_in_lists(query.where, relation.scope)
    if query.emit is None and select.inner() and relation.node.kind is RelationKind.TABLE:
        hint = f"set {clauses.RELATIONAL} to true, or CREATE a table AS the inner query"
        raise StatementError("Pull queries don't support queries in FROM.", query.source.span, hint)
    relation, items = _projected(query, replace(relation, bounds=True))
    for item in items:
        check_alias(item)
    columns = tuple(
        NamedExpression(aliases.of(item.expression, item.alias), typed_item(item), to_sql(item.expression))
        for item in items
    )
    answer = ClientOutput(relation.node, columns, query.limit)
    planned = TransientQuery(answer, query.emit is not None, reads(answer))
    _check_twice(planned, items)
    return planned


def plan_view(
    name: str, query: tree.SelectQuery, at: Span, catalog: Catalog, settings: Mapping[str, str]
) -> TransientQuery:
    """The plan of `SELECT *` from a view: as a push query, or if it can only be pulled, as a pull query on tables.

    `query` is the view's, in which other views' are in their places. Raises StatementError.
    """
    query = without_emit_changes(query)
    source = tree.FromQuery(name, name, query=query, span=at)
    everything = tree.SelectQuery((tree.SelectAll(span=at),), source, emit=tree.Emit.CHANGES, span=at)
    pulled = replace(everything, emit=None)
    if not is_relational(pulled, catalog, settings):
        return plan_transient(tree.QueryStatement(everything, span=at), catalog, settings)
    try:
        return plan_transient(tree.QueryStatement(everything, span=at), catalog, settings)
    except StatementError as error:
        try:
            return plan_relational(pulled, catalog, settings)
        except StatementError as other:
            # Only a pull query may have these clauses, so that its error is the one that matters.
            raise (other if any(_is_ordered(node) for node in query.walk()) else error) from None


def _is_ordered(node: tree.SyntaxNode) -> bool:
    return isinstance(node, tree.SelectQuery) and bool(node.order_by or node.limit is not None or node.offset)


def _logical_view(query: tree.SelectQuery, catalog: Catalog) -> tree.SelectQuery:
    """The query's own clauses with every column by its own name, whichever view of the schemas it was written for.

    In place of an inner query FROM has its alias.
    """
    named = [s for s in query.sources() if not isinstance(s, inner_queries.INNER)]
    aliased = ((s.alias or s.name, catalog.sources.get(s.name)) for s in named)
    known = [(alias, source) for alias, source in aliased if source is not None]
    return record_views.to_logical_view(query.without_inner(), known)


def _check_in_lists(condition: tree.Expression, scope: NameScope) -> None:
    """Raises StatementError for an item of an IN list that could not be compared by = with the operand.

    It is for pull queries on tables, where ksqlDB takes IN for one = per item: no text for a number, and no NULL.
    """
    in_lambdas = [e for part in condition.walk() if isinstance(part, tree.Lambda) for e in part.body.walk()]
    for part in condition.walk():
        if isinstance(part, tree.InList) and part not in in_lambdas:
            for item in part.items:
                type_expression(tree.Comparison("=", part.operand, item, span=item.span), scope)


def _check_twice(query: TransientQuery, items: Sequence[ProjectionItem]) -> None:
    """Raises StatementError if two columns, which are those of the items, have one name.

    Only the key and the value of one source may each have a column of that name.
    """
    seen: dict[str, NamedExpression] = {}
    for column, item in zip(query.plan.columns, items, strict=True):
        first = seen.setdefault(column.name, column)
        if first is column or {place_of_name(first), place_of_name(column)} == _SIDES:
            continue
        keys = [_is_key(c, query.pulled_table) for c in (first, column)]
        side, mark = ("key", " KEY") if all(keys) else ("value", "")
        text = f"{quoted(column.name)} {column.expression.type}{mark}"
        raise StatementError(f"Duplicate {side} columns found in schema: {text}", item.at, "give one of them an alias")


def _is_key(column: NamedExpression, pulled_table: Source | None) -> bool:
    """True for a key column: in a push query, and one over a stream, by its expression."""
    if pulled_table is not None:
        return is_key_of_answer(column, pulled_table)
    return isinstance(column.expression, ColumnReference) and column.expression.where is ColumnPlace.KEY


def _rows(
    query: tree.SelectQuery, sources: Sequence[tree.FromSource], catalog: Catalog, settings: Mapping[str, str]
) -> tuple[Relation, Aliases]:
    """The rows that SELECT or GROUP BY is applied to; `sources` are those of FROM, with their inner queries."""
    functions = library(catalog.functions)
    clauses.check_clauses(query, functions)
    clauses.check_final(query, settings)
    clauses.check_window_bounds(query, functions)
    relations = [_source(s, catalog, settings) for s in sources]
    relation = _joined(query, relations) if query.joins else relations[0]
    named = frozenset(i.alias for i in query.items if isinstance(i, tree.SelectOne) and i.alias is not None)
    relation = replace(relation, scope=replace(relation.scope, aliases=named))
    clauses.check_table_functions(query, relation.node.kind, relation.scope.functions)
    over_aggregates.check_places(query, relation)
    _check_names(query, relation)
    shared = relation.joined.shared if relation.joined else frozenset[str]()
    aliases = Aliases({c.name for relation in relations for c in relation.node.schema}, shared=shared)
    relation = _filtered(query, relation)
    relation = over_aggregates.with_over_aggregates(query, _flattened(query, relation))
    return _rekeyed(query, relation, aliases), aliases


def _check_names(query: tree.SelectQuery, relation: Relation) -> None:
    """Raises StatementError for names that are not columns, clause by clause as ksqlDB does: before any error of types.

    Those of SELECT are checked later if it can name columns that the rows of FROM do not have.
    """
    having = () if query.having is None else (query.having,)
    where = () if query.where is None else (query.where,)
    grouped, keys = query.group_by or (), query.partition_by or ()
    named = {"WHERE": where, "GROUP BY": grouped, "PARTITION BY": keys, "HAVING": having}
    for clause, expressions in named.items():
        for expression in expressions:
            check_names(expression, relation.scope.inside(clause))
    if not (query.partition_by or query.joins or query.window):
        for item in query.items:
            check_names(item, relation.scope)


def _source(source: tree.FromSource, catalog: Catalog, settings: Mapping[str, str]) -> Relation:
    match source:
        case tree.FromQuery(query=query):
            with in_view(source):
                rows = inner_queries.rows_of(_inner(query, catalog, settings))
            return _inner_relation(rows, source, catalog, settings)
        case tree.FromUnion():
            branches = [_inner(b, catalog, settings, named=not i) for i, b in enumerate(source.branches)]
            return _inner_relation(inner_queries.union_all(source, branches), source, catalog, settings)
    named = origin(source, catalog)
    return read_source(named, source.alias or named.name, catalog, settings)


def _inner(query: tree.SelectQuery, catalog: Catalog, settings: Mapping[str, str], named: bool = True) -> InnerRows:
    """The rows and columns of an inner query; unless `named` the names of its columns are not used (a later branch).

    Raises StatementError, also for what an inner query cannot have.
    """
    inner_queries.check_clauses(query)
    sources, query = query.sources(), _logical_view(query, catalog)
    relation, aliases = _rows(query, sources, catalog, settings)
    may_drop = relation.node.kind is RelationKind.STREAM
    relation = _with_join_key(query, relation, sources[0].alias or sources[0].name, may_drop)
    relation, items = _projected(query, relation)
    if query.emit is tree.Emit.FINAL:
        relation = replace(relation, node=inner_queries.final_rows(relation.node))
    names = [aliases.of(item.expression, item.alias) for item in items]
    if named:
        inner_queries.check_names(items, names)
    return inner_queries.inner_rows(query, relation, items, names)


def _inner_relation(
    inner: tuple[PlanNode, tuple[str, ...]], source: tree.FromSource, catalog: Catalog, settings: Mapping[str, str]
) -> Relation:
    node, dropped_keys = inner
    relation = _relation(node, _columns(node.schema, source.alias or ""), source.alias or "", catalog, settings)
    return replace(relation, dropped_keys=dropped_keys)


def _joined(query: tree.SelectQuery, relations: Sequence[Relation]) -> Relation:
    for relation, place in zip(relations, query.sources(), strict=True):
        inner_queries.check_input(relation.node, "joined", place.span)
    places = zip(relations, query.sources(), strict=True)
    inputs = [JoinInput(relation.node, relation.alias, place.span) for relation, place in places]
    join = join_sources(query, inputs, replace(relations[0].scope, columns=()))
    return Relation(join.node, join.scope, relations[0].alias, joined=join)


def _with_join_key(query: tree.SelectQuery, relation: Relation, sink: str, may_drop: bool = False) -> Relation:
    """The relation in which the projected column that names a join's key refers to the key.

    If no projected column names the key: with `may_drop` the relation is returned unchanged, and no column refers to
    the key, so that the rows lose it; without, StatementError is raised.
    """
    joined = relation.joined
    if joined is None or query.group_by is not None or query.partition_by is not None:
        return relation
    selected = [item.typed for item in projected_items(query, relation)]
    if may_drop and not joined.names_key(selected):
        return relation
    scope, items = joined.keyed(relation.scope, selected, sink, query.span)
    return replace(relation, scope=scope, key_items=items)


def _projected(query: tree.SelectQuery, relation: Relation) -> tuple[Relation, tuple[ProjectionItem, ...]]:
    """The relation that is projected, grouped if the query groups, and the projection's columns."""
    if query.group_by is None:
        items = tuple(projected_items(query, relation))
        return relation, tuple(replace(i, typed=relation.key_items.get(bare(i.typed), i.typed)) for i in items)
    grouped = group_rows(query, relation.node, relation.scope)
    items = tuple(projected_items(query, replace(relation, scope=grouped.selecting)))
    if _keeps_key(relation, grouped.keys, items):
        by_key = zip(grouped.keys, key_refs(relation.node.schema), strict=True)
        grouped = replace(grouped, keys=tuple(replace(key, expression=ref) for key, ref in by_key))
    grouped.columns.check((i.expression, i.typed) for i in items)
    over = tuple(replace(i, typed=grouped.columns.over(i.typed)) for i in items)
    return replace(relation, node=grouped.groups(query)), over


def _keeps_key(relation: Relation, keys: Sequence[NamedExpression], items: Iterable[ProjectionItem]) -> bool:
    """Whether GROUP BY or PARTITION BY names the key of an outer join of streams by a column that may be NULL."""
    if relation.joined is None or relation.node.kind is RelationKind.TABLE:
        return False
    return relation.joined.is_key([k.expression for k in keys], (item.typed for item in items))


def _check_windowed_table(query: tree.SelectQuery, relation: Relation) -> None:
    for leaf in leaves(relation.node):
        if leaf.origin.windowed is not None and leaf.kind is RelationKind.TABLE:
            raise StatementError("KSQL does not support persistent queries on windowed tables.", query.source.span)


def read_source(origin: Source, alias: str, catalog: Catalog, settings: Mapping[str, str]) -> Relation:
    """A source as a relation, whose columns can be referred to by their names and with `alias` before them."""
    node = Read(origin, is_on(settings, STRICT_TIME), is_on(settings, FATAL_RECORDS))
    sides = (record_views.part_of(column) for column in node.schema)
    columns = [replace(c, part=side) for c, side in zip(_columns(node.schema, alias), sides, strict=True)]
    return _relation(node, columns, alias, catalog, settings)


def _relation(
    node: PlanNode, columns: Sequence[ScopeColumn], alias: str, catalog: Catalog, settings: Mapping[str, str]
) -> Relation:
    """The rows of a node with these columns, and the bounds of their windows if they have windows."""
    bounds = WINDOW_COLUMNS if windowed(node) is not None else ()
    named = (*columns, *(ScopeColumn(r.name, alias, r) for r in bounds))
    scope = NameScope(named, {}, catalog.types, settings, library(catalog.functions), clause="SELECT")
    return Relation(node, scope, alias)


def _columns(schema: Schema, alias: str) -> list[ScopeColumn]:
    return [ScopeColumn(ref.name, alias, ref) for ref in refs(schema)]


def _filtered(query: tree.SelectQuery, relation: Relation) -> Relation:
    if query.where is None:
        return relation
    return replace(
        relation, node=Filter(relation.node, condition(query.where, relation.scope, "WHERE"), to_sql(query.where))
    )


def _flattened(query: tree.SelectQuery, relation: Relation) -> Relation:
    calls = clauses.table_calls(query, relation.scope.functions)
    if not calls:
        return relation
    table_functions = tuple(
        NamedExpression(f"KSQL_SYNTH_{i}", function_call(c, relation.scope, FunctionKind.TABLE), to_sql(c))
        for i, c in enumerate(calls)
    )
    return with_values(relation, Flatten(relation.node, table_functions), calls)


def _rekeyed(query: tree.SelectQuery, relation: Relation, aliases: Aliases) -> Relation:
    """The relation after PARTITION BY; unchanged if the query does not have it, or partitions by the current key.

    Raises StatementError for a table, for windowed keys, and for expressions that cannot be a key.
    """
    if query.partition_by is None:
        return relation
    if relation.node.kind is RelationKind.TABLE:
        raise StatementError("PARTITION BY is not supported on tables", query.span, "tables keep their key")
    expressions = query.partition_by
    if any(_is_null(e) for e in expressions):
        if len(expressions) > 1:
            raise StatementError("Cannot PARTITION BY multiple columns including NULL", expressions[0].span)
        expressions = ()
    names = query.key_names or (None,) * len(expressions)
    unnamed = (e for e, name in zip(expressions, names, strict=True) if name is None)
    aliases.reserve(unnamed, [item for item in query.items if isinstance(item, tree.SelectOne)])
    scope = relation.scope.inside("PARTITION BY")
    keys = tuple(
        NamedExpression(aliases.of_key(e, name), type_expression(e, scope), to_sql(e))
        for e, name in zip(expressions, names, strict=True)
    )
    _check_distinct(keys, expressions)
    if not _changes_key(keys, relation.node.schema):
        return relation
    if _keeps_key(relation, keys, projected_items(query, relation)):
        by_key = zip(keys, key_refs(relation.node.schema), strict=True)
        return replace(relation, key_items={bare(key.expression): ref for key, ref in by_key})
    if windowed(relation.node) is not None:
        hint = "PARTITION BY would leave the key without its window; GROUP BY works"
        raise windowed_repartition(query.span, hint)
    return _rekey(keys, expressions, relation, frozenset(n for n in names if n is not None))


def _is_null(expression: tree.Expression) -> bool:
    return isinstance(expression, tree.Literal) and expression.type is None


def _check_distinct(keys: tuple[NamedExpression, ...], expressions: tuple[tree.Expression, ...]) -> None:
    for i, key in enumerate(keys):
        if key.expression in [k.expression for k in keys[:i]]:
            raise StatementError(f"PARTITION BY names {to_sql(expressions[i])} twice", expressions[i].span)


def _changes_key(keys: tuple[NamedExpression, ...], schema: Schema) -> bool:
    """True if the key changes: PARTITION BY the current key has no effect."""
    key_columns = tuple(r for r in refs(schema) if r.where is ColumnPlace.KEY)
    return tuple(k.expression for k in keys) != key_columns


def _rekey(
    keys: tuple[NamedExpression, ...],
    expressions: tuple[tree.Expression, ...],
    relation: Relation,
    aliased: frozenset[str],
) -> Relation:
    """The relation rekeyed: a column that became a key refers to the key, the other old keys to the value.

    A key whose column was `aliased` can be referred to by the alias too.
    """
    before = relation.node.schema
    node = Rekey(relation.node, keys)
    width = len(before.value)
    to_key = {k.expression: ColumnReference(k.expression.type, ColumnPlace.KEY, i, k.name) for i, k in enumerate(keys)}
    moved = {
        r: ColumnReference(r.type, ColumnPlace.VALUE, width + i, r.name)
        for i, r in enumerate(r for r in refs(before) if r.where is ColumnPlace.KEY)
    }
    hidden = set(relation.hidden)
    columns = []
    for column in relation.scope.columns:
        target = to_key.get(column.ref, moved.get(column.ref, column.ref))
        if column.ref in to_key:
            old = moved.get(column.ref, column.ref)
            hidden.add(old.index)
        columns.append(replace(column, ref=target))
    computed = {**relation.scope.computed, **{e: to_key[k.expression] for e, k in zip(expressions, keys, strict=True)}}
    selected = {c.ref for c in columns}
    columns += [
        ScopeColumn(k.name, relation.alias, ref)
        for k in keys
        if (ref := to_key[k.expression]) not in selected or k.name in aliased
    ]
    scope = replace(relation.scope, columns=tuple(columns), computed=computed)
    return replace(relation, node=node, scope=scope, hidden=frozenset(hidden))
