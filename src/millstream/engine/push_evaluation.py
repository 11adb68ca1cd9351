"""The evaluation of a push query in the server: from records to the rows of each, in the driver's JVM."""

import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from confluent_kafka import Consumer

from millstream.engine.api import RowBatch, Tombstone
from millstream.engine.kafka_offsets import Bounds, Positions
from millstream.engine.rows import RowConverter
from millstream.plan.nodes import ClientOutput
from millstream.services.loop import attempt
from millstream.spark.bounded import AnswerRow, Changes, Record
from millstream.spark.evaluate import EvaluationFailed

Row = list[Any]


@dataclass(frozen=True, slots=True)
class PushAccess:
    """The access of push subscriptions to Kafka and Spark.

    `reader` opens a consumer of an isolation level, for which the broker gathers records for so many seconds before it
    sends them; `backlog_reader` opens one that also reports the end of a partition, at most so many seconds after it is
    reached;
    `ends`, `bounds` and `identity` are those of engine.kafka.
    `prepare` compiles the plan of an evaluation by its id, and raises CannotRun; its flag is that of PushEvaluation;
    `release` frees what that id has.
    """

    reader: Callable[[str, float], AbstractContextManager[Consumer]]
    backlog_reader: Callable[[str, float], AbstractContextManager[Consumer]]
    ends: Callable[[str], Positions]
    bounds: Callable[[str], Bounds]
    identity: Callable[[str], str]
    prepare: Callable[[ClientOutput, str, bool], Changes]
    release: Callable[[str], None]


@dataclass(frozen=True, slots=True)
class EvaluatedBatch:
    """Records and the rows of each; `after` is the next offset of each partition behind them."""

    records: Sequence[Record]
    groups: Sequence[Sequence[Row]]
    rows: RowBatch
    after: Positions


class PushEvaluation:
    """A plan that is evaluated batch by batch; `prepare` and `release` may be called by any thread.

    `only_changes`: of a table it gives the changes that pass the filter, and no tombstone for rows that do so no more.
    """

    def __init__(self, plan: ClientOutput, id: str, access: PushAccess, only_changes: bool) -> None:
        self.plan, self.id, self._access, self._only_changes = plan, id, access, only_changes
        self._show = RowConverter([column.type for column in plan.schema])
        self._preparing = threading.Lock()
        self._changes: Changes | None = None
        self._released = False

    @property
    def is_prepared(self) -> bool:
        """True once its plan is compiled."""
        return self._changes is not None

    def prepare(self) -> None:
        """Compile the plan, unless that is done. Raises CannotRun."""
        with self._preparing:
            if self._changes is None and not self._released:
                self._changes = self._access.prepare(self.plan, self.id, self._only_changes)

    def release(self) -> None:
        """Free what the compiled plan has; it is no longer compiled."""
        with self._preparing:
            is_first, self._released = not self._released, True
            if is_first and self._changes is not None:
                self._access.release(self.id)

    def computed(self, records: Sequence[Record], after: Positions, leaves: Sequence[int] = ()) -> EvaluatedBatch:
        """The rows of these records alone; may be called by any thread once it is prepared.

        `leaves`: the index of the plan's leaf that reads each record; 0 if there are none. Raises EvaluationFailed.
        """
        assert self._changes is not None
        answers = self._changes(records, leaves) if records else ()
        groups = [[self._shown(row) for row in answer] for answer in answers]
        return EvaluatedBatch(records, groups, RowBatch((row for rows in groups for row in rows), after), after)

    def attempted(
        self, records: Sequence[Record], after: Positions, leaves: Sequence[int] = ()
    ) -> EvaluatedBatch | Exception:
        """The same, or the exception, which is logged unless a record has caused it: the server then has no fault."""

        def computed() -> EvaluatedBatch | EvaluationFailed:
            try:
                return self.computed(records, after, leaves)
            except EvaluationFailed as failure:
                return failure

        return attempt(f"push query {self.id}", computed, self.id)

    def _shown(self, answer: AnswerRow) -> Row:
        is_tombstone = answer.pop()
        row = self._show(answer)
        return Tombstone(row) if is_tombstone else row
