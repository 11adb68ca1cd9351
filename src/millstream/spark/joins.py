"""Joins as folds over the union of their inputs (DESIGN.md §4).

Spark wants every union before the first stateful step. So all inputs of a chain of joins are one frame from the
start: a row has its `lane`, the number of the input it comes from, and what is in it stands in `key` and `value` for
lane 0, in `r<n>` for lane n. Join n folds lanes 0 and n into lane 0 and lets the later lanes pass.
"""

from collections.abc import Callable, Sequence

from pyspark.sql import DataFrame

from millstream.catalog.catalog import Kind
from millstream.functions.sparktype import spark_type
from millstream.model.schema import Column
from millstream.model.types import BIGINT, BYTES, INTEGER, STRING, SqlType
from millstream.plan.nodes import Join, Node, windowed
from millstream.spark.fold import Expiry, Fold, fold
from millstream.spark.lower import guarded

HEADERS = "array<struct<key: string, value: binary>>"
_PLACE = ("headers", "partition", "offset")


def joined(node: Join, rows: Callable[[Node], DataFrame], query: str, live: bool) -> DataFrame:
    """The rows of a chain of joins, of which `node` is the last; `rows` gives those of its inputs."""
    chain = _chain(node)
    frame = _union(chain, rows)
    for place, join in enumerate(chain, 1):
        frame = _Step(join, place, chain[place:], query, live).run(frame)
    return frame.drop("lane")


def _chain(node: Join) -> list[Join]:
    """The joins of a chain, the first one first."""
    return [*_chain(node.left), node] if isinstance(node.left, Join) else [node]


def _bounds(node: Node) -> tuple[str, ...]:
    return ("wstart", "wend") if windowed(node) else ()


def _union(chain: Sequence[Join], rows: Callable[[Node], DataFrame]) -> DataFrame:
    first, bounds = chain[0].left, _bounds(chain[0])
    rest = ("rowtime", *_PLACE, *bounds)
    key, value = struct_type("K", first.schema.key), struct_type("V", first.schema.value)
    kept = "value is not null" if first.kind is Kind.STREAM else "true"
    empty = [f"cast(null as {_right_type(j)}) as r{i}" for i, j in enumerate(chain, 1)]
    own = f"{_key_of(first)} as key"
    frame = rows(first).where(kept).selectExpr("0 as lane", own, "value", *rest, *empty)
    for place, join in enumerate(chain, 1):
        lanes = list(empty)
        compared = f"named_struct('K0', {guarded(join.right_key, join.text)})"
        lanes[place - 1] = f"named_struct('j', {compared}, 'v', value) as r{place}"
        nothing = (f"{place} as lane", f"cast(null as {key}) as key", f"cast(null as {value}) as value")
        right = rows(join.right).where("value is not null" if join.right.kind is Kind.STREAM else "true")
        made = right.selectExpr(*nothing, *rest, *lanes)
        frame = frame.union(made.where(f"r{place}.j.K0 is not null"))
    return frame


def _key_of(first: Node) -> str:
    """The key of a stream without one is a struct like any other."""
    return "key" if first.schema.key else "named_struct('K0', cast(null as int))"


def struct_type(prefix: str, columns: Sequence[Column]) -> str:
    """Spark's type of a key or value with these columns; a struct needs a field."""
    fields = [f"{prefix}{i}: {spark_type(c.type)}" for i, c in enumerate(columns)] or [f"{prefix}0: int"]
    return f"struct<{', '.join(fields)}>"


def _right_type(join: Join) -> str:
    key = Column(join.name, join.right_key.type) if join.right_key.type else join.right.schema.key[0]
    return f"struct<j: {struct_type('K', [key])}, v: {struct_type('V', join.right.schema.value)}>"


def _sorted(type: SqlType | None, text: str) -> str:
    """A key as bytes that sort as it does when it is written, where that is easy to say."""
    return (
        f"cast({text} as binary)"
        if type in (INTEGER, BIGINT, STRING, BYTES)
        else f"encode(to_json(struct({text})), 'UTF-8')"
    )


class _Step:
    """One join of a chain: `place` is its lane, `later` are the joins whose lanes pass."""

    def __init__(self, join: Join, place: int, later: Sequence[Join], query: str, live: bool) -> None:
        self.join, self.place, self.later, self.query, self.live = join, place, later, query, live
        self.bounds = _bounds(join)
        self.passing = [f"r{place + i}" for i, _ in enumerate(later, 1)]
        compared = join.right_key.type or join.right.schema.key[0].type
        self.key = struct_type("K", [Column(join.name, compared)])
        self.left = struct_type("V", join.left.schema.value)
        self.right = struct_type("V", join.right.schema.value)
        self.own = struct_type("K", join.schema.key)
        self.out = self._out_type()

    def _out_type(self) -> str:
        value = struct_type("V", self.join.schema.value)
        fields = ["lane: int", f"key: {self.own}", f"value: {value}", "rowtime: bigint", f"headers: {HEADERS}"]
        fields += ["partition: int", "offset: bigint", *(f"{b}: bigint" for b in self.bounds)]
        fields += [f"{name}: {_right_type(join)}" for name, join in zip(self.passing, self.later, strict=True)]
        return f"struct<{', '.join(fields)}>"

    def run(self, frame: DataFrame) -> DataFrame:
        """The rows after this join."""
        return fold(self.given(frame), self.fold(), self.live)

    def given(self, frame: DataFrame) -> DataFrame:
        """What the fold reads: `j` the key that is compared, null in a lane that passes; `side` 0 or 1."""
        lane = f"r{self.place}"
        text = guarded(self.join.left_key, self.join.text)
        j = f"case lane when 0 then named_struct('K0', {text}) when {self.place} then {lane}.j end as j"
        side = f"case lane when 0 then 0 when {self.place} then 1 end as side"
        clock = f"if(lane in (0, {self.place}), rowtime, null) as clock"
        rest = ("rowtime", *_PLACE, *self.bounds, *self.passing)
        made = frame.selectExpr("lane", j, side, "value", f"{lane}.v as rv", "key as own_key", *rest, clock)
        return made.where("side is null or j.K0 is not null")

    def fold(self) -> Fold:
        """This kind of join."""
        if self.join.near is not None:
            return self._near()
        return self._table_table() if self.join.kind is Kind.TABLE else self._stream_table()

    # ------------------------------------------------------------ texts

    def _by(self) -> str:
        """Rows that pass are spread over the tasks by what they will be joined on."""
        spread = f"xxhash64({', '.join(f'{p}.j' for p in self.passing)})" if self.passing else "0L"
        window = "".join(f", '{b}', {b}" for b in self.bounds)
        return f"named_struct('j', j, 'h', if(j is null, {spread}, 0L){window})"

    def _value(self, left: str, right: str) -> str:
        """The joined value of two structs, either of them maybe null."""
        texts = [f"{left}.V{i}" for i in range(len(self.join.left.schema.value))]
        texts += [f"{right}.V{i}" for i in range(len(self.join.right.schema.value))]
        fields = texts or ["cast(null as int)"]
        named = ", ".join(f"'V{i}', {text}" for i, text in enumerate(fields))
        return f"named_struct({named})"

    def _row(self, key: str, value: str, rowtime: str) -> str:
        """An output in lane 0."""
        nothing = [f"'{p}', cast(null as {_right_type(j)})" for p, j in zip(self.passing, self.later, strict=True)]
        return self._output("0", key, value, rowtime, nothing)

    def _output(self, lane: str, key: str, value: str, rowtime: str, passing: Sequence[str]) -> str:
        fields = [f"'lane', {lane}", f"'key', {key}", f"'value', {value}", f"'rowtime', {rowtime}"]
        fields += [f"'{c}', row.{c}" for c in (*_PLACE, *self.bounds)]
        return f"named_struct({', '.join([*fields, *passing])})"

    def _gone(self) -> str:
        return f"cast(null as {struct_type('V', self.join.schema.value)})"

    def _made(self, update: str, emit: str, state: str, expiry: Expiry | None = None) -> Fold:
        """The fold of a join; rows of other lanes pass by."""
        passing = [f"'{p}', row.{p}" for p in self.passing]
        nothing = f"cast(null as {self.own})", self._gone()
        passed = f"array({self._output('row.lane', *nothing, 'row.rowtime', passing)})"
        if self.passing:
            update = f"if(row.side is null, null, {update})"
            emit = f"if(row.side is null, {passed}, {emit})"
        label = f"{self.query}.join"
        return Fold(self._by(), state, update, emit, self.out, label, expiry, whole=any(self.join.moves))

    # ------------------------------------------------------------ a stream and a table

    def _stream_table(self) -> Fold:
        """The state is the table's row; only rows of the stream are told."""
        right = "state.v"
        row = f"array({self._row('row.j', self._value('row.value', right), 'row.rowtime')})"
        told = row if self.join.outer.left else f"if({right} is null, array(), {row})"
        return self._made(
            "if(row.side = 0, state, if(row.rv is null, null, named_struct('v', row.rv)))",
            f"if(row.side = 0, {told}, array())",
            f"struct<v: {self.right}>",
        )

    # ------------------------------------------------------------ two tables

    def _table_table(self) -> Fold:
        """The state is the last row of either side, and its time."""
        left = "if(row.side = 0, row.value, state.l)"
        right = "if(row.side = 1, row.rv, state.r)"
        times = "if(row.side = 0, row.rowtime, state.lt)", "if(row.side = 1, row.rowtime, state.rt)"
        state = f"'l', {left}, 'lt', {times[0]}, 'r', {right}, 'rt', {times[1]}"
        return self._made(
            f"if(({left}) is null and ({right}) is null, null, named_struct({state}))",
            f"if(row.side = 0, {self._change('l', 'r')}, {self._change('r', 'l')})",
            f"struct<l: {self.left}, lt: bigint, r: {self.right}, rt: bigint>",
        )

    def _change(self, own: str, other: str) -> str:
        """What a row of one side gives: as Kafka Streams does, a tombstone too where the result was gone before."""
        outer = self.join.outer
        alone, theirs = (outer.left, outer.right) if own == "l" else (outer.right, outer.left)
        new = "row.value" if own == "l" else "row.rv"
        both = {own: new, other: f"state.{other}"}
        value = self._value(both["l"], both["r"])
        time = f"greatest(row.rowtime, if(state.{other} is null, row.rowtime, state.{other}t))"
        tombstone = f"array({self._row('row.j', self._gone(), time)})"
        joined = f"array({self._row('row.j', value, time)})"
        missing = "array()"
        if alone:
            was = f"if(state.{own} is null, array(), {tombstone})"
            missing = f"if({new} is null, {was}, {joined})"
        met = joined if theirs else f"if({new} is null, {tombstone}, {joined})"
        return f"if(state.{other} is null, {missing}, {met})"

    # ------------------------------------------------------------ two streams

    def _near(self) -> Fold:
        """The state are the rows of both sides that may still meet others, by time and arrival.

        An entry is `t` its time, `v` the value, `p` whether it waits to be told without counterpart, and `x` until
        when, in stream time, it is kept. As in Kafka Streams a side forgets by its own rows' time alone.
        """
        near = self.join.near
        assert near is not None
        entries = [f"array<struct<t: bigint, v: {v}, p: boolean, x: bigint>>" for v in (self.left, self.right)]
        empty = [f"coalesce(state.{s}, cast(array() as {e}))" for s, e in zip("lr", entries, strict=True)]
        keep = near.before + near.after + near.grace
        sides = [_Meeting(self, own, empty, keep) for own in (0, 1)]
        both = [f"'l', {sides[0].added()}, 'r', {sides[0].met()}", f"'l', {sides[1].met()}, 'r', {sides[1].added()}"]
        kept = ", ".join([f"k: {self.key}", *(f"{b}: bigint" for b in self.bounds)])
        names = ", ".join(["'k', row.j", *(f"'{b}', row.{b}" for b in self.bounds)])
        return self._made(
            f"if(row.side = 0, named_struct({names}, {both[0]}), named_struct({names}, {both[1]}))",
            f"if(row.side = 0, {sides[0].told()}, {sides[1].told()})",
            f"struct<{kept}, l: {entries[0]}, r: {entries[1]}>",
            self._expiry(sides),
        )

    def _expiry(self, sides: Sequence["_Meeting"]) -> Expiry:
        """What waits is told when its window has closed, the earliest first; what can meet nothing is forgotten."""
        waiting = " , ".join(s.closing() for s in sides)
        due = f"array_min(flatten(array({waiting})))"
        names = ", ".join(["'k', state.k", *(f"'{b}', state.{b}" for b in self.bounds)])
        left = [f"'{s.own}', {s.settled()}" for s in sides]
        size = " + ".join(f"size({s.settled()})" for s in sides)
        return Expiry(
            due=due,
            update=f"if({size} = 0, null, named_struct({names}, {', '.join(left)}))",
            emit=f"concat({', '.join(s.alone() for s in reversed(sides))})",
            order=_sorted(self.join.right_key.type, "state.k.K0"),
            before=True,
        )


class _Meeting:
    """The texts of one side of a join of two streams: `own` is its list in the state, `other` the other's."""

    def __init__(self, step: _Step, side: int, lists: Sequence[str], keep: int) -> None:
        near, outer = step.join.near, step.join.outer
        assert near is not None
        self.step, self.side, self.keep = step, side, keep
        self.own, self.other = "lr"[side], "rl"[side]
        self.mine, self.theirs = lists[side], lists[1 - side]
        self.before, self.after = (near.before, near.after) if side == 0 else (near.after, near.before)
        self.value = ("row.value", "row.rv")[side]
        self.outer = (outer.left, outer.right)[side]
        self.eager, self.grace = near.eager, near.grace

    def _meets(self, x: str) -> str:
        """Whether an entry of the other side meets the row at hand."""
        near = f"{x}.t >= row.rowtime - {self.before}L and {x}.t <= row.rowtime + {self.after}L"
        return f"({near} and {x}.t > coalesce(other, 0L) - {self.keep}L)"

    def _late(self) -> str:
        return f"row.rowtime + {self.after + self.grace}L < clock"

    def _alone(self) -> str:
        return f"not exists({self.theirs}, x9 -> {self._meets('x9')})"

    def added(self) -> str:
        """The side's own entries with the row at hand."""
        waits = "false" if self.eager or not self.outer else f"({self._alone()} and not {self._late()})"
        until = f"row.rowtime + {self.keep}L + (clock - own)"
        entry = f"named_struct('t', row.rowtime, 'v', {self.value}, 'p', {waits}, 'x', {until})"
        before = f"filter({self.mine}, x9 -> x9.t <= row.rowtime)"
        after = f"filter({self.mine}, x9 -> x9.t > row.rowtime)"
        return f"concat({before}, array({entry}), {after})"

    def met(self) -> str:
        """The other side's entries: one that meets the row waits no more."""
        if self.eager:
            return self.theirs
        met = f"x9.p and not {self._meets('x9')}"
        return f"transform({self.theirs}, x9 -> named_struct('t', x9.t, 'v', x9.v, 'p', {met}, 'x', x9.x))"

    def told(self) -> str:
        """What comes out: a row for each entry met; where there is none, and it is due already, the row alone."""
        one, other = (self.value, "x9.v") if self.side == 0 else ("x9.v", self.value)
        met = self.step._row("row.j", self.step._value(one, other), "greatest(row.rowtime, x9.t)")
        all_ = f"transform(filter({self.theirs}, x9 -> {self._meets('x9')}), x9 -> {met})"
        if not self.outer:
            return all_
        alone = f"array({self.step._row('row.j', self._padded(self.value), 'row.rowtime')})"
        due = self._alone() if self.eager else f"({self._alone()} and {self._late()})"
        return f"if({due}, {alone}, {all_})"

    def _padded(self, value: str) -> str:
        none = f"cast(null as {(self.step.right, self.step.left)[self.side]})"
        one, other = (value, none) if self.side == 0 else (none, value)
        return self.step._value(one, other)

    # ------------------------------------------------------------ by stream time alone

    def closing(self) -> str:
        """When each entry is next looked at."""
        told = f"x9.t + {self.after + self.grace + 1}L"
        return f"transform(state.{self.own}, x9 -> if(x9.p, {told}, x9.x))"

    def settled(self) -> str:
        """The entries that stay at `clock`: what waited too long waits no more, what is too old goes."""
        told = f"x9.p and x9.t + {self.after + self.grace + 1}L > clock"
        entry = f"named_struct('t', x9.t, 'v', x9.v, 'p', {told}, 'x', x9.x)"
        return f"transform(filter(state.{self.own}, x9 -> x9.p or x9.x > clock), x9 -> {entry})"

    def alone(self) -> str:
        """The rows that wait no more, without counterpart."""
        due = f"x9.p and x9.t + {self.after + self.grace + 1}L <= clock"
        row = self.step._row("state.k", self._padded("x9.v"), "x9.t")
        for bound in self.step.bounds:
            row = row.replace(f"row.{bound}", f"state.{bound}")
        return f"transform(filter(state.{self.own}, x9 -> {due}), x9 -> {row})"
