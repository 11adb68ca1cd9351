"""Keeps the desired queries running: starts them, restarts those that fail, and records their failures.

desired          {Q1: running, Q2: paused}
Q1 starts        RUNNING
Q1 fails         ERROR, next try after 15 s, then 30 s, … (ksql.query.retry.backoff.*)
desired          {}            Q1 is stopped in an orderly way and its checkpoint removed
"""

import logging
import os
import queue
import time
from collections.abc import Callable, Mapping, Sequence, Set
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeVar

from millstream.engine.state import DesiredQuery
from millstream.model.errors import StatementError
from millstream.services.loop import Loop, attempt, no_resource

T = TypeVar("T")
LOG = logging.getLogger(__name__)
# The seconds after which a running query has recovered: its next failure counts as the first and is retried soon.
HEALTHY_AFTER = 60.0
# Seconds between two checks of the queries.
PULSE = 0.5
# How many queries start at the same time. A start lasts until the query reads its topics and takes about a second of a
# core in a new JVM; the more of them at once, the later the first one is done (docs/design/014-start.md).
STARTS = 2 * (os.cpu_count() or 1)
# How many queries stop at the same time, which is mostly waiting.
STOPS = 8
BACKOFF = "ksql.query.retry.backoff.initial.ms"
BACKOFF_MAX = "ksql.query.retry.backoff.max.ms"
ERRORS_KEPT = "ksql.query.error.max.queue.size"


class RunningQuery(Protocol):
    """A started query, as the supervisor sees it (spark.realtime.StartedQuery)."""

    def failure(self) -> str | None:
        """Why it ended; "" if it ended without a reason, None while it runs."""
        ...

    def progress(self) -> Mapping[str, Any]:
        """Spark's report of the last batch, and `counts` of what was read and written since the start."""
        ...

    def finish(self) -> None:
        """Request the end of its batch; does not wait. To stop many queries, call it for all of them first."""
        ...

    def stop(self) -> None:
        """Stop it in an orderly way: what it has read is written and committed."""
        ...

    def abort(self) -> None:
        """End it at once, as a crash would."""
        ...


class QueryRunner(Protocol):
    """The supervisor's access to what runs queries (SparkRuntime); any thread may call the methods, which block."""

    def start(self, desired: DesiredQuery) -> RunningQuery:
        """Start a query from its checkpoint. Raises CannotRun."""
        ...

    def forget(self, desired: DesiredQuery) -> None:
        """Remove the checkpoint of a query that is no longer desired."""
        ...

    def take_over(self, births: Set[str]) -> None:
        """Remove what servers that ran queries before this one have left half written.

        `births` are those of the queries that they have run.
        """
        ...


class CannotRun(Exception):
    """A query that cannot be started now; the message says why."""


@dataclass(frozen=True, slots=True)
class QueryFailure:
    """A failure of a query, with its time."""

    at: float
    message: str


@dataclass(frozen=True, slots=True)
class QueryHealth:
    """A query's state: RUNNING, PAUSED, or ERROR while it waits for its next try.

    `failures` are its first failure, then the latest ones.
    """

    state: str
    failures: tuple[QueryFailure, ...] = ()
    restarts: int = 0


@dataclass(slots=True)
class _SupervisedQuery:
    """A desired query and its state; `starting` while a thread of a pool starts it, or uses its checkpoint.

    `cancellable`: it is to be started, and nothing else, so that the start may be cancelled while it waits for a
    thread. `since` is when it started to run, `next_try` when it may start again, on the supervisor's clock.
    """

    desired: DesiredQuery
    running: RunningQuery | None = None
    starting: Future[RunningQuery | Exception | None] | None = None
    cancellable: bool = False
    since: float = 0.0
    tries: int = 0
    next_try: float = 0.0
    health: QueryHealth = field(default_factory=lambda: QueryHealth("RUNNING"))


class Supervisor:
    """Runs the desired queries. One thread decides, two pools start and stop them; any thread may call the methods."""

    def __init__(
        self,
        runner: QueryRunner,
        may_start: Callable[[], bool] = lambda: True,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
    ) -> None:
        """While `may_start()` is False no query is started: another server may be running them.

        `clock` measures how long a query runs and waits, which a machine's clock that is set must not change; `now` is
        the time of a failure. Both are in seconds.
        """
        self._runner, self._may_start, self._clock, self._now = runner, may_start, clock, now
        self._queries: dict[str, _SupervisedQuery] = {}
        self._requests: queue.SimpleQueue[tuple[Callable[[], None], Future[None]]] = queue.SimpleQueue()
        self._starts = ThreadPoolExecutor(STARTS, thread_name_prefix="query-start")
        self._stops = ThreadPoolExecutor(STOPS, thread_name_prefix="query-stop")
        self.loop = Loop("supervisor", self._step, no_resource)

    def begin(self) -> None:
        """Start the thread that starts, checks and stops queries."""
        self.loop.start()

    def end(self) -> None:
        """Stop all queries and the thread; checkpoints stay."""
        self._submit(lambda: self._stop(self._queries)).result()
        self.loop.stop()
        self._starts.shutdown()
        self._stops.shutdown()

    def stop_others(self, desired: Mapping[str, DesiredQuery]) -> None:
        """Stop the queries that `desired` lacks or has in another version, and wait until they have stopped."""
        self._submit(lambda: self._stop_others(desired)).result()

    def take_over(self, births: Set[str]) -> None:
        """This server runs the queries from now on, and no other does: remove what others have left half written.

        `births` are those of the queries that others have run.
        """
        self._submit(lambda: self._take_over(births))

    def forget(self, queries: Sequence[DesiredQuery]) -> None:
        """Remove the checkpoints of queries that were ended, and that no server runs."""
        self._submit(lambda: self._forget(queries))

    def set_desired(self, desired: Mapping[str, DesiredQuery]) -> None:
        """From now on run exactly these queries; does not wait until they run."""
        self._submit(lambda: self._set_desired(desired))

    def abandon(self) -> None:
        """End all queries at once, since another server runs them now; waits until they have ended."""
        self._submit(lambda: self._stop(self._queries, orderly=False)).result()

    def while_stopped(self, id: str, action: Callable[[DesiredQuery], T]) -> T:
        """Stop a query in an orderly way, call `action` on it, and start it again if it should run.

        Raises what `action` raises, and StatementError if the query no longer exists.
        """
        done: Future[T] = Future()
        self._submit(lambda: self._act_while_stopped(id, action, done)).result()
        return done.result()

    def health(self, id: str) -> QueryHealth | None:
        """A query's state; None if this server does not run it."""
        query = self._queries.get(id)
        return query.health if query else None

    def desired(self) -> list[DesiredQuery]:
        """The queries that this server should run."""
        return [query.desired for query in list(self._queries.values())]

    def progress(self, id: str) -> Mapping[str, Any]:
        """Spark's last report of a query."""
        query = self._queries.get(id)
        running = query.running if query else None
        return running.progress() if running else {}

    # ------------------------------------------------------------ the thread

    def _submit(self, action: Callable[[], None]) -> Future[None]:
        done: Future[None] = Future()
        self._requests.put((action, done))
        return done

    def _step(self, _: None) -> None:
        try:
            action, done = self._requests.get(timeout=PULSE)
        except queue.Empty:
            self._check_all()
            return
        failure = attempt("a request to the supervisor", action)
        if failure is None:
            done.set_result(None)
        else:
            done.set_exception(failure)
        self._check_all()

    def _take_over(self, births: Set[str]) -> None:
        attempt("removing half-written copies", lambda: self._runner.take_over(births))

    def _set_desired(self, desired: Mapping[str, DesiredQuery]) -> None:
        self._stop_others(desired)
        for id, query in desired.items():
            if id not in self._queries:
                self._queries[id] = _SupervisedQuery(
                    query, health=QueryHealth("RUNNING" if query.running else "PAUSED")
                )

    def _stop_others(self, desired: Mapping[str, DesiredQuery]) -> None:
        others = {id: query for id, query in self._queries.items() if desired.get(id) != query.desired}
        self._stop(others)
        for id, query in others.items():
            now = desired.get(id)
            if now is None or now.birth != query.desired.birth:
                self._forget([query.desired])

    def _forget(self, queries: Sequence[DesiredQuery]) -> None:
        for query in queries:
            id = query.query.id
            attempt(f"removing the checkpoint of {id}", lambda query=query: self._runner.forget(query), id)  # type: ignore[misc]

    def _stop(self, queries: Mapping[str, _SupervisedQuery], orderly: bool = True) -> None:
        """Stop queries concurrently, and remove them from the list."""
        for query in queries.values():
            _cancel_start(query)
        for query in queries.values():
            _await_start(query)
            if orderly and query.running is not None:
                attempt(f"finishing {query.desired.query.id}", query.running.finish, query.desired.query.id)
        stopping = [self._stops.submit(_stop, query, orderly) for query in queries.values()]
        for stopped in stopping:
            stopped.result()
        for id in list(queries):
            del self._queries[id]

    def _act_while_stopped(self, id: str, action: Callable[[DesiredQuery], T], done: Future[T]) -> None:
        query = self._queries.get(id)
        if query is None:
            done.set_exception(StatementError(f"this server no longer runs query {id}"))
            return
        _cancel_start(query)
        _await_start(query)
        running, query.running = query.running, None
        query.cancellable = False
        query.starting = self._stops.submit(self._act, query.desired, running, action, done)

    def _act(
        self,
        desired: DesiredQuery,
        running: RunningQuery | None,
        action: Callable[[DesiredQuery], T],
        done: Future[T],
    ) -> None:
        """Stop the query, then act; `_check_all` starts it again when it sees that it is stopped."""
        if running is not None:
            attempt(f"stopping {desired.query.id}", running.stop, desired.query.id)
        id = desired.query.id
        result = attempt(f"the checkpoint of {id}", lambda: action(desired), id, refusals=(StatementError,))
        if isinstance(result, Exception):
            done.set_exception(result)
        else:
            done.set_result(result)

    def _check_all(self) -> None:
        """Check every query: start what should run and does not, and handle those that have ended."""
        for query in list(self._queries.values()):
            if query.starting is not None:
                self._check_start(query, query.starting)
            elif query.running is not None:
                self._check_running(query, query.running)
            elif query.desired.running and self._clock() >= query.next_try and self._may_start():
                query.cancellable = True
                query.starting = self._starts.submit(self._start, query.desired)

    def _start(self, desired: DesiredQuery) -> RunningQuery | Exception:
        try:
            return self._runner.start(desired)
        except CannotRun as failure:
            return failure

    def _check_start(self, query: _SupervisedQuery, starting: Future[RunningQuery | Exception | None]) -> None:
        if not starting.done():
            return
        query.starting = None
        outcome = attempt(f"starting {query.desired.query.id}", starting.result, query.desired.query.id)
        if isinstance(outcome, CannotRun):
            self._failed(query, str(outcome))
        elif isinstance(outcome, Exception):
            self._failed(query, f"internal error: {outcome!r}")
        elif outcome is not None:
            query.running, query.since = outcome, self._clock()
            query.health = replace(query.health, state="RUNNING")

    def _check_running(self, query: _SupervisedQuery, running: RunningQuery) -> None:
        reason = running.failure()
        if reason is None:
            return
        if self._clock() - query.since > HEALTHY_AFTER:
            query.tries = 0
        _stop(query)
        self._failed(query, reason or "the query ended without a reason")

    def _failed(self, query: _SupervisedQuery, reason: str) -> None:
        settings = query.desired.settings
        wait = min(int(settings[BACKOFF]) * 2 ** min(query.tries, 30), int(settings[BACKOFF_MAX])) / 1000
        query.tries += 1
        query.next_try = self._clock() + wait
        id = query.desired.query.id
        LOG.warning("query %s failed, next try in %.0f s: %s", id, wait, reason, extra={"query": id})
        failures = _limited((*query.health.failures, QueryFailure(self._now(), reason)), int(settings[ERRORS_KEPT]))
        query.health = QueryHealth("ERROR", failures, query.health.restarts + 1)


def _limited(failures: tuple[QueryFailure, ...], limit: int) -> tuple[QueryFailure, ...]:
    """The first failure and the latest ones; `limit` in all, but at least two."""
    return (*failures[:1], *failures[1:][-max(limit - 1, 1) :])


def _cancel_start(query: _SupervisedQuery) -> None:
    """Cancel a start that still waits for a thread."""
    if query.cancellable and query.starting is not None and query.starting.cancel():
        query.starting = None


def _await_start(query: _SupervisedQuery) -> None:
    """Wait until a start in progress has ended, so that what it has started can be stopped."""
    if query.starting is not None:
        outcome = attempt(f"starting {query.desired.query.id}", query.starting.result, query.desired.query.id)
        query.starting, query.running = None, None if isinstance(outcome, Exception) else outcome


def _stop(query: _SupervisedQuery, orderly: bool = True) -> None:
    """Stop a query; errors are logged, not raised."""
    if query.running is not None:
        id = query.desired.query.id
        attempt(f"stopping {id}", query.running.stop if orderly else query.running.abort, id)
        query.running = None
