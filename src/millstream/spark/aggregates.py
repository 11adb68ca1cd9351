"""Aggregation as folds (fold.py): of streams and of tables, in windows or without.

`SELECT g, SUM(v) FROM s GROUP BY g`, and the same with WINDOW SESSION (10 SECONDS), where s is a stream:

    record      state after it                          row     sessions after it        rows
    a 1 @1000   {latest: 1000, aggregate0: 1}           a=1     [1000-1000: 1]           a@1000-1000=1
    a 2 @9000   {latest: 9000, aggregate0: 3}           a=3     [1000-9000: 3]           a@1000-1000=null a@1000-9000=3
    a 4 @5000   {latest: 9000, aggregate0: 7}           a=7     [1000-9000: 7]           a@1000-9000=null a@1000-9000=7

and where s is a table, of which a first fold keeps each key's last row, so as to take it back from its group:

    record      the key's row after it   for the groups                     state of the group         rows
    1: a 10     {a, 10}                  a: arguments 10                    a: {aggregate0: 10}        a=10
    1: b 10     {b, 10}                  a: undone 10; b: arguments 10      a: {0}, b: {10}            a=0 b=10
    1: b 15     {b, 15}                  b: undone 10, arguments 15         b: {15}                    b=15

The input frames are a pipeline's relations. The output has these columns too: `old`, the value that the group had
before, if it is requested; and `wstart` and `wend` in windows.
"""

from collections.abc import Mapping

from millstream.catalog.catalog import RelationKind
from millstream.functions import declare
from millstream.functions.operator_expressions import (
    OperatorExpression,
    StructLayout,
    array,
    bigint,
    call,
    function,
    if_,
    let,
    null,
    text_constant,
)
from millstream.functions.operator_sql import spark_sql
from millstream.plan.nodes import Aggregate, DistinctArguments, Window, leaves
from millstream.plan.partitions import mixes_partitions
from millstream.spark.coalescing import coalesces_rows
from millstream.spark.fold import CLOCK, METADATA_TYPES, NEW, ROW, STATE, Expiry, Fold, Punctuation, clock, fold
from millstream.spark.group_folds import WINDOW_START, AggregateRun, GroupFolds, latest, left_out_as_late, sorted_key
from millstream.spark.lazy_frame import LazyFrame
from millstream.spark.time_to_live import TimeToLive

_WINDOW = {"wstart": "bigint", "wend": "bigint"}
_ROWTIME, _PARTITION = ROW.field("rowtime"), ROW.field("partition")


def grouped(rows: LazyFrame, node: Aggregate, run: AggregateRun) -> LazyFrame:
    """The groups' rows: key, value, rowtime, headers, partition, offset, and the columns named at the top of the
    module."""
    if node.source.kind is RelationKind.TABLE:
        folds = _TableFolds(node, run)
        changes = fold(folds.prepared(rows), folds.row_changes(), run.live)
        return fold(changes, folds.of_table(), run.live)
    prepared = GroupFolds(node, run).prepared(rows.where("value is not null")).where("has_group").drop("has_group")
    if node.window is None and node.ttl_ms is None:
        return fold(prepared, GroupFolds(node, run).of_stream(), run.live)
    timed = prepared.select("*", f"{clock(run.live, node.source)} as clock")
    if node.window is None:
        return fold(timed, _ExpiringFolds(node, run).of_stream(), run.live)
    if node.window.type == "SESSION":
        return fold(timed, _SessionFolds(node, run).in_sessions(node.window), run.live)
    # With DISTINCT each window of a row is a row already (distinct_arguments.py).
    starts = WINDOW_START if isinstance(node.source, DistinctArguments) else window_starts(node.window)
    windows = timed.select("*", f"{starts} as wstart")
    return fold(windows, _WindowFolds(node, run).in_windows(node.window), run.live)


def window_starts(window: Window) -> str:
    """Spark SQL of the starts of the windows that a row is in, one row for each, the earliest first."""
    last = _last_start(window)
    if window.advance == window.size:
        return f"({last})"
    first = f"rowtime - {window.size}L + {window.advance}L"
    if not window.offset:
        first = f"greatest(0L, {first})"
        return f"explode(sequence({first} - {first} % {window.advance}L, {last}, {window.advance}L))"
    starts = f"sequence({_shifted_start(first, window)}, {_shifted_start('rowtime', window)}, {window.advance}L)"
    return f"explode(array_distinct(transform({starts}, start -> greatest(0L, start))))"


def _last_start(window: Window) -> str:
    """Spark SQL of the start, in epoch ms, of the last window that a row is in.

    A key cannot have a start before 1970: a window that its offset lets start earlier starts at 0.
    """
    if not window.offset:
        return f"rowtime - rowtime % {window.advance}L"
    return f"greatest(0L, {_shifted_start('rowtime', window)})"


def _shifted_start(time: str, window: Window) -> str:
    """Spark SQL of the last time, up to this one, at which a window with an offset starts."""
    return f"{time} - pmod({time} - {window.offset}L, {window.advance}L)"


def _is_last(window: Window) -> str:
    """Spark SQL that is true for the last of a record's rows; a record has one row for each window that it is in."""
    return f"wstart = {_last_start(window)}"


class _ExpiringFolds(GroupFolds):
    """The fold of an aggregation of a stream without windows whose groups expire. With ttl 10 s:

    record      states after it                                          rows
    a 1 @0      a: {latest: 0, aggregate0: 1}                            a=1
    b 1 @9000   a: {latest: 0, …}, b: {latest: 9000, aggregate0: 1}      b=1
    b 1 @12000  b: {latest: 12000, aggregate0: 2}                        b=2 a=null
    b 1 @30000  b: {latest: 30000, aggregate0: 1}                        b=1
    """

    def __init__(self, node: Aggregate, run: AggregateRun) -> None:
        super().__init__(node, run)
        assert node.ttl_ms is not None
        self.ttl = TimeToLive(node.ttl_ms)

    def _group_fields(self) -> Mapping[str, tuple[str, OperatorExpression]]:
        return {
            "latest": ("bigint", self.ttl.latest),
            "partition": ("int", _PARTITION),
            "key": (self.key.type, ROW.field("group_key")),
        }

    def _before(self, i: int) -> OperatorExpression:
        return if_(self.ttl.expired, self._initial(i), super()._before(i))

    def of_stream(self) -> Fold:
        """One output row for each input row, and a tombstone for each group that expires without one."""
        every_row = super().of_stream()
        tombstone = self._output(STATE.field("key"), self.value.null(), self._results(STATE), self.ttl.due)
        return self.ttl.expiring(every_row, self.node, array(tombstone))


class _TableFolds(GroupFolds):
    """The two folds of an aggregation of a table."""

    def row_changes(self) -> Fold:
        """Keeps the last row of each key, and sends it, with each new row of the key, to the groups of both.

        If the group stays the same, one output row has both; else one row removes the old one and another adds the new
        one.
        """
        stored = StructLayout({"group_key": self.key.type, "arguments": self.arguments.type})
        change = StructLayout({**stored.types, "undone": self.arguments.type, **METADATA_TYPES})

        def sent(
            group: OperatorExpression, undone: OperatorExpression, added: OperatorExpression
        ) -> OperatorExpression:
            metadata = {name: ROW.field(name) for name in METADATA_TYPES}
            return array(change.new({"group_key": group, "undone": undone, "arguments": added, **metadata}))

        no_value = self.arguments.null()
        before, after = STATE.field("group_key"), NEW.field("group_key")
        undone, added = STATE.field("arguments"), NEW.field("arguments")
        leave = if_(STATE.is_null(), array(), sent(before, undone, no_value))
        enter = if_(NEW.is_null(), array(), sent(after, no_value, added))
        in_place = if_(NEW.is_null(), array(), sent(after, undone, added))
        return Fold(
            by=("key",),
            state=stored.type,
            update=spark_sql(
                if_(
                    ROW.field("has_group"),
                    stored.new({name: ROW.field(name) for name in stored.types}),
                    stored.null(),
                )
            ),
            emit=spark_sql(if_(before.same_as(after), in_place, call("concat", leave, enter))),
            out=change.type,
            label=self.label,
            coalesces=coalesces_rows(self.node),
        )

    def _results(self, state: OperatorExpression) -> OperatorExpression:
        """An aggregate whose result fails is null, but its state is kept, so that its rows can still be removed."""
        values = {}
        place = (ROW.field("partition"), ROW.field("offset"))
        for i, name in enumerate(self.states):
            result = self._changed(i, self.calls[i].accumulator.result, state.field(name), ROW.field("arguments"))
            fails = self.calls[i].accumulator.result is not declare.STATE
            values[f"V{i}"] = call("ms_guard", result, text_constant(self._label(i)), *place) if fails else result
        return self.value.new(values)

    def of_table(self) -> Fold:
        """Removes the old row, then adds the new one: one output row."""
        return self._without_windows({name: self._replaced(i) for i, name in enumerate(self.states)})

    def _replaced(self, i: int) -> OperatorExpression:
        no_old, no_new = ROW.field("undone").is_null(), ROW.field("arguments").is_null()
        without = let("before", self._before(i), lambda before: if_(no_old, before, self._undone(i, before)))
        return let("without", without, lambda without: if_(no_new, without, self._added(i, without)))


class _WindowFolds(GroupFolds):
    """The fold of an aggregation in windows of fixed size."""

    @property
    def _row_type(self) -> str:
        return StructLayout({**self.output, **_WINDOW}).type

    def _no_rows(self) -> OperatorExpression:
        """No output row; with its type, so that Spark need not analyse the fold's texts again for a cast to it."""
        return array().cast(f"array<{self._row_type}>")

    def in_windows(self, window: Window) -> Fold:
        """A state for each group and window; a late row is left out."""
        closing = window.closing
        key = {"key": self.key.type} if window.final else {}
        layout = StructLayout({"latest": "bigint", "partition": "int", "start": "bigint", **key, **self.states})
        start, late = ROW.field("wstart"), ROW.field("wstart") + closing <= CLOCK
        fields = {
            "latest": latest(),
            "partition": if_(STATE.is_null(), _PARTITION, STATE.field("partition")),
            "start": start,
            **{name: ROW.field("group_key") for name in key},
            **{name: self._added(i, self._before(i)) for i, name in enumerate(self.states)},
        }
        output = self._output(
            ROW.field("group_key"), self._results(NEW), self._old(), NEW.field("latest"), _bounds(start, window)
        )
        return Fold(
            by=("group_key",),
            subkey=spark_sql(start.cast("binary")),
            state=layout.type,
            update=spark_sql(if_(late, STATE, layout.new(fields))),
            emit=spark_sql(if_(late, self._late(), array() if window.final else array(output))),
            out=self._row_type,
            label=self.label,
            expiry=Expiry(
                due=spark_sql(STATE.field("start") + closing),
                partition=spark_sql(STATE.field("partition")),
                update=spark_sql(layout.null()),
                emit=spark_sql(self._closed(window) if window.final else self._no_rows()),
                order=spark_sql(self._order() if window.final else null("binary")),
                fixed_due=True,
            ),
            shared_clock=mixes_partitions(self.node),
            scans=len(leaves(self.node)),
            punctuation=self._closings(window) if window.final else None,
            coalesces=not window.final,
        )

    def _closed(self, window: Window) -> OperatorExpression:
        """The output of a window that closes (Window.drops_expired)."""
        start = STATE.field("start")
        output = array(
            self._output(
                STATE.field("key"),
                self._results(STATE),
                self.value.null(),
                STATE.field("latest"),
                _bounds(start, window),
            )
        )
        if not window.drops_expired:
            return output
        since_start = call("pmod", CLOCK - window.offset, window.advance)
        return if_(start >= CLOCK - since_start - window.retention, output, array())

    def _closings(self, window: Window) -> Punctuation:
        """Windows close at these times: a punctuation tells them to all tasks."""
        return Punctuation(window.offset + window.closing, window.advance, _is_last(window))

    def _late(self) -> OperatorExpression:
        return left_out_as_late(self.label, self._topic())

    def _order(self) -> OperatorExpression:
        """Windows with the same end are ordered by the bytes of their keys."""
        return sorted_key([k.expression.type for k in self.node.keys], STATE.field("key"))


class _SessionFolds(_WindowFolds):
    """The fold of an aggregation in sessions."""

    def in_sessions(self, window: Window) -> Fold:
        """The open sessions of a group, in order; a row starts a session, or merges those near it into one."""
        gap, closing = window.size, window.closing
        session = StructLayout({"start": "bigint", "end": "bigint", **self.states})
        sessions = f"array<{session.type}>"
        key = {"key": self.key.type} if window.final else {}
        counted = {"rows": "bigint"} if any(call.accumulator.by_arrival for call in self.calls) else {}
        layout = StructLayout({**key, **counted, "partition": "int", "sessions": sessions})

        open_sessions = call("coalesce", STATE.field("sessions"), array().cast(sessions))
        before = open_sessions.filter("session", lambda session: session.field("end") < _ROWTIME - gap)
        touched = open_sessions.filter(
            "session",
            lambda session: (session.field("end") >= _ROWTIME - gap) & (session.field("start") <= _ROWTIME + gap),
        )
        after = open_sessions.filter("session", lambda session: session.field("start") > _ROWTIME + gap)
        ends = call("array_append", touched.map_each("session", lambda session: session.field("end")), _ROWTIME)
        late = call("array_max", ends) + closing < CLOCK
        fields = {
            **{name: ROW.field("group_key") for name in key},
            **{name: self._arrival() + 1 for name in counted},
            "partition": _PARTITION,
            "sessions": call("concat", before, array(self._session(touched, session)), after),
        }
        return Fold(
            by=("group_key",),
            state=layout.type,
            update=spark_sql(if_(late, STATE, layout.new(fields))),
            emit=spark_sql(if_(late, self._late(), array() if window.final else self._session_changes(touched))),
            out=self._row_type,
            label=self.label,
            expiry=self._session_expiry(layout, closing if window.final else window.retention, window.final),
            shared_clock=mixes_partitions(self.node),
            scans=len(leaves(self.node)),
            punctuation=Punctuation(closing + 1, 1) if window.final else None,
        )

    def _arrival(self) -> OperatorExpression:
        return call("coalesce", STATE.field("rows"), bigint(0))

    def _session_expiry(self, layout: StructLayout, retention: int, final: bool) -> Expiry:
        """A session is removed when stream time is more than `retention` past its end; an empty state is deleted.

        A `final` one closes then. Another one closes earlier, gap and grace after its end, but as in Kafka Streams a
        row that is not late itself may merge it as long as its retention lasts.
        """
        sessions = STATE.field("sessions")
        left = sessions.filter("session", lambda session: session.field("end") + retention >= CLOCK)
        outdated = sessions.filter("session", lambda session: session.field("end") + retention < CLOCK)
        outputs = outdated.map_each("session", lambda session: self._session_output(STATE.field("key"), session))

        def remaining(left: OperatorExpression) -> OperatorExpression:
            fields = {name: STATE.field(name) for name in layout.types}
            return if_(call("size", left).equals(0), layout.null(), layout.new({**fields, "sessions": left}))

        return Expiry(
            due=spark_sql(sessions.item(0).field("end") + retention + 1),
            partition=spark_sql(STATE.field("partition")),
            update=spark_sql(let("left", left, remaining)),
            emit=spark_sql(outputs if final else self._no_rows()),
            order=spark_sql(self._order() if final else null("binary")),
        )

    def _session(self, touched: OperatorExpression, session: StructLayout) -> OperatorExpression:
        """The row's session: the sessions it touches, merged, with the row added."""
        initial = {name: self._initial(i) for i, name in enumerate(self.states)}
        alone = session.new({"start": _ROWTIME, "end": _ROWTIME, **initial}).cast(session.type)

        def merged(older: OperatorExpression, newer: OperatorExpression) -> OperatorExpression:
            """Two sessions as one: their states merged, and the earlier start with the later end."""
            states = {n: self._merged(i, older.field(n), newer.field(n)) for i, n in enumerate(self.states)}
            start = call("least", older.field("start"), newer.field("start"))
            end = call("greatest", older.field("end"), newer.field("end"))
            return session.new({"start": start, "end": end, **states}).cast(session.type)

        def with_row(merged: OperatorExpression) -> OperatorExpression:
            """A session with the current row added to its aggregates."""
            bounds = {"start": merged.field("start"), "end": merged.field("end")}
            return session.new({**bounds, **self._each(merged)}).cast(session.type)

        return let("merged", call("aggregate", touched, alone, function(("merged", "session"), merged)), with_row)

    def _session_changes(self, touched: OperatorExpression) -> OperatorExpression:
        """The tombstones of the sessions that were merged, then the merged session."""
        own = NEW.field("sessions").filter(
            "session", lambda session: (session.field("start") <= _ROWTIME) & (session.field("end") >= _ROWTIME)
        )
        key = ROW.field("group_key")
        tombstones = touched.map_each("session", lambda session: self._session_output(key, session, tombstone=True))

        def outputs(own: OperatorExpression) -> OperatorExpression:
            alone = own.item(0).field("start").equals(own.item(0).field("end"))
            changed = own.map_each("session", lambda session: self._session_output(key, session))
            return call("concat", if_(alone, array(), tombstones), changed)

        return let("own", own, outputs)

    def _session_output(
        self, key: OperatorExpression, session: OperatorExpression, tombstone: bool = False
    ) -> OperatorExpression:
        no_value = self.value.null()
        old, value = (self._results(session), no_value) if tombstone else (no_value, self._results(session))
        window = {"wstart": session.field("start"), "wend": session.field("end")}
        return self._output(key, value, old, session.field("end"), window)


def _bounds(start: OperatorExpression, window: Window) -> Mapping[str, OperatorExpression]:
    return {"wstart": start, "wend": start + window.size}
