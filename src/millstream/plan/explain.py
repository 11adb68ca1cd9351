"""A plan as text: one line a node, the sink first, its source indented below (EXPLAIN)."""

from collections.abc import Iterator, Mapping
from functools import partial, singledispatch

from millstream.analysis.typed_expressions import Constant, TypedExpression
from millstream.catalog.catalog import Catalog, RelationKind, Source
from millstream.model.errors import Span
from millstream.model.names import identifier
from millstream.plan.index_lookups import IndexAccess
from millstream.plan.nodes import (
    Aggregate,
    ClientOutput,
    Deduplicate,
    DistinctArguments,
    Filter,
    Flatten,
    Join,
    LastRows,
    LastTime,
    NamedExpression,
    OuterSides,
    OverAggregate,
    PlanNode,
    Read,
    Rekey,
    Select,
    UnionAll,
    Window,
    Write,
)
from millstream.plan.pull_queries import Access, IndexLookup, KeyLookup, KeyRange, check_enabled, plan_pull
from millstream.plan.record_times import first_rowtime
from millstream.plan.relational_nodes import (
    Distinct,
    Group,
    Project,
    RelationalNode,
    RowJoin,
    Slice,
    Sort,
    SortKey,
    TableRows,
    Union,
    Where,
)
from millstream.plan.steps import TransientQuery


def explain(node: PlanNode) -> str:
    """The text of the plan from `node` down, one line for each node."""
    return "\n".join(_lines(node, 0))


def _lines(node: PlanNode, depth: int) -> Iterator[str]:
    yield "  " * depth + sentence(node)
    for inner in node.children():
        yield from _lines(inner, depth + 1)


@singledispatch
def sentence(node: PlanNode) -> str:
    """One node's description, in one line."""
    raise NotImplementedError(type(node).__name__)


@sentence.register
def _(node: Read) -> str:
    return f"Read {_source(node.origin, 'from')}"


@sentence.register
def _(node: Filter) -> str:
    return f"Filter {node.text}" + (" (other rows become tombstones)" if node.kind is RelationKind.TABLE else "")


@sentence.register
def _(node: Flatten) -> str:
    return f"Flatten {', '.join(f.text for f in node.functions)}"


@sentence.register
def _(node: Rekey) -> str:
    keys = ", ".join(k.text for k in node.keys)
    return f"Partition by {keys or 'NULL'}"


@sentence.register
def _(node: Aggregate) -> str:
    keys = ", ".join(k.text for k in node.keys)
    calls = ", ".join(a.text for a in node.aggregations)
    ttl = f", kept for {node.ttl_ms} ms without rows" if node.ttl_ms is not None else ""
    return f"Group by {keys}{_window(node.window)}{ttl}: {calls}"


@sentence.register
def _(node: Join) -> str:
    verb = "Look up" if node.foreign else "Join"
    return f"{verb} ({node.outer.value}) on {node.text}{_within(node)}{_repartitions(node)}"


def _within(node: Join) -> str:
    window = node.window
    if window is None:
        return ""
    at_once = node.outer is not OuterSides.NONE and window.eager
    alone = ", unmatched rows at once" if at_once else ""
    return f" within {window.before} ms before, {window.after} ms after, grace {window.grace} ms{alone}"


def _repartitions(node: Join) -> str:
    sides = [side for side, moves in zip(("left", "right"), node.repartitions, strict=True) if moves]
    return f"; repartition of the {' and the '.join(sides)} side by the join key" if sides else ""


def _window(window: Window | None) -> str:
    if window is None:
        return ""
    when = "at its end" if window.final else "at each row"
    advance = f", advance {window.advance} ms" if window.advance != window.size else ""
    offset = f", offset {window.offset} ms" if window.offset else ""
    return f" in {window.type} windows of {window.size} ms{advance}{offset}, grace {window.grace} ms, emitted {when}"


@sentence.register
def _(node: Select) -> str:
    keys = [f"{_item(k)} KEY" for k in node.keys]
    return f"Select {', '.join([*keys, *map(_item, node.columns)])}"


@sentence.register
def _(node: UnionAll) -> str:
    return f"Union of {len(node.branches)} streams"


@sentence.register
def _(node: Deduplicate) -> str:
    ttl = f", again after {node.ttl_ms} ms without it" if node.ttl_ms is not None else ""
    return f"Each row once{ttl}"


@sentence.register
def _(node: DistinctArguments) -> str:
    return f"Each value once in its group: {', '.join(column.name for columns in node.distinct for column in columns)}"


@sentence.register
def _(node: OverAggregate) -> str:
    keys = ", ".join(key.text for key in node.keys)
    rows, forgotten = "all rows", f", forgotten after {node.ttl_ms} ms without one" if node.ttl_ms is not None else ""
    match node.frame:
        case LastRows(count=count):
            rows = f"the {count} rows"
        case LastTime(length=length, grace=grace):
            rows, forgotten = f"the rows of {length} ms", f", which may be {grace} ms late"
    return f"Over {rows} with the same {keys} before a row{forgotten}: {', '.join(a.text for a in node.aggregations)}"


@sentence.register
def _(node: ClientOutput) -> str:
    return f"Answer {', '.join(map(_item, node.columns))}"


@sentence.register
def _(node: Write) -> str:
    return f"Write {_source(node.sink, 'to')}"


def _item(column: NamedExpression) -> str:
    name = identifier(column.name)
    return name if column.text.rpartition(".")[2] == name else f"{column.text} AS {name}"


def _source(source: Source, preposition: str) -> str:
    formats = f"key {source.key.format}, value {source.value.format}"
    return f"{source.kind.value} {identifier(source.name)} {preposition} topic {source.topic} ({formats})"


# ---------------------------------------------------------------- pull queries


@sentence.register
def _(node: TableRows) -> str:
    reached = "; ".join(_reached(access, node.source) for access in node.accesses)
    return f"Rows of {node.source.kind.name} {identifier(node.source.name)}: {reached}"


@sentence.register
def _(node: Where) -> str:
    return f"Where {node.text}"


@sentence.register
def _(node: Project) -> str:
    return f"Project {', '.join(map(_item, node.expressions))}"


@sentence.register
def _(node: RowJoin) -> str:
    strategy = "by hash" if node.left_keys else "each pair"
    return f"Join ({node.outer.value}) on {node.text}: {strategy}"


@sentence.register
def _(node: Group) -> str:
    calls = ", ".join(a.call.text for a in node.aggregations)
    return f"Group by {', '.join(k.text for k in node.keys)}: {calls}" if node.keys else f"Group all: {calls}"


@sentence.register
def _(node: Sort) -> str:
    keys = ", ".join(map(partial(_sort_key, node), node.keys))
    return f"Sort by {keys}" + (f", the first {node.limit}" if node.limit is not None else "")


def _sort_key(node: Sort, key: SortKey) -> str:
    nulls = "" if key.nulls_first is key.descending else f" NULLS {'FIRST' if key.nulls_first else 'LAST'}"
    return f"{identifier(node.schema.columns[key.index].name)}{' DESC' if key.descending else ''}{nulls}"


@sentence.register
def _(node: Slice) -> str:
    most = "all" if node.limit is None else str(node.limit)
    return f"Take {most} rows" + (f" after {node.offset}" if node.offset else "")


@sentence.register
def _(node: Distinct) -> str:
    return "Each row once"


@sentence.register
def _(node: Union) -> str:
    return "Union"


def explain_pull(query: TransientQuery, catalog: Catalog, settings: Mapping[str, str], at: Span) -> str:
    """EXPLAIN of a pull query: its plan, and how it reads the rows. Raises StatementError if it is not allowed."""
    check_enabled(query, settings, at)
    if isinstance(query.plan.source, RelationalNode):
        return explain(query.plan.source)
    source = query.sources[0]
    if source.kind is RelationKind.STREAM:
        first = first_rowtime(query.plan)
        begin = "its beginning" if first is None else f"the first record with a ROWTIME of {first} or later"
        reached = f"Pull from topic {source.topic}: from {begin} to its present end"
        return f"{explain(query.plan)}\n{reached}"
    pulled = plan_pull(query, settings, at, catalog.indexes_of(source.name))
    reached = "; ".join(_reached(access, source) for access in pulled.accesses)
    return f"{explain(pulled.plan)}\nPull from the rows of {source.kind.name} {identifier(source.name)}: {reached}"


def _reached(access: Access, source: Source) -> str:
    """How an access reaches the rows of a table, for EXPLAIN: `look up ID of 7`, `read the whole table`."""
    names = [identifier(c.name) for c in source.schema.key]
    match access:
        case KeyLookup(keys):
            lists = (", ".join(map(_constant, values)) for values in keys)
            place = " and ".join(f"{name} of {values}" for name, values in zip(names, lists, strict=True))
            text = f"look up {place}"
        case KeyRange(limits):
            bounds = " and ".join(f"{names[0]} {limit.operator} {_constant(limit.constant)}" for limit in limits)
            text = f"read the keys with {bounds}"
        case IndexLookup(by_values):
            text = _indexed(by_values)
        case _:
            text = "read the whole table"
    windows = " and ".join(f"{b.where.name} {b.operator} {_constant(b.constant)}" for b in access.windows)
    return f"{text}, windows with {windows}" if windows else text


def _indexed(access: IndexAccess) -> str:
    names = [identifier(name) for name in access.index.columns]
    bounds = " and ".join(f"{names[0]} {limit.operator} {_constant(limit.constant)}" for limit in access.limits)
    values = " or ".join(
        " and ".join(
            f"{name} of {', '.join(map(_constant, values))}" for name, values in zip(names, row_values, strict=True)
        )
        for row_values in access.values
    )
    return f"index {identifier(access.index.name)} with {values or bounds}"


def _constant(expression: TypedExpression) -> str:
    if not isinstance(expression, Constant):
        return "a computed value"
    return f"'{expression.value}'" if isinstance(expression.value, str) else str(expression.value)
