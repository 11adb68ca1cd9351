"""What the folds of all aggregations (aggregates.py) have in common: the rows they read, states and results.

For `SELECT g, SUM(v), COUNT(*) FROM s GROUP BY g`, of which a row is `group_key`, `arguments`, has_group and metadata:

    record      group_key   arguments    state after it                          value of the group
    a 1 @1000   {a}         {1, true}    {latest: 1000, aggregate0: 1, …1: 1}    {1, 1}
    a 2 @9000   {a}         {2, true}    {latest: 9000, aggregate0: 3, …1: 2}    {3, 2}
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from millstream.catalog.catalog import RelationKind
from millstream.functions import declare
from millstream.functions.operator_expressions import (
    OperatorExpression,
    SparkSql,
    SqlOperand,
    SqlText,
    StructLayout,
    array,
    bigint,
    bound,
    call,
    column,
    if_,
    null,
    struct_of,
    text_constant,
)
from millstream.functions.operator_sql import spark_sql
from millstream.functions.sparktype import spark_type
from millstream.model.types import BIGINT, BYTES, DATE, INTEGER, STRING, SqlType
from millstream.plan.nodes import Aggregate, DistinctArguments, OverAggregate, leaves, type_of
from millstream.spark.codec import EXPRESSION, LATE, error_if, report
from millstream.spark.fold import METADATA_TYPES, NEW, ROW, STATE, Fold, scan_columns
from millstream.spark.lazy_frame import LazyFrame
from millstream.spark.lower import guarded

# The column of rows that have passed DistinctArguments with the start of the window that a row is for.
WINDOW_START = "window_start"


@dataclass(frozen=True, slots=True)
class AggregateRun:
    """Where a group runs: the query, if it is real-time, and if its rows have the group's previous value."""

    query: str
    live: bool
    old: bool = False


@dataclass(frozen=True, slots=True)
class PulledGroup:
    """The groups of a relational pull query, as jvm/PullGroup.scala reads them: types and texts.

    `arguments` is over the relation's rows; `update` and `result` are over (state, row, fresh), where `fresh` has for
    each DISTINCT aggregate whether its arguments are new to the group.
    """

    state: str
    out: str
    arguments: SparkSql
    update: SparkSql
    result: SparkSql


class AggregateStates:
    """The states of a node's aggregates, in the fields `aggregate0`, `aggregate1` …, and how rows change them."""

    def __init__(self, node: Aggregate | OverAggregate, query: str) -> None:
        self.keys, self.calls = node.keys, node.aggregations
        self.query, self.label = query, f"{query}.aggregate"
        self.key = StructLayout({f"K{i}": spark_type(type_of(k.expression)) for i, k in enumerate(node.keys)})
        self.value = StructLayout({f"V{i}": spark_type(a.type) for i, a in enumerate(self.calls)})
        self.states = {f"aggregate{i}": a.accumulator.state for i, a in enumerate(self.calls)}
        types = {
            f"a{i}_{j}": spark_type(type_of(a)) for i, c in enumerate(self.calls) for j, a in enumerate(c.arguments)
        }
        filters = {f"filter{i}": "boolean" for i, c in enumerate(self.calls) if c.filter is not None}
        self.arguments = StructLayout({**types, **filters} or {"none": "boolean"})

    # ------------------------------------------------------------ the input rows

    def group_key(self, operator: str) -> OperatorExpression:
        """The struct of the keys, over the input rows; `operator` names it in the processing log."""
        keys = [guarded(k.expression, f"{self.query}.{operator}|{k.text or k.name}") for k in self.keys]
        return struct_of({f"K{i}": SqlText(text) for i, text in enumerate(keys)})

    def arguments_of_row(self) -> OperatorExpression:
        """The struct of the aggregates' arguments and filters, over the input rows."""
        arguments = [(i, a) for i, call in enumerate(self.calls) for a in call.arguments]
        filters = [(i, call.filter) for i, call in enumerate(self.calls) if call.filter is not None]
        texts: list[SqlOperand] = [SqlText(guarded(e, self._label(i))) for i, e in (*arguments, *filters)]
        return self.arguments.new(dict(zip(self.arguments.types, texts or [False], strict=True)))

    def _label(self, i: int) -> str:
        """The label of an aggregate in the processing log."""
        return f"{self.label}|{self.calls[i].text}"

    # ------------------------------------------------------------ the states of an aggregate

    def _initial(self, i: int) -> OperatorExpression:
        accumulator = self.calls[i].accumulator
        return accumulator.initial.cast(accumulator.state)

    def _before(self, i: int) -> OperatorExpression:
        """The state of aggregate `i` before the row: its initial state for the first row of a group."""
        return if_(STATE.is_null(), self._initial(i), STATE.field(f"aggregate{i}"))

    def _changed(
        self, i: int, change: OperatorExpression, state: OperatorExpression, arguments: OperatorExpression
    ) -> OperatorExpression:
        values = {declare.argument(j): arguments.field(f"a{i}_{j}") for j in range(len(self.calls[i].arguments))}
        context = {declare.STATE: state, declare.LABEL: text_constant(self._label(i)), declare.ARRIVAL: self._arrival()}
        return bound({**context, **values}, change)

    def _arrival(self) -> OperatorExpression:
        """The number of the group's rows that arrived before the row; 0 where no aggregate reads it."""
        return bigint(0)

    def _of_row(
        self, i: int, change: OperatorExpression, state: OperatorExpression, arguments: OperatorExpression
    ) -> OperatorExpression:
        """The state after a change by a row with these arguments, if the row passes the aggregate's filter."""
        changed = self._changed(i, change, state, arguments)
        return changed if self.calls[i].filter is None else if_(arguments.field(f"filter{i}"), changed, state)

    def _added(self, i: int, state: OperatorExpression) -> OperatorExpression:
        """The state after adding the row."""
        return self._of_row(i, self.calls[i].accumulator.add, state, ROW.field("arguments"))

    def _undone(self, i: int, state: OperatorExpression) -> OperatorExpression:
        """The state after removing the previous row of the same key."""
        undo = self.calls[i].accumulator.undo
        assert undo is not None
        return self._of_row(i, undo, state, ROW.field("undone"))

    def _merged(self, i: int, older: OperatorExpression, newer: OperatorExpression) -> OperatorExpression:
        """The state of aggregate `i` that results from merging two of its states, of an older and a newer session."""
        merge = self.calls[i].accumulator.merge
        assert merge is not None
        return bound({declare.OLDER: older, declare.NEWER: newer, declare.LABEL: text_constant(self._label(i))}, merge)

    def _each(self, state: OperatorExpression) -> Mapping[str, OperatorExpression]:
        """The fields of a state with the row added to each aggregate; `state` is the struct of them before the row."""
        return {name: self._added(i, state.field(name)) for i, name in enumerate(self.states)}

    def _results(self, state: OperatorExpression) -> OperatorExpression:
        """The value of a group, computed from its state."""
        arguments = ROW.field("arguments")
        results = (
            self._changed(i, self.calls[i].accumulator.result, state.field(name), arguments)
            for i, name in enumerate(self.states)
        )
        return self.value.new(dict(zip(self.value.types, results, strict=True)))


class GroupFolds(AggregateStates):
    """The expressions that all kinds of folds of one aggregation use; subclasses in aggregates.py are the kinds."""

    def __init__(self, node: Aggregate, run: AggregateRun) -> None:
        super().__init__(node, run.query)
        self.node, self.run = node, run
        old = {"old": self.value.type} if run.old else {}
        self.output = {"key": self.key.type, "value": self.value.type, **old, **METADATA_TYPES}

    def prepared(self, rows: LazyFrame) -> LazyFrame:
        """What a fold reads: `group_key`, the aggregates' `arguments`, and True in `has_group` if the row has a
        group."""
        key, arguments = spark_sql(self.group_key("groupby")), spark_sql(self.arguments_of_row())
        columns = [f"{key} as group_key", f"{arguments} as arguments", "value is not null as is_row", *METADATA_TYPES]
        columns += scan_columns(self.node.source)
        if self.node.source.kind is RelationKind.TABLE:
            columns.append("key")
        if isinstance(self.node.source, DistinctArguments) and self.node.window is not None:
            columns.append(WINDOW_START)
        prepared = rows.select(*columns)
        missing = spark_sql(~self.key.complete(column("group_key")))
        why = "a GROUP BY expression of the row is null, so it does not belong to a group: it is left out"
        error = error_if(f"is_row and ({missing})", why)
        fine = report(EXPRESSION, error, f"{self.run.query}.groupby", "value", self._topic(), None)
        return prepared.select("*", f"is_row and {fine} as has_group").drop("is_row")

    def _topic(self) -> str:
        return leaves(self.node)[0].origin.topic

    def _old(self) -> OperatorExpression:
        """The value of the group before the row."""
        return if_(STATE.is_null(), self.value.null(), self._results(STATE))

    def _output(
        self,
        key: OperatorExpression,
        value: OperatorExpression,
        old: OperatorExpression,
        rowtime: OperatorExpression,
        window: Mapping[str, OperatorExpression] | None = None,
    ) -> OperatorExpression:
        """An output; headers, partition and offset are those of the current row."""
        before = {"old": old} if self.run.old else {}
        metadata = {name: ROW.field(name) for name in METADATA_TYPES}
        return struct_of({"key": key, "value": value, **before, **metadata, "rowtime": rowtime, **(window or {})})

    def _update(self) -> OperatorExpression:
        """The output for a group with its current state."""
        return self._output(ROW.field("group_key"), self._results(NEW), self._old(), NEW.field("latest"))

    # ------------------------------------------------------------ streams without windows

    def of_stream(self) -> Fold:
        """One output row for each input row."""
        states = {name: self._added(i, self._before(i)) for i, name in enumerate(self.states)}
        return self._without_windows(states)

    # ------------------------------------------------------------ relational pull queries

    def pulled(self, distinct: Sequence[int]) -> PulledGroup:
        """The types and texts of the groups; `distinct` are the indexes of the DISTINCT calls."""
        layout, fresh = StructLayout(self.states), column("fresh")
        states = {name: self._added(i, self._before(i)) for i, name in enumerate(self.states)}
        names = list(self.states)
        for place, i in enumerate(distinct):
            states[names[i]] = if_(fresh.field(f"f{place}"), states[names[i]], self._before(i))
        arguments = ROW.field("arguments")
        results = (
            self._changed(i, call.accumulator.result, self._before(i), arguments) for i, call in enumerate(self.calls)
        )
        return PulledGroup(
            layout.type,
            self.value.type,
            spark_sql(self.arguments_of_row()),
            spark_sql(layout.new(states)),
            spark_sql(self.value.new(dict(zip(self.value.types, results, strict=True)))),
        )

    def _group_fields(self) -> Mapping[str, tuple[str, OperatorExpression]]:
        """The fields of a state besides those of its aggregates: their types, and their values after the row."""
        return {"latest": ("bigint", latest())}

    def _without_windows(self, states: Mapping[str, OperatorExpression]) -> Fold:
        own = self._group_fields()
        layout = StructLayout({**{name: type for name, (type, _) in own.items()}, **self.states})
        return Fold(
            by=("group_key",),
            state=layout.type,
            update=spark_sql(layout.new({**{name: value for name, (_, value) in own.items()}, **states})),
            emit=spark_sql(array(self._update())),
            out=StructLayout(self.output).type,
            label=self.label,
            coalesces=True,
        )


def pulled_group(node: Aggregate, distinct: Sequence[int], query: str) -> PulledGroup:
    """The groups of `node` after all rows were added; `distinct` are the indexes of its DISTINCT calls."""
    folds = GroupFolds(node, AggregateRun(query, live=False))
    return folds.pulled(distinct)


def latest() -> OperatorExpression:
    """The latest rowtime among a group's rows."""
    return call("greatest", STATE.field("latest"), ROW.field("rowtime"))


def left_out_as_late(label: str, topic: str) -> OperatorExpression:
    """No output, and an entry in the processing log, for a row whose window has closed."""
    why = "the row arrives after its window and the grace period have passed: it is left out"
    return if_(logged_as_late(why, label, topic), array(), array())


def logged_as_late(why: str, label: str, topic: str) -> OperatorExpression:
    """False, after an entry in the processing log for the row."""
    words = map(text_constant, (why, label, "value", topic))
    return call("ms_report", LATE, *words, ROW.field("partition"), ROW.field("offset"), null("binary"))


def sorted_key(types: Sequence[SqlType | None], key: OperatorExpression) -> OperatorExpression:
    """A key with columns K0, K1, … of these types as bytes, by which outputs are ordered: its columns' bytes, in order.

    Keys of several columns may have equal bytes, as ('a', 'bc') and ('ab', 'c') have.
    """
    columns = [sorted_bytes(type, key.field(f"K{i}")) for i, type in enumerate(types)]
    if len(columns) == 1:
        return columns[0]
    return call("concat", *(call("coalesce", each, text_constant("").cast("binary")) for each in columns))


def sorted_bytes(type: SqlType | None, value: OperatorExpression) -> OperatorExpression:
    """A key's column as bytes that sort like its serialized form, for types where that is simple."""
    if type in (INTEGER, BIGINT, STRING, BYTES):
        return value.cast("binary")
    if type == DATE:
        return call("unix_date", value).cast("binary")
    return call("encode", call("to_json", call("struct", value)), text_constant("UTF-8"))
