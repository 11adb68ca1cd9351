"""Inner queries, but for those of relational pull queries: `FROM (SELECT …)`, WITH, and UNION ALL of streams.

Rules: docs/reference/queries.md#inner-queries. An inner query becomes nodes of the same plan, without a topic of its
own. So the last statement of

    CREATE STREAM eu (id STRING KEY, items ARRAY<STRING>) WITH (kafka_topic='eu', value_format='JSON', partitions=1);
    CREATE STREAM us (id STRING KEY, item STRING) WITH (kafka_topic='us', value_format='JSON', partitions=1);
    CREATE TABLE sold AS
      SELECT item, COUNT(*) AS n
      FROM (SELECT EXPLODE(items) AS item FROM eu UNION ALL SELECT item FROM us) GROUP BY item;

becomes

    Select ITEM KEY, COUNT(*) AS N
      Group by ITEM: COUNT(*)
        Union of 2 streams
          Select EXPLODE(ITEMS) AS ITEM
            Flatten EXPLODE(ITEMS)
              Read STREAM EU from topic eu (key KAFKA, value JSON)
          Select ITEM
            Read STREAM US from topic us (key KAFKA, value JSON)

An inner query whose SELECT has all key columns keeps the key. Else its rows have none, as neither branch's do here; a
table's key has to be selected.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from millstream.analysis.typed_expressions import ColumnPlace, ColumnReference, TypedCast
from millstream.catalog.catalog import RelationKind
from millstream.model.errors import Span, StatementError
from millstream.model.names import identifier
from millstream.model.types import SqlType
from millstream.plan.nodes import (
    Aggregate,
    Deduplicate,
    Filter,
    NamedExpression,
    PlanNode,
    Select,
    UnionAll,
    key_refs,
    node_has_state,
    type_of,
    windowed,
)
from millstream.plan.projection import ProjectionItem, Relation, check_pseudo, typed_item
from millstream.plan.unions import common_types
from millstream.syntax import tree
from millstream.syntax.printer import to_sql

# The items of FROM that are inner queries.
INNER = (tree.FromQuery, tree.FromUnion)
_OWN_TABLE = "CREATE TABLE … AS makes a table of it, which FROM can name"


@dataclass(frozen=True, slots=True)
class InnerRows:
    """The rows of an inner query: the node before its SELECT, and the columns of SELECT in their order.

    `key` has, for each key column of `source`, the position in `columns` where it is selected; () if there is no key,
    or one of its columns is not selected. `dropped` are then the names of the key's columns. `distinct`: of equal rows
    there is one.
    """

    source: PlanNode
    columns: tuple[NamedExpression, ...]
    key: tuple[int, ...]
    dropped: tuple[str, ...]
    distinct: bool
    at: Span


def distinct_inside(query: tree.SelectQuery) -> tree.SelectQuery:
    """`SELECT DISTINCT …` as `SELECT * FROM (SELECT DISTINCT …)`; any other query is returned unchanged."""
    if not query.distinct:
        return query
    at = query.span
    inner = tree.FromQuery("", query=replace(query, emit=None, limit=None), span=at)
    return tree.SelectQuery((tree.SelectAll(span=at),), inner, emit=query.emit, limit=query.limit, span=at)


def check_clauses(query: tree.SelectQuery) -> None:
    """Raises StatementError for WINDOW without EMIT FINAL, and for ORDER BY, EMIT, LIMIT and OFFSET in an inner query.

    It is for queries that keep running; relational pull queries allow some of these in their inner queries.
    """
    is_final = query.emit is tree.Emit.FINAL
    if query.window is not None and not is_final:
        fact = "an inner query with WINDOW has to have EMIT FINAL here, as the rows of windows that are open change"
        raise StatementError(fact, query.window.span, "write EMIT FINAL at its end; or CREATE TABLE … AS it")
    clauses = {
        "ORDER BY": (query.order_by, "the rows are in the order in which they arrive"),
        "EMIT": (query.emit and not (is_final and query.window), "EMIT is for the whole query, at its end"),
        "LIMIT": (query.limit is not None, "LIMIT is for the whole query, at its end"),
        "OFFSET": (query.offset, "leave it out"),
    }
    for name, (clause, hint) in clauses.items():
        if clause:
            raise StatementError(f"an inner query cannot have {name} here", query.span, hint)


def check_input(node: PlanNode, use: str, at: Span) -> None:
    """Raises StatementError if the rows of an inner query, which are to be joined or united (`use`), need a state.

    Spark unites the inputs of a query before its first stateful operator (docs/reference/execution.md).
    """
    if any(node_has_state(n) for n in node.walk()):
        hint = "CREATE STREAM … AS, or CREATE TABLE … AS, makes a source of it, which FROM can name"
        raise StatementError(f"an inner query that joins, groups or has DISTINCT cannot be {use}", at, hint)


def check_names(items: Sequence[ProjectionItem], names: Sequence[str]) -> None:
    """Raises StatementError for a name that the columns of SELECT cannot have, or that occurs twice."""
    for i, (item, name) in enumerate(zip(items, names, strict=True)):
        check_pseudo(item)
        if name in names[:i]:
            raise StatementError(f"The projection contains column {identifier(name)} more than once.", item.at)


def final_rows(node: PlanNode) -> PlanNode:
    """The groups of an inner query with EMIT FINAL, filtered by HAVING or not, as events: they do not change."""
    match node:
        case Filter():
            return replace(node, source=final_rows(node.source))
        case Aggregate():
            return replace(node, append_only=True)
    raise AssertionError(f"EMIT FINAL of {type(node).__name__}")


def inner_rows(
    query: tree.SelectQuery, relation: Relation, items: Sequence[ProjectionItem], names: Sequence[str]
) -> InnerRows:
    """The rows of an inner query: those of `relation` with the items of its SELECT as columns of these names.

    Raises StatementError for a bare NULL, and for a table with DISTINCT, or whose key is not selected, or has windows.
    """
    at = query.span
    named = zip(items, names, strict=True)
    columns = tuple(NamedExpression(name, typed_item(item), to_sql(item.expression)) for item, name in named)
    keys = key_refs(relation.node.schema)
    places = {index: i for i, c in enumerate(columns) if (index := _key_index(c)) is not None}
    key = tuple(places[i] for i in range(len(keys))) if len(places) == len(keys) else ()
    dropped = relation.dropped_keys if not keys else () if key else tuple(r.name for r in keys)
    if relation.node.kind is RelationKind.TABLE:
        _check_table(query, relation.node, dropped)
    return InnerRows(relation.node, columns, key, dropped, query.distinct, at)


def _check_table(query: tree.SelectQuery, node: PlanNode, dropped: Sequence[str]) -> None:
    if query.distinct:
        raise StatementError(
            "DISTINCT is only supported on streams, and this is a table", query.span, "its rows have each key once"
        )
    if windowed(node) is not None:
        raise StatementError("an inner query cannot be over a windowed table", query.span, _OWN_TABLE)
    if dropped:
        names = " and ".join(map(identifier, dropped))
        fact = f"an inner query over a table must select its key, {names}"
        raise StatementError(fact, query.span, f"SELECT {names}, …")


def rows_of(inner: InnerRows) -> tuple[PlanNode, tuple[str, ...]]:
    """The node of an inner query's rows, and the key columns that these no longer have. Raises StatementError."""
    node = _selected(inner, inner.key)
    return _once(node, inner.at) if inner.distinct else node, inner.dropped


def union_all(source: tree.FromUnion, branches: Sequence[InnerRows]) -> tuple[PlanNode, tuple[str, ...]]:
    """The node of the rows of all branches, and the key columns that these no longer have.

    Columns are matched by position, and converted to the branches' common types. The rows have a key if the key columns
    of all branches are at the same positions, and have the same types. Raises StatementError.
    """
    for branch in branches:
        if branch.source.kind is RelationKind.TABLE:
            raise StatementError("UNION is only supported on streams, and this is a table", branch.at)
        check_input(rows_of(branch)[0], "in a UNION", branch.at)
    columns = [[(c.name, type_of(c.expression)) for c in branch.columns] for branch in branches]
    types = common_types(columns, [branch.at for branch in branches])
    _check_windows(branches)
    first = branches[0]
    keyed = all(b.key == first.key and _has_types(b, types) for b in branches)
    names = [column.name for column in first.columns]
    nodes = (_selected(_converted(b, names, types), first.key if keyed else ()) for b in branches)
    dropped = tuple(dict.fromkeys(name for b in branches for name in _key_names(b)))
    union = UnionAll(tuple(nodes))
    return _once(union, source.span) if source.distinct else union, () if keyed and first.key else dropped


def _once(node: PlanNode, at: Span) -> Deduplicate:
    """Of equal rows of a node the first. Raises StatementError for a MAP, whose entries have no order."""
    for column in node.schema:
        if column.type.contains_map:
            hint = "leave it out, or select its ENTRIES"
            raise StatementError(f"DISTINCT cannot compare {identifier(column.name)}, which holds a MAP", at, hint)
    return Deduplicate(node)


def _key_names(branch: InnerRows) -> tuple[str, ...]:
    return branch.dropped or tuple(branch.columns[i].name for i in branch.key)


def _has_types(branch: InnerRows, types: Sequence[SqlType]) -> bool:
    """Whether the key columns of a branch have these types of its columns."""
    return all(branch.columns[i].expression.type == types[i] for i in branch.key)


def _check_windows(branches: Sequence[InnerRows]) -> None:
    first = windowed(branches[0].source)
    for branch in branches[1:]:
        if windowed(branch.source) != first:
            raise StatementError("the branches of a UNION ALL have different windows in their keys", branch.at)


def _converted(branch: InnerRows, names: Sequence[str], types: Sequence[SqlType]) -> InnerRows:
    columns = (
        replace(c, name=name, expression=c.expression if c.expression.type == type else TypedCast(type, c.expression))
        for c, name, type in zip(branch.columns, names, types, strict=True)
    )
    return replace(branch, columns=tuple(columns))


def _selected(inner: InnerRows, key: tuple[int, ...]) -> Select:
    """The inner query's SELECT with the columns at the positions `key` as its key."""
    values = (column for i, column in enumerate(inner.columns) if i not in key)
    return Select(inner.source, tuple(inner.columns[i] for i in key), tuple(values))


def _key_index(column: NamedExpression) -> int | None:
    """Which key column of its source a column is; None if it is not one."""
    reference = column.expression
    if isinstance(reference, ColumnReference) and reference.where is ColumnPlace.KEY:
        return reference.index
    return None
