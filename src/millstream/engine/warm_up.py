"""The warm-up of a new server, in the background: the first queries should not wait for the JVM to load their code.

    Spark has started       push queries are evaluated for one record
    the server answers      a query without state and one with, over the command topic, are started and ended; not if
                            there are queries already, whose own starts do the same

It writes nothing to Kafka, and removes its checkpoints. If it fails, that is logged, and the first queries are slower.
"""

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from millstream.plan.steps import StartQuery
from millstream.services.loop import attempt
from millstream.spark import figures, warm_up
from millstream.spark.bounded import Bounded
from millstream.spark.realtime import RealTimeQueries, StreamingJob
from millstream.spark.session import Session


class WarmUp:
    """A warm-up on a thread of its own, which ends with its last step; `end` lets the step that runs finish."""

    def __init__(self, session: Session, bounded: Bounded, realtime: RealTimeQueries, scope: str) -> None:
        """`scope`: what the names of the engine's queries begin with."""
        self._session, self._bounded, self._realtime = session, bounded, realtime
        self._id = f"{scope}{warm_up.ID}"
        self._ending = threading.Event()
        self._steps = ThreadPoolExecutor(1, thread_name_prefix="warm-up")

    def evaluate_pushes(self) -> None:
        """Evaluate push queries; does not wait."""
        self._submit("the warm-up of push queries", self._evaluate_pushes)

    def start_queries(
        self, topic: str, settings: Mapping[str, str], folder: Path, should_continue: Callable[[], bool]
    ) -> None:
        """Start and end persistent queries over a topic, with checkpoints in `folder`; does not wait.

        This is the last step. `should_continue` is asked before each query.
        """
        job = StreamingJob(self._id, "", settings)
        self._submit("the warm-up of queries", lambda: self._start_queries(topic, job, folder, should_continue))
        self._steps.shutdown(wait=False)

    def end(self) -> None:
        """Begin no further step, and wait for the one that runs; may be called more than once."""
        self._ending.set()
        self._steps.shutdown()

    def _submit(self, name: str, step: Callable[[], object]) -> None:
        self._steps.submit(lambda: None if self._ending.is_set() else attempt(name, step))

    def _evaluate_pushes(self) -> None:
        warm_up.evaluate_pushes(warm_up.plans("warm-up"), self._bounded, self._id)
        figures.forget(self._session, self._id)

    def _start_queries(self, topic: str, job: StreamingJob, folder: Path, should_continue: Callable[[], bool]) -> None:
        for step in warm_up.plans(topic).writes:
            if should_continue() and not self._ending.is_set():
                self._run(step, job, folder)

    def _run(self, step: StartQuery, job: StreamingJob, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix="warm-up-", dir=folder, ignore_cleanup_errors=True) as checkpoint:
            self._realtime.write(step.plan, replace(job, checkpoint=checkpoint)).abort()
