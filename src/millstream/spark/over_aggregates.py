"""Aggregates with OVER as a fold (fold.py), whose group is a partition of OVER: it forwards each row with their values.

`LAG(price)` and `COUNT(*)` OVER (PARTITION BY item ORDER BY ROWOFFSET), and `SUM(price)` with ROWS 1 PRECEDING:

    record    state of the item after it                 row         state with ROWS      row
    a: 10     aggregate0: [10], aggregate1: 1            10, null, 1   rows: [{10}]         10, 10
    a: 12     aggregate0: [10, 12], aggregate1: 2        12, 10, 2     rows: [{10}, {12}]   12, 22
    b: 70     aggregate0: [70], aggregate1: 1            70, null, 1   rows: [{70}]         70, 70
    a: 15     aggregate0: [12, 15], aggregate1: 3        15, 12, 3     rows: [{12}, {15}]   15, 27

Without ROWS a state has those of the aggregates; with ROWS it has the arguments of the rows, which are aggregated anew
for each row, as some aggregates cannot take a row back. With RANGE it has the times of the rows, too, and the states of
those aggregates that can take rows back without rounding, over the frame of the latest row. A row that is late, and the
other aggregates, have theirs computed anew. `SUM(price)` OVER (… RANGE 1 SECOND PRECEDING GRACE PERIOD 1 SECOND):

    record        state of the item after it                              row
    a: 10 @1000   latest: 1000, rows: [@1000 10], aggregate0: 10          10, 10
    a: 12 @2000   latest: 2000, rows: [@1000, @2000 12], aggregate0: 22   12, 22
    a: 70 @3000   latest: 3000, rows: [@1000, @2000, @3000 70], … 82      70, 82
    a: 15 @1500   latest: 3000, rows: [@1000 … @1500 15], … 82            15, 25   of @1000 and @1500
    a: 20 @4000   latest: 4000, rows: [@2000, @3000, @4000 20], … 90      20, 90
"""

import re
from collections.abc import Callable, Mapping

from millstream.functions.operator_expressions import (
    OperatorExpression,
    SqlOperand,
    StructLayout,
    array,
    boolean,
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
    over, source = _fold_of(node, query), node.source
    key, arguments = spark_sql(over.group_key("over")), spark_sql(over.arguments_of_row())
    timed = [*scan_columns(source), f"{clock(live, source)} as clock"] if node.ttl_ms is not None else []
    own = [f"{own_key(source)} as key" if name == "key" else name for name in relation_layout(source).types]
    prepared = rows.select(*own, f"{key} as group_key", f"{arguments} as arguments", *timed)
    return fold(prepared, over.fold(), live)


_ROWTIME = ROW.field("rowtime")
_LATE = "the row arrives after its time and the grace period of RANGE have passed: rows of its frame may be missing"
# Types of states that are not changed by adding a row and removing it again: no rounding, no order, no text.
_EXACT_STATE = re.compile(r"(\w+: |struct<|[>, ]|(big|small|tiny)?int|decimal\(\d+, ?\d+\))+")


def _fold_of(node: OverAggregate, query: str) -> "_OverFold":
    match node.frame:
        case None:
            return _OverFold(node, query)
        case LastRows() as frame:
            return _RowsFold(node, query, frame)
        case LastTime() as frame:
            return _RangeFold(node, query, frame)


class _OverFold(AggregateStates):
    """The fold for one OverAggregate without a frame: the aggregates of all rows before a row, and itself."""

    def __init__(self, node: OverAggregate, query: str) -> None:
        super().__init__(node, query)
        self.node = node
        self.ttl = TimeToLive(node.ttl_ms) if node.ttl_ms is not None else None

    def stored(self) -> Mapping[str, str]:
        """The types of a state's fields, besides those for its time to live."""
        return self.states

    def fold(self) -> Fold:
        """One output row for each input row."""
        node, out = self.node, relation_layout(self.node)
        layout = StructLayout({**({"latest": "bigint", "partition": "int"} if self.ttl else {}), **self.stored()})
        has_value = ROW.field("value").is_not_null()
        columns: dict[str, SqlOperand] = {name: ROW.field(name) for name in out.types}
        value = if_(has_value, self._value(), columns_layout("V", node.schema.value).null())
        every_row = Fold(
            by=("group_key",),
            state=layout.type,
            update=spark_sql(if_(has_value, layout.new({**self._times(), **self._next()}), STATE)),
            emit=spark_sql(self._emitted(array(out.new({**columns, "value": value})))),
            out=out.type,
            label=self.label,
        )
        return self.ttl.expiring(every_row, node) if self.ttl else every_row

    def _times(self) -> dict[str, SqlOperand]:
        return {"latest": self.ttl.latest, "partition": ROW.field("partition")} if self.ttl else {}

    def _unless_expired(self, stored: OperatorExpression, initial: OperatorExpression) -> OperatorExpression:
        return if_(self.ttl.expired, initial, stored) if self.ttl else stored

    def _before(self, i: int) -> OperatorExpression:
        return self._unless_expired(super()._before(i), self._initial(i))

    def _rows_before(self, type: str) -> OperatorExpression:
        """The array `rows` of this type before the row."""
        none = array().cast(type)
        return self._unless_expired(call("coalesce", STATE.field("rows"), none), none)

    def _next(self) -> dict[str, SqlOperand]:
        """What is stored after the row."""
        return {name: self._added(i, self._before(i)) for i, name in enumerate(self.states)}

    def _emitted(self, outputs: OperatorExpression) -> OperatorExpression:
        """The array of the outputs."""
        return outputs

    def _value(self) -> OperatorExpression:
        """The row's value, and the results of the aggregates after the row."""
        own, layout = len(self.node.source.schema.value), columns_layout("V", self.node.schema.value)
        values: dict[str, SqlOperand] = {f"V{i}": ROW.field("value").field(f"V{i}") for i in range(own)}
        results = {f"V{own + i}": self._result(i, name) for i, name in enumerate(self.states)}
        return layout.new({**values, **results})

    def _result(self, i: int, name: str) -> OperatorExpression:
        return self._changed(i, self.calls[i].accumulator.result, self._state(i, name), ROW.field("arguments"))

    def _state(self, i: int, name: str) -> OperatorExpression:
        """The state of an aggregate over the frame of the row."""
        return NEW.field(name)

    def _after_rows(
        self,
        i: int,
        change: OperatorExpression,
        before: OperatorExpression,
        rows: OperatorExpression,
        arguments: Callable[[OperatorExpression], OperatorExpression],
        is_included: Callable[[OperatorExpression], OperatorExpression] = lambda _: boolean(True),
    ) -> OperatorExpression:
        """The state of aggregate `i` after a change by each included element of `rows`, with its `arguments`."""

        def with_row(state: OperatorExpression, row: OperatorExpression) -> OperatorExpression:
            changed = self._of_row(i, change, state, arguments(row)).cast(self.calls[i].accumulator.state)
            return if_(is_included(row), changed, state)

        return call("aggregate", rows, before, function(("before", "stored"), with_row))


class _RowsFold(_OverFold):
    """The aggregates of the last rows before a row, and itself, whose arguments are stored."""

    def __init__(self, node: OverAggregate, query: str, frame: LastRows) -> None:
        super().__init__(node, query)
        self.most, self.rows = frame.count + 1, f"array<{self.arguments.type}>"

    def stored(self) -> Mapping[str, str]:
        """The arguments of the rows, in order of arrival."""
        return {"rows": self.rows}

    def _next(self) -> dict[str, SqlOperand]:
        def last(rows: OperatorExpression) -> OperatorExpression:
            return if_(call("size", rows) > self.most, call("slice", rows, 2, self.most), rows)

        return {"rows": let("rows", call("array_append", self._rows_before(self.rows), ROW.field("arguments")), last)}

    def _state(self, i: int, name: str) -> OperatorExpression:
        add = self.calls[i].accumulator.add
        return self._after_rows(i, add, self._initial(i), NEW.field("rows"), lambda arguments: arguments)


class _RangeFold(_OverFold):
    """The aggregates of the rows of a time before a row, and itself, whose times and arguments are stored."""

    def __init__(self, node: OverAggregate, query: str, frame: LastTime) -> None:
        super().__init__(node, query)
        self.frame = frame
        self.entry = StructLayout({"time": "bigint", "arguments": self.arguments.type})
        self.rows = f"array<{self.entry.type}>"
        self.exact = StructLayout({n: type for i, (n, type) in enumerate(self.states.items()) if self._is_exact(i)})

    def stored(self) -> Mapping[str, str]:
        """The rows in order of arrival, and the states of exact aggregates over the frame that ends at `latest`."""
        return {"rows": self.rows, **({"states": self.exact.type} if self.exact.types else {})}

    def _is_exact(self, i: int) -> bool:
        accumulator = self.calls[i].accumulator
        can_undo = accumulator.undo is not None and accumulator.over_table is None
        return can_undo and _EXACT_STATE.fullmatch(accumulator.state) is not None

    def _next(self) -> dict[str, SqlOperand]:
        """Rows are stored for the frame and the grace period, in stream time, or for as long as an older row comes."""
        assert self.ttl is not None
        first = call("least", CLOCK - self.frame.stored_for, _ROWTIME)
        begin = self.ttl.latest - self.frame.length
        row = self.entry.new({"time": _ROWTIME, "arguments": ROW.field("arguments")})
        before = self._rows_before(self.rows)
        recent = before.filter("stored", lambda stored: stored.field("time") >= first)
        left = before.filter(
            "stored",
            lambda stored: (
                (stored.field("time") >= STATE.field("latest") - self.frame.length)
                & (stored.field("time") < call("greatest", begin, first))
            ),
        )
        fields: dict[str, SqlOperand] = {"rows": call("array_append", recent, row)}
        if self.exact.types:
            fields["states"] = let("left", left, lambda left: self._states(left, begin))
        return fields

    def _states(self, left: OperatorExpression, begin: OperatorExpression) -> OperatorExpression:
        exact = ((i, name) for i, name in enumerate(self.states) if name in self.exact.types)
        return self.exact.new({name: self._moved(i, name, left, begin) for i, name in exact})

    def _moved(self, i: int, name: str, left: OperatorExpression, begin: OperatorExpression) -> OperatorExpression:
        """The state without the rows that have left the frame, and with the row if it is in it."""
        undo = self.calls[i].accumulator.undo
        assert undo is not None
        stored = call("coalesce", STATE.field("states").field(name), self._initial(i))
        before = self._unless_expired(stored, self._initial(i))
        moved = self._after_rows(i, undo, before, left, _arguments)
        return let("state", moved, lambda state: if_(begin <= _ROWTIME, self._added(i, state), state))

    def _emitted(self, outputs: OperatorExpression) -> OperatorExpression:
        """The outputs; a row that is too late for its whole frame is reported to the processing log, and keeps them."""
        reported = logged_as_late(_LATE, self.label, leaves(self.node)[0].origin.topic)
        is_late = ROW.field("value").is_not_null() & (CLOCK - self.frame.grace > _ROWTIME)
        return if_(is_late & reported, array(), outputs)

    def _state(self, i: int, name: str) -> OperatorExpression:
        anew = self._anew(i)
        if name not in self.exact.types:
            return anew
        return if_(NEW.field("latest").equals(_ROWTIME), NEW.field("states").field(name), anew)

    def _anew(self, i: int) -> OperatorExpression:
        """The state over the row's frame, computed from the initial state."""

        def is_in_frame(row: OperatorExpression) -> OperatorExpression:
            return (row.field("time") <= _ROWTIME) & (row.field("time") >= _ROWTIME - self.frame.length)

        add = self.calls[i].accumulator.add
        return self._after_rows(i, add, self._initial(i), NEW.field("rows"), _arguments, is_in_frame)


def _arguments(row: OperatorExpression) -> OperatorExpression:
    """The arguments of a row that _RangeFold has stored."""
    return row.field("arguments")
