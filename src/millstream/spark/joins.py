"""Joins as folds over the union of their inputs.

Spark requires all unions to come before the first stateful operator. So all inputs of a chain of joins are one frame
from the start: the column `input` has the number of a row's input. The row's data is in `key` and `value` for input 0,
in `right<n>` for input n. Join n folds inputs 0 and n into input 0 and forwards the rows of the later inputs.

`SELECT * FROM orders o LEFT JOIN users u ON o.user = u.id LEFT JOIN items i ON o.item = i.id`, orders a stream:

    input row                               state of join 1, by u.id   row after join 1, before join 2 (state by i.id)
    input 1, right1 {u1, Ann}               u1: {right: Ann}           none
    input 2, right2 {i7, pen}               none: it is forwarded      input 2, right2 {i7, pen}   i7: {right: pen}
    input 0, value {u1, i7}                 u1: {right: Ann}           input 0, value {u1, i7, Ann}
                                                                       after join 2: {u1, i7, Ann, i7, pen}
    input 1, right1 {u1, null}              none                       none
    input 0, value {u1, i7}                 none                       input 0, value {u1, i7, null}
                                                                       after join 2: {u1, i7, null, i7, pen}
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from millstream.catalog.catalog import RelationKind
from millstream.functions.operator_expressions import (
    OperatorExpression,
    StructLayout,
    array,
    call,
    if_,
    integer,
)
from millstream.functions.operator_sql import spark_sql
from millstream.plan.nodes import Join, PlanNode, leaves
from millstream.spark import table_bootstrap
from millstream.spark.fold import PLACE_TYPES, ROW, STATE, Fold, clock, fold, scan_columns
from millstream.spark.foreign_key_join import ForeignKeyJoin
from millstream.spark.join_step import (
    JoinStep,
    bounds_of,
    columns_layout,
    compared_key,
    key_of,
    limits_unions,
    no_key,
    own_key,
    right_layout,
    with_key,
)
from millstream.spark.lazy_frame import LazyFrame
from millstream.spark.stream_stream_join import StreamStreamJoin

_ROWTIME, _LEFT, _RIGHT = ROW.field("rowtime"), ROW.field("value"), ROW.field("right")
_IS_LEFT = ROW.field("side").equals(integer(0))


def joined(node: Join, rows: Callable[[PlanNode], LazyFrame], query: str, live: bool) -> LazyFrame:
    """The rows of a chain of joins, of which `node` is the last; `rows` returns those of an input.

    The rows of a join that `has_old_value` also have `old`: the value that the row replaces.
    """
    chain = _chain(node)
    frame = _union(chain, rows, query, live)
    for place, join in enumerate(chain, 1):
        frame = _kind(join)(join, place, chain[place:], query, live).run(frame)
    return frame.drop("input")


def has_old_value(node: PlanNode) -> bool:
    """True if a node's rows carry the value that they replace, in the column `old`: a join of two tables by keys."""
    return isinstance(node, Join) and _kind(node) is TableTableJoin


def _chain(node: Join) -> list[Join]:
    """The joins of a chain, the first join first."""
    return [*_chain(node.left), node] if isinstance(node.left, Join) else [node]


def _kind(join: Join) -> type[JoinStep]:
    if join.foreign:
        return ForeignKeyJoin
    if join.window is not None:
        return StreamStreamJoin
    return TableTableJoin if join.kind is RelationKind.TABLE else StreamTableJoin


def _clock(join: Join, input: PlanNode, live: bool) -> str:
    """The column `clock` of an input: stream time at a row if the join has a window, else the row's own time."""
    return f"{clock(live, input) if join.window else 'rowtime'} as clock"


def _union(chain: Sequence[Join], rows: Callable[[PlanNode], LazyFrame], query: str, live: bool) -> LazyFrame:
    """The rows of all inputs of a chain of joins as one frame, whose columns the module's docstring describes."""
    first, bounds = chain[0].left, bounds_of(chain[0])
    metadata = ("rowtime", *PLACE_TYPES, *bounds)
    key, value = (
        spark_sql(columns_layout(p, c).null()) for p, c in (("K", first.schema.key), ("V", first.schema.value))
    )
    no_rights = [f"{spark_sql(right_layout(j).null())} as right{i}" for i, j in enumerate(chain, 1)]

    def numbered(input: PlanNode) -> Sequence[str]:
        numbers = scan_columns(input) or ("partition as scan_partition",)
        return numbers if limits_unions(chain[0]) else ()

    no_key = spark_sql(compared_key(chain[0]).null())
    left = _present(first, rows)
    # A foreign key may be null; it is computed where subscriptions begin.
    left = left.select("*", f"{no_key} as join_key") if chain[0].foreign else _keyed(left, chain[0], first, query)
    left_columns = ("0 as input", f"{own_key(first)} as key", "value", *metadata, *numbered(first))
    frame = left.select(*left_columns, "join_key as first_key", _clock(chain[0], first, live), *no_rights)
    for place, join in enumerate(chain, 1):
        rights = list(no_rights)
        rights[place - 1] = f"named_struct('join_key', join_key, 'value', value, 'clock', clock) as right{place}"
        common_columns = (f"{place} as input", f"{key} as key", f"{value} as value")
        timed = _keyed(_present(join.right, rows), join, join.right, query).select("*", _clock(join, join.right, live))
        right_columns = (*common_columns, *metadata, *numbered(join.right), f"{no_key} as first_key", "clock", *rights)
        right = timed.select(*right_columns)
        awaited = live and _kind(join) is StreamTableJoin
        frame = frame.union(table_bootstrap.sent(right, query, _leaf(join)) if awaited else right)
    return frame


def _present(input: PlanNode, rows: Callable[[PlanNode], LazyFrame]) -> LazyFrame:
    """The rows of an input that a join reads: of a stream those with a value."""
    return rows(input).where("value is not null" if input.kind is RelationKind.STREAM else "true")


def _keyed(rows: LazyFrame, join: Join, side: PlanNode, query: str) -> LazyFrame:
    """The rows of a side with `join_key`, the key that is compared.

    Rows in which a part of it is null are logged and left out, before stream time is taken: they do not move it.
    """
    key = key_of(join, join.left_keys if side is join.left else join.right_keys, query)
    return with_key(rows.select("*", f"{key} as join_key"), no_key(join), side, query)


def _leaf(join: Join) -> int:
    """The index among the plan's leaves of the table that a join looks up rows in: a union on its left has several."""
    return len(leaves(join.left))


class _FoldJoin(JoinStep):
    """A join that consists of one fold."""

    def run(self, frame: LazyFrame) -> LazyFrame:
        """The rows of this join, as input 0, and of later inputs; `frame` has those of all inputs (joins.py)."""
        return fold(self.prepared(frame), self.fold(), self.live)

    def fold(self) -> Fold:
        """The fold of this kind of join."""
        raise NotImplementedError


class StreamTableJoin(_FoldJoin):
    """A stream and a table: the state is the table's row; only rows of the stream produce results."""

    def fold(self) -> Fold:
        """The state of a key is the value of the table's row."""
        layout = StructLayout({"right": self.right.type})
        stored = STATE.field("right")
        joined = array(self.row(ROW.field("join_key"), self.value(_LEFT, stored), _ROWTIME))
        emitted = joined if self.join.outer.left else if_(stored.is_null(), array(), joined)
        fold = self.folded(
            if_(_IS_LEFT, STATE, if_(_RIGHT.is_null(), layout.null(), layout.new({"right": _RIGHT}))),
            if_(_IS_LEFT, emitted, array()),
            layout,
        )
        name = table_bootstrap.table_input(self.query, _leaf(self.join))
        return replace(fold, table_input=name) if self.live else fold


class TableTableJoin(_FoldJoin):
    """Two tables by their keys: the state is the last row of either side, with its time."""

    def _out_types(self) -> Mapping[str, str]:
        return {**super()._out_types(), **({} if self.later else {"old": self.joined.type})}

    def fold(self) -> Fold:
        """The state of a key is the value and rowtime of either side's row."""
        layout = StructLayout(
            {"left": self.left.type, "left_time": "bigint", "right": self.right.type, "right_time": "bigint"}
        )
        is_right = ROW.field("side").equals(integer(1))
        values = {
            "left": if_(_IS_LEFT, _LEFT, STATE.field("left")),
            "left_time": if_(_IS_LEFT, _ROWTIME, STATE.field("left_time")),
            "right": if_(is_right, _RIGHT, STATE.field("right")),
            "right_time": if_(is_right, _ROWTIME, STATE.field("right_time")),
        }
        empty = values["left"].is_null() & values["right"].is_null()
        return self.folded(
            if_(empty, layout.null(), layout.new(values)),
            if_(_IS_LEFT, self._change("left", "right"), self._change("right", "left")),
            layout,
        )

    def _change(self, own: str, other: str) -> OperatorExpression:
        """The output for a row of one side; like Kafka Streams, a tombstone also if there was no result before."""
        outer = self.join.outer
        own_outer, other_outer = (outer.left, outer.right) if own == "left" else (outer.right, outer.left)
        value = _LEFT if own == "left" else _RIGHT
        sides = {own: value, other: STATE.field(other)}
        no_counterpart = STATE.field(other).is_null()
        time = call("greatest", _ROWTIME, if_(no_counterpart, _ROWTIME, STATE.field(f"{other}_time")))
        key = ROW.field("join_key")
        old = {} if self.later else {"old": self._old()}
        tombstone = array(self.row(key, self.joined.null(), time, **old))
        joined = array(self.row(key, self.value(sides["left"], sides["right"]), time, **old))
        alone: OperatorExpression = array()
        if own_outer:
            removed = if_(STATE.field(own).is_null(), array(), tombstone)
            alone = if_(value.is_null(), removed, joined)
        both = joined if other_outer else if_(value.is_null(), tombstone, joined)
        return if_(no_counterpart, alone, both)

    def _old(self) -> OperatorExpression:
        """The result before the current row; null if there was none."""
        left, right, outer = STATE.field("left"), STATE.field("right"), self.join.outer
        missing = left.is_null() & right.is_null()
        if not outer.left:
            missing = missing | right.is_null()
        if not outer.right:
            missing = missing | left.is_null()
        return if_(missing, self.joined.null(), self.value(left, right))
