"""The common parts of the joins of a chain: inputs, types, and forwarded rows (see joins.py)."""

from collections.abc import Mapping, Sequence

from millstream.analysis.typed_expressions import TypedExpression
from millstream.functions.operator_expressions import (
    OperatorExpression,
    SqlOperand,
    StructLayout,
    array,
    column,
    if_,
    integer,
    null,
    struct_of,
)
from millstream.functions.operator_sql import spark_sql
from millstream.functions.sparktype import spark_type
from millstream.model.schema import Column
from millstream.plan.nodes import Join, PlanNode, leaves, scans_of_union, type_of, windowed
from millstream.plan.partitions import mixes_partitions
from millstream.spark.codec import EXPRESSION, error_if, report
from millstream.spark.fold import METADATA_TYPES, PLACE_TYPES, ROW, Fold
from millstream.spark.lazy_frame import LazyFrame
from millstream.spark.lower import guarded


def bounds_of(node: PlanNode) -> tuple[str, ...]:
    """The columns of a node's rows with the bounds of their window."""
    return ("wstart", "wend") if windowed(node) else ()


def relation_layout(node: PlanNode) -> StructLayout:
    """The columns of the rows of a node without `old`: key, value, metadata, and the bounds of their window."""
    key, value = columns_layout("K", node.schema.key), columns_layout("V", node.schema.value)
    bounds = dict.fromkeys(bounds_of(node), "bigint")
    return StructLayout({"key": key.type, "value": value.type, **METADATA_TYPES, **bounds})


def own_key(node: PlanNode) -> str:
    """Spark SQL of the key of a node's rows as in `relation_layout`, where a key without columns has a field, too."""
    return "key" if node.schema.key else "named_struct('K0', cast(null as int))"


def columns_layout(prefix: str, columns: Sequence[Column]) -> StructLayout:
    """The layout of a key or value with these columns; a struct needs a field."""
    types = {f"{prefix}{i}": spark_type(c.type) for i, c in enumerate(columns)}
    return StructLayout(types or {f"{prefix}0": "int"})


def compared_key(join: Join) -> StructLayout:
    """The key that a join compares, on either side."""
    return columns_layout("K", [Column(name, type_of(k)) for name, k in zip(join.names, join.right_keys, strict=True)])


def key_of(join: Join, expressions: Sequence[TypedExpression], query: str) -> str:
    """Spark SQL of the key that a join compares, of these expressions over a side's rows: a struct with K0, K1, …"""
    place = f"{query}.join|{join.text}"
    fields = (f"'K{i}', {guarded(expression, place)}" for i, expression in enumerate(expressions))
    return f"named_struct({', '.join(fields)})"


def no_key(join: Join) -> str:
    """Spark SQL that is true if a part of the compared key `join_key` is null: the row equals no other."""
    return spark_sql(~compared_key(join).complete(column("join_key")))


def right_layout(join: Join) -> StructLayout:
    """What a join stores of a row of its right input: the compared key, the value, and stream time."""
    value = columns_layout("V", join.right.schema.value)
    return StructLayout({"join_key": compared_key(join).type, "value": value.type, "clock": "bigint"})


def limits_unions(join: Join) -> bool:
    """True if the first join of a chain limits its stream time by the sources of a union (jvm/StreamTimeLimit.scala).

    Its input then has the column scan_partition (fold.scan_columns), for the rows of all inputs.
    """
    return join.window is not None and any(scans_of_union(side) for side in (join.left, join.right))


def with_key(rows: LazyFrame, missing: str, side: PlanNode, query: str) -> LazyFrame:
    """A join's input without the rows whose key is `missing`, which are written to the processing log."""
    reason = "the row's join key is null, so it does not join any row: it is left out"
    topic = leaves(side)[0].origin.topic
    return rows.where(report(EXPRESSION, error_if(missing, reason), f"{query}.join", "key", topic, None))


class JoinStep:
    """One join of a chain: `place` is the number of its right input; rows of the inputs of `later` joins are forwarded.

    Its operator's input has the columns `join_key` (null for a forwarded row), `side` (0, 1, null), `value` (of a left
    row), `right` (the value of a right row) and `own_key` (the key of a left row).
    """

    def __init__(self, join: Join, place: int, later: Sequence[Join], query: str, live: bool) -> None:
        self.join, self.place, self.later, self.query, self.live = join, place, later, query, live
        self.bounds = bounds_of(join)
        self.forwarded = {f"right{place + i}": right_layout(right) for i, right in enumerate(later, 1)}
        self.key = compared_key(join)
        self.left = columns_layout("V", join.left.schema.value)
        self.right = columns_layout("V", join.right.schema.value)
        self.joined = columns_layout("V", join.schema.value)
        self.own_key = columns_layout("K", join.schema.key)
        self.out = StructLayout(self._out_types())
        self.label = f"{query}.join"

    def _out_types(self) -> Mapping[str, str]:
        types = {"input": "int", "key": self.own_key.type, "value": self.joined.type}
        bounds = dict.fromkeys(self.bounds, "bigint")
        return {**types, **METADATA_TYPES, **bounds, **{name: layout.type for name, layout in self.forwarded.items()}}

    def run(self, frame: LazyFrame) -> LazyFrame:
        """The rows of this join, as input 0, and of later inputs; `frame` has those of all inputs (joins.py)."""
        raise NotImplementedError

    def prepared(self, frame: LazyFrame) -> LazyFrame:
        """The operator's input, as described above, with `clock` and, if rows are forwarded, `spread`."""
        right = f"right{self.place}"
        own_key = "first_key" if self.place == 1 else key_of(self.join, self.join.left_keys, self.query)
        key = f"case input when 0 then {own_key} when {self.place} then {right}.join_key end"
        side = f"case input when 0 then 0 when {self.place} then 1 end as side"
        own = "clock" if self.place == 1 else "rowtime"
        clock = f"case input when 0 then {own} when {self.place} then {right}.clock end as clock"
        scan_partition = ["scan_partition"] if self.place == 1 and limits_unions(self.join) else []
        metadata = ("rowtime", *PLACE_TYPES, *scan_partition, *self.bounds, *self.forwarded)
        values = (f"{key} as join_key", side, "value", f"{right}.value as right", "key as own_key")
        rows = frame.select("input", *values, *metadata, clock)
        if self.place > 1:
            rows = with_key(rows, f"side is not null and ({no_key(self.join)})", self.join.left, self.query)
        spread = f"if(join_key is null, {self.spread()}, 0L) as spread"
        return rows.select("*", spread) if self.forwarded else rows

    def by(self) -> tuple[str, ...]:
        """The group; forwarded rows are spread over the tasks by the key of their later join."""
        sized = windowed(self.join)
        # Windows of fixed size are identified by their start alone, whatever their sizes.
        bounds = self.bounds if sized is None or sized.size_ms is None else self.bounds[:1]
        return ("join_key", *(["spread"] if self.forwarded else []), *bounds)

    def spread(self) -> str:
        """Spark SQL of the number that spreads forwarded rows over the tasks."""
        keys = ", ".join(f"{name}.join_key" for name in self.forwarded)
        return f"xxhash64({keys})" if keys else "0L"

    # ------------------------------------------------------------ what an operator emits

    def value(self, left: OperatorExpression, right: OperatorExpression) -> OperatorExpression:
        """The joined value of two structs; either may be null."""
        values = [left.field(f"V{i}") for i in range(len(self.join.left.schema.value))]
        values += [right.field(f"V{i}") for i in range(len(self.join.right.schema.value))]
        return struct_of({f"V{i}": value for i, value in enumerate(values or [null("int")])})

    def row(
        self,
        key: OperatorExpression,
        value: OperatorExpression,
        rowtime: OperatorExpression,
        window: OperatorExpression = ROW,
        **more: OperatorExpression,
    ) -> OperatorExpression:
        """A row of the join's result; `window` has the bounds, and `more` are additional columns."""
        values: dict[str, SqlOperand] = {"input": integer(0), "key": key, "value": value, "rowtime": rowtime}
        nulls = {name: layout.null() for name, layout in self.forwarded.items()}
        return self._output({**values, **nulls, **more}, window)

    def forward(self, **more: OperatorExpression) -> OperatorExpression:
        """The current row, unchanged, as a row of a later join's input; `more` are additional columns."""
        unchanged = {name: ROW.field(name) for name in ("input", "rowtime", *self.forwarded)}
        return self._output({**unchanged, "key": self.own_key.null(), "value": self.joined.null(), **more}, ROW)

    def _output(self, values: Mapping[str, SqlOperand], window: OperatorExpression) -> OperatorExpression:
        metadata = {name: ROW.field(name) for name in PLACE_TYPES} | {name: window.field(name) for name in self.bounds}
        all_values = {**values, **metadata}
        more = [name for name in all_values if name not in self.out.types]
        return struct_of({name: all_values[name] for name in (*self.out.types, *more)})

    def folded(self, update: OperatorExpression, emit: OperatorExpression, state: StructLayout) -> Fold:
        """The fold of a join; rows of the inputs of later joins are forwarded."""
        if self.forwarded:
            no_side = ROW.field("side").is_null()
            update, emit = if_(no_side, state.null(), update), if_(no_side, array(self.forward()), emit)
        return Fold(
            self.by(),
            state.type,
            spark_sql(update),
            spark_sql(emit),
            self.out.type,
            self.label,
            shared_clock=mixes_partitions(self.join),
        )
