"""Queries over Kafka: real-time queries that write a topic, and bounded ones that read the present records."""

import json
import logging
import re
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from millstream.catalog.catalog import RelationKind
from millstream.formats.client import AWAY
from millstream.model.setting_kinds import milliseconds
from millstream.model.setting_table import IDLE_CLOCK
from millstream.model.settings import is_on
from millstream.plan.append_time import AppendTime
from millstream.plan.nodes import ClientOutput, Read, Write, lookup_tables
from millstream.services.loop import Loop, no_resource
from millstream.spark import checkpoint as checkpoints
from millstream.spark import checkpoint_damage, jvm, pipeline, sink, source, state_layout, table_bootstrap, transactions
from millstream.spark.coalescing import NO_COALESCING, QueryCoalescing, coalescing
from millstream.spark.lazy_frame import LazyFrame
from millstream.spark.state_layout import OtherStates

LOG = logging.getLogger(__name__)
PRODUCER = {"linger.ms": "linger.ms", "compression.type": "compression.type", "max.request.size": "max.request.size"}
CONSUMER = ("fetch.max.wait.ms", "max.poll.records", "isolation.level")
# An answer's records are read by one consumer that waits for them.
ANSWER_PRODUCER = {"linger.ms": "0"}
# Spark's own bound of a batch; the source ends batches before it (_pace).
LONGEST_BATCH = "7 days"
# How long a new run's first batch lasts, in ms: a query that crashes soon after each start still makes progress.
FIRST_BATCH = 3000
MESSAGE_LENGTH = 600
# How much of that the innermost cause may take.
CAUSE_LENGTH = 300
# The name of an exception's class, before its message; those of our own end with other words than Exception.
_CLASS = re.compile(r"^(?:[\w.$]+(?:Exception|Error)|(?:[a-z]\w*\.)+[A-Z][\w$]*): ")
# What Spark and py4j write around the failure of a task, or of a call: the task's number, its host, the method.
_AROUND = re.compile(
    r"^(An error occurred while calling \S+\s*:? )?((?:[\w.]+Exception: )?Job aborted due to stage failure: "
    r".*?most recent failure: Lost task \S+ in stage \S+ \(TID \d+\) \(.*?\): )?|\s*Driver stacktrace:$"
)
# What Spark says of a thread that has waited for another one, which failed; why is in a later line.
AWAITED, _CAUSED_BY = "Exception thrown in awaitResult", "Caused by: org.apache.spark.SparkException: "
# A query on a cluster that has too few cores free, or no worker.
_NO_SLOTS = re.compile(r"\[CONCURRENT_SCHEDULER_INSUFFICIENT_SLOT\].* needs (\d+) .*? only (\d+) are currently free.*")
NO_SLOTS = (
    r"the query needs \1 task slots at once, and the Spark cluster has \2 free; start workers, or more cores of them "
    "(--cores: they are slots, not processors), or TERMINATE or PAUSE a query"
)
_REGISTRY_AWAY = re.compile(r"^[\w.]+\.RegistryAway: ")
# What is wrong with the checkpoint of a query that is not started.
NOT_RESUMED = (checkpoints.CheckpointBehind, checkpoint_damage.CheckpointDamaged, OtherStates)
# Seconds to wait until a query reads, and between two checks whether it has ended.
START, START_CHECK = 5.0, 0.25

Starts = Mapping[str, Mapping[int, int]]
Plan = Write | ClientOutput


class QueryRefused(Exception):
    """Spark refused to start a query; the message says why."""


@dataclass(frozen=True, slots=True)
class StreamingJob:
    """A query to start.

    `starts` has the offsets to read from, topic → partition → offset, for what is not in the checkpoint; a topic that
    is absent is read from its beginning. `log` is the topic of the processing log, "" for none; `log_rows`: it may show
    records. `tasks`: how many tasks share the query's groups; the state in its checkpoint is repartitioned if it has
    another number.
    `ends`: the end offsets of the tables in which streams look up rows; the streams wait until they are read so far.
    `group`: the consumer group of its positions if it writes in transactions, else "". `savepoint`: a copied checkpoint
    that its own is created from, "" for none. `append_time`: where its latency begins.
    """

    id: str
    checkpoint: str
    settings: Mapping[str, str]
    starts: Starts = field(default_factory=dict)
    log: str = ""
    log_rows: bool = False
    tasks: int = 2
    ends: Starts = field(default_factory=dict)
    group: str = ""
    savepoint: str = ""
    append_time: AppendTime = AppendTime.ROWTIME


class StartedQuery:
    """A real-time query that was started."""

    def __init__(
        self,
        query: StreamingQuery,
        job: StreamingJob,
        run: source.Run,
        patience: float,
        close: Callable[["StartedQuery"], None],
    ) -> None:
        self.id, self._checkpoint = job.id, job.checkpoint
        self._query, self._run, self._patience, self._close = query, run, patience, close
        self._failure: str | None = None

    def failure(self) -> str | None:
        """Why it ended; "" if it ended without a reason, None while it runs. Cheap to call."""
        return self._failure

    def progress(self) -> Mapping[str, Any]:
        """Spark's report of the last batch, if any, and in `counts` the figures of jvm/Counts.scala."""
        last = self._query.lastProgress
        counts = json.loads(jvm.module(self._query_session(), "Counts").json(self.id))
        return {**(last if isinstance(last, dict) else {}), "counts": counts}

    def check_end(self) -> None:
        """Check if it has ended, and record why."""
        if self._failure is not None or self._query.isActive:
            return
        session = self._query_session()
        unwritten = sink.failure(session, self.id)
        self._failure = unwritten or self._why(self._query.exception())
        _log_end(session, self.id, self._failure, bool(unwritten))

    def _why(self, failure: object) -> str:
        return checkpoints.explained(why(failure), self._checkpoint) if failure is not None else ""

    def await_start(self) -> None:
        """Wait until its first batch reads, or it has ended, or START seconds have passed."""
        deadline = time.monotonic() + START
        while not self._run.await_start(START_CHECK) and self._query.isActive and time.monotonic() < deadline:
            pass

    def finish(self) -> None:
        """Request the end of its batch; does not wait, `stop` does. To stop many queries, call it for all of them
        first."""
        self._run.finish()
        # Release a stream that waits at the barrier, so that its batch can end.
        table_bootstrap.remove(self._query_session(), self.id)

    def stop(self) -> None:
        """Stop it when all that it has read is written and committed: the next start resumes exactly there.

        If that takes too long, it is aborted, and a warning is logged.
        """
        if self._query.isActive:
            self.finish()
            has_ended = self._run.await_batch_end(self._patience)
            if not has_ended and self._query.isActive:
                message = "query %s did not finish its batch in %.0f s, and will repeat it"
                LOG.warning(message, self.id, self._patience, extra={"query": self.id})
            if has_ended:
                self._note()
        self.abort()

    def _note(self) -> None:
        try:
            checkpoint_damage.note(self._query_session(), self._checkpoint)
        except (OSError, Py4JError) as failure:
            LOG.warning(
                "the end of query %s could not be recorded: %s", self.id, first_line(failure), extra={"query": self.id}
            )

    def abort(self) -> None:
        """End it at once, as a crash would; the next start reads the records of its last batch again."""
        self._close(self)
        try:
            self._query.stop()
        except (PySparkException, Py4JError) as failure:
            LOG.warning("query %s did not stop cleanly: %s", self.id, first_line(failure), extra={"query": self.id})
        _free(self._query_session(), self.id, self._run)

    @staticmethod
    def _query_session() -> SparkSession:
        return jvm.active()


class RealTimeQueries:
    """Starts queries in one session over one Kafka; `client` are the settings of Kafka clients.

    `patience`: how many seconds a query that is stopped may take to finish its batch.
    """

    def __init__(self, session: SparkSession, client: Mapping[str, str], patience: float = 20.0) -> None:
        self._session, self._client, self._patience = session, dict(client), patience
        self._running: set[StartedQuery] = set()
        self._lock = threading.Lock()
        self.loop = Loop("queries", self._watch, no_resource)
        self.loop.start()

    def write(self, plan: Write, job: StreamingJob) -> StartedQuery:
        """Start a query that writes its sink's topic, and wait until it reads (`StartedQuery.await_start`).

        Raises QueryRefused.
        """

        def rows(run: source.Run) -> LazyFrame:
            carries = job.append_time is AppendTime.CARRIED
            return pipeline.written(plan, self._stream(plan, job, run), job.id, live=True, carries_append_time=carries)

        producer = {**self._client, **_producer(job.settings)}
        waiting = coalescing(plan, job.settings, job.tasks, in_transactions=bool(job.group))
        query = self._start(plan, rows, plan.sink.topic, producer, job, waiting)
        query.await_start()
        return query

    def answer(self, plan: ClientOutput, topic: str, job: StreamingJob) -> StartedQuery:
        """Start a query that writes its rows, as engine.rows.RowReader reads them, to a topic. Raises QueryRefused."""

        def rows(run: source.Run) -> LazyFrame:
            changes = pipeline.answered(plan, self._stream(plan, job, run), job.id, live=True, emits_changes=True)
            return pipeline.as_records(changes, plan)

        return self._start(plan, rows, topic, {**self._client, **ANSWER_PRODUCER}, job)

    def answer_now(self, plan: ClientOutput, ends: Starts, job: StreamingJob) -> Iterator[bytes]:
        """The rows, as engine.rows.RowReader reads them, of the records from `job.starts` on and before `ends`.

        A topic without starts is read from its beginning. Raises QueryRefused.
        """
        if job.log:
            sink.log_to_topic(self._session, job.id, job.log, self._client, job.log_rows)
        try:
            rows = pipeline.as_records(pipeline.answered(plan, self._batch(ends, job), job.id), plan).frame()
            if plan.limit is not None:
                rows = rows.limit(plan.limit)
            # The frame's own iterator ends its execution before its jobs begin, and Spark keeps these for ever.
            for row in rows.select("value").rdd.toLocalIterator():
                yield bytes(row["value"])
        except (PySparkException, Py4JError) as failure:
            raise QueryRefused(without_class(first_line(failure))) from failure
        finally:
            sink.close_log(self._session, job.id)

    def close(self) -> None:
        """Stop watching; the queries are not stopped."""
        self.loop.stop()

    def forget(self, checkpoint: str) -> None:
        """Remove a checkpoint, which no query is using, if it exists."""
        checkpoints.delete(self._session, checkpoint)

    def _start(
        self,
        plan: Plan,
        rows: Callable[[source.Run], LazyFrame],
        topic: str,
        producer: Mapping[str, str],
        job: StreamingJob,
        waiting: QueryCoalescing = NO_COALESCING,
    ) -> StartedQuery:
        """Start a query whose frame `rows` plans, and return without waiting until it reads.

        `topic` and `producer` are for its sink, `waiting` says which of its changes may be coalesced. Raises
        QueryRefused; then nothing is left of the run but its checkpoint.
        """
        if job.log:
            sink.log_to_topic(self._session, job.id, job.log, self._client, job.log_rows)
        run = source.Run(self._session, f"{job.id}/{uuid.uuid4().hex}", _pace(job))
        try:
            with ExitStack() as on_failure:
                on_failure.callback(_free, self._session, job.id, run)
                self._prepare(plan, job, run, producer, waiting)
                output = sink.TopicOutput(
                    job.id,
                    topic,
                    producer,
                    job.checkpoint,
                    LONGEST_BATCH,
                    run.id,
                    append_time=job.append_time,
                    coalescing=waiting.records,
                )
                # Concurrently with other queries: planning is most of the work of a start.
                query = self._begin(rows(run).frame(), output, job.tasks)
                on_failure.pop_all()
        except (PySparkException, Py4JError, OSError, *NOT_RESUMED) as failure:
            raise QueryRefused(checkpoints.explained(first_line(failure), job.checkpoint)) from failure
        started = StartedQuery(query, job, run, self._patience, self._forget_running)
        with self._lock:
            self._running.add(started)
        started.check_end()
        return started

    def _prepare(
        self, plan: Plan, job: StreamingJob, run: source.Run, producer: Mapping[str, str], waiting: QueryCoalescing
    ) -> None:
        """What a run needs before its frame is planned: its checkpoint, its transactions, and the barrier."""
        jvm.module(self._session, "LocalFolders").restore()
        checkpoints.restore(self._session, job.savepoint, job.checkpoint)
        has_run = bool(checkpoints.files(self._session, f"{job.checkpoint}/offsets"))
        run.coalesce(waiting.operators, after_backlog=waiting.repeats and has_run)
        if job.group:
            transactions.begin(self._session, run.id, job.group, job.checkpoint, job.settings, producer)
        committed = checkpoint_damage.check(self._session, job.checkpoint, in_transactions=bool(job.group))
        checkpoints.repair(self._session, job.checkpoint)
        checkpoint_damage.note_batch(self._session, job.checkpoint, committed)
        table_bootstrap.create(self._session, job.id, plan, job.ends)

    def _begin(self, frame: DataFrame, output: sink.TopicOutput, tasks: int) -> StreamingQuery:
        """Start Spark's query with `tasks` tasks, to which the states in its checkpoint are distributed before.

        Raises OtherStates if the frame cannot continue with these states.
        """
        state_layout.check(self._session, frame, output.checkpoint)
        checkpoints.repartition(self._session, frame, output.checkpoint, tasks)
        with self._lock:
            # A query takes the session's settings at its start.
            self._session.conf.set("spark.sql.shuffle.partitions", tasks)
            return sink.run_realtime(frame, output)

    def _forget_running(self, started: StartedQuery) -> None:
        with self._lock:
            self._running.discard(started)

    def _stream(self, plan: Plan, job: StreamingJob, run: source.Run) -> Callable[[Read], LazyFrame]:
        """A function that returns the records of a Read as a stream of this run; call it once for each Read."""
        numbers, waits = count(), bool(lookup_tables(plan))

        def records(read: Read) -> LazyFrame:
            """The stream of a source, which waits at the barrier or reports to it if the query joins tables."""
            name, number = read.origin.topic, next(numbers)
            # Spark treats two sources with the same options as one.
            settings = {name: job.settings[name] for name in CONSUMER}
            settings["client.id"] = f"{job.id}-{number}"
            topic = source.Topic(name, {**self._client, **settings}, job.starts.get(name, {}))
            reading = source.Reading(
                shared=is_on(job.settings, "millstream.scans.shared"),
                record_time=read.origin.timestamp is None,
                idle=int(job.settings["max.task.idle.ms"]),
                clock_after=int(job.settings[IDLE_CLOCK]) if read.kind is RelationKind.STREAM else 0,
            )
            raw = LazyFrame.of(source.stream(self._session, topic, run.id, reading))
            return table_bootstrap.source(raw, job.id, read.kind, number) if waits else raw

        return records

    def _batch(self, ends: Starts, job: StreamingJob) -> Callable[[Read], LazyFrame]:
        """A function that returns the records of a Read from `job.starts` on and before its topic's `ends`."""
        client = {**self._client, "isolation.level": job.settings["isolation.level"]}

        def records(read: Read) -> LazyFrame:
            name = read.origin.topic
            topic = source.Topic(name, client, job.starts.get(name, {}))
            return LazyFrame.of(source.bounded(self._session, topic, ends[name]))

        return records

    def _watch(self, _: None) -> None:
        """Detect queries that have ended; one call a second for all of them."""
        try:
            ended = bool(self._session.streams.awaitAnyTermination(1))
        except StreamingQueryException:
            ended = True
        if ended and not self.loop.stopping:
            self._session.streams.resetTerminated()
            self._check_running()

    def _check_running(self) -> None:
        with self._lock:
            running = list(self._running)
        for started in running:
            started.check_end()


def _free(session: SparkSession, id: str, run: source.Run) -> None:
    """Free what a run of the query `id`, which does not run, has in the JVM besides what is Spark's."""
    sink.close_log(session, id)
    jvm.module(session, "Counts").forget(id)
    table_bootstrap.remove(session, id)
    sink.release(session, id)
    transactions.end(session, run.id)
    run.end()


def _log_end(session: SparkSession, id: str, why: str, unwritten: bool) -> None:
    """Write to the query's processing log why it ended."""
    kind, name = (2, "productionError") if unwritten else (4, "kafkaStreamsThreadError")
    body = {"errorMessage": why} if unwritten else {"errorMessage": why, "threadName": id, "cause": []}
    sink.append_to_log(session, id, kind, name, body)


def _pace(job: StreamingJob) -> source.Pace:
    """How often the query commits: every commit interval if it writes in transactions, else every batch duration."""
    if job.group:
        interval = transactions.interval(job.settings)
        return source.Pace(interval, interval)
    return source.Pace(milliseconds(job.settings["millstream.batch.duration"]) or 0, FIRST_BATCH)


def _producer(settings: Mapping[str, str]) -> dict[str, str]:
    return {kafka: settings[name] for name, kafka in PRODUCER.items() if settings.get(name)}


def why(failure: object) -> str:
    """What ended a query: Spark's words, and those of the innermost cause if they are not among them.

    `[CANNOT_WRITE_STATE_STORE.CANNOT_COMMIT] Error writing state store files …` → `…: …/1.changelog: Read-only file
    system`
    """
    innermost = failure
    while (cause := getattr(innermost, "_cause", None)) is not None:
        innermost = cause
    words, reason = first_line(failure), first_line(innermost)[:CAUSE_LENGTH]
    return words if _CLASS.sub("", reason) in words else f"{words[: MESSAGE_LENGTH - CAUSE_LENGTH]}: {reason}"


def first_line(failure: object) -> str:
    """The informative line of one of Spark's long messages.

    `Job aborted due to stage failure: Task 0 … (TID 0) (h executor driver): org.….Denied: why Driver stacktrace:` →
    `org.….Denied: why`
    """
    text = str(failure)
    for appendix in ("\n\nJVM stacktrace", "== DataFrame ==", "=== Streaming Query ==="):
        text = text.split(appendix)[0]
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("at ")]
    if any(AWAITED in line for line in lines):
        lines = [line.removeprefix(_CAUSED_BY) for line in lines if AWAITED not in line] or lines
    return _NO_SLOTS.sub(NO_SLOTS, _AROUND.sub("", " ".join(lines[:3])))[:MESSAGE_LENGTH]


def without_class(line: str) -> str:
    """If a first line says that the registry is away: without the exception's class, followed by a hint."""
    reason, replacements = _REGISTRY_AWAY.subn("", line)
    return f"{reason}\n  hint: {AWAY}" if replacements else line
