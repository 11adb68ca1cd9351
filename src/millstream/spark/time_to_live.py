"""When states expire that have had no rows for a time to live, in stream time (the property STATE_TTL).

A state has the fields `latest`, the time of its latest row, and `partition`, the source partition of that row. With a
time to live of 10 s:

    latest   due
    0        10100
    9999     20000
    10000    20100
"""

from dataclasses import dataclass, replace

from millstream.functions.operator_expressions import OperatorExpression, array, call, if_, integer, null
from millstream.functions.operator_sql import spark_sql
from millstream.plan.nodes import Aggregate, Deduplicate, OverAggregate, leaves
from millstream.plan.partitions import mixes_partitions
from millstream.spark.fold import CLOCK, ROW, STATE, Expiry, Fold, Punctuation

# A state expires so late, at most: a hundredth of its time to live. States are due at few times, so that stream time is
# seldom sent to other tasks.
TTL_STEPS = 100
_LATEST = STATE.field("latest")


@dataclass(frozen=True, slots=True)
class TimeToLive:
    """A time to live in ms. Its expressions are over `state`, `row` and `clock`, as those of a fold (fold.py)."""

    ttl_ms: int

    @property
    def step(self) -> int:
        """The ms between the times at which states can be due."""
        return max(1, self.ttl_ms // TTL_STEPS)

    @property
    def due(self) -> OperatorExpression:
        """The stream time in ms at which the state expires; null for never."""
        return call("try_add", _LATEST - _LATEST % self.step, integer(self.ttl_ms + self.step))

    @property
    def expired(self) -> OperatorExpression:
        """Whether the state has expired at the row, which may itself be the first after the state's time."""
        return self.due <= CLOCK

    @property
    def latest(self) -> OperatorExpression:
        """The time of the latest row, including this one."""
        rowtime = ROW.field("rowtime")
        return if_(self.expired, rowtime, call("greatest", _LATEST, rowtime))

    @property
    def punctuation(self) -> Punctuation:
        """The stream times at which punctuations are sent to the other tasks."""
        return Punctuation(self.ttl_ms + self.step, self.step)

    def expiring(
        self, fold: Fold, node: Aggregate | Deduplicate | OverAggregate, emit: OperatorExpression | None = None
    ) -> Fold:
        """The node's fold with states that are deleted when they expire; `emit` is the array of outputs, None for
        none."""
        expiry = Expiry(
            due=spark_sql(self.due),
            partition=spark_sql(STATE.field("partition")),
            update=spark_sql(null(fold.state)),
            emit=spark_sql(array().cast(f"array<{fold.out}>") if emit is None else emit),
        )
        return replace(
            fold,
            expiry=expiry,
            shared_clock=mixes_partitions(node),
            scans=len(leaves(node)),
            punctuation=self.punctuation,
        )
