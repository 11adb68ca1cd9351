"""CREATE OR REPLACE of a query: the one place that decides whether it can continue in place, as a pure function.

A query in place continues with its positions and its state. So it must read the same topics, and each of its stateful
operators must find states of its own layout: Spark would read others' bytes as its own. A group's state consists of
the states of its aggregates, in their order; a join's of the columns that it stores of its sides. What has no state
(WHERE, HAVING, the projection, a stream's side of its join with a table) may change. A WHERE over a table stores which
rows have passed: its condition may change, but it cannot be added or removed.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from millstream.analysis import properties
from millstream.analysis.replace import columns_text, differences
from millstream.analysis.typed_expressions import ColumnPlace, ColumnReference, TypedExpression
from millstream.catalog.catalog import Catalog, PersistentQuery, RelationKind, Source
from millstream.model.names import identifier
from millstream.model.setting_table import SETTINGS
from millstream.plan.joins import repartition_streams
from millstream.plan.nodes import (
    Aggregate,
    Deduplicate,
    DistinctArguments,
    Filter,
    Flatten,
    Join,
    LastRows,
    LastTime,
    NamedExpression,
    OverAggregate,
    PlanNode,
    Read,
    Rekey,
    Select,
    Write,
    groups,
    joins,
    leaves,
    stateful_filters,
)
from millstream.plan.queries import plan_persistent
from millstream.plan.replacement import ABSENT, QueryPart, Replacement
from millstream.plan.state_ttl import STATE_TTL, with_state_ttl
from millstream.plan.views import with_view_queries
from millstream.syntax import parser, tree


@dataclass(frozen=True, slots=True)
class _Comparison:
    """A part before and after. `fixed` is why it cannot change in place; "" if it can.

    `rule` says in a statement's error what cannot change; "" where the part's name says it. `fact` is the whole error.

    `alike`: whether both mean the same, where texts are not comparable because sources have aliases; None: compare the
    texts.
    """

    name: str
    before: str
    after: str
    fixed: str = ""
    rule: str = ""
    fact: str = ""
    alike: bool | None = None

    @property
    def same(self) -> bool:
        """True if the part means the same before and after."""
        return self.before == self.after if self.alike is None else self.alike


def replacement(
    old: Source, query: PersistentQuery | None, new: Write, catalog: Catalog, partitions: Mapping[str, int]
) -> Replacement:
    """What `new` does to `old`, which `query` writes (None: it was terminated) and `catalog` has.

    `partitions` has the number of partitions of each known topic.
    """
    parts = [*_of_sink(old, new.sink)]
    if query is not None:
        before = repartition_streams(_plan(query, catalog), partitions)
        of_plans = list(_of_plans(before, new.source))
        parts = [*of_plans, *(p for p in parts if p.name not in {of_plan.name for of_plan in of_plans})]
    fixed = [part for part in parts if part.fixed and not part.same]
    return Replacement(
        old,
        query.id if query else None,
        stays=tuple(QueryPart(p.name, p.after, p.after) for p in parts if p.same and p.after != ABSENT),
        changes=tuple(_part(p) for p in parts if not p.same and not p.fixed),
        rebuilds=tuple(_part(p, p.fixed) for p in fixed),
        fact=_refusal(old, fixed[0]) if fixed else "",
    )


def _refusal(old: Source, part: _Comparison) -> str:
    """The fact of the error for a replacement that cannot be in place because of this part."""
    rule = part.rule or f"its {part.name} cannot change"
    return part.fact or f"Cannot replace {old.kind.value.lower()} {identifier(old.name)}: {rule}"


def _part(compared: _Comparison, reason: str = "") -> QueryPart:
    return QueryPart(compared.name, compared.before, compared.after, reason)


def changed_settings(old: PersistentQuery, settings: Mapping[str, str]) -> tuple[QueryPart, ...]:
    """The settings of sessions that the query would have other values of."""
    before = dict(old.settings)
    names = [n for n, s in SETTINGS.items() if s.editable and not s.secret and before.get(n) != settings.get(n)]
    return tuple(QueryPart(f"setting {n}", before.get(n) or "''", settings.get(n) or "''") for n in names)


def state_text(plan: PlanNode) -> str:
    """The state of a query in words; "" if it has none."""
    states = [_group_text(group) for group in groups(plan)]
    states += [f"rows of {_join_text(join)}" for join in joins(plan)]
    states += [f"which rows have been seen by DISTINCT{_kept(node)}" for node in _deduplications(plan)]
    states += [f"rows before a row: {_over_node_text(node)}" for node in _over_nodes(plan)]
    states += [f"which rows have passed WHERE {f.text}" for f in stateful_filters(plan)]
    return "; ".join(states)


def continued_groups(plan: PlanNode) -> str:
    """The groups that a replaced query continues with, for the answer to the statement; "" if it does not group."""
    aggregates = tuple(groups(plan))
    if not aggregates:
        return ""
    name = "windows" if aggregates[0].window else "groups"
    return f"its {name} go on with what they hold: {'; '.join(map(_group_text, aggregates))}"


def _plan(query: PersistentQuery, catalog: Catalog) -> PlanNode:
    """The plan of a query over its sources and views as they were when it was created."""
    for source in query.definitions:
        catalog = catalog.with_source(source)
    for view in query.views:
        catalog = catalog.with_view(view)
    statement = with_view_queries(next(parser.split(query.statement)).statement, catalog)
    assert isinstance(statement, tree.CreateAs)
    plan = plan_persistent(statement.query, query.sink, catalog, dict(query.settings))
    return with_state_ttl(plan, properties.read(statement.properties, properties.CREATE_AS, statement.span))


# ---------------------------------------------------------------- the sink


def _of_sink(old: Source, new: Source) -> Iterator[_Comparison]:
    """Compares the sinks of the old and the new query: topic, formats, columns, subjects."""
    different = {d.part: d for d in differences(old, new)}
    default_reason = "the records of its topic have the old form"
    for difference in different.values():
        reason = "the rows are in the old topic" if difference.part == "topic" else default_reason
        yield _Comparison(difference.part, difference.before, difference.after, reason, fact=difference.fact)
    for name, text in (
        ("topic", old.topic),
        ("key format", old.key.format),
        ("value format", old.value.format),
        ("key columns", columns_text(old.schema.key)),
        ("schema subjects", _subjects(old)),
    ):
        if name not in different:
            yield _Comparison(name, text, text)
    if "columns" not in different:
        common, added = old.schema.value, tuple(new.schema.value)[len(old.schema.value) :]
        yield _Comparison("columns", columns_text(common), columns_text(common))
        if added:
            yield _Comparison("columns added", ABSENT, columns_text(added))


def _subjects(source: Source) -> str:
    """The subjects of a source's schemas, with the ids that the user chose."""
    physical = [side.schema for side in (source.key, source.value) if side.schema is not None]
    return ", ".join(p.subject + (f" (id {p.id})" if p.id is not None else "") for p in physical) or ABSENT


# ---------------------------------------------------------------- the plan


def _of_plans(before: PlanNode, after: PlanNode) -> Iterator[_Comparison]:
    """Compares the plans of the old and the new query, part by part in the order in which EXPLAIN shows the parts."""
    yield _Comparison("sources", _sources(before), _sources(after), "its positions are those of the old topics")
    yield from _of_joins(tuple(joins(before)), tuple(joins(after)))
    yield from _of_groups(tuple(groups(before)), tuple(groups(after)))
    if len(stateful_filters(before)) != len(stateful_filters(after)):
        reason = "a WHERE over a table stores for each row whether it has passed"
        rule = "a WHERE over a table can be changed, but not added or removed"
        yield _Comparison("WHERE", _filters(before, False), _filters(after, False), reason, rule)
    else:
        yield _Comparison("WHERE", _filters(before, False), _filters(after, False))
    alike = _rekey_shapes(before) == _rekey_shapes(after)
    reason = "the state has the rows that were seen"
    yield _Comparison("DISTINCT", _distinct_text(before), _distinct_text(after), reason)
    yield _Comparison("OVER", _over_text(before), _over_text(after), "the state is that of the old rows before a row")
    reason = "rows that were written have keys of the old expression"
    yield _Comparison("PARTITION BY", _rekeys(before), _rekeys(after), reason, alike=alike)
    yield _Comparison("HAVING", _filters(before, True), _filters(after, True))
    yield _Comparison("table functions", _flattened(before), _flattened(after))
    stored = state_text(before)
    reason = "the state was computed from the old inner queries' rows" if stored else ""
    yield _Comparison("inner queries", _inner_queries(before), _inner_queries(after), reason)
    yield from _of_projections(before, after)


def _sources(plan: PlanNode) -> str:
    origins = [leaf.origin for leaf in leaves(plan)]
    return ", ".join(f"{o.kind.value} {identifier(o.name)} (topic {o.topic})" for o in origins)


def _filters(plan: PlanNode, having: bool) -> str:
    filters = [n for n in plan.walk() if isinstance(n, Filter) and isinstance(n.source, Aggregate) is having]
    return " AND ".join(f.text for f in filters) or ABSENT


def _rekeys(plan: PlanNode) -> str:
    return "; ".join(_texts(n.keys) for n in plan.walk() if isinstance(n, Rekey)) or ABSENT


def _rekey_shapes(plan: PlanNode) -> list[tuple[TypedExpression, ...]]:
    return [_named_all(n.keys, n.source) for n in plan.walk() if isinstance(n, Rekey)]


def _flattened(plan: PlanNode) -> str:
    return "; ".join(_texts(n.functions) for n in plan.walk() if isinstance(n, Flatten)) or ABSENT


def _inner_queries(plan: PlanNode) -> str:
    """The columns of the inner queries, not those of the sink, of a join's side, or of groups with DISTINCT."""
    outer = (plan, *(side for join in joins(plan) for side in (join.left, join.right)))
    outer = (*outer, *(n.source for n in plan.walk() if isinstance(n, DistinctArguments)))
    inner = (n for n in plan.walk() if isinstance(n, Select) and not any(n is node for node in outer))
    return "; ".join(_texts((*n.keys, *n.columns), named=True) for n in inner) or ABSENT


def _texts(expressions: Sequence[NamedExpression], named: bool = False) -> str:
    """The SQL of the expressions; if `named`, with the names of their columns."""
    texts = (
        f"{e.text} AS {identifier(e.name)}" if named and e.text != e.name else e.text or e.name for e in expressions
    )
    return ", ".join(texts) or "NULL"


def _of_projections(before: PlanNode, after: PlanNode) -> Iterator[_Comparison]:
    """The columns that are computed in another way; added ones are those of the sink."""
    assert isinstance(before, Select)
    assert isinstance(after, Select)
    now = {column.name: column.text for column in after.columns}
    for column in before.columns:
        if now.get(column.name, column.text) != column.text:
            yield _Comparison(f"column {identifier(column.name)}", column.text, now[column.name])


# ---------------------------------------------------------------- groups


def _of_groups(before: Sequence[Aggregate], after: Sequence[Aggregate]) -> Iterator[_Comparison]:
    keys, calls = (_alike(shape, before, after) for shape in (_key_shapes, _call_shapes))
    reason = "the state is that of the old groups"
    yield _Comparison("GROUP BY", *_both(_keys_text, before, after), reason, alike=keys)
    reason = "the stored groups have the states of the old aggregates"
    yield _Comparison("aggregates", *_both(_calls_text, before, after), reason, alike=calls)
    windows = _both(_window_text, before, after)
    yield _Comparison("window", *windows, "the state is that of the old windows")
    yield _Comparison("GRACE PERIOD and RETENTION", *_both(_grace_text, before, after))
    yield _Comparison(STATE_TTL, *_both(_ttl_text, before, after), "the state has the times of the old one")
    if keys and calls and windows[0] == windows[1] and not _alike(_layout, before, after):
        yield _Comparison("layout of the groups' state", *_both(_layout_text, before, after), reason)


def _alike(shape: Callable[[Aggregate], object], before: Sequence[Aggregate], after: Sequence[Aggregate]) -> bool:
    return list(map(shape, before)) == list(map(shape, after))


def _key_shapes(group: Aggregate) -> tuple[TypedExpression, ...]:
    """What a group is grouped by, whatever its sources are called."""
    return _named_all(group.keys, group.source)


def _call_shapes(group: Aggregate) -> tuple[object, ...]:
    """What a group's aggregates compute, whatever its sources are called."""
    return tuple(
        (call.name, tuple(_named(e, group.source) for e in call.row_expressions), call.constants)
        for call in group.aggregations
    )


def _both(text: Callable[[Aggregate], str], before: Sequence[Aggregate], after: Sequence[Aggregate]) -> tuple[str, str]:
    """The texts of the groups before and after."""
    old_text, new_text = ("; ".join(filter(None, map(text, groups))) or ABSENT for groups in (before, after))
    return old_text, new_text


def _keys_text(group: Aggregate) -> str:
    return ", ".join(key.text for key in group.keys)


def _calls_text(group: Aggregate) -> str:
    return ", ".join(call.text for call in group.aggregations)


def _window_text(group: Aggregate) -> str:
    window = group.window
    if window is None:
        return ""
    advance = f" every {window.advance} ms" if window.advance != window.size else ""
    final = ", emitted when they close" if window.final else ""
    offset = f" from {window.offset} ms on" if window.offset else ""
    return f"{window.type} of {window.size} ms{advance}{offset}{final}"


def _grace_text(group: Aggregate) -> str:
    return f"{group.window.grace} ms and {group.window.retention} ms" if group.window else ""


def _ttl_text(group: Aggregate) -> str:
    return f"{group.ttl_ms} ms" if group.ttl_ms is not None else ""


def _kept(node: Aggregate | Deduplicate | OverAggregate) -> str:
    return f", kept for {node.ttl_ms} ms without rows" if node.ttl_ms is not None else ""


def _deduplications(plan: PlanNode) -> Iterator[Deduplicate]:
    return (n for n in plan.walk() if isinstance(n, Deduplicate))


def _distinct_text(plan: PlanNode) -> str:
    """The rows that are compared by DISTINCT, and how long they are kept, and the arguments with DISTINCT."""
    rows = (f"{columns_text(tuple(node.schema))}{_kept(node)}" for node in _deduplications(plan))
    marked = (n for n in plan.walk() if isinstance(n, DistinctArguments))
    columns = (column for node in marked for columns in node.distinct for column in columns)
    arguments = (f"{column.name} {column.type}" for column in columns)
    return "; ".join((*rows, *arguments)) or ABSENT


def _over_text(plan: PlanNode) -> str:
    return "; ".join(map(_over_node_text, _over_nodes(plan))) or ABSENT


def _over_node_text(node: OverAggregate) -> str:
    """The aggregates with OVER, and what their states depend on."""
    calls = ", ".join(a.text for a in node.aggregations)
    return f"{calls} by {_texts(node.keys)}{_frame(node)}{_kept(node)}"


def _over_nodes(plan: PlanNode) -> list[OverAggregate]:
    return [node for node in plan.walk() if isinstance(node, OverAggregate)]


def _frame(node: OverAggregate) -> str:
    match node.frame:
        case LastRows(count=count):
            return f", {count} rows before"
        case LastTime(length=length):
            return f", rows of {length} ms before"
        case None:
            return ""


def _layout(group: Aggregate) -> tuple[object, ...]:
    """The types in a group's state, and for a table those of the rows that it stores."""
    states = tuple((call.accumulator.state, tuple(a.type for a in call.arguments)) for call in group.aggregations)
    table_key = group.source.schema.key if group.source.kind is RelationKind.TABLE else ()
    return tuple(key.expression.type for key in group.keys), states, table_key


def _layout_text(group: Aggregate) -> str:
    types = [str(key.expression.type) for key in group.keys]
    return ", ".join([*types, *(call.accumulator.state for call in group.aggregations)])


def _group_text(group: Aggregate) -> str:
    place = f" in {group.window.type} windows" if group.window else ""
    final = ", emitted when they close" if group.window and group.window.final else ""
    return f"{_calls_text(group)} by {_keys_text(group)}{place}{final}{_kept(group)}"


# ---------------------------------------------------------------- joins


def _of_joins(before: Sequence[Join], after: Sequence[Join]) -> Iterator[_Comparison]:
    if len(before) != len(after):
        old_text, new_text = ("; ".join(map(_join_text, joins)) or ABSENT for joins in (before, after))
        yield _Comparison("join", old_text, new_text, "the state is that of the old joins")
        return
    for old, new in zip(before, after, strict=True):
        reason = "the rows that the join stores were joined in the old way"
        same = _join_shape(old) == _join_shape(new)
        yield _Comparison("join", _join_text(old), _join_text(new), reason, alike=same)
        reason, rule = "the stored rows have the old columns", "the columns that its join stores cannot change"
        yield _Comparison("columns that the join stores", _stored(old), _stored(new), reason, rule)


def _join_shape(join: Join) -> tuple[object, ...]:
    """What a join compares and emits, whatever columns its sides have."""
    pairs = zip(join.left_keys, join.right_keys, strict=True)
    keys = tuple((_named(left, join.left), _named(right, join.right)) for left, right in pairs)
    return join.kind, join.right.kind, join.outer, keys, join.window, join.foreign, join.repartitions


def _join_text(join: Join) -> str:
    window = join.window
    within = f" WITHIN {window.before} ms before and {window.after} ms after" if window else ""
    grace = f", grace {window.grace} ms" if window else ""
    repartitioned = ", repartitioned" if any(join.repartitions) else ""
    return f"{join.outer.value} JOIN ON {join.text}{within}{grace}{repartitioned}"


def _stored(join: Join) -> str:
    """The columns that a join stores: of a stream's join with a table only those of the table."""
    streamed = join.window is None and join.kind is RelationKind.STREAM
    sides = (join.right,) if streamed else (join.left, join.right)
    owned = (f"{owner}.{c.name} {c.type}" for s in sides for owner, c in zip(_owners(s), s.schema.value, strict=True))
    return ", ".join(owned) or ABSENT


def _owners(node: PlanNode) -> list[str]:
    """The source of each value column of a node below the groups; "" for one that is computed."""
    match node:
        case Join():
            return [*_owners(node.left), *_owners(node.right)]
        case Filter():
            return _owners(node.source)
        case Flatten() | Rekey():
            owners = _owners(node.source)
            return [*owners, *[""] * (len(node.schema.value) - len(owners))]
        case _:
            reads = [n.origin.name for n in node.walk() if isinstance(n, Read)]
            return [reads[0]] * len(node.schema.value)


def _named_all(expressions: Sequence[NamedExpression], source: PlanNode) -> tuple[TypedExpression, ...]:
    return tuple(_named(e.expression, source) for e in expressions)


def _named(expression: TypedExpression, side: PlanNode) -> TypedExpression:
    """The expression with its columns named by their sources instead of their places, which other columns move."""
    owners = _owners(side)

    def named(part: TypedExpression) -> TypedExpression | None:
        if not isinstance(part, ColumnReference) or part.where is not ColumnPlace.VALUE:
            return None
        return replace(part, index=0, name=f"{owners[part.index]}.{part.name}")

    return expression.transform(named)
