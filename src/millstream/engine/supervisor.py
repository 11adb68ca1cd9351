"""Keeps the wanted queries running: starts them, restarts those that fail, remembers why they failed first."""

import logging
import queue
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from millstream.engine.state import DesiredQuery

LOG = logging.getLogger(__name__)
# A query that ran this long is well: the next failure is a new one, and is tried again soon.
WELL_AFTER = 60.0
PULSE = 0.5
PLACE_LOST = "OffsetOutOfRange"
BACKOFF = "ksql.query.retry.backoff.initial.ms"
BACKOFF_MAX = "ksql.query.retry.backoff.max.ms"
ERRORS_KEPT = "ksql.query.error.max.queue.size"


class RunningQuery(Protocol):
    """A query that was started."""

    def failure(self) -> str | None:
        """Why it ended, "" where it ended without a reason, None while it runs."""
        ...

    def progress(self) -> Mapping[str, Any]:
        """Spark's report of the last batch, and `counts` of what was read and written since the start."""
        ...

    def stop(self) -> None:
        """End it; its checkpoint stays."""
        ...


class QueryRunner(Protocol):
    """Starts queries."""

    def start(self, wanted: DesiredQuery) -> RunningQuery:
        """Start a query from its checkpoint. Raises CannotRun."""
        ...

    def forget(self, wanted: DesiredQuery) -> None:
        """Remove the checkpoint of a query that is no longer wanted, or that leads nowhere."""
        ...


class CannotRun(Exception):
    """A query that cannot be started now, and why."""


@dataclass(frozen=True, slots=True)
class QueryFailure:
    """A failure of a query, when it was."""

    at: float
    message: str


@dataclass(frozen=True, slots=True)
class QueryHealth:
    """How a query is: RUNNING, PAUSED, or ERROR while it waits for its next try.

    `troubles` are its first failure, then the latest ones.
    """

    state: str
    troubles: tuple[QueryFailure, ...] = ()
    restarts: int = 0


@dataclass(slots=True)
class _SupervisedQuery:
    """A wanted query in the supervisor's hands."""

    wanted: DesiredQuery
    running: RunningQuery | None = None
    since: float = 0.0
    tries: int = 0
    next_try: float = 0.0
    health: QueryHealth = field(default_factory=lambda: QueryHealth("RUNNING"))


class Supervisor:
    """Runs what is wanted. One thread does everything; others ask it."""

    def __init__(self, runner: QueryRunner, clock: Callable[[], float] = time.time) -> None:
        self._runner, self._clock = runner, clock
        self._jobs: dict[str, _SupervisedQuery] = {}
        self._asked: queue.SimpleQueue[tuple[Callable[[], None], Future[None]] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="supervisor", daemon=True)

    def begin(self) -> None:
        """Start the thread."""
        self._thread.start()

    def end(self) -> None:
        """Stop all queries and the thread; checkpoints stay."""
        self.halt()
        self._asked.put(None)
        self._thread.join()

    def stop_others(self, wanted: Mapping[str, DesiredQuery]) -> None:
        """Stop the queries that `wanted` does not have, or has otherwise, and wait until they have stopped."""
        self._ask(lambda: self._stop_others(wanted)).result()

    def want(self, wanted: Mapping[str, DesiredQuery]) -> None:
        """From now on run these, and no others; does not wait until they run."""
        self._ask(lambda: self._want(wanted))

    def halt(self) -> None:
        """Stop all queries, to be run by another server or later; their checkpoints stay."""
        self._ask(self._halt).result()

    def health(self, id: str) -> QueryHealth | None:
        """How a query is, None where this server does not run it."""
        job = self._jobs.get(id)
        return job.health if job else None

    def progress(self, id: str) -> Mapping[str, Any]:
        """Spark's last report of a query."""
        job = self._jobs.get(id)
        running = job.running if job else None
        return running.progress() if running else {}

    def _ask(self, what: Callable[[], None]) -> Future[None]:
        done: Future[None] = Future()
        self._asked.put((what, done))
        return done

    def _run(self) -> None:
        while True:
            try:
                asked = self._asked.get(timeout=PULSE)
            except queue.Empty:
                self._mind()
                continue
            if asked is None:
                return
            _do(*asked)
            self._mind()

    def _want(self, wanted: Mapping[str, DesiredQuery]) -> None:
        self._stop_others(wanted)
        for id, one in wanted.items():
            if id not in self._jobs:
                self._jobs[id] = _SupervisedQuery(one, health=QueryHealth("RUNNING" if one.running else "PAUSED"))

    def _stop_others(self, wanted: Mapping[str, DesiredQuery]) -> None:
        for id, job in list(self._jobs.items()):
            now = wanted.get(id)
            if now == job.wanted:
                continue
            _stop(job)
            del self._jobs[id]
            if now is None or now.birth != job.wanted.birth:
                self._runner.forget(job.wanted)

    def _halt(self) -> None:
        for job in self._jobs.values():
            _stop(job)
        self._jobs.clear()

    def _mind(self) -> None:
        """Look after every query: start what should run and does not, notice what has ended."""
        for job in list(self._jobs.values()):
            if not job.wanted.running:
                continue
            if job.running is not None:
                self._notice(job, job.running)
            elif self._clock() >= job.next_try:
                self._start(job)
            if not self._asked.empty():
                return

    def _notice(self, job: _SupervisedQuery, running: RunningQuery) -> None:
        why = running.failure()
        if why is None:
            return
        _stop(job)
        if PLACE_LOST in why:
            # The topic was made anew, or its records expired while the query was halted: read what there is.
            self._runner.forget(job.wanted)
        self._failed(job, why or "the query ended without saying why")

    def _start(self, job: _SupervisedQuery) -> None:
        try:
            job.running = self._runner.start(job.wanted)
        except CannotRun as failure:
            self._failed(job, str(failure))
            return
        except Exception as failure:
            LOG.exception("query %s", job.wanted.query.id)
            self._failed(job, f"internal error: {failure!r}")
            return
        job.since = self._clock()
        job.health = replace(job.health, state="RUNNING")

    def _failed(self, job: _SupervisedQuery, why: str) -> None:
        now, settings = self._clock(), job.wanted.settings
        if job.since and now - job.since > WELL_AFTER:
            job.tries = 0
        wait = min(int(settings[BACKOFF]) * 2 ** min(job.tries, 30), int(settings[BACKOFF_MAX])) / 1000
        job.tries += 1
        job.next_try = now + wait
        LOG.warning("query %s failed, next try in %.0f s: %s", job.wanted.query.id, wait, why)
        kept = _kept(job.health.troubles, QueryFailure(now, why), int(settings[ERRORS_KEPT]))
        job.health = QueryHealth("ERROR", kept, job.health.restarts + 1)


def _kept(before: tuple[QueryFailure, ...], trouble: QueryFailure, limit: int) -> tuple[QueryFailure, ...]:
    """The first trouble always, then the latest ones."""
    rest = (*before[1:], trouble) if before else ()
    return (*(before[:1] or (trouble,)), *rest[-max(limit - 1, 1) :])


def _stop(job: _SupervisedQuery) -> None:
    if job.running is not None:
        job.running.stop()
        job.running = None


def _do(what: Callable[[], None], done: "Future[None]") -> None:
    try:
        what()
    except BaseException as failure:
        done.set_exception(failure)
        LOG.exception("the supervisor could not do what it was asked")
    else:
        done.set_result(None)
