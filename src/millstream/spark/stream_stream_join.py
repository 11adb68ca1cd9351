"""Two streams whose rows meet where they are near in time: the texts of the operator of jvm/Meeting.scala.

As in Kafka Streams, what waits for a counterpart is told by stream time of both sides, and a side forgets its rows by
its own alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame

from millstream.plan.nodes import JoinWindow
from millstream.spark.aggregates import sorted_bytes
from millstream.spark.fold import Punctuation, worked
from millstream.spark.join_step import JoinStep


@dataclass(frozen=True, slots=True)
class SideSql:
    """A side's texts, Spark SQL over `row` (a struct of all columns of the frame), `entry` and `t`, bigint.

    `entry` is what is kept of a row, of type `type`: made by `keep` (over row). `meet` (over row, the other side's
    entry, and t its time) is the output where a row of this side meets it; `alone` (over the side's own entry, t its
    time, and the row that came when it was told) the one without counterpart, if the side is `outer`. Those of one
    time are told in the order of `order`, a binary (over entry).
    """

    outer: bool
    type: str
    keep: str
    meet: str
    alone: str
    order: str


@dataclass(frozen=True, slots=True)
class StreamStreamOperator:
    """A meeting: `by` are the frame's columns that are the group, `passing` (over row) the output of a row of no side.

    The frame has the columns `side` (0, 1; null: the row passes), rowtime, partition, offset, and `clock`: stream
    time of the row's side. `near` says which rows meet. `out`, `label` and `whole` are as a fold's.
    """

    by: Sequence[str]
    near: JoinWindow
    left: SideSql
    right: SideSql
    passing: str
    out: str
    label: str
    whole: bool

    def texts(self) -> Mapping[str, str]:
        """As the module reads them."""
        near = self.near
        texts = {
            "by": ",".join(self.by),
            "before": str(near.before),
            "after": str(near.after),
            "grace": str(near.grace),
            "eager": str(near.eager).lower(),
            "pass": self.passing,
            "out": self.out,
            "label": self.label,
            "whole": str(self.whole).lower(),
        }
        for i, side in enumerate((self.left, self.right)):
            texts |= {f"outer{i}": str(side.outer).lower(), f"entry{i}": side.type, f"keep{i}": side.keep}
            texts |= {f"meet{i}": side.meet, f"alone{i}": side.alone, f"order{i}": side.order}
        return texts


class StreamStreamJoin(JoinStep):
    """The join of two streams."""

    def run(self, frame: DataFrame) -> DataFrame:
        """The rows after this join."""
        near, outer = self.join.window, self.join.outer
        assert near is not None
        waits = not near.eager and (outer.left or outer.right)
        return worked(self.given(frame), self.meeting().texts(), self.live, Punctuation(0, 1) if waits else None)

    def meeting(self) -> StreamStreamOperator:
        """Its texts."""
        assert self.join.window is not None
        left, right = self._side(0), self._side(1)
        return StreamStreamOperator(
            self.by(), self.join.window, left, right, self.passed(), self.out, self.label, any(self.join.repartitions)
        )

    def _side(self, side: int) -> SideSql:
        near, outer = self.join.window, (self.join.outer.left, self.join.outer.right)[side]
        assert near is not None
        value, type = (("row.value", self.left), ("row.rv", self.right))[side]
        waits = outer and not near.eager
        # What a row is told with later comes from what is kept of it; else from itself.
        kept = [("v", value, type)]
        if waits:
            kept += [("j", "row.j", self.key), *((b, f"row.{b}", "bigint") for b in self.bounds)]
        source = "entry" if waits else "row"
        return SideSql(
            outer=outer,
            type=f"struct<{', '.join(f'{name}: {type}' for name, _, type in kept)}>",
            keep=f"struct({', '.join(f'{text} as {name}' for name, text, _ in kept)})",
            meet=self.row("row.j", self.value(*_ordered(side, value, "entry.v")), "greatest(row.rowtime, t)"),
            alone=self.row(f"{source}.j", self.value(*_ordered(side, "entry.v", self._none(side))), "t", source),
            order=sorted_bytes(self.join.right_key.type, "entry.j.K0") if waits else "cast(null as binary)",
        )

    def _none(self, side: int) -> str:
        """No row of the other side."""
        return f"cast(null as {(self.right, self.left)[side]})"


def _ordered(side: int, own: str, other: str) -> tuple[str, str]:
    """The left's, then the right's."""
    return (own, other) if side == 0 else (other, own)
