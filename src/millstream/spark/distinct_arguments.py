"""The arguments of aggregates with DISTINCT as folds (fold.py), one for each: they store which values a group has had.

`COUNT(DISTINCT user)` in TUMBLING windows of 10 s with a grace period of 0 s, GROUP BY shop:

    record           states of shop a after it              rows
    a, ann @1000     0, ann                                 a, ann
    a, ann @2000     0, ann                                 a, null
    a, ann @12000    10000, ann; the window of 0 closes     a, ann
    a, bob @3000     10000, ann                             none: it is late

The fold's group is that of the aggregate, whose rows so keep their order; a value is a part of the state's key. A row
in several HOPPING windows is as many rows, which say in `window_start` what they are for.
"""

from functools import reduce

from millstream.analysis.typed_expressions import ColumnReference
from millstream.functions.operator_expressions import (
    OperatorExpression,
    SqlOperand,
    StructLayout,
    array,
    bigint,
    call,
    if_,
    let,
    null,
)
from millstream.functions.operator_sql import spark_sql
from millstream.plan.nodes import DistinctArguments, Window, leaves
from millstream.plan.partitions import mixes_partitions
from millstream.spark.aggregates import window_starts
from millstream.spark.fold import CLOCK, METADATA_TYPES, ROW, STATE, Expiry, Fold, clock, fold, scan_columns
from millstream.spark.group_folds import WINDOW_START, left_out_as_late, sorted_bytes
from millstream.spark.join_step import bounds_of, columns_layout
from millstream.spark.lazy_frame import LazyFrame

# A longer value is stored as its SHA-256.
_LONGEST = 32
_STATE = StructLayout({"start": "bigint", "partition": "int"})


def with_distinct_arguments(rows: LazyFrame, node: DistinctArguments, query: str, live: bool) -> LazyFrame:
    """The rows whose `distinct` columns are null where their group has had the value."""
    key, value = columns_layout("K", node.schema.key), columns_layout("V", node.schema.value)
    bounds = dict.fromkeys(bounds_of(node), "bigint")
    relation = {"key": key.type, "value": value.type, **METADATA_TYPES, **bounds}
    group = StructLayout({f"K{i}": value.types[f"V{column.index}"] for i, column in enumerate(node.keys)})
    keys = (f"'K{i}', value.V{column.index}" for i, column in enumerate(node.keys))
    columns = (*relation, *scan_columns(node.source), f"named_struct({', '.join(keys)}) as group_key")
    scans = dict.fromkeys(scan_columns(node.source), "int")
    frame = rows.where("value is not null").select(*columns)
    if node.window is not None:
        frame = frame.select("*", f"{clock(live, node.source)} as clock")
        frame = frame.select("*", f"{window_starts(node.window)} as {WINDOW_START}")
    timed = {"clock": "bigint", WINDOW_START: "bigint"} if node.window is not None else {}
    out = StructLayout({**relation, **scans, "group_key": group.type, **timed})
    for column in node.distinct:
        frame = fold(frame, _ArgumentFold(node, column, out, query).fold(), live)
    return frame.select(*relation, *([WINDOW_START] if node.window is not None else []))


class _ArgumentFold:
    """The fold for one `column` with DISTINCT; `out` are the columns that it forwards."""

    def __init__(self, node: DistinctArguments, column: ColumnReference, out: StructLayout, query: str) -> None:
        self.node, self.column, self.out = node, column, out
        self.argument = ROW.field("value").field(f"V{column.index}")
        self.label = f"{query}.aggregate"

    def fold(self) -> Fold:
        """A state for each value of a group, and of a window; a row whose window has closed is left out."""
        window, start = self.node.window, self._start()
        new = _STATE.new({"start": start, "partition": ROW.field("partition")})
        # The aggregate leaves out a row without a group.
        has_group = self._has_group()
        update = if_(self.argument.is_null() | STATE.is_not_null() | ~has_group, STATE, new)
        emit: OperatorExpression = array(self._row())
        if window is not None:
            late = has_group & (start + _closing(window) <= CLOCK)
            update = if_(late, STATE, update)
            emit = if_(late, left_out_as_late(self.label, leaves(self.node)[0].origin.topic), emit)
        return Fold(
            by=("group_key",),
            subkey=spark_sql(call("concat", start.cast("binary"), self._bytes())),
            state=_STATE.type,
            update=spark_sql(update),
            emit=spark_sql(emit),
            out=self.out.type,
            label=self.label,
            expiry=self._expiry(window) if window else None,
            shared_clock=window is not None and mixes_partitions(self.node),
            scans=len(leaves(self.node)),
        )

    def _start(self) -> OperatorExpression:
        """The start of the row's window; 0 without windows."""
        return bigint(0) if self.node.window is None else ROW.field(WINDOW_START)

    def _has_group(self) -> OperatorExpression:
        key = ROW.field("group_key")
        parts: list[OperatorExpression] = [key.field(f"K{i}").is_not_null() for i in range(len(self.node.keys))]
        return reduce(lambda left, right: left & right, parts)

    def _bytes(self) -> OperatorExpression:
        """The value as it is stored, in the state's key."""

        def stored(value: OperatorExpression) -> OperatorExpression:
            return if_(call("length", value) > _LONGEST, call("unhex", call("sha2", value, 256)), value)

        return let("bytes", sorted_bytes(self.column.type, self.argument), stored)

    def _row(self) -> OperatorExpression:
        """The row, without the argument if the group has had it."""
        value = columns_layout("V", self.node.schema.value)
        name = f"V{self.column.index}"
        once = if_(STATE.is_null(), self.argument, null(value.types[name]))
        fields: dict[str, SqlOperand] = {each: ROW.field("value").field(each) for each in value.types}
        columns: dict[str, SqlOperand] = {each: ROW.field(each) for each in self.out.types}
        return self.out.new({**columns, "value": value.new({**fields, name: once})})

    def _expiry(self, window: Window) -> Expiry:
        return Expiry(
            due=spark_sql(STATE.field("start") + _closing(window)),
            partition=spark_sql(STATE.field("partition")),
            update=spark_sql(_STATE.null()),
            emit=spark_sql(array().cast(f"array<{self.out.type}>")),
            fixed_due=True,
        )


def _closing(window: Window) -> int:
    """After a window's start, in ms of stream time, rows for it are late."""
    return window.size + window.grace
