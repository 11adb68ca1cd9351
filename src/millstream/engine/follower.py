"""The reader of the command log: each command is applied to the state and, on the leader, executed in Kafka and Spark.

    command topic:  0 CREATE STREAM s …   1 CREATE STREAM big AS SELECT …   2 PAUSE CSAS_BIG_1
    state after 1:  sources S, BIG; desired queries CSAS_BIG_1 (running)
    executed:       the topic BIG is created, the query passed to the supervisor, position 2 committed with the lease

The same code brings a server up to date at its start, and applies new commands. A server that does not lead keeps what
the leader has to do in Kafka and with checkpoints, and does it if it becomes the leader before the previous leader has
done it. Until a leader has deleted a topic, no statement uses it (`await_deletions`): a topic that is created after its
deletion was logged is another one, which a new leader must not delete. A deletion that Kafka does not answer is tried
again while the next commands follow (topic_deletions.py); what Kafka refuses is reported.
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

from confluent_kafka import KafkaException

from millstream.catalog.catalog import Catalog
from millstream.engine import topics
from millstream.engine.commands import Command
from millstream.engine.kafka import KafkaClient
from millstream.engine.lease import Lease
from millstream.engine.log import OUTAGES, CommandLog, LogEntry, LogReader
from millstream.engine.state import (
    AppliedCommand,
    CommandStatus,
    DesiredQuery,
    EngineState,
    applied,
    with_status,
)
from millstream.engine.supervisor import Supervisor
from millstream.engine.topic_deletions import TopicDeletions
from millstream.model.errors import StatementError
from millstream.model.settings import shortened
from millstream.plan.steps import CreateTopic, DeleteTopic
from millstream.services.kafka_errors import UNANSWERED, reason
from millstream.services.loop import Loop, attempt

LOG = logging.getLogger(__name__)
# Seconds between two looks for new commands, or for what is waited for.
PULSE = 0.1
# The number of commands whose results are kept, for the statements that wait for them.
RESULTS_KEPT = 1000
# With more commands than these kept for a new leader, a server asks which of them the leader has executed.
PENDING_KEPT = 1000
# /healthcheck shows at most this many skipped commands, and this many characters of each reason.
SKIPPED_KEPT, MESSAGE = 100, 500
# At a start Kafka may be slow or still starting; after this many seconds of failure the server reports it and ends.
START_PATIENCE = 30.0


class LogUnreadable(Exception):
    """The command log cannot be read at a server's start; the message says why."""


@dataclass(frozen=True, slots=True)
class PendingSteps:
    """Steps of the command at `offset` that concern Kafka, and the queries that it has ended, whose checkpoints are to
    be removed; no server is known to have done so."""

    offset: int
    steps: Sequence[CreateTopic | DeleteTopic]
    ended: Sequence[DesiredQuery]


class Follower:
    """Reads the command log on a thread of its own; `state` is the result of the commands so far."""

    def __init__(
        self,
        log: CommandLog,
        lease: Lease,
        kafka: KafkaClient,
        supervisor: Supervisor,
        server: str,
        catalog: Catalog,
        on_state: Callable[[EngineState], None],
    ) -> None:
        """`catalog` is the catalog before the first command, `server` the name of this server.

        `on_state` is called with every new state, from the first one that is up to date.
        """
        self._on_state = on_state
        self._log, self._lease, self._kafka, self._supervisor, self._server = log, lease, kafka, supervisor, server
        self._state = EngineState(catalog)
        self._skipped: deque[str] = deque([log.missing] if log.missing else [], maxlen=SKIPPED_KEPT)
        self._changed = threading.Condition()
        self._results: deque[tuple[int, AppliedCommand]] = deque(maxlen=RESULTS_KEPT)
        self._pending: deque[PendingSteps] = deque()
        # The topics that the leader is to delete, each with the offset of the last command that says so.
        self._deletions: dict[str, int] = {}
        # While this server does not lead: the commands that have created the queries, by birth.
        self._born: dict[str, int] = {}
        self._term = 0
        self._end: int | None = None
        self._ready = threading.Event()
        self._unanswered = TopicDeletions(kafka.delete, self._is_used_again, self._skip)
        self.loop = Loop("command log", self._step, self._reader, outages=OUTAGES)

    @property
    def loops(self) -> Sequence[Loop[Any]]:
        """The loops that read commands, and that delete topics."""
        return [self.loop, self._unanswered.loop]

    @property
    def state(self) -> EngineState:
        """The state after the commands read so far."""
        return self._state

    @property
    def skipped(self) -> Sequence[str]:
        """Why commands were skipped that could not be read, planned or executed; the latest last."""
        return tuple(self._skipped)

    def start(self) -> None:
        """Read the existing commands, then continue in the background. Raises LogUnreadable if that fails for long."""
        self._unanswered.loop.start()
        self.loop.start()
        while not self._ready.wait(PULSE):
            health = self.loop.health()
            if health.error and health.seconds > START_PATIENCE:
                self.close()
                raise LogUnreadable(f"the command topic {self._log.topic} cannot be read: {health.error}")

    def wait(self, position: int, seconds: float) -> bool:
        """Wait up to `seconds` for the command before `position` to be applied; True if it was."""
        with self._changed:
            return self._changed.wait_for(lambda: self._state.position >= position, seconds)

    def result(self, offset: int) -> AppliedCommand | None:
        """The result of the command at `offset`, if it was applied recently."""
        with self._changed:
            return next((result for at, result in self._results if at == offset), None)

    def await_deletions(self, topics: Iterable[str], seconds: float) -> frozenset[str]:
        """Wait up to `seconds` until the leader has carried out the logged deletions of these topics; returns those for
        which it has not."""
        deadline = time.monotonic() + seconds
        while undone := self._undeleted(topics):
            if time.monotonic() > deadline:
                return undone
            time.sleep(PULSE)
        return frozenset()

    def _undeleted(self, topics: Iterable[str]) -> frozenset[str]:
        """Those of the topics that are to be deleted, and that no leader is known to have deleted."""
        logged = {topic: offset for topic, offset in self._deletions.items() if topic in topics}
        executed = self._executed() if logged else 0
        return frozenset(topic for topic, offset in logged.items() if offset >= executed)

    def _executed(self) -> int:
        """The first command that no leader has executed yet; 0 if Kafka does not say."""
        try:
            return self._lease.executed()
        except KafkaException as failure:
            LOG.warning("the leader's position is not known: %s", reason(failure))
            return 0

    def close(self) -> None:
        """Stop reading."""
        self.loop.stop()
        self._unanswered.loop.stop()

    def _reader(self) -> AbstractContextManager[LogReader]:
        return self._log.reading(self._state.position)

    def _step(self, reader: LogReader) -> None:
        if self._ready.is_set():
            self._follow_lease()
            self._commit()
        elif reader.position >= self._end_at_start():
            self._ready.set()
            self._on_state(self._state)
        entry = reader.next(PULSE)
        if entry is not None and entry.offset >= self._state.position:
            self._apply(entry)
            self._commit()

    def _end_at_start(self) -> int:
        if self._end is None:
            self._end = self._log.end()
        return self._end

    def _apply(self, entry: LogEntry) -> None:
        if entry.command is None:
            self._skip(entry.offset, entry.reason)
            self._publish(entry.offset, AppliedCommand(replace(self._state, position=entry.offset + 1), None))
            return
        result = self._applied(entry.offset, entry.command)
        is_own = entry.command.origin == self._server
        self._publish(entry.offset, self._carried_out(result, entry.offset, is_own))

    def _applied(self, offset: int, command: Command) -> AppliedCommand:
        result = attempt(f"command {offset}", lambda: applied(self._state, offset, command))
        if isinstance(result, AppliedCommand):
            if result.failure is not None:
                self._skip(offset, str(result.failure))
            return result
        status = CommandStatus("ERROR", f"internal error: {shortened(repr(result), MESSAGE)}")
        self._skip(offset, status.message)
        after = with_status(replace(self._state, position=offset + 1), command.path, status)
        return AppliedCommand(after, None, StatementError(status.message))

    def _skip(self, offset: int, reason: str) -> None:
        """Record why the command at `offset` is not, or only partly, executed; the commands after it are executed."""
        LOG.error("command %d is skipped: %s", offset, reason)
        self._skipped.append(f"command {offset}: {shortened(reason, MESSAGE)}")

    def _carried_out(self, result: AppliedCommand, offset: int, is_own: bool) -> AppliedCommand:
        """Execute a command: all of it on the leader, else only the creation of a topic that a client of ours waits
        for."""
        if not self._term:
            self._keep(offset, result)
            now = [s for s in result.topics if isinstance(s, CreateTopic)] if is_own and self._ready.is_set() else []
            return self._with_topics(result, now)
        attempt("stopping queries", lambda: self._supervisor.stop_others(result.state.desired))
        self._deletions = {**self._unanswered.offsets, **_deletions(result, offset)}
        result = self._with_topics(result, result.topics)
        self._deletions = dict(self._unanswered.offsets)
        self._supervisor.set_desired(result.state.desired)
        return result

    def _commit(self) -> None:
        """On the leader: commit up to which command, in their order, all were executed completely."""
        if self._term:
            self._lease.commit(min(self._unanswered.offsets.values(), default=self._state.position))

    def _keep(self, offset: int, result: AppliedCommand) -> None:
        """Keep what the leader has to do for a command."""
        desired = result.state.desired
        births = {query.birth for query in desired.values()}
        known = {query.birth for query in self._state.desired.values()}
        self._born = {b: at for b, at in self._born.items() if b in births} | dict.fromkeys(births - known, offset)
        ended = [query for query in self._state.desired.values() if query.birth not in births]
        if result.topics or ended:
            self._pending.append(PendingSteps(offset, result.topics, ended))
        if len(self._pending) > PENDING_KEPT:
            executed = self._executed()
            self._pending = deque(pending for pending in self._pending if pending.offset >= executed)
            self._deletions = {topic: at for topic, at in self._deletions.items() if at >= executed}
        self._deletions = {**self._deletions, **_deletions(result, offset)}

    def _with_topics(self, result: AppliedCommand, steps: Sequence[CreateTopic | DeleteTopic]) -> AppliedCommand:
        for step in steps:
            offset = result.state.position - 1
            reason = self._step_failure(step, offset)
            if reason and result.outcome is not None:
                failure = f"{step.sentence}: {reason}"
                self._skip(offset, failure)
                status = CommandStatus("ERROR", failure, result.outcome.query_id)
                return AppliedCommand(with_status(result.state, result.outcome.path, status), result.outcome)
        return result

    def _step_failure(self, step: CreateTopic | DeleteTopic, offset: int) -> str:
        """Execute a step of the command at `offset`; why it failed, "" if it succeeded, or if it is a deletion that is
        not answered and will be tried again. A step that fails must not stop the commands after it."""
        failure = attempt(step.sentence, lambda: topics.carry_out(step, self._kafka), refusals=(KafkaException,))
        if isinstance(failure, KafkaException):
            if isinstance(step, DeleteTopic) and failure.args[0].code() in UNANSWERED:
                LOG.warning("%s: %s; trying again", step.sentence, reason(failure))
                self._unanswered.add(step.name, offset)
                return ""
            return reason(failure)
        return f"internal error: {failure!r}" if failure is not None else ""

    def _publish(self, offset: int, result: AppliedCommand) -> None:
        with self._changed:
            self._state = result.state
            self._results.append((offset, result))
            self._changed.notify_all()
        if self._ready.is_set():
            self._on_state(result.state)

    def _follow_lease(self) -> None:
        term = self._lease.term
        if self._term and term != self._term:
            self._term = 0
            left = sorted(self._unanswered.take().items(), key=lambda deletion: deletion[1])
            self._pending.extend(PendingSteps(offset, [DeleteTopic(topic)], []) for topic, offset in left)
            self._supervisor.abandon()
        if term and not self._term:
            self._take_over(term)

    def _take_over(self, term: int) -> None:
        """Do what the last leader left undone, and run the queries."""
        since = self._lease.carried_out()
        desired = self._state.desired
        self._supervisor.take_over({q.birth for q in desired.values() if self._born.get(q.birth, 0) < since})
        undone = [pending for pending in self._pending if pending.offset >= since]
        for pending in undone:
            self._carry_out_pending(pending)
        self._supervisor.forget([query for pending in undone for query in pending.ended])
        self._pending.clear()
        self._deletions, self._born = dict(self._unanswered.offsets), {}
        self._supervisor.set_desired(desired)
        self._term = term

    def _carry_out_pending(self, pending: PendingSteps) -> None:
        for step in pending.steps:
            if isinstance(step, DeleteTopic) and step.name in self._topics_used():
                # The last leader has deleted the topic, but was killed before it committed that. A later command has
                # created the topic again, which must stay.
                continue
            if reason := self._step_failure(step, pending.offset):
                self._skip(pending.offset, f"{step.sentence}: {reason}")

    def _is_used_again(self, topic: str, offset: int) -> bool:
        """True if a command after the one at `offset`, which deletes the topic, has created it or reads it."""
        return self._state.position > offset and topic in self._topics_used()

    def _topics_used(self) -> frozenset[str]:
        """The topics that statements have created, and those that sources read."""
        catalog = self._state.catalog
        return catalog.topics | {source.topic for source in catalog.sources.values()}


def _deletions(result: AppliedCommand, offset: int) -> dict[str, int]:
    """The topics that the command at `offset` deletes, each with the offset."""
    return {step.name: offset for step in result.topics if isinstance(step, DeleteTopic)}
