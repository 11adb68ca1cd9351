"""The arguments of aggregates with DISTINCT as folds (fold.py), one for each: they store which values a group has had.

`COUNT(DISTINCT user)` and `COUNT(DISTINCT user) FILTER (WHERE amount > 10)` in TUMBLING windows of 10 s with a grace
period of 0 s, GROUP BY shop. A state says of a value which of the two have had it:

    record               states of shop a after it                    rows
    a, ann, 5 @1000      0, ann: first                                a, ann, null
    a, ann, 20 @2000     0, ann: both                                 a, null, ann
    a, ann, 20 @12000    10000, ann: both; the window of 0 closes     a, ann, ann
    a, bob, 5 @3000      10000, ann: both                             none: it is late

The fold's group is that of the aggregate, whose rows so keep their order; a value is a part of the state's key. A row
in several HOPPING windows is as many rows, which say in `window_start` what they are for.
"""

from collections.abc import Sequence

from millstream.analysis.typed_expressions import ColumnReference
from millstream.functions.operator_expressions import (
    OperatorExpression,
    SqlOperand,
    StructLayout,
    all_of,
    array,
    bigint,
    boolean,
    call,
    if_,
    let,
    null,
)
from millstream.functions.operator_sql import spark_sql
from millstream.functions.sparktype import spark_type
from millstream.plan.nodes import DistinctArguments, Window, leaves, type_of
from millstream.plan.partitions import mixes_partitions
from millstream.spark.aggregates import window_starts
from millstream.spark.fold import CLOCK, ROW, STATE, Expiry, Fold, clock, fold, scan_columns
from millstream.spark.group_folds import WINDOW_START, left_out_as_late, sorted_bytes
from millstream.spark.join_step import columns_layout, relation_layout
from millstream.spark.lazy_frame import LazyFrame

# A longer value is stored as its SHA-256.
_LONGEST = 32


def with_distinct_arguments(rows: LazyFrame, node: DistinctArguments, query: str, live: bool) -> LazyFrame:
    """The rows whose `distinct` columns are null where their group has had the value."""
    relation, group = relation_layout(node).types, _group_layout(node)
    keys = (f"'K{i}', value.V{column.index}" for i, column in enumerate(node.keys))
    columns = (*relation, *scan_columns(node.source), f"named_struct({', '.join(keys)}) as group_key")
    scans = dict.fromkeys(scan_columns(node.source), "int")
    frame = rows.where("value is not null").select(*columns)
    if node.window is not None:
        frame = frame.select("*", f"{clock(live, node.source)} as clock")
        frame = frame.select("*", f"{window_starts(node.window)} as {WINDOW_START}")
    timed = {"clock": "bigint", WINDOW_START: "bigint"} if node.window is not None else {}
    out = StructLayout({**relation, **scans, "group_key": group.type, **timed})
    for columns_of_value in node.distinct:
        frame = fold(frame, _ArgumentFold(node, columns_of_value, out, query).fold(), live)
    return frame.select(*relation, *([WINDOW_START] if node.window is not None else []))


def _group_layout(node: DistinctArguments) -> StructLayout:
    return StructLayout({f"K{i}": spark_type(type_of(column)) for i, column in enumerate(node.keys)})


class _ArgumentFold:
    """The fold for `columns` that have one value with DISTINCT; `out` are the columns that it forwards."""

    def __init__(
        self, node: DistinctArguments, columns: Sequence[ColumnReference], out: StructLayout, query: str
    ) -> None:
        self.node, self.out = node, out
        self.type = columns[0].type
        self.names = [f"V{column.index}" for column in columns]
        self.values = [ROW.field("value").field(name) for name in self.names]
        # Whether each column has had the value.
        self.known = [call("coalesce", STATE.field(f"known{i}"), boolean(False)) for i in range(len(columns))]
        known = {f"known{i}": "boolean" for i in range(len(columns))}
        self.layout = StructLayout({"start": "bigint", "partition": "int", **known})
        self.label = f"{query}.aggregate"

    def fold(self) -> Fold:
        """A state for each value of a group, and of a window; a row whose window has closed is left out."""
        window, start = self.node.window, self._start()
        # The aggregate leaves out a row without a group.
        has_group = _group_layout(self.node).complete(ROW.field("group_key"))
        update = if_(has_group & self._is_new(), self._next(start), STATE)
        emit: OperatorExpression = array(self._row())
        if window is not None:
            late = has_group & (start + window.closing <= CLOCK)
            update = if_(late, STATE, update)
            emit = if_(late, left_out_as_late(self.label, leaves(self.node)[0].origin.topic), emit)
        return Fold(
            by=("group_key",),
            subkey=spark_sql(call("concat", start.cast("binary"), self._bytes())),
            state=self.layout.type,
            update=spark_sql(update),
            emit=spark_sql(emit),
            out=self.out.type,
            label=self.label,
            expiry=self._expiry(window) if window is not None else None,
            shared_clock=window is not None and mixes_partitions(self.node),
            scans=len(leaves(self.node)),
        )

    def _start(self) -> OperatorExpression:
        """The start of the row's window; 0 without windows."""
        return bigint(0) if self.node.window is None else ROW.field(WINDOW_START)

    def _is_new(self) -> OperatorExpression:
        """True if, in some of the columns, the row has a value that the group has not had there."""
        pairs = zip(self.values, self.known, strict=True)
        return ~all_of([value.is_null() | known for value, known in pairs])

    def _next(self, start: OperatorExpression) -> OperatorExpression:
        """The state after the row, which adds the columns in which the row has the value."""
        pairs = enumerate(zip(self.values, self.known, strict=True))
        known: dict[str, SqlOperand] = {f"known{i}": known | value.is_not_null() for i, (value, known) in pairs}
        partition = if_(STATE.is_null(), ROW.field("partition"), STATE.field("partition"))
        return self.layout.new({"start": start, "partition": partition, **known})

    def _bytes(self) -> OperatorExpression:
        """The bytes of the row's value in the key of its state; of a long value they are its SHA-256."""
        value = self.values[0] if len(self.values) == 1 else call("coalesce", *self.values)

        def stored(value: OperatorExpression) -> OperatorExpression:
            return if_(call("length", value) > _LONGEST, call("unhex", call("sha2", value, 256)), value)

        return let("bytes", sorted_bytes(self.type, value), stored)

    def _row(self) -> OperatorExpression:
        """The row, without the value in the columns that have had it."""
        layout = columns_layout("V", self.node.schema.value)
        fields: dict[str, SqlOperand] = {each: ROW.field("value").field(each) for each in layout.types}
        for name, value, known in zip(self.names, self.values, self.known, strict=True):
            fields[name] = if_(known, null(layout.types[name]), value)
        columns: dict[str, SqlOperand] = {each: ROW.field(each) for each in self.out.types}
        return self.out.new({**columns, "value": layout.new(fields)})

    def _expiry(self, window: Window) -> Expiry:
        return Expiry(
            due=spark_sql(STATE.field("start") + window.closing),
            partition=spark_sql(STATE.field("partition")),
            update=spark_sql(self.layout.null()),
            emit=spark_sql(array().cast(f"array<{self.out.type}>")),
            fixed_due=True,
        )
