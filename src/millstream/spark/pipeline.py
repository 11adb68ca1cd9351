"""A plan as a DataFrame: one function for each node type, the same for real-time and bounded runs.

Input and output records are `RECORD`: key, value: binary, rowtime: bigint ms, headers, partition, offset.
Between, a relation has the columns key (struct K0…), value (struct V0…, null for a null value), rowtime, headers,
partition, offset, and wstart and wend (ms) if its keys have windows. The columns do not have the user's names, which
only the codec's specs contain.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce, singledispatch

from millstream.analysis.expressions import type_expression
from millstream.analysis.scope import NameScope, ScopeColumn
from millstream.analysis.typed_expressions import ColumnPlace, ColumnReference, TypedExpression
from millstream.catalog.catalog import RelationKind, Serde, Source, Windowed
from millstream.formats.spec import spec
from millstream.formats.windowed_keys import BOUND_BYTES, LAST_MS, NO_WINDOW, TOO_SHORT, bounds
from millstream.functions.operator_expressions import quoted
from millstream.model.schema import Column, RecordPart, Schema
from millstream.model.types import STRING, TIMESTAMP
from millstream.plan.nodes import (
    Aggregate,
    ClientOutput,
    Deduplicate,
    DistinctArguments,
    Filter,
    Flatten,
    Join,
    NamedExpression,
    OverAggregate,
    PlanNode,
    Read,
    Rekey,
    Select,
    UnionAll,
    Write,
    leaves,
    refs,
    scans_of_union,
    windowed,
)
from millstream.spark import aggregates, deduplicate, distinct_arguments, joins, over_aggregates, table_filter
from millstream.spark.codec import decode, encode, encoded_rows, keyed_rows, readable_rows, timed_rows, windowed_rows
from millstream.spark.fold import HEADERS, METADATA_TYPES, PLACE_TYPES, scan_columns
from millstream.spark.group_folds import AggregateRun
from millstream.spark.join_step import bounds_of
from millstream.spark.lazy_frame import LazyFrame
from millstream.spark.lower import guarded, to_sql
from millstream.syntax import tree

RECORD = ("key", "value", *METADATA_TYPES)
# The headers of a record, and behind them one with the record's time, from which the latency is computed: operators
# pass it on like other headers.
_WITH_APPEND_TIME = (
    f"concat(coalesce(headers, cast(array() as {HEADERS})), "
    "array(named_struct('key', 'millstream.append.time', 'value', cast(rowtime as binary)))) as headers"
)
# The key of a row of an answer that is a tombstone.
TOMBSTONE = b"\x01"
# References to these places need no check for a null value: key and window are those of the tombstone, and a value
# column of it is NULL.
_OF_A_TOMBSTONE = (ColumnPlace.KEY, ColumnPlace.WINDOWSTART, ColumnPlace.WINDOWEND, ColumnPlace.VALUE)
# Returns the records of a source's topic, in the columns RECORD.
Records = Callable[[Read], LazyFrame]


def written(
    plan: Write, records: Records, query: str, live: bool = False, carries_append_time: bool = False
) -> LazyFrame:
    """The records that a query writes, in the columns RECORD; partition and offset are those of the input record.

    `live`: the records are streams and the query runs in real time; else an Evaluator runs it. `carries_append_time`:
    the time of the Kafka record that caused a row is in the last of its headers, which jvm/TopicWriter.scala removes.
    A record that cannot be read or written is left out, with an entry in the processing log of `query`.
    """
    sink = plan.sink
    window = windowed(plan.source)
    run = _QueryRun(records, query, live, carries_append_time=carries_append_time)
    rows = _timed(_rows(plan.source, run), sink, _RowTimes(sink.schema, _metadata(plan.source)), run)
    encoded = rows.select(
        f"{encode('key', side_spec(sink.key, sink.schema.key, 'K'))} as k",
        f"{encode('value', side_spec(sink.value, sink.schema.value, 'V'))} as v",
        *("rowtime", *_metadata(plan.source)),
    )
    fine = encoded_rows(encoded, query, sink.topic)
    return fine.select(f"{_windowed_key(window)} as key", "v.bytes as value", *RECORD[2:])


def _windowed_key(window: Windowed | None) -> str:
    """The key's bytes followed by the window's bounds (formats/windowed_keys.py)."""
    if window is None:
        return "k.bytes"
    return f"concat(k.bytes, {', '.join(f'cast(w{bound} as binary)' for bound in bounds(window))})"


def answered(
    plan: ClientOutput,
    records: Records,
    query: str,
    live: bool = False,
    emits_changes: bool = False,
    only_changes: bool = False,
) -> LazyFrame:
    """The rows of an answer: struct `row` (V0…), `tombstone`, rowtime, partition, offset.

    `emits_changes`: the rows are changes, and a change that does not pass a filter over a table is a tombstone if the
    row that it replaces did; else each row that does not pass is one. `only_changes`: such a change is dropped in any
    case. A tombstone has its key columns; all others are NULL, whatever they compute, as in ksqlDB.
    """
    rows = _rows(plan.source, _QueryRun(records, query, live, emits_changes, only_changes))
    row = _struct("V", [_answer_column(c, query, plan.kind) for c in plan.columns])
    return rows.select(f"{row} as row", "value is null as tombstone", "rowtime", "partition", "offset")


def _answer_column(column: NamedExpression, query: str, kind: RelationKind) -> str:
    """SQL text of a column of an answer."""
    text, expression = guarded(column.expression, f"{query}.answer|{column.name}"), column.expression
    of_the_row = isinstance(expression, ColumnReference) and expression.where in _OF_A_TOMBSTONE
    return text if of_the_row or kind is RelationKind.STREAM else f"if(value is null, null, {text})"


def as_records(rows: LazyFrame, plan: ClientOutput) -> LazyFrame:
    """Answered rows as records for the sink: JSON in the value; the key marks tombstones."""
    columns = [Column(f"C{i}", c.type) for i, c in enumerate(plan.schema)]
    document = spec(Serde("JSON", wrap=True), columns)
    encoded = _changes(rows, plan).select(f"{encode('row', document)} as v", "tombstone", "rowtime")
    return encoded.select(
        f"if(tombstone, X'{TOMBSTONE.hex()}', null) as key",
        "v.bytes as value",
        "greatest(rowtime, 0L) as rowtime",
        f"cast(null as {HEADERS}) as headers",
    )


def in_columns(rows: LazyFrame, plan: ClientOutput) -> LazyFrame:
    """Answered rows in the columns C0 …, and whether a row is a `tombstone`."""
    return _changes(rows, plan).select(*(f"row.V{i} as C{i}" for i in range(len(plan.columns))), "tombstone")


def _changes(rows: LazyFrame, plan: ClientOutput) -> LazyFrame:
    """Answered rows: a null value deletes a row of a table; in a stream it is not a row."""
    return rows.where("not tombstone") if plan.kind is RelationKind.STREAM else rows


def table_rows(source: Source, records: Records, query: str) -> LazyFrame:
    """The rows of a table's records in the columns c0, c1 … of relational_nodes.TableRows; see there."""
    rows = _rows(Read(source), _QueryRun(records, query, live=False)).where("value is not null")
    values = len(source.schema.columns) - len(source.schema.key)
    places = [
        *(f"key.K{i}" for i in range(len(source.schema.key))),
        *(("wstart", "wend") if source.windowed else ()),
        "rowtime",
        *(f"value.V{i}" for i in range(values)),
    ]
    return rows.select(*(f"{place} as c{i}" for i, place in enumerate(places)))


class _QueryRun:
    """The common parameters of one query's nodes. `emits_changes`: its rows are changes, not a table's current rows.

    `only_changes`: see `answered`; `carries_append_time`: see `written`.
    """

    __slots__ = ("carries_append_time", "emits_changes", "live", "only_changes", "query", "records")

    def __init__(
        self,
        records: Records,
        query: str,
        live: bool,
        emits_changes: bool = True,
        only_changes: bool = False,
        carries_append_time: bool = False,
    ) -> None:
        self.records, self.query, self.live = records, query, live
        self.carries_append_time = carries_append_time
        self.emits_changes, self.only_changes = emits_changes, only_changes

    def label(self, operator: str, computed: str) -> str:
        """The label of an expression of this query in the processing log."""
        return f"{self.query}.{operator}|{computed}"

    def groups(self, old: bool = False) -> AggregateRun:
        """The parameters of this query's groups."""
        return AggregateRun(self.query, self.live, old)


@singledispatch
def _rows(node: PlanNode, run: _QueryRun) -> LazyFrame:
    raise NotImplementedError(f"{type(node).__name__} does not run on Spark")


def side_spec(serde: Serde, columns: Sequence[Column], prefix: str) -> str:
    """The codec's spec of one side; a key without columns is neither read nor written, whatever its format."""
    return spec(serde if columns or prefix == "V" else Serde("NONE"), columns, prefix)


def _struct(prefix: str, texts: Sequence[str]) -> str:
    """SQL text of a struct with the fields {prefix}0…; a struct needs a field, so an empty one gets a null field."""
    fields = texts or ["cast(null as int)"]
    return "named_struct(" + ", ".join(f"'{prefix}{i}', {field}" for i, field in enumerate(fields)) + ")"


# ---------------------------------------------------------------- Read


def _metadata(node: PlanNode) -> tuple[str, ...]:
    """The columns of a node's rows besides key, value and rowtime."""
    return (*PLACE_TYPES, *scan_columns(node), *bounds_of(node))


@_rows.register
def _(node: Read, run: _QueryRun) -> LazyFrame:
    origin, metadata = node.origin, _metadata(node)
    decoded = _unwindowed(run.records(node), node, run.query).select(
        f"{decode('key', side_spec(origin.key, origin.schema.key, 'K'))} as k",
        f"{decode('value', side_spec(origin.value, origin.schema.value, 'V'))} as v",
        *(f"{side} as raw_{side}" for side in ("key", "value")),
        *("rowtime", *metadata),
    )
    rows = readable_rows(decoded, run.query, origin.topic, node.fatal)
    value = f"{_with_headers(origin)} as value"
    carried = [_WITH_APPEND_TIME if c == "headers" and run.carries_append_time else c for c in metadata]
    rows = rows.select("k.value as key", value, "rowtime", *carried)
    if origin.kind is RelationKind.TABLE:
        rows = keyed_rows(rows, run.query, origin.topic, len(origin.schema.key))
    return _timed(rows, origin, _RowTimes(node.schema, metadata, node.strict), run)


def _unwindowed(records: LazyFrame, node: Read, query: str) -> LazyFrame:
    """The records with the window removed from their keys; a key that has none cannot be read."""
    window = node.origin.windowed
    if window is None:
        return records
    size = BOUND_BYTES * len(bounds(window))
    places = {bound: size - 1 - BOUND_BYTES * i for i, bound in enumerate(bounds(window))}
    # conv() returns an unsigned number, so a negative bound overflows BIGINT and becomes NULL.
    texts = {
        bound: f"cast(conv(hex(substring(key, length(key) - {place}, {BOUND_BYTES})), 16, 10) as bigint)"
        for bound, place in places.items()
    }
    start, end = texts["start"], texts.get("end")
    if end is None:
        assert window.size_ms is not None
        end = f"if({start} > {LAST_MS - window.size_ms}L, {LAST_MS}L, {start} + {window.size_ms}L)"
    error = (
        f"case when length(key) < {size} then {quoted(TOO_SHORT)} "
        f"when key is null or coalesce({start} <= {end}, false) then null else {quoted(NO_WINDOW)} end"
    )
    rows = windowed_rows(records, error, query, node.origin.topic, node.fatal)
    other_columns = [c for c in RECORD if c != "key"]
    key = f"substring(key, 1, length(key) - {size}) as key"
    return rows.select(key, *other_columns, f"{start} as wstart", f"{end} as wend")


def _with_headers(origin: Source) -> str:
    """The value struct with header columns inserted at their positions."""
    if not origin.schema.headers:
        return "v.value"
    texts, n = [], 0
    for column in origin.schema:
        if column.part is RecordPart.VALUE:
            texts.append(f"v.value.V{n}")
            n += 1
        elif column.part is RecordPart.HEADER:
            texts.append(_header(column))
    return f"if(v.value is null, null, {_struct('V', texts)})"


def _header(column: Column) -> str:
    if column.header is None:
        return "transform(coalesce(headers, array()), h -> named_struct('F0', h.key, 'F1', h.value))"
    return f"try_element_at(filter(headers, h -> h.key = {quoted(column.header)}), -1).value"


@dataclass(frozen=True, slots=True)
class _RowTimes:
    """Where a row's time is: the schema, the other columns, and if an invalid time ends the query (`strict`)."""

    schema: Schema
    metadata: Sequence[str]
    strict: bool = False


def _timed(rows: LazyFrame, source: Source, of: _RowTimes, run: _QueryRun) -> LazyFrame:
    """The rows with the TIMESTAMP column as rowtime; a row whose time is null or negative is logged and left out."""
    if source.timestamp is None:
        return rows
    ref = next(r for r in refs(of.schema) if r.name == source.timestamp.column)
    expression = _time_expression(ref, source.timestamp.pattern)
    if of.strict:
        missing = quoted(f"the TIMESTAMP column {ref.name} is NULL")
        time = f"coalesce({to_sql(expression)}, ms_fail({missing}, 'bigint'))"
    else:
        time = guarded(expression, run.label("source", f"timestamp column {ref.name}"))
    record_time = time if ref.where is ColumnPlace.KEY else f"if(value is null, rowtime, {time})"
    # The source learns the rows' times for its watermarks (jvm/Watermarks.scala).
    known_time = f"ms_row_time({record_time})" if run.live else record_time
    timed = rows.select("key", "value", f"{known_time} as rowtime", *of.metadata)
    return timed_rows(timed, run.query, source.topic)


def _time_expression(ref: ColumnReference, pattern: str | None) -> TypedExpression:
    name = tree.ColumnRef(ref.name)
    scope = NameScope((ScopeColumn(ref.name, None, ref),))
    if ref.type == STRING:
        return type_expression(tree.Call("STRINGTOTIMESTAMP", (name, tree.Literal(pattern, STRING))), scope)
    return type_expression(tree.Call("UNIX_TIMESTAMP", (name,)) if ref.type == TIMESTAMP else name, scope)


# ---------------------------------------------------------------- the other nodes


@_rows.register
def _(node: Filter, run: _QueryRun) -> LazyFrame:
    condition = f"coalesce({guarded(node.condition, run.label('filter', node.text))}, false)"
    metadata = ("rowtime", *_metadata(node))
    if isinstance(node.source, Aggregate) and node.kind is RelationKind.TABLE:
        return _having(_grouped(node.source, run, old=True), condition, metadata)
    if node.is_stateful and run.only_changes:
        return _rows(node.source, run).where(f"value is null or {condition}")
    if node.is_stateful and not run.emits_changes:
        return _present(node, run)
    rows = _rows(node.source, run)
    if joins.has_old_value(node.source):
        return _having(rows, condition, metadata)
    if node.kind is RelationKind.STREAM:
        # No conjunction: Spark may check for null after the condition, which fails on a null row, and logs that.
        return rows.where(f"if(value is null, false, {condition})")
    return table_filter.filtered(rows, node, condition, run.query, run.live)


def _present(node: Filter, run: _QueryRun) -> LazyFrame:
    """The rows of a table, with a tombstone for each row that does not pass, if the consumer accepts such
    tombstones."""
    condition = guarded(node.condition, run.label("filter", node.text))
    return _rows(node.source, run).select(
        "key", f"if(value is not null and {condition}, value, null) as value", "rowtime", *_metadata(node)
    )


def _having(rows: LazyFrame, condition: str, metadata: Sequence[str]) -> LazyFrame:
    """The rows for which the condition holds; a tombstone if it only held for the replaced row, `old`."""
    now = rows.select("*", f"value is not null and {condition} as holds")
    then = now.select("key", "old as value", "value as now", "holds", *metadata)
    both = then.select("*", f"value is not null and {condition} as held").where("holds or held")
    return both.select("key", "if(holds, now, null) as value", *metadata)


@_rows.register
def _(node: Aggregate, run: _QueryRun) -> LazyFrame:
    return _grouped(node, run, old=False)


def _grouped(node: Aggregate, run: _QueryRun, old: bool) -> LazyFrame:
    source = node.source
    rows = _present(source, run) if isinstance(source, Filter) and source.is_stateful else _rows(source, run)
    return aggregates.grouped(rows, node, run.groups(old))


@_rows.register
def _(node: Join, run: _QueryRun) -> LazyFrame:
    return joins.joined(node, lambda inner: _rows(inner, run), run.query, run.live)


@_rows.register
def _(node: Flatten, run: _QueryRun) -> LazyFrame:
    rows = _rows(node.source, run).where("value is not null")
    names = [f"x{i}" for i in range(len(node.functions))]
    texts = [guarded(f.expression, run.label("flatten", f.name)) for f in node.functions]
    arrays = [f"coalesce({text}, array()) as {name}" for text, name in zip(texts, names, strict=True)]
    all_ = ("key", "value", "rowtime", *_metadata(node))
    zipped = rows.select(*all_, *arrays).select(*all_, f"explode(arrays_zip({', '.join(names)})) as z")
    before = [f"value.V{i}" for i in range(len(node.source.schema.value))]
    value = _struct("V", [*before, *(f"z.{n}" for n in names)])
    return zipped.select("key", f"{value} as value", "rowtime", *_metadata(node))


@_rows.register
def _(node: Rekey, run: _QueryRun) -> LazyFrame:
    rows, old = _rows(node.source, run), node.source.schema
    # PARTITION BY computes pseudocolumns from the value: for a null value they are null.
    pseudo = [f"if(value is null, null, {c}) as {c}" for c in ("rowtime", "partition", "offset")]
    carried = ("rowtime as t", "headers", "partition as p", "offset as o")
    flattened = rows.select("key", "value", *carried, *scan_columns(node), *pseudo)
    key = _struct("K", [_new_key(k, run) for k in node.keys])
    values = [f"value.V{i}" for i in range(len(old.value))] + [f"key.K{i}" for i in range(len(old.key))]
    value = f"if(value is null, null, {_struct('V', values)})"
    places = ("headers", "p as partition", "o as offset")
    return flattened.select(f"{key} as key", f"{value} as value", "t as rowtime", *places, *scan_columns(node))


def _new_key(key: NamedExpression, run: _QueryRun) -> str:
    """A column of PARTITION BY: null for a null value, whatever the expression, except for columns of the old key."""
    text = guarded(key.expression, run.label("partitionby", key.name))
    columns = [part for part in key.expression.walk() if isinstance(part, ColumnReference)]
    return text if all(c.where is ColumnPlace.KEY for c in columns) else f"if(value is null, null, {text})"


@_rows.register
def _(node: Select, run: _QueryRun) -> LazyFrame:
    rows = _rows(node.source, run)
    key = f"if(key is null, null, {_struct('K', [to_sql(k.expression) for k in node.keys])})"
    values = _struct("V", [guarded(c.expression, run.label("project", c.name)) for c in node.columns])
    return rows.select(f"{key} as key", f"if(value is null, null, {values}) as value", "rowtime", *_metadata(node))


@_rows.register
def _(node: Deduplicate, run: _QueryRun) -> LazyFrame:
    return deduplicate.deduplicated(_rows(node.source, run), node, run.query, run.live)


@_rows.register
def _(node: DistinctArguments, run: _QueryRun) -> LazyFrame:
    return distinct_arguments.with_distinct_arguments(_rows(node.source, run), node, run.query, run.live)


@_rows.register
def _(node: OverAggregate, run: _QueryRun) -> LazyFrame:
    return over_aggregates.with_over_aggregates(_rows(node.source, run), node, run.query, run.live)


@_rows.register
def _(node: UnionAll, run: _QueryRun) -> LazyFrame:
    columns = ("key", "value", "rowtime", *PLACE_TYPES, *bounds_of(node))
    frames, scans = [], 0
    for branch in node.branches:
        number = _scan_partition(branch, scans, scans_of_union(node))
        frames.append(_rows(branch, run).select(*columns, f"{number} as scan_partition"))
        scans += len(leaves(branch))
    return reduce(LazyFrame.union, frames)


def _scan_partition(branch: PlanNode, first: int, scans: int) -> str:
    """The text of a row's `scan_partition` (fold.scan_columns) in a union of `scans`, of which `first` are in branches
    before."""
    own = scans_of_union(branch)
    if not own:
        return f"partition * {scans} + {first}"
    return f"cast(scan_partition div {own} * {scans} + {first} + scan_partition % {own} as int)"
