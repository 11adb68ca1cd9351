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

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from millstream.analysis import views
from millstream.analysis.expressions import check_repeated, condition, function_call, type_expression
from millstream.analysis.scope import NameScope, ScopeColumn
from millstream.analysis.sources import RESERVED_COLUMNS
from millstream.analysis.typed_expressions import ColumnPlace, ColumnReference, TypedExpression
from millstream.catalog.catalog import Catalog, RelationKind, Source
from millstream.functions.declare import FunctionKind
from millstream.functions.python import library
from millstream.model.errors import Span, StatementError
from millstream.model.names import identifier
from millstream.model.schema import Schema
from millstream.model.settings import is_on
from millstream.model.types import Struct
from millstream.plan import clauses
from millstream.plan.aggregation import WINDOW_COLUMNS, aggregate_rows
from millstream.plan.column_names import Aliases, origin
from millstream.plan.joins import JoinedSources, JoinInput, join_sources
from millstream.plan.nodes import (
    ClientOutput,
    Filter,
    Flatten,
    NamedExpression,
    PlanNode,
    Read,
    Rekey,
    Select,
    leaves,
    reads,
    refs,
    windowed,
)
from millstream.plan.relational import is_relational, plan_relational
from millstream.plan.steps import TransientQuery
from millstream.syntax import tree
from millstream.syntax.printer import to_sql

FATAL_RECORDS = "ksql.fail.on.deserialization.error"
STRICT_TIME = "ksql.timestamp.throw.on.invalid"
NEW_PLANNER = "ksql.new.query.planner.enabled"


@dataclass(frozen=True, slots=True)
class ProjectionItem:
    """One column of a projection: its expression in the tree, that expression typed, and its alias."""

    expression: tree.Expression
    typed: TypedExpression
    alias: str | None
    at: Span


@dataclass(frozen=True, slots=True)
class Relation:
    """A plan so far and the names that resolve to its columns. `hidden` are value columns that `*` leaves out.

    `joined` are the query's joins, if any; with `bounds`, `*` includes the window bounds of a windowed source.
    """

    node: PlanNode
    scope: NameScope
    alias: str
    hidden: frozenset[int] = frozenset()
    joined: JoinedSources | None = None
    bounds: bool = False


def plan_persistent(query: tree.SelectQuery, sink: str, catalog: Catalog, settings: Mapping[str, str]) -> Select:
    """The plan of a query with a sink, whose key columns are each projected once. Raises StatementError."""
    if query.limit is not None:
        raise StatementError(
            "a query that a sink keeps has no LIMIT", query.span, "LIMIT ends a SELECT of a client's own"
        )
    clauses.check_only_plain(query, "queries that a sink keeps")
    query = _logical_view(query, catalog)
    relation, aliases = _rows(query, catalog, settings)
    _check_windowed_table(query, relation)
    relation = _with_join_key(query, relation, sink)
    relation, items = _projected(query, relation)
    for item in items:
        _check_pseudo(item)
    return _select(query, items, relation, aliases, sink, settings)


def plan_transient(statement: tree.QueryStatement, catalog: Catalog, settings: Mapping[str, str]) -> TransientQuery:
    """The plan of a SELECT for a client: any columns, with or without keys. Raises StatementError."""
    if is_relational(statement.query, catalog, settings):
        return plan_relational(statement.query, catalog, settings)
    if statement.query.emit is not None:
        clauses.check_only_plain(statement.query, "Push queries")
    else:
        clauses.check_pull(statement.query)
    query = clauses.in_one_group(_logical_view(statement.query, catalog), library(catalog.functions))
    relation, aliases = _rows(query, catalog, settings)
    if query.emit is None and query.where is not None and relation.node.kind is RelationKind.TABLE:
        _check_in_lists(query.where, relation.scope)
    relation, items = _projected(query, replace(relation, bounds=True))
    columns = tuple(
        NamedExpression(aliases.of(item.expression, item.alias), _typed_item(item), to_sql(item.expression))
        for item in items
    )
    _check_twice(columns, items)
    answer = ClientOutput(relation.node, columns, query.limit)
    return TransientQuery(answer, query.emit is not None, reads(answer))


def _logical_view(query: tree.SelectQuery, catalog: Catalog) -> tree.SelectQuery:
    """The query with every column by its own name, whichever view of the schemas it was written for."""
    places = (query.source, *(j.source for j in query.joins))
    aliased = ((s.alias or s.name, catalog.sources.get(s.name)) for s in places)
    return views.to_logical_view(query, [(alias, source) for alias, source in aliased if source is not None])


def _check_in_lists(condition: tree.Expression, scope: NameScope) -> None:
    """In a pull query on a table IN is one = for each value, as in ksqlDB: no text for a number, and no NULL."""
    in_lambdas = [e for part in condition.walk() if isinstance(part, tree.Lambda) for e in part.body.walk()]
    for part in condition.walk():
        if isinstance(part, tree.InList) and part not in in_lambdas:
            for item in part.items:
                type_expression(tree.Comparison("=", part.operand, item, span=item.span), scope)


def _check_twice(columns: Sequence[NamedExpression], items: Sequence[ProjectionItem]) -> None:
    """Raises StatementError if a name is used more than once, other than once in the key and once in the value."""
    seen: set[tuple[str, bool]] = set()
    for column, item in zip(columns, items, strict=True):
        place = (
            column.name,
            isinstance(column.expression, ColumnReference) and column.expression.where is ColumnPlace.KEY,
        )
        if place in seen:
            text = f"`{column.name}` {column.expression.type}"
            raise StatementError(
                f"Duplicate value columns found in schema: {text}", item.at, "give one of them an alias"
            )
        seen.add(place)


def _rows(query: tree.SelectQuery, catalog: Catalog, settings: Mapping[str, str]) -> tuple[Relation, Aliases]:
    clauses.check_clauses(query, library(catalog.functions))
    clauses.check_final(query, settings)
    relations = [_source(s, catalog, settings) for s in (query.source, *(j.source for j in query.joins))]
    relation = _joined(query, relations) if query.joins else relations[0]
    clauses.check_table_functions(query, relation.node.kind, relation.scope.functions)
    shared = relation.joined.shared if relation.joined else frozenset[str]()
    aliases = Aliases({c.name for relation in relations for c in relation.node.schema}, shared=shared)
    relation = _filtered(query, relation)
    relation = _flattened(query, relation)
    return _rekeyed(query, relation, aliases), aliases


def _source(source: tree.FromSource, catalog: Catalog, settings: Mapping[str, str]) -> Relation:
    named = origin(source, catalog)
    return read_source(named, source.alias or named.name, catalog, settings)


def _joined(query: tree.SelectQuery, relations: Sequence[Relation]) -> Relation:
    places = (query.source, *(j.source for j in query.joins))
    inputs = [
        JoinInput(r.node, r.alias, p.span) for r, p in zip(relations, places, strict=True) if isinstance(r.node, Read)
    ]
    join = join_sources(query, inputs, replace(relations[0].scope, columns=()))
    return Relation(join.node, join.scope, relations[0].alias, joined=join)


def _with_join_key(query: tree.SelectQuery, relation: Relation, sink: str) -> Relation:
    """The relation in which the projected column that names a join's key refers to the key."""
    if relation.joined is None or query.group_by is not None or query.partition_by is not None:
        return relation
    selected = [item.typed for item in _items(query, relation)]
    return replace(relation, scope=relation.joined.keyed(relation.scope, selected, sink, query.span))


def _projected(query: tree.SelectQuery, relation: Relation) -> tuple[Relation, tuple[ProjectionItem, ...]]:
    """The relation that is projected, grouped if the query groups, and the projection's columns."""
    if query.group_by is None:
        return relation, tuple(_items(query, relation))
    aggregated = aggregate_rows(query, relation.node, relation.scope)
    items = _items(query, replace(relation, scope=aggregated.scope))
    over = tuple(replace(i, typed=aggregated.over(i.typed, i.expression)) for i in items)
    return replace(relation, node=aggregated.node), over


def _check_windowed_table(query: tree.SelectQuery, relation: Relation) -> None:
    for leaf in leaves(relation.node):
        if leaf.origin.windowed is not None and leaf.kind is RelationKind.TABLE:
            raise StatementError("KSQL does not support persistent queries on windowed tables.", query.source.span)


def read_source(origin: Source, alias: str, catalog: Catalog, settings: Mapping[str, str]) -> Relation:
    """A source as a relation, whose columns can be referred to by their names and with `alias` before them."""
    node = Read(origin, is_on(settings, STRICT_TIME), is_on(settings, FATAL_RECORDS))
    columns = _columns(node.schema, alias)
    if origin.windowed is not None:
        columns += tuple(ScopeColumn(r.name, alias, r) for r in WINDOW_COLUMNS)
    return Relation(node, NameScope(columns, {}, catalog.types, settings, library(catalog.functions)), alias)


def _columns(schema: Schema, alias: str) -> tuple[ScopeColumn, ...]:
    return tuple(
        ScopeColumn(ref.name, alias, ref, views.part_of(c)) for ref, c in zip(refs(schema), schema, strict=True)
    )


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
    width = len(relation.node.schema.value)
    table_functions = tuple(
        NamedExpression(f"KSQL_SYNTH_{i}", function_call(c, relation.scope, FunctionKind.TABLE), to_sql(c))
        for i, c in enumerate(calls)
    )
    node = Flatten(relation.node, table_functions)
    computed: dict[tree.Expression, ColumnReference] = {
        c: ColumnReference(m.expression.type, ColumnPlace.VALUE, width + i, m.name)
        for i, (c, m) in enumerate(zip(calls, table_functions, strict=True))
    }
    hidden = frozenset(range(width, width + len(table_functions)))
    return replace(relation, node=node, scope=replace(relation.scope, computed=computed), hidden=hidden)


def _rekeyed(query: tree.SelectQuery, relation: Relation, aliases: Aliases) -> Relation:
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
    keys = tuple(
        NamedExpression(aliases.of_key(e, name), _partition_expression(e, relation), to_sql(e))
        for e, name in zip(expressions, names, strict=True)
    )
    _check_distinct(keys, expressions)
    if not _changes_key(keys, relation.node.schema):
        return relation
    if windowed(relation.node) is not None:
        raise StatementError(
            "Implicit repartitioning of windowed sources is not supported.",
            query.span,
            "PARTITION BY would leave the key without its window; GROUP BY works",
        )
    return _rekey(keys, expressions, relation, frozenset(n for n in names if n is not None))


def _is_null(expression: tree.Expression) -> bool:
    return isinstance(expression, tree.Literal) and expression.type is None


def _partition_expression(expression: tree.Expression, relation: Relation) -> TypedExpression:
    try:
        return type_expression(expression, relation.scope)
    except StatementError as error:
        hint = error.hint or "PARTITION BY applies to the source's columns, not to the projection's aliases"
        raise StatementError(f"PARTITION BY: {error.fact}", error.at, hint) from error


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


# ---------------------------------------------------------------- the projection


def _items(query: tree.SelectQuery, relation: Relation) -> Iterator[ProjectionItem]:
    for item in query.items:
        match item:
            case tree.SelectOne(expression, alias):
                yield ProjectionItem(expression, type_expression(expression, relation.scope), alias, item.span)
            case tree.SelectAll(source) if relation.joined is not None:
                yield from _joined_star(source, relation, relation.joined, item.span)
            case tree.SelectAll(source):
                yield from _star(source, relation, item.span)
            case tree.SelectFields(struct):
                yield from _fields(struct, relation, item.span)


def _star(source: str | None, relation: Relation, at: Span) -> Iterator[ProjectionItem]:
    if source is not None and source != relation.alias:
        raise StatementError(
            f"'{source}' is not a valid stream/table name or alias.", at, f"here it is {relation.alias}"
        )
    columns = {c.ref: c for c in relation.scope.columns}
    called = Counter(c.name for c in columns.values())
    references = [r for r in refs(relation.node.schema) if r.where is ColumnPlace.KEY or r.index not in relation.hidden]
    if relation.bounds and windowed(relation.node) is not None:
        keys = [r for r in references if r.where is ColumnPlace.KEY]
        references = [*keys, *WINDOW_COLUMNS, *(r for r in references if r.where is not ColumnPlace.KEY)]
    for ref in references:
        column = columns.get(ref, ScopeColumn(ref.name, relation.alias, ref))
        part = column.part if called[column.name] > 1 else None
        yield ProjectionItem(
            tree.ColumnRef(column.name, relation.alias, part), replace(ref, name=column.name), None, at
        )


def _joined_star(source: str | None, relation: Relation, join: JoinedSources, at: Span) -> Iterator[ProjectionItem]:
    """The columns of all sources, or of one, prefixed with their source's name; first keys that are of none."""
    names = [(alias, name) for alias, name in join.everything if source in (None, alias)]
    if not names:
        raise StatementError(f"'{source}' is not a valid stream/table name or alias.", at)
    columns = [(f"{alias}_{name}", tree.ColumnRef(name, alias)) for alias, name in names]
    items = [ProjectionItem(column, relation.scope.lookup(column), called, at) for called, column in columns]
    if source is None and join.synthetic is not None:
        key = tree.ColumnRef(join.synthetic)
        items.insert(0, ProjectionItem(key, relation.scope.lookup(key), None, at))
    if source is None:
        yield from _computed_keys(relation, {item.typed for item in items}, at)
    yield from items


def _computed_keys(relation: Relation, others: Set[TypedExpression], at: Span) -> Iterator[ProjectionItem]:
    """The keys of PARTITION BY that are not one of the `others`."""
    if isinstance(relation.node, Rekey):
        for ref in refs(relation.node.schema):
            if ref.where is ColumnPlace.KEY and ref not in others:
                yield ProjectionItem(tree.ColumnRef(ref.name), ref, None, at)


def _fields(struct: tree.Expression, relation: Relation, at: Span) -> Iterator[ProjectionItem]:
    base = type_expression(struct, relation.scope)
    if not isinstance(base.type, Struct):
        raise StatementError(f"->* needs a STRUCT, and {to_sql(struct)} is {base.type}", at)
    check_repeated(base, len(base.type.fields), "->* repeats its struct for each field,", at)
    for field in base.type.fields:
        expression = tree.Deref(struct, field.name, span=at)
        yield ProjectionItem(expression, type_expression(expression, relation.scope), field.name, at)


def _check_pseudo(item: ProjectionItem) -> None:
    """Pseudocolumns are read-only: their names are refused as aliases and as names of projected columns."""
    name = item.alias
    if name is not None and name in RESERVED_COLUMNS:
        raise StatementError(
            f"`{name}` is a reserved column name. You cannot use it as an alias for a column.", item.at
        )
    if name is None and _own_name(item.expression) in RESERVED_COLUMNS:
        if isinstance(item.typed, ColumnReference) and item.typed.where in (ColumnPlace.KEY, ColumnPlace.VALUE):
            return
        raise StatementError(
            f"Reserved column name in select: `{_own_name(item.expression)}`. Please remove or alias the column.",
            item.at,
        )


def _own_name(expression: tree.Expression) -> str | None:
    """The name that a projected column has without an alias; None if it is generated."""
    match expression:
        case tree.ColumnRef(name) | tree.Deref(_, name):
            return name
    return None


def _typed_item(item: ProjectionItem) -> TypedExpression:
    if item.typed.type is None:
        raise StatementError(
            "a bare NULL has no type and cannot be a column", item.at, "give it one: CAST(NULL AS STRING)"
        )
    return item.typed


def _select(
    query: tree.SelectQuery,
    items: tuple[ProjectionItem, ...],
    relation: Relation,
    aliases: Aliases,
    sink: str,
    settings: Mapping[str, str],
) -> Select:
    keys: list[NamedExpression] = []
    columns: list[NamedExpression] = []
    seen: set[tuple[str, str | None]] = set()
    for item in items:
        name = aliases.of(item.expression, item.alias)
        typed = _typed_item(item)
        side = _side(item)
        if any(n == name and (side is None or s in (side, None)) for n, s in seen) and not _repeats_key(keys, typed):
            raise StatementError(f"The projection contains column {identifier(name)} more than once.", item.at)
        seen.add((name, side))
        is_key = isinstance(typed, ColumnReference) and typed.where is ColumnPlace.KEY
        (keys if is_key else columns).append(NamedExpression(name, typed, to_sql(item.expression)))
    _check_keys(query, keys, relation, sink, settings)
    if not columns:
        raise StatementError(
            "The projection contains no value columns.", query.span, "select a value column too, or AS_VALUE(key)"
        )
    if not is_on(settings, NEW_PLANNER):
        keys.sort(key=lambda k: k.expression.index if isinstance(k.expression, ColumnReference) else 0)
    return Select(relation.node, tuple(keys), tuple(columns))


def _side(item: ProjectionItem) -> str | None:
    """The side of a column that keeps its name, if a column of the other side has the same name; else None."""
    expression = item.expression
    return expression.part if item.alias is None and isinstance(expression, tree.ColumnRef) else None


def _repeats_key(keys: list[NamedExpression], typed: TypedExpression) -> bool:
    return any(k.expression == typed for k in keys)


def _check_keys(
    query: tree.SelectQuery, keys: list[NamedExpression], relation: Relation, sink: str, settings: Mapping[str, str]
) -> None:
    key_columns = [r for r in refs(relation.node.schema) if r.where is ColumnPlace.KEY]
    for ref in key_columns:
        names = [k.name for k in keys if isinstance(k.expression, ColumnReference) and k.expression.index == ref.index]
        if len(names) > 1:
            raise StatementError(
                f"The projection contains a key column ({_key_text(ref, query)}) more than once, aliased as: "
                f"{' and '.join(map(identifier, names))}.",
                query.span,
                f"use AS_VALUE({_key_text(ref, query)}) to copy the key into the value",
            )
    if len(keys) < len(key_columns) and not is_on(settings, NEW_PLANNER):
        part = (
            "partitioning expression"
            if query.partition_by
            else "grouping expression"
            if query.group_by
            else "key column"
        )
        plural = "s" if len(key_columns) > 1 else ""
        texts = [_key_text(ref, query) for ref in key_columns]
        raise StatementError(
            f"The query used to build {identifier(sink)} must include the {part}{plural} {' and '.join(texts)} "
            "in its projection.",
            query.span,
            f"SELECT {', '.join(texts)}, …",
        )


def _key_text(ref: ColumnReference, query: tree.SelectQuery) -> str:
    """A key as a SELECT can contain it: as GROUP BY or PARTITION BY says it, else by its name."""
    expressions = query.group_by or query.partition_by or ()
    return to_sql(expressions[ref.index]) if ref.index < len(expressions) else identifier(ref.name)
