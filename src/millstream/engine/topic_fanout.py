"""Fan-out of a topic: one consumer reads it for all push queries that follow it from its end.

    SELECT id, v * 2 AS w FROM s WHERE v > 5 EMIT CHANGES;    40 clients
    SELECT * FROM s EMIT CHANGES;                             10 clients

    TopicFanout                one consumer and one thread read the topic of s in batches
      SharedEvaluation         … v * 2 … WHERE v > 5: a batch is computed once, in the driver's JVM
        PushSubscription       40 bounded buffers, one for each client
      SharedEvaluation         SELECT *
        PushSubscription       10

The consumer keeps pace with the fastest client: while no buffer is less than half full, records wait in Kafka. So a
client that is ended because its buffer is full is at least half a buffer behind another one.
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence

from confluent_kafka import Consumer, KafkaException

from millstream.engine.api import RequestFailed, RowBatch
from millstream.engine.kafka_offsets import Positions
from millstream.engine.push_evaluation import EvaluatedBatch, PushAccess, PushEvaluation
from millstream.engine.push_reader import PULSE, PushReader, ReadBatch, TopicReplaced
from millstream.plan.nodes import ClientOutput
from millstream.services.loop import Loop, ReopenResource
from millstream.spark.bounded import Record

LOG = logging.getLogger(__name__)
# The approximate processor time of a batch for each client, in seconds. The same time passes before the next batch, so
# that other threads get the processor.
CLIENT_SECONDS, LONGEST_PACE = 0.0001, 0.2
# The least time between two batches, in seconds: records that arrive faster are evaluated and sent together. Clients
# may request longer intervals, which do not apply after a batch of BATCH records, because more may be waiting.
BATCH_SECONDS = 0.02
# If the least interval of the clients has at least so many seconds, the broker waits for records for half of it: a
# fetch for each batch of the producer costs the consumer as much as evaluating and sending the rows.
GATHERED_FROM = 0.1
INTERVAL = "millstream.push.interval.ms"
BUFFER = "millstream.push.buffer.rows"


class PushSubscription:
    """A client's bounded buffer of rows. It is thread-safe: the fan-out offers rows, the client's thread takes them."""

    def __init__(
        self,
        capacity: int,
        on_end: Callable[[], object],
        progress_every: float | None = None,
        interval: float = BATCH_SECONDS,
    ) -> None:
        """`capacity`: a batch of rows that arrives while so many rows are in the buffer ends the subscription.

        `on_end` is called once it gets no more rows, even if its client does not notice, since it reads nothing.
        `progress_every`: after so many seconds without rows the client gets a batch without rows for its positions.
        `interval`: the client is content with a batch every so many seconds, however fast records come.
        """
        self.interval = interval
        self._capacity, self.on_end, self._progress_every = capacity, on_end, progress_every
        self._changed = threading.Condition()
        self._batches = deque[RowBatch]()
        self._buffered = 0
        self._reported_at: float | None = None
        # For each partition that is not read up to there yet, the offset of the first record of the answer.
        self._starts: Positions | None = None
        self._before_start: list[EvaluatedBatch] = []
        self._error = ""
        self._closed = False
        # Called after rows were taken, and after rows have arrived or it has ended.
        self.on_drain: Callable[[], object] = lambda: None
        self.on_arrival: Callable[[], object] = lambda: None

    @property
    def is_below_half(self) -> bool:
        """True if less than half of the buffer is used."""
        return self._buffered * 2 < self._capacity

    @property
    def is_open(self) -> bool:
        """False once it was closed, or ended with an error."""
        return not (self._closed or self._error)

    def begin(self, starts: Positions) -> None:
        """Set the offsets from which on records belong to the answer; what was offered before is kept until then."""
        with self._changed:
            self._starts = dict(starts)
            self._append(RowBatch((), starts))
            batches, self._before_start = self._before_start, []
            for batch in batches:
                self._append(self._since_start(batch))

    def offer(self, batch: EvaluatedBatch) -> bool:
        """Add a batch to the buffer; False if the buffer is full: then the subscription has ended with an error."""
        with self._changed:
            if self._closed or self._error:
                return True
            if self._starts is None:
                self._before_start.append(batch)
                return True
            rows = self._since_start(batch)
            if rows and self._buffered >= self._capacity:
                self._end(_too_slow(self._capacity))
                return False
            self._append(rows)
            return True

    def add(self, batch: RowBatch) -> None:
        """Add rows of records before the offsets that `begin` will set, however full the buffer is."""
        with self._changed:
            if self.is_open:
                self._append(batch)

    def take(self, seconds: float) -> list[RowBatch]:
        """All that is in the buffer; waits up to `seconds` while it is empty. Raises RequestFailed if it was ended."""
        with self._changed:
            self._changed.wait_for(lambda: self._batches or self._error or self._closed, seconds)
            if self._error:
                raise RequestFailed(50000, self._error)
            batches = list(self._batches)
            self._batches.clear()
            self._buffered = 0
        if batches:
            self.on_drain()
        return batches

    def end(self, error: str) -> None:
        """End it with an error, which the client gets instead of the rows in the buffer."""
        with self._changed:
            self._end(error)

    def close(self) -> None:
        """End it without an error, and drop the rows that were not taken; may be called more than once."""
        with self._changed:
            self._closed = True
            self._clear()

    def _end(self, error: str) -> None:
        self._error = error
        self._clear()

    def _clear(self) -> None:
        self._batches.clear()
        self._before_start.clear()
        self._buffered = 0
        self._notify()

    def _append(self, rows: RowBatch) -> None:
        if self._closed or not (rows or self._is_report_due()):
            return
        if self._batches and not self._batches[-1]:
            self._batches.pop()
        self._batches.append(rows)
        self._buffered += len(rows)
        self._reported_at = time.monotonic()
        self._notify()

    def _notify(self) -> None:
        self._changed.notify_all()
        self.on_arrival()

    def _is_report_due(self) -> bool:
        """True if the client is to get its positions without rows."""
        if self._progress_every is None:
            return False
        return self._reported_at is None or time.monotonic() - self._reported_at >= self._progress_every

    def _since_start(self, batch: EvaluatedBatch) -> RowBatch:
        """The rows of the records from the start on: the batch's own list, which all clients share, if they all are."""
        starts = self._starts
        if not starts:
            return batch.rows
        ahead = {p: start for p, start in starts.items() if batch.after.get(p, 0) < start}
        self._starts = ahead
        rows_by_record = zip(batch.records, batch.groups, strict=True)
        rows = (r for record, rows in rows_by_record if record.offset >= starts.get(record.partition, 0) for r in rows)
        return RowBatch(rows, {**batch.after, **ahead})


def _too_slow(capacity: int) -> str:
    return (
        f"the push query was ended: {capacity} rows wait for its client, the most that {BUFFER} allows, "
        "and other clients have read on\n  hint: read faster, or select fewer rows"
    )


class SharedEvaluation(PushEvaluation):
    """A plan that is evaluated for all subscriptions to it. Its fan-out's thread evaluates.

    `subscriptions` is guarded by the lock of PushSubscriptions.
    """

    def __init__(self, plan: ClientOutput, id: str, access: PushAccess) -> None:
        super().__init__(plan, id, access, only_changes=True)
        self.subscriptions: set[PushSubscription] = set()
        # Records that were read before the plan was prepared.
        self._pending: list[Record] = []

    @property
    def has_pending(self) -> bool:
        """True if records wait that can be evaluated now."""
        return bool(self._pending) and self.is_prepared

    def evaluated(self, records: Sequence[Record], after: Positions) -> EvaluatedBatch | Exception | None:
        """The rows of the records, and of those that were held before; None until the plan is prepared."""
        return self.attempted([*self._pending, *records], after) if self.is_prepared else None

    def buffer(self, records: Sequence[Record]) -> None:
        """Keep records until the plan is prepared."""
        self._pending += records

    def evaluated_all(self) -> None:
        """The records that were held have been evaluated."""
        self._pending = []


class TopicFanout:
    """Reads a topic with one consumer, and offers the rows of each evaluation to its subscriptions.

    `positions` are the offsets to begin at. `evaluations` and `frontier` are guarded by `lock`; `frontier` are the
    offsets from which on records are offered to a subscription that is added now. `unsubscribe` is called without the
    lock for each subscription that has ended with an error.
    """

    def __init__(
        self,
        name: str,
        topic: str,
        isolation: str,
        positions: Positions,
        access: PushAccess,
        lock: threading.Lock,
        unsubscribe: Callable[[PushSubscription], None],
    ) -> None:
        self.evaluations: dict[ClientOutput, SharedEvaluation] = {}
        self.frontier: Positions = dict(positions)
        self._topic, self._lock, self._unsubscribe = topic, lock, unsubscribe
        self._gathered = 0.0
        self._reader = PushReader(
            {topic: positions},
            exact=False,
            kafka=access,
            open_consumer=lambda: access.reader(isolation, self._gather_seconds()),
        )
        self._delivered_at = 0.0
        self._was_full = False
        self._drained = threading.Event()
        self.loop = Loop(name, self._step, self._reader.consumer, outages=(KafkaException,))

    def subscribe(self, evaluation: SharedEvaluation, subscription: PushSubscription) -> None:
        """Add a subscription; the caller holds the lock."""
        subscription.on_drain = self._drained.set
        evaluation.subscriptions.add(subscription)

    def _gather_seconds(self) -> float:
        """For how many seconds the broker gathers records for the consumer that is opened now."""
        self._gathered = gathered(self._intervals())
        return self._gathered

    def _step(self, consumer: Consumer) -> None:
        self._drained.clear()
        if not self._has_demand():
            self._drained.wait(PULSE)
            return
        if gathered(self._intervals()) != self._gathered:
            raise ReopenResource
        try:
            self._read(consumer)
        except TopicReplaced as replaced:
            LOG.warning("push queries end: %s", replaced)
            for evaluation in self._evaluations():
                self._end(evaluation, f"the query failed: {replaced}")

    def _has_demand(self) -> bool:
        """True if at least one client's buffer is less than half full."""
        with self._lock:
            return any(s.is_below_half for evaluation in self.evaluations.values() for s in evaluation.subscriptions)

    def _evaluations(self) -> list[SharedEvaluation]:
        with self._lock:
            return list(self.evaluations.values())

    def _subscriptions(self, evaluation: SharedEvaluation) -> list[PushSubscription]:
        with self._lock:
            return list(evaluation.subscriptions)

    def _read(self, consumer: Consumer) -> None:
        self._reader.check_partitions(consumer)
        batch = self._reader.read(consumer, before_more=self._pace)
        self._was_full = batch.is_full
        if batch.records or any(evaluation.has_pending for evaluation in self._evaluations()):
            self._deliver(batch)
        self._reader.advance(batch)

    def _pace(self) -> None:
        """Wait before the next batch: each batch wakes and writes to every client, so fewer larger ones cost less."""
        rest = self._delivered_at + pace(self._intervals(), self._was_full) - time.monotonic()
        if rest > 0:
            time.sleep(rest)

    def _intervals(self) -> list[float]:
        with self._lock:
            return [s.interval for evaluation in self.evaluations.values() for s in evaluation.subscriptions]

    def _deliver(self, batch: ReadBatch) -> None:
        """Evaluate for all before rows are offered to any: a step that fails is repeated with the same records."""
        records, after = batch.records, batch.after[self._topic]
        with self._lock:
            # Clients of an evaluation that is added after this do not get these records from the fan-out.
            evaluations, self.frontier = list(self.evaluations.values()), after
        rows = [(evaluation, self._evaluated(evaluation, records, after)) for evaluation in evaluations]
        for evaluation, evaluated in rows:
            if evaluated is None:
                evaluation.buffer(records)
                continue
            evaluation.evaluated_all()
            for subscription in self._subscriptions(evaluation):
                if not subscription.offer(evaluated):
                    self._unsubscribe(subscription)
        self._delivered_at = time.monotonic()

    def _evaluated(
        self, evaluation: SharedEvaluation, records: Sequence[Record], after: Positions
    ) -> EvaluatedBatch | None:
        """The plan's rows of the records; if it fails, in whatever way, its subscriptions end, and no others."""
        batch = evaluation.evaluated(records, after)
        if isinstance(batch, Exception):
            self._end(evaluation, f"the query failed: {batch}")
            return EvaluatedBatch((), (), RowBatch((), after), after)
        return batch

    def _end(self, evaluation: SharedEvaluation, error: str) -> None:
        for subscription in self._subscriptions(evaluation):
            subscription.end(error)
            self._unsubscribe(subscription)


def pace(intervals: Sequence[float], was_full: bool) -> float:
    """Seconds between two batches for clients of these intervals; `was_full`: the last one had BATCH records."""
    interval = BATCH_SECONDS if was_full else min(intervals, default=BATCH_SECONDS)
    return max(interval, min(BATCH_SECONDS + len(intervals) * CLIENT_SECONDS, LONGEST_PACE))


def gathered(intervals: Sequence[float]) -> float:
    """For how many seconds the broker gathers records for clients of these intervals."""
    least = min(intervals, default=0.0)
    return least / 2 if least >= GATHERED_FROM else 0.0
