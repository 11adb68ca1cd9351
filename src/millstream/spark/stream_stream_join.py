"""Joins of two streams within a time window: the expressions of the operator of jvm/StreamStreamJoin.scala.

As in Kafka Streams, a row waits for a match until stream time of both sides has passed its window, and a side removes
its rows by its own stream time. `l LEFT JOIN r WITHIN 5 SECONDS GRACE PERIOD 1 SECOND ON l.id = r.id`:

    record            stored of its side          output rows
    l 1: a @1000      l: a @1000, waits           none
    r 1: x @4000      r: x @4000; a has joined    1: a, x @4000
    l 1: b @9000      l: b @9000, has joined      1: b, x @9000
    r 1: y @20000     r: y @20000                 none: x and b were matched
    l 1: c @13000     none: it is late            1: c, null @13000, at once: 13000 + 5000 + 1000 < 20000
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from millstream.functions.operator_expressions import (
    OperatorExpression,
    SparkSql,
    StructLayout,
    call,
    column,
    null,
)
from millstream.functions.operator_sql import spark_sql
from millstream.plan.nodes import JoinWindow, leaves
from millstream.plan.partitions import mixes_partitions
from millstream.spark.fold import ROW, Punctuation, stateful
from millstream.spark.group_folds import sorted_key
from millstream.spark.join_step import JoinStep
from millstream.spark.lazy_frame import LazyFrame

# To be raised when what the operator stores (jvm/JoinChunk.scala) comes to mean something else (state_layout.py).
STATE_VERSION = 1
# The stored part of a row of a side, and its time.
_ENTRY, _TIME = column("entry"), column("t")


@dataclass(frozen=True, slots=True)
class SideSql:
    """A side's expressions, over `row` (a struct of all columns of the frame), `entry` and `t`, bigint.

    `entry` is the stored part of a row, of type `type`; it is computed by `stored` (over row). `joined` (over row, the
    other side's entry, and t its time) is the output of a row of this side joined with the entry. `unmatched` (over the
    side's own entry, t its time, and the row that moved stream time past its window) is the output without a match, if
    the side is `outer`.
    Outputs of the same time are emitted in the order of `order`, a binary (over entry).
    """

    outer: bool
    type: str
    stored: SparkSql
    joined: SparkSql
    unmatched: SparkSql
    order: SparkSql


@dataclass(frozen=True, slots=True)
class StreamStreamOperator:
    """`by` are the columns of the frame that form the group, `forward` (over row) is the output of a row of no side.

    The frame has the columns `side` (0, 1; null: the row is forwarded), rowtime, partition, offset, and `clock`: stream
    time of the row's side. `window` defines which rows join. `out`, `label` and `shared_clock`: see Fold. `scans`
    has the number of sources of each side.
    """

    by: Sequence[str]
    window: JoinWindow
    left: SideSql
    right: SideSql
    forward: SparkSql
    out: str
    label: str
    shared_clock: bool
    scans: tuple[int, int] = (1, 1)

    def texts(self) -> Mapping[str, str]:
        """The texts by the names under which the module reads them."""
        window = self.window
        texts = {
            "by": ",".join(self.by),
            "before": str(window.before),
            "after": str(window.after),
            "grace": str(window.grace),
            "eager": str(window.eager).lower(),
            "forward": self.forward,
            "out": self.out,
            "label": self.label,
            "shared_clock": str(self.shared_clock).lower(),
            "scans": ",".join(map(str, self.scans)),
            "state_version": str(STATE_VERSION),
        }
        for i, side in enumerate((self.left, self.right)):
            texts |= {f"outer{i}": str(side.outer).lower(), f"entry{i}": side.type, f"stored{i}": side.stored}
            texts |= {f"join{i}": side.joined, f"unmatched{i}": side.unmatched, f"order{i}": side.order}
        return texts


class StreamStreamJoin(JoinStep):
    """A join of two streams: its operator keeps the rows of both sides until their window has passed."""

    def run(self, frame: LazyFrame) -> LazyFrame:
        """The rows of this join, as input 0, and of later inputs; `frame` has those of all inputs (joins.py)."""
        window, outer = self._window, self.join.outer
        waits = not window.eager and (outer.left or outer.right)
        return stateful(self.prepared(frame), self.operator().texts(), self.live, Punctuation(0, 1) if waits else None)

    @property
    def _window(self) -> JoinWindow:
        assert self.join.window is not None
        return self.join.window

    def operator(self) -> StreamStreamOperator:
        """The expressions of this join's operator, as Spark SQL texts."""
        forward, shared_clock = spark_sql(self.forward()), mixes_partitions(self.join)
        left, right = self._side(0), self._side(1)
        scans = len(leaves(self.join.left)), len(leaves(self.join.right))
        return StreamStreamOperator(
            self.by(), self._window, left, right, forward, self.out.type, self.label, shared_clock, scans
        )

    def _side(self, side: int) -> SideSql:
        """The expressions of a side, 0 for the left one and 1 for the right one."""
        outer = (self.join.outer.left, self.join.outer.right)[side]
        own, other = ((self.left, self.right), (self.right, self.left))[side]
        waits = outer and not self._window.eager
        value, stored = ROW.field(("value", "right")[side]), _ENTRY.field("value")
        # For a row that waits for a match, key and window are taken from its stored part.
        source = _ENTRY if waits else ROW
        identity = {"join_key": self.key.type, **dict.fromkeys(self.bounds, "bigint")}
        entry = StructLayout({"value": own.type, **(identity if waits else {})})
        joined = self.value(*_ordered(side, value, stored))
        alone = self.value(*_ordered(side, stored, other.null()))
        order = sorted_key([key.type for key in self.join.right_keys], _ENTRY.field("join_key"))
        return SideSql(
            outer=outer,
            type=entry.type,
            stored=spark_sql(entry.new({**{name: ROW.field(name) for name in entry.types}, "value": value})),
            joined=spark_sql(self.row(ROW.field("join_key"), joined, call("greatest", ROW.field("rowtime"), _TIME))),
            unmatched=spark_sql(self.row(source.field("join_key"), alone, _TIME, source)),
            order=spark_sql(order if waits else null("binary")),
        )


def _ordered(
    side: int, own: OperatorExpression, other: OperatorExpression
) -> tuple[OperatorExpression, OperatorExpression]:
    """The two expressions, the left side's first."""
    return (own, other) if side == 0 else (other, own)
