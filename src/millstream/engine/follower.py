"""The reader of the command log: what it says is understood, remembered and, under the lease, carried out."""

import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from confluent_kafka import KafkaException

from millstream.catalog.catalog import Catalog
from millstream.engine import topics
from millstream.engine.commands import Command
from millstream.engine.kafka import KafkaClient, reason
from millstream.engine.lease import Lease
from millstream.engine.log import CommandLog, LogEntry, LogReader
from millstream.engine.state import AppliedCommand, CommandStatus, EngineState, applied, with_status
from millstream.engine.supervisor import Supervisor
from millstream.model.errors import StatementError
from millstream.plan.steps import CreateTopic, DeleteTopic

LOG = logging.getLogger(__name__)
PULSE = 0.1
REMEMBERED = 1000
Heard = Callable[[EngineState], None]


@dataclass(frozen=True, slots=True)
class PendingSteps:
    """Steps of the command at `offset` that concern Kafka, not known to be carried out by anyone."""

    offset: int
    steps: Sequence[CreateTopic | DeleteTopic]


class Follower:
    """Follows the log; the same code brings a server up to date and carries out what was said a moment ago."""

    def __init__(
        self,
        log: CommandLog,
        lease: Lease,
        kafka: KafkaClient,
        supervisor: Supervisor,
        server: str,
        catalog: Catalog,
        heard: Heard,
    ) -> None:
        """`catalog` is what there is before the first command.

        `heard` is called with every new state, from the first that is up to date.
        """
        self._heard = heard
        self._log, self._lease, self._kafka, self._supervisor, self._server = log, lease, kafka, supervisor, server
        self._state = EngineState(catalog)
        self._moved = threading.Condition()
        self._results: deque[tuple[int, AppliedCommand]] = deque(maxlen=REMEMBERED)
        self._owed: deque[PendingSteps] = deque()
        self._leading = False
        self._closing = threading.Event()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, name="command log", daemon=True)

    @property
    def state(self) -> EngineState:
        """What the log says so far."""
        return self._state

    @property
    def leading(self) -> bool:
        """Whether this server runs the queries."""
        return self._leading

    @property
    def alive(self) -> bool:
        """Whether the log is being read."""
        return self._thread.is_alive()

    def start(self) -> None:
        """Read what there is, and go on reading in the background."""
        self._thread.start()
        self._ready.wait()

    def wait(self, position: int, seconds: float) -> bool:
        """Whether the command before `position` was applied, waiting for it no longer than that."""
        with self._moved:
            return self._moved.wait_for(lambda: self._state.position >= position, seconds)

    def result(self, offset: int) -> AppliedCommand | None:
        """What became of the command at `offset`, if it was applied lately."""
        with self._moved:
            return next((done for at, done in self._results if at == offset), None)

    def close(self) -> None:
        """Stop reading."""
        self._closing.set()
        self._thread.join()

    def _run(self) -> None:
        end = self._log.end()
        with self._log.reading() as reading:
            while self._state.position < end and not self._closing.is_set():
                self._take(reading, PULSE)
            self._ready.set()
            self._heard(self._state)
            while not self._closing.is_set():
                self._mind_lease()
                self._take(reading, PULSE)

    def _take(self, reading: LogReader, patience: float) -> None:
        entry = reading.next(patience)
        if entry is not None and entry.offset >= self._state.position:
            self._apply(entry)

    def _apply(self, entry: LogEntry) -> None:
        if entry.command is None:
            LOG.error("command %d is left out: %s", entry.offset, entry.reason)
            self._publish(entry.offset, AppliedCommand(_after(self._state, entry), None))
            return
        done = self._understood(entry.offset, entry.command)
        mine = entry.command.origin == self._server
        self._publish(entry.offset, self._carried_out(done, entry.offset, mine))

    def _understood(self, offset: int, command: Command) -> AppliedCommand:
        try:
            return applied(self._state, offset, command)
        except Exception as failure:
            LOG.exception("command %d (%s) is left out", offset, command.text)
            status = CommandStatus("ERROR", f"internal error: {failure!r}")
            after = with_status(replace(self._state, position=offset + 1), command.path, status)
            return AppliedCommand(after, None, StatementError(status.message))

    def _carried_out(self, done: AppliedCommand, offset: int, mine: bool) -> AppliedCommand:
        """Make the world agree: under the lease wholly; else later, but a topic that our caller needs now."""
        if not self._leading:
            self._owed.append(PendingSteps(offset, done.topics))
            now = [s for s in done.topics if isinstance(s, CreateTopic)] if mine and self._ready.is_set() else []
            return self._with_topics(done, now)
        try:
            self._supervisor.stop_others(done.state.wanted)
        except Exception:
            LOG.exception("a query did not stop as it should")
        done = self._with_topics(done, done.topics)
        self._supervisor.want(done.state.wanted)
        self._lease.commit(offset + 1)
        return done

    def _with_topics(self, done: AppliedCommand, steps: Sequence[CreateTopic | DeleteTopic]) -> AppliedCommand:
        try:
            for step in steps:
                topics.carry_out(step, self._kafka)
        except KafkaException as failure:
            assert done.outcome is not None
            LOG.error("%s: %s", done.outcome.path, reason(failure))
            status = CommandStatus("ERROR", reason(failure), done.outcome.query_id)
            return AppliedCommand(with_status(done.state, done.outcome.path, status), done.outcome)
        return done

    def _publish(self, offset: int, done: AppliedCommand) -> None:
        with self._moved:
            self._state = done.state
            self._results.append((offset, done))
            self._moved.notify_all()
        if self._ready.is_set():
            self._heard(done.state)

    def _mind_lease(self) -> None:
        if self._lease.held and not self._leading:
            try:
                self._take_over()
            except KafkaException as failure:
                LOG.warning("cannot take over yet: %s", reason(failure))
        elif self._leading and not self._lease.held:
            self._leading = False
            self._supervisor.halt()

    def _take_over(self) -> None:
        """Carry out what the last holder left undone, and run the queries."""
        since = self._lease.carried_out()
        for owed in self._owed:
            if owed.offset >= since:
                self._carry_out_late(owed)
        self._owed.clear()
        self._supervisor.want(self._state.wanted)
        self._lease.commit(self._state.position)
        self._leading = True

    def _carry_out_late(self, owed: PendingSteps) -> None:
        for step in owed.steps:
            try:
                topics.carry_out(step, self._kafka)
            except KafkaException as failure:
                LOG.error("%s: %s", step.sentence, reason(failure))


def _after(state: EngineState, entry: LogEntry) -> EngineState:
    return replace(state, position=entry.offset + 1)
