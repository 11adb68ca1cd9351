"""Two streams whose rows meet where they are near in time.

As in Kafka Streams, what waits for a counterpart is told by stream time of both sides, and a side forgets its rows by
its own alone.
"""

from collections.abc import Sequence

from millstream.spark.fold import Expiry, Fold
from millstream.spark.groups import sorted_bytes
from millstream.spark.lanes import Step


class StreamStream(Step):
    """The state are the rows of both sides that may still meet others, by time and arrival.

    An entry is `t` its time, `v` the value, `p` whether it waits to be told without counterpart, and `x` until when,
    in stream time, it is kept.
    """

    def fold(self) -> Fold:
        near = self.join.near
        assert near is not None
        entries = [f"array<struct<t: bigint, v: {v}, p: boolean, x: bigint>>" for v in (self.left, self.right)]
        empty = [f"coalesce(state.{s}, cast(array() as {e}))" for s, e in zip("lr", entries, strict=True)]
        keep = near.before + near.after + near.grace
        sides = [_Meeting(self, own, empty, keep) for own in (0, 1)]
        both = [f"'l', {sides[0].added()}, 'r', {sides[0].met()}", f"'l', {sides[1].met()}, 'r', {sides[1].added()}"]
        kept = ", ".join([f"k: {self.key}", *(f"{b}: bigint" for b in self.bounds)])
        names = ", ".join(["'k', row.j", *(f"'{b}', row.{b}" for b in self.bounds)])
        return self.made(
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
            order=sorted_bytes(self.join.right_key.type, "state.k.K0"),
            before=True,
        )


class _Meeting:
    """The texts of one side of a join of two streams: `own` is its list in the state, `other` the other's."""

    def __init__(self, step: Step, side: int, lists: Sequence[str], keep: int) -> None:
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
        met = self.step.row("row.j", self.step.value(one, other), "greatest(row.rowtime, x9.t)")
        all_ = f"transform(filter({self.theirs}, x9 -> {self._meets('x9')}), x9 -> {met})"
        if not self.outer:
            return all_
        alone = f"array({self.step.row('row.j', self._padded(self.value), 'row.rowtime')})"
        due = self._alone() if self.eager else f"({self._alone()} and {self._late()})"
        return f"if({due}, {alone}, {all_})"

    def _padded(self, value: str) -> str:
        none = f"cast(null as {(self.step.right, self.step.left)[self.side]})"
        one, other = (value, none) if self.side == 0 else (none, value)
        return self.step.value(one, other)

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
        row = self.step.row("state.k", self._padded("x9.v"), "x9.t")
        for bound in self.step.bounds:
            row = row.replace(f"row.{bound}", f"state.{bound}")
        return f"transform(filter(state.{self.own}, x9 -> {due}), x9 -> {row})"
