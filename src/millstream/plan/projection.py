"""The list of SELECT: from its items to typed columns, and to the Select that a sink's query ends with.

Rules: docs/reference/queries.md. Over `flights (id STRING KEY, origin STRING, delay INT)`, the items of

    SELECT *, delay * 60 AS seconds, AS_VALUE(id) AS copy

are the columns ID, ORIGIN, DELAY, SECONDS and COPY; a column that refers to the key, here ID, is a key column of the
result.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace

from millstream.analysis.expressions import check_repeated, type_expression
from millstream.analysis.scope import NameScope, ScopeColumn
from millstream.analysis.sources import RESERVED_COLUMNS
from millstream.analysis.typed_expressions import ColumnPlace, ColumnReference, TypedExpression
from millstream.model.errors import Span, StatementError
from millstream.model.names import identifier
from millstream.model.settings import is_on
from millstream.model.types import Struct
from millstream.plan.aggregation import WINDOW_COLUMNS
from millstream.plan.column_names import Aliases
from millstream.plan.joins import JoinedSources, KeyItems
from millstream.plan.nodes import NamedExpression, PlanNode, Rekey, Select, key_refs, refs, windowed
from millstream.syntax import tree
from millstream.syntax.printer import to_sql

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
    `dropped_keys` are the key columns that an inner query has left out: its rows have no key. `key_items` are columns
    of a join that refer to its key where they are a whole item of SELECT.
    """

    node: PlanNode
    scope: NameScope
    alias: str
    hidden: frozenset[int] = frozenset()
    joined: JoinedSources | None = None
    bounds: bool = False
    dropped_keys: tuple[str, ...] = ()
    key_items: KeyItems = field(default_factory=dict)


def with_values(relation: Relation, node: PlanNode, calls: Sequence[tree.Call]) -> Relation:
    """The relation of `node`, which appends the values of `calls` to the relation's rows, as hidden columns."""
    width = len(relation.node.schema.value)
    values = [r for r in refs(node.schema) if r.where is ColumnPlace.VALUE and r.index >= width]
    computed: dict[tree.Expression, ColumnReference] = dict(relation.scope.computed)
    computed.update(zip(calls, values, strict=True))
    hidden = relation.hidden.union(r.index for r in values)
    return replace(relation, node=node, scope=replace(relation.scope, computed=computed), hidden=hidden)


def projected_items(query: tree.SelectQuery, relation: Relation) -> Iterator[ProjectionItem]:
    """Yields the columns of the query's SELECT over `relation`, `*` and `->*` expanded. Raises StatementError."""
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
    """The columns of `*` or `source.*` over a single source: key, window bounds if the relation has them, value."""
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
            tree.ColumnRef(column.name, relation.alias or None, part, span=at), replace(ref, name=column.name), None, at
        )


def _joined_star(source: str | None, relation: Relation, join: JoinedSources, at: Span) -> Iterator[ProjectionItem]:
    """The columns of all sources, or of one, prefixed with their source's name; first keys that are of no source."""
    names = [(alias, name) for alias, name in join.star_columns if source in (None, alias)]
    if not names:
        raise StatementError(f"'{source}' is not a valid stream/table name or alias.", at)
    columns = [(f"{alias}_{name}", tree.ColumnRef(name, alias, span=at)) for alias, name in names]
    items = [ProjectionItem(column, relation.scope.lookup(column), called, at) for called, column in columns]
    if source is None:
        keys = [tree.ColumnRef(name) for name in join.synthetic if name is not None]
        synthetic = [ProjectionItem(key, relation.scope.lookup(key), None, at) for key in keys]
        # After PARTITION BY they are value columns, the last ones.
        items = [*items, *synthetic] if isinstance(relation.node, Rekey) else [*synthetic, *items]
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
    for part in base.type.fields:
        expression = tree.Deref(struct, part.name, span=at)
        yield ProjectionItem(expression, type_expression(expression, relation.scope), part.name, at)


def check_alias(item: ProjectionItem) -> None:
    """Raises StatementError if a pseudocolumn's name, in any case, is the alias of something else."""
    name = (item.alias or "").upper()
    if name in RESERVED_COLUMNS and (_own_name(item.expression) or "").upper() != name:
        raise _reserved_alias(item)


def _reserved_alias(item: ProjectionItem) -> StatementError:
    return StatementError(
        f"`{item.alias}` is a reserved column name. You cannot use it as an alias for a column.", item.at
    )


def check_pseudo(item: ProjectionItem) -> None:
    """Raises StatementError if a projected column has the name of a pseudocolumn, by its alias or by itself.

    A column of the key or the value that has such a name itself is allowed.
    """
    if item.alias in RESERVED_COLUMNS:
        raise _reserved_alias(item)
    if item.alias is None and _own_name(item.expression) in RESERVED_COLUMNS:
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


def typed_item(item: ProjectionItem) -> TypedExpression:
    """The item's typed expression. Raises StatementError for a bare NULL, which has no type."""
    if item.typed.type is None:
        raise StatementError(
            "a bare NULL has no type and cannot be a column", item.at, "give it one: CAST(NULL AS STRING)"
        )
    return item.typed


def select_columns(
    query: tree.SelectQuery,
    items: tuple[ProjectionItem, ...],
    relation: Relation,
    aliases: Aliases,
    sink: str,
    settings: Mapping[str, str],
) -> Select:
    """The rows of `relation` with the items as key and value columns, as the query of `sink` writes them.

    Raises StatementError if a name occurs twice, a key column is missing or selected twice, or no value is selected.
    """
    keys: list[NamedExpression] = []
    columns: list[NamedExpression] = []
    seen: set[tuple[str, ColumnPlace | None]] = set()
    for item in items:
        name = aliases.of(item.expression, item.alias)
        typed = typed_item(item)
        side = _side(item, typed)
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


def _side(item: ProjectionItem, typed: TypedExpression) -> ColumnPlace | None:
    """The side of the result to which a column goes, if its name, which it keeps, is in both sides of the source.

    Else None. After PARTITION BY a column may go to the other side than the one that it comes from.
    """
    expression = item.expression
    keeps_name = item.alias is None and isinstance(expression, tree.ColumnRef) and expression.part is not None
    return typed.where if keeps_name and isinstance(typed, ColumnReference) else None


def _repeats_key(keys: list[NamedExpression], typed: TypedExpression) -> bool:
    return any(k.expression == typed for k in keys)


def _check_keys(
    query: tree.SelectQuery, keys: list[NamedExpression], relation: Relation, sink: str, settings: Mapping[str, str]
) -> None:
    """Raises StatementError if a key column is selected twice, or not at all where the settings require each."""
    _check_inner_key(query, relation, sink, settings)
    key_columns = key_refs(relation.node.schema)
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


def _check_inner_key(query: tree.SelectQuery, relation: Relation, sink: str, settings: Mapping[str, str]) -> None:
    """Raises StatementError if the key that the query would have is not selected by its inner query."""
    own_key = query.partition_by is not None or query.group_by is not None
    if relation.dropped_keys and not own_key and not is_on(settings, NEW_PLANNER):
        names = " and ".join(map(identifier, relation.dropped_keys))
        plural = "s" if len(relation.dropped_keys) > 1 else ""
        raise StatementError(
            f"The query used to build {identifier(sink)} must include the key column{plural} {names} in its "
            "projection.",
            query.source.span,
            "inner queries must select the key too, in all branches of a UNION ALL at the same place; or PARTITION BY",
        )


def _key_text(ref: ColumnReference, query: tree.SelectQuery) -> str:
    """A key as a SELECT can contain it: as GROUP BY or PARTITION BY says it, else by its name."""
    expressions = query.group_by or query.partition_by or ()
    return to_sql(expressions[ref.index]) if ref.index < len(expressions) else identifier(ref.name)
