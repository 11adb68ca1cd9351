"""Aggregates with OVER as a fold (fold.py), whose group is a partition of OVER: it forwards each row with their values.

`LAG(price)` and `COUNT(*)` OVER (PARTITION BY item ORDER BY ROWOFFSET), and `SUM(price)` with ROWS 1 PRECEDING:

    record    state of the item after it                 row         state with ROWS      row
    a: 10     aggregate0: [10], aggregate1: 1            10, null, 1   rows: [{10}]         10, 10
    a: 12     aggregate0: [10, 12], aggregate1: 2        12, 10, 2     rows: [{10}, {12}]   12, 22
    b: 70     aggregate0: [70], aggregate1: 1            70, null, 1   rows: [{70}]         70, 70
    a: 15     aggregate0: [12, 15], aggregate1: 3        15, 12, 3     rows: [{12}, {15}]   15, 27

Without ROWS a state has those of the aggregates; with ROWS it has the arguments of the rows, which are aggregated anew
for each row, as some aggregates cannot take a row back. With RANGE it has the times of the rows, too; `SUM(price)` OVER
(… ORDER BY ROWTIME RANGE 1 SECOND PRECEDING GRACE PERIOD 1 SECOND):

    record        state of the item after it        row
    a: 10 @1000   rows: [@1000 10]                  10, 10
    a: 12 @2000   rows: [@1000 10, @2000 12]        12, 22
    a: 70 @3000   rows: [@1000 … @2000 … @3000 70]  70, 82
    a: 15 @1500   rows: [@1000 … @1500 15]          15, 25     late by less than the grace period
    a: 20 @4000   rows: [@2000 … @4000 20]          20, 90
"""

from collections.abc import Callable

from millstream.functions.operator_expressions import (
    OperatorExpression,
    SqlOperand,
    StructLayout,
    array,
    call,
    function,
    if_,
    let,
)
from millstream.functions.operator_sql import spark_sql
from millstream.plan.nodes import LastRows, LastTime, OverAggregate, leaves
from millstream.spark.fold import CLOCK, NEW, ROW, STATE, Fold, clock, fold, scan_columns
from millstream.spark.group_folds import AggregateStates, logged_as_late
from millstream.spark.join_step import columns_layout, own_key, relation_layout
from millstream.spark.lazy_frame import LazyFrame
from millstream.spark.time_to_live import TimeToLive


def with_over_aggregates(rows: LazyFrame, node: OverAggregate, query: str, live: bool) -> LazyFrame:
    """The rows with the aggregates' values behind those of their own columns."""
    over, source = _OverFold(node, query), node.source
    key, arguments = spark_sql(over.group_key("over")), spark_sql(over.arguments_of_row())
    timed = [*scan_columns(source), f"{clock(live, source)} as clock"] if node.ttl_ms is not None else []
    own = [f"{own_key(source)} as key" if name == "key" else name for name in relation_layout(source).types]
    prepared = rows.select(*own, f"{key} as group_key", f"{arguments} as arguments", *timed)
    return fold(prepared, over.fold(), live)


_ROWTIME = ROW.field("rowtime")
_LATE = "the row arrives after its time and the grace period of RANGE have passed: rows of its frame may be missing"


class _OverFold(AggregateStates):
    """The fold for one OverAggregate: the aggregates of all rows before a row, or of those in its frame."""

    def __init__(self, node: OverAggregate, query: str) -> None:
        super().__init__(node, query)
        self.node = node
        self.ttl = TimeToLive(node.ttl_ms) if node.ttl_ms is not None else None
        self.stored = StructLayout({"time": "bigint", "arguments": self.arguments.type})
        self.rows = f"array<{self.stored.type if isinstance(node.frame, LastTime) else self.arguments.type}>"
        timed = {"latest": "bigint", "partition": "int"} if self.ttl else {}
        self.layout = StructLayout({**timed, **(self.states if node.frame is None else {"rows": self.rows})})

    def fold(self) -> Fold:
        """One output row for each input row."""
        node, out = self.node, relation_layout(self.node)
        has_value = ROW.field("value").is_not_null()
        columns: dict[str, SqlOperand] = {name: ROW.field(name) for name in out.types}
        value = if_(has_value, self._value(), columns_layout("V", node.schema.value).null())
        every_row = Fold(
            by=("group_key",),
            state=self.layout.type,
            update=spark_sql(if_(has_value, self.layout.new({**self._times(), **self._next()}), STATE)),
            emit=spark_sql(self._logged(array(out.new({**columns, "value": value})))),
            out=out.type,
            label=self.label,
        )
        return self.ttl.expiring(every_row, node) if self.ttl else every_row

    def _times(self) -> dict[str, SqlOperand]:
        return {"latest": self.ttl.latest, "partition": ROW.field("partition")} if self.ttl else {}

    def _before(self, i: int) -> OperatorExpression:
        before = super()._before(i)
        return if_(self.ttl.expired, self._initial(i), before) if self.ttl else before

    def _next(self) -> dict[str, SqlOperand]:
        """The aggregates' states after the row, or the rows that it follows and itself."""
        none = array().cast(self.rows)
        stored = call("coalesce", STATE.field("rows"), none)
        match self.node.frame:
            case None:
                return {name: self._added(i, self._before(i)) for i, name in enumerate(self.states)}
            case LastRows(count=count):
                before = if_(self.ttl.expired, none, stored) if self.ttl else stored
                return {"rows": let("rows", call("array_append", before, ROW.field("arguments")), _last(count + 1))}
            case LastTime() as frame:
                first = CLOCK - frame.stored_for
                recent = stored.filter("stored", lambda row: row.field("time") >= first)
                row = self.stored.new({"time": _ROWTIME, "arguments": ROW.field("arguments")})
                return {"rows": call("array_append", recent, row)}

    def _logged(self, outputs: OperatorExpression) -> OperatorExpression:
        """The outputs; a row that is too late for its whole frame is reported to the processing log, and keeps them."""
        if not isinstance(self.node.frame, LastTime):
            return outputs
        reported = logged_as_late(_LATE, self.label, leaves(self.node)[0].origin.topic)
        is_late = CLOCK - self.node.frame.grace > _ROWTIME
        return if_(is_late & reported, array(), outputs)

    def _value(self) -> OperatorExpression:
        """The row's value, and the results of the aggregates after the row."""
        own, layout = len(self.node.source.schema.value), columns_layout("V", self.node.schema.value)
        values: dict[str, SqlOperand] = {f"V{i}": ROW.field("value").field(f"V{i}") for i in range(own)}
        results = {f"V{own + i}": self._result(i, name) for i, name in enumerate(self.states)}
        return layout.new({**values, **results})

    def _result(self, i: int, name: str) -> OperatorExpression:
        state = NEW.field(name) if self.node.frame is None else self._of_rows(i)
        return self._changed(i, self.calls[i].accumulator.result, state, ROW.field("arguments"))

    def _of_rows(self, i: int) -> OperatorExpression:
        """The state of aggregate `i` over the row's frame, computed anew from its initial state."""
        add, state = self.calls[i].accumulator.add, self.calls[i].accumulator.state

        def with_row(before: OperatorExpression, row: OperatorExpression) -> OperatorExpression:
            if not isinstance(self.node.frame, LastTime):
                return self._of_row(i, add, before, row).cast(state)
            time = row.field("time")
            is_in_frame = (time <= _ROWTIME) & (time >= _ROWTIME - self.node.frame.length)
            return if_(is_in_frame, self._of_row(i, add, before, row.field("arguments")).cast(state), before)

        return call("aggregate", NEW.field("rows"), self._initial(i), function(("before", "stored"), with_row))


def _last(count: int) -> Callable[[OperatorExpression], OperatorExpression]:
    """The last `count` rows of one more, at most."""

    def last(rows: OperatorExpression) -> OperatorExpression:
        return if_(call("size", rows) > count, call("slice", rows, 2, count), rows)

    return last
