"""Groups as folds: aggregates of streams and of tables, in windows or without (DESIGN.md §4, §9).

The frames that come in are a pipeline's relations. What comes out has besides, where it is asked for, `old`: the
value that the group had before; and in windows `wstart` and `wend`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from millstream.catalog.catalog import RelationKind
from millstream.functions.sparktype import spark_type
from millstream.model.types import BIGINT, BYTES, DATE, INTEGER, STRING, SqlType
from millstream.plan.nodes import Aggregate, AggregateCall, Window, leaves, type_of
from millstream.spark.codec import EXPRESSION, report
from millstream.spark.constants import quoted
from millstream.spark.fold import Expiry, Fold, Punctuation, clock, fold
from millstream.spark.lower import guarded

HEADERS = "array<struct<key: string, value: binary>>"
_PLACE = ("rowtime", "headers", "partition", "offset")


@dataclass(frozen=True, slots=True)
class AggregateRun:
    """Where a group runs: the query, whether in real time, and whether its rows tell what was there before."""

    query: str
    live: bool
    old: bool = False


def grouped(rows: DataFrame, node: Aggregate, run: AggregateRun) -> DataFrame:
    """The groups' rows: key, value, rowtime, headers, partition, offset, and what this module's text says."""
    made = _Texts(node, run)
    if node.source.kind is RelationKind.TABLE:
        changes = fold(made.given(rows), made.remembering(), run.live)
        return fold(changes, made.table(), run.live)
    given = made.given(rows.where("value is not null")).where("there").drop("there")
    if node.window is None:
        return fold(given, made.stream(), run.live)
    if node.window.type == "SESSION":
        return fold(given.selectExpr("*", f"{clock(run.live)} as clock"), made.sessions(node.window), run.live)
    timed = given.selectExpr("*", f"{clock(run.live)} as clock")
    windows = timed.selectExpr("*", f"{_starts(node.window)} as wstart")
    return fold(windows, made.windows(node.window), run.live)


def _starts(window: Window) -> str:
    """The starts of the windows that a row is in, each a row, the earliest first."""
    last = f"rowtime - rowtime % {window.advance}L"
    if window.advance == window.size:
        return f"({last})"
    first = f"greatest(0L, rowtime - {window.size}L + {window.advance}L)"
    return f"explode(sequence({first} - {first} % {window.advance}L, {last}, {window.advance}L))"


class _Texts:
    """The texts of a group's folds. A state is `t`, the latest rowtime, and s0… of the aggregates."""

    def __init__(self, node: Aggregate, run: AggregateRun) -> None:
        self.node, self.run = node, run
        self.calls = node.aggregations
        self.label = f"{run.query}.aggregate"
        self.key = _struct_type("K", [spark_type(type_of(k.expression)) for k in node.keys])
        self.value = _struct_type("V", [spark_type(a.type) for a in self.calls])
        self.states = ", ".join(f"s{i}: {a.accumulator.state}" for i, a in enumerate(self.calls))
        self.out = (
            f"struct<key: {self.key}, value: {self.value}{f', old: {self.value}' if run.old else ''}, "
            f"rowtime: bigint, headers: {HEADERS}, partition: int, offset: bigint"
        )

    # ------------------------------------------------------------ the rows that go in

    def given(self, rows: DataFrame) -> DataFrame:
        """Only what a fold reads: `k` the group, `a` the aggregates' arguments, whether there is a row."""
        keys = _named(
            "K", [guarded(k.expression, f"{self.run.query}.groupby|{k.text or k.name}") for k in self.node.keys]
        )
        columns = [f"{keys} as k", f"{self._arguments()} as a", "value is not null as given", *_PLACE]
        if self.node.source.kind is RelationKind.TABLE:
            columns.append("key")
        made = rows.selectExpr(*columns)
        missing = " or ".join(f"k.K{i} is null" for i in range(len(self.node.keys)))
        why = "a row of which a GROUP BY expression is null belongs to no group: it is left out"
        error = F.when(F.expr(f"given and ({missing})"), F.lit(why))
        topic = leaves(self.node)[0].origin.topic
        there = report(EXPRESSION, error, f"{self.run.query}.groupby", "value", topic, None)
        return made.withColumn("there", F.col("given") & there).drop("given")

    def _arguments(self) -> str:
        texts = [(i, j, a) for i, call in enumerate(self.calls) for j, a in enumerate(call.arguments)]
        fields = [f"'a{i}_{j}', {guarded(a, self._label(i))}" for i, j, a in texts]
        return f"named_struct({', '.join(fields)})" if fields else "named_struct('none', false)"

    # ------------------------------------------------------------ what becomes of a state

    def _initial(self) -> str:
        return ", ".join(f"'s{i}', {self._begin(a)}" for i, a in enumerate(self.calls))

    @staticmethod
    def _begin(call: AggregateCall) -> str:
        return f"cast({call.accumulator.initial} as {call.accumulator.state})"

    def _add(self, i: int, state: str, arguments: str = "row.a") -> str:
        call = self.calls[i]
        return self._filled(i, call.accumulator.add, state, arguments)

    def _undo(self, i: int, state: str, arguments: str) -> str:
        call = self.calls[i]
        assert call.accumulator.undo is not None
        return self._filled(i, call.accumulator.undo, state, arguments)

    def _filled(self, i: int, text: str, state: str, arguments: str) -> str:
        given = [f"{arguments}.a{i}_{j}" for j in range(len(self.calls[i].arguments))]
        return text.format(*given, s=f"({state})", label=quoted(self._label(i)))

    def _label(self, i: int) -> str:
        """What names an aggregate in the processing log."""
        return f"{self.label}|{self.calls[i].text}"

    def _before(self, i: int) -> str:
        return f"if(state is null, {self._begin(self.calls[i])}, state.s{i})"

    def _result(self, state: str) -> str:
        results = [a.accumulator.result for a in self.calls]
        return _named("V", [self._filled(i, text, f"{state}.s{i}", "row.a") for i, text in enumerate(results)])

    def _row(self, key: str, value: str, old: str, time: str, window: str = "") -> str:
        """An output, the row at hand giving the rest."""
        before = f"'old', {old}, " if self.run.old else ""
        return (
            f"named_struct('key', {key}, 'value', {value}, {before}'rowtime', {time}, "
            f"'headers', row.headers, 'partition', row.partition, 'offset', row.offset{window})"
        )

    _LATEST = "'t', greatest(state.t, row.rowtime)"

    # ------------------------------------------------------------ streams without windows

    def stream(self) -> Fold:
        """A row in, a row out."""
        added = ", ".join(f"'s{i}', {self._add(i, self._before(i))}" for i in range(len(self.calls)))
        row = self._row("row.k", self._result("new"), f"if(state is null, null, {self._result('state')})", "new.t")
        return Fold(
            by=("k",),
            state=f"struct<t: bigint, {self.states}>",
            update=f"named_struct({self._LATEST}, {added})",
            emit=f"array({row})",
            out=f"{self.out}>",
            label=self.label,
        )

    # ------------------------------------------------------------ tables

    def remembering(self) -> Fold:
        """The last row of each key, to give with each new one the one to take back: from its group, to its group."""
        arguments = ", ".join(
            f"a{i}_{j}: {spark_type(type_of(a))}"
            for i, call in enumerate(self.calls)
            for j, a in enumerate(call.arguments)
        )
        state = f"struct<k: {self.key}, a: struct<{arguments or 'none: boolean'}>>"
        rest = "'rowtime', row.rowtime, 'headers', row.headers, 'partition', row.partition, 'offset', row.offset"
        moved = f"array(named_struct('k', new.k, 'undo', state.a, 'a', new.a, {rest}))"
        undone = f"array(named_struct('k', state.k, 'undo', state.a, 'a', new.a, {rest}))"
        taken = f"if(state is null, array(), {undone.replace('new.a', 'null')})"
        given = f"if(new is null, array(), {moved.replace('state.a', 'null')})"
        return Fold(
            by=("key",),
            state=state,
            update="if(row.there, named_struct('k', row.k, 'a', row.a), null)",
            emit=f"if(state.k <=> new.k, if(new is null, array(), {moved}), concat({taken}, {given}))",
            out=f"struct<k: {self.key}, undo: struct<{arguments or 'none: boolean'}>, "
            f"a: struct<{arguments or 'none: boolean'}>, rowtime: bigint, headers: {HEADERS}, "
            "partition: int, offset: bigint>",
            label=self.label,
        )

    def table(self) -> Fold:
        """Takes the old row back, then adds the new one: one row out."""
        after = []
        for i in range(len(self.calls)):
            undone = f"if(row.undo is null, {self._before(i)}, {self._undo(i, self._before(i), 'row.undo')})"
            after.append(f"'s{i}', if(row.a is null, {undone}, {self._add(i, undone)})")
        row = self._row("row.k", self._result("new"), f"if(state is null, null, {self._result('state')})", "new.t")
        return Fold(
            by=("k",),
            state=f"struct<t: bigint, {self.states}>",
            update=f"named_struct({self._LATEST}, {', '.join(after)})",
            emit=f"array({row})",
            out=f"{self.out}>",
            label=self.label,
        )

    # ------------------------------------------------------------ windows of fixed size

    def windows(self, window: Window) -> Fold:
        """A state for each group and window; a row that comes too late is left out."""
        late = f"row.wstart + {window.size + window.grace}L <= clock"
        added = ", ".join(f"'s{i}', {self._add(i, self._before(i))}" for i in range(len(self.calls)))
        kept = ("'k', row.k, ", f"k: {self.key}, ") if window.final else ("", "")
        state = f"struct<t: bigint, p: int, w: bigint, {kept[1]}{self.states}>"
        bounds = ", 'wstart', {0}, 'wend', {0} + " + f"{window.size}L"
        row = self._row(
            "row.k",
            self._result("new"),
            f"if(state is null, null, {self._result('state')})",
            "new.t",
            bounds.format("row.wstart"),
        )
        closed = self._row("state.k", self._result("state"), "null", "state.t", bounds.format("state.w"))
        place = "'p', if(state is null, row.partition, state.p)"
        # As the store that Kafka Streams reads it from: what is older than the retention is gone.
        alive = f"state.w >= clock - clock % {window.advance}L - {window.retention}L"
        return Fold(
            by=("k",),
            part="cast(row.wstart as binary)",
            state=state,
            update=f"if({late}, state, named_struct({self._LATEST}, {place}, 'w', row.wstart, {kept[0]}{added}))",
            emit=f"if({late}, {self._late()}, {'array()' if window.final else f'array({row})'})",
            out=f"{self.out}, wstart: bigint, wend: bigint>",
            label=self.label,
            expiry=Expiry(
                due=f"state.w + {window.size + window.grace}L",
                partition="state.p",
                update="null",
                emit=f"if({alive}, array({closed}), array())" if window.final else "array()",
                order=self._order() if window.final else "cast(null as binary)",
                steady=True,
            ),
            ticks=Punctuation(window.size + window.grace, window.advance) if window.final else None,
        )

    def _late(self) -> str:
        """No output, and an entry in the processing log."""
        topic = leaves(self.node)[0].origin.topic
        why = "the row comes after its window and the grace period have passed: it is left out"
        words = ", ".join(map(quoted, (why, self.label, "value", topic)))
        return (
            f"if(ms_report({EXPRESSION}, {words}, row.partition, row.offset, cast(null as binary)), array(), array())"
        )

    def _order(self) -> str:
        """Windows that end together come in the order of their keys' bytes."""
        keys = (sorted_bytes(k.expression.type, f"state.k.K{i}") for i, k in enumerate(self.node.keys))
        return f"concat({', '.join(keys)})"

    # ------------------------------------------------------------ sessions

    def sessions(self, window: Window) -> Fold:
        """The sessions of a group that have not passed, in order; a row starts one, or joins those near it in one."""
        one = f"struct<b: bigint, e: bigint, {self.states}>"
        near = f"x9.e >= row.rowtime - {window.size}L and x9.b <= row.rowtime + {window.size}L"
        all_ = f"coalesce(state.sessions, cast(array() as array<{one}>))"
        touched = f"filter({all_}, x9 -> {near})"
        merged = self._merged(touched, one)
        closing = f"{window.grace + window.size}L"
        late = f"array_max(array_append(transform({touched}, x9 -> x9.e), row.rowtime)) + {closing} < clock"
        before = f"filter({all_}, x9 -> x9.e < row.rowtime - {window.size}L)"
        after = f"filter({all_}, x9 -> x9.b > row.rowtime + {window.size}L)"
        left = f"filter(state.sessions, x9 -> x9.e + {closing} >= clock)"
        shut = f"filter(state.sessions, x9 -> x9.e + {closing} < clock)"
        closed = self._session("state.k", "x9", "null")
        key = ("'k', row.k, ", f"k: {self.key}, ") if window.final else ("", "")
        kept = "'k', state.k, " if window.final else ""
        return Fold(
            by=("k",),
            state=f"struct<{key[1]}p: int, sessions: array<{one}>>",
            update=f"if({late}, state, named_struct({key[0]}'p', row.partition, 'sessions', "
            f"concat({before}, array({merged}), {after})))",
            emit=f"if({late}, {self._late()}, {'array()' if window.final else self._session_rows(touched)})",
            out=f"{self.out}, wstart: bigint, wend: bigint>",
            label=self.label,
            expiry=Expiry(
                due=f"state.sessions[0].e + {closing} + 1L",
                partition="state.p",
                update=f"if(size({left}) = 0, null, named_struct({kept}'p', state.p, 'sessions', {left}))",
                emit=f"transform({shut}, x9 -> {closed})" if window.final else "array()",
                order=self._order() if window.final else "cast(null as binary)",
            ),
            ticks=Punctuation(window.size + window.grace + 1, 1) if window.final else None,
        )

    def _merged(self, touched: str, one: str) -> str:
        """The session of the row: those it touches made one, and the row in it."""
        zero = f"cast(named_struct('b', row.rowtime, 'e', row.rowtime, {self._initial()}) as {one})"
        merging = ", ".join(
            f"'s{i}', {a.accumulator.merge.format(a=f'a9.s{i}', b=f'x9.s{i}', label=quoted(self._label(i)))}"
            for i, a in enumerate(self.calls)
        )
        both = f"named_struct('b', least(a9.b, x9.b), 'e', greatest(a9.e, x9.e), {merging})"
        adding = ", ".join(f"'s{i}', {self._add(i, f'm9.s{i}')}" for i in range(len(self.calls)))
        whole = f"aggregate({touched}, {zero}, (a9, x9) -> cast({both} as {one}))"
        return f"transform(array({whole}), m9 -> cast(named_struct('b', m9.b, 'e', m9.e, {adding}) as {one}))[0]"

    def _session_rows(self, touched: str) -> str:
        """The tombstones of the sessions that became part of another, then that one."""
        mine = "filter(new.sessions, x9 -> x9.b <= row.rowtime and x9.e >= row.rowtime)"
        gone = f"transform({touched}, x9 -> {self._session('row.k', 'x9', self._result('x9'), gone=True)})"
        made = f"transform({mine}, x9 -> {self._session('row.k', 'x9', 'null')})"
        return f"concat(if({mine}[0].b = {mine}[0].e, array(), {gone}), {made})"

    def _session(self, key: str, at: str, old: str, gone: bool = False) -> str:
        value = f"if(true, null, {self._result(at)})" if gone else self._result(at)
        return self._row(key, value, old, f"{at}.e", f", 'wstart', {at}.b, 'wend', {at}.e")


def _named(prefix: str, texts: Sequence[str]) -> str:
    return "named_struct(" + ", ".join(f"'{prefix}{i}', {text}" for i, text in enumerate(texts)) + ")"


def _struct_type(prefix: str, types: Sequence[str]) -> str:
    return "struct<" + ", ".join(f"{prefix}{i}: {t}" for i, t in enumerate(types)) + ">"


def sorted_bytes(type: SqlType | None, at: str) -> str:
    """A key's column as bytes that sort as its serialised form does, where that is easy to say."""
    if type in (INTEGER, BIGINT, STRING, BYTES):
        return f"cast({at} as binary)"
    if type == DATE:
        return f"cast(unix_date({at}) as binary)"
    return f"encode(to_json(struct({at})), 'UTF-8')"
