"""The supervisor over a runner of a few lines and a clock that is turned by hand."""

import threading
import time
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from engine.test_state import QUERY, SOURCE, after
from millstream.engine import supervisor as supervisor_module
from millstream.engine.state import DesiredQuery
from millstream.engine.supervisor import STARTS, CannotRun, QueryHealth, Supervisor
from millstream.model.errors import StatementError
from support.kafka import wait_for
from support.patience import PATIENCE


@dataclass
class FakeRunning:
    why: str | None = None
    finished: bool = False
    stopped: bool = False
    aborted: bool = False

    def failure(self) -> str | None:
        return self.why

    def progress(self) -> Mapping[str, Any]:
        return {}

    def finish(self) -> None:
        self.finished = True

    def stop(self) -> None:
        self.stopped = True

    def abort(self) -> None:
        self.aborted = True


@dataclass
class FakeRunner:
    started: list[FakeRunning] = field(default_factory=list)
    forgotten: list[str] = field(default_factory=list)
    refuse: str = ""
    now: float = 1000.0

    def start(self, desired: DesiredQuery) -> FakeRunning:
        if self.refuse:
            raise CannotRun(self.refuse)
        self.started.append(FakeRunning())
        return self.started[-1]

    def take_over(self, births: Set[str]) -> None:
        """No effect."""

    def forget(self, desired: DesiredQuery) -> None:
        self.forgotten.append(desired.birth)


@pytest.fixture(autouse=True)
def _short_pulse(monkeypatch: pytest.MonkeyPatch) -> None:
    """The supervisor looks at its queries more often than in a server: each test waits for several looks."""
    monkeypatch.setattr(supervisor_module, "PULSE", 0.01)


@pytest.fixture
def runner() -> FakeRunner:
    return FakeRunner()


@pytest.fixture
def supervisor(runner: FakeRunner) -> Iterator[Supervisor]:
    supervisor = Supervisor(runner, clock=lambda: runner.now)
    supervisor.begin()
    yield supervisor
    supervisor.end()


def desired(*more: str) -> dict[str, DesiredQuery]:
    return dict(after(SOURCE, QUERY, *more).desired)


ID = "CSAS_BIG_0"


def state(supervisor: Supervisor) -> str:
    health = supervisor.health(ID)
    return health.state if health else ""


def test_desired_queries_run_and_others_are_stopped_and_forgotten(supervisor: Supervisor, runner: FakeRunner) -> None:
    one = desired()
    supervisor.set_desired(one)
    wait_for(lambda: runner.started, "the start")
    supervisor.stop_others({})
    assert runner.started[0].stopped
    assert runner.forgotten == [one[ID].birth]
    assert supervisor.health(ID) is None


def test_what_the_last_leader_has_not_removed_is_removed(supervisor: Supervisor, runner: FakeRunner) -> None:
    one = desired()
    supervisor.forget(list(one.values()))
    wait_for(lambda: runner.forgotten == [one[ID].birth], "the end of the checkpoint")


def test_a_paused_query_is_stopped_and_keeps_its_checkpoint(supervisor: Supervisor, runner: FakeRunner) -> None:
    one = desired()[ID]
    supervisor.set_desired({ID: one})
    wait_for(lambda: runner.started, "the start")
    paused = replace(desired("PAUSE ALL;")[ID], birth=one.birth)
    supervisor.stop_others({ID: paused})
    supervisor.set_desired({ID: paused})
    wait_for(lambda: state(supervisor) == "PAUSED", "the pause")
    assert runner.started[0].stopped
    assert not runner.forgotten
    supervisor.set_desired({ID: one})
    wait_for(lambda: len(runner.started) == 2, "the resume")


def test_nothing_starts_while_another_server_may_run_it(runner: FakeRunner) -> None:
    allowed, requested = threading.Event(), threading.Event()
    supervisor = Supervisor(runner, lambda: requested.set() or allowed.is_set())
    supervisor.begin()
    supervisor.set_desired(desired())
    assert requested.wait(PATIENCE)
    assert not runner.started
    allowed.set()
    wait_for(lambda: runner.started, "the start")
    assert supervisor.health(ID) == QueryHealth("RUNNING")
    supervisor.end()


def test_a_failed_query_waits_and_starts_again_and_its_first_failure_is_kept(
    supervisor: Supervisor, runner: FakeRunner
) -> None:
    supervisor.set_desired(desired())
    for n in range(12):
        wait_for(lambda n=n: len(runner.started) == n + 1, "a start")  # type: ignore[misc]
        runner.started[n].why = f"failure {n}"
        wait_for(lambda n=n: runner.started[n].stopped and state(supervisor) == "ERROR", "the failure")  # type: ignore[misc]
        runner.now += 1000
    health = supervisor.health(ID)
    assert health is not None
    messages = [f.message for f in health.failures]
    assert (messages[0], messages[-1], len(messages)) == ("failure 0", "failure 11", 10)


def test_a_query_that_cannot_start_is_tried_later(supervisor: Supervisor, runner: FakeRunner) -> None:
    runner.refuse = "waiting for topic x"
    supervisor.set_desired(desired())
    wait_for(lambda: state(supervisor) == "ERROR", "the refusal")
    runner.refuse = ""
    runner.now += 1.5
    wait_for(lambda: state(supervisor) == "RUNNING", "the second try")


def test_a_query_that_has_run_and_cannot_start_any_more_is_tried_less_and_less(
    supervisor: Supervisor, runner: FakeRunner
) -> None:
    def tries() -> int:
        health = supervisor.health(ID)
        return health.restarts if health else 0

    supervisor.set_desired(desired())
    wait_for(lambda: runner.started and state(supervisor) == "RUNNING", "the start")
    runner.now += 3600
    runner.refuse, runner.started[0].why = "waiting for topic x", "topic x was deleted"
    for n, wait in enumerate([1, 2, 4, 8], start=1):
        wait_for(lambda n=n: tries() == n, "a failure")  # type: ignore[misc]
        runner.now += wait - 0.5
        time.sleep(0.05)
        assert tries() == n
        runner.now += 0.5


def test_a_clock_that_is_set_back_delays_no_start(runner: FakeRunner) -> None:
    """The time of a failure is the clock's; how long the query waits is not."""
    clock = [1000.0]
    supervisor = Supervisor(runner, clock=lambda: runner.now, now=lambda: clock[0])
    supervisor.begin()
    runner.refuse = "waiting for topic x"
    supervisor.set_desired(desired())
    wait_for(lambda: state(supervisor) == "ERROR", "the refusal")
    clock[0], runner.refuse = clock[0] - 3600, ""
    runner.now += 1.5
    wait_for(lambda: state(supervisor) == "RUNNING", "the second try")
    health = supervisor.health(ID)
    assert health is not None
    assert health.failures[0].at == 1000.0
    supervisor.end()


def test_abandoning_aborts_all_queries_and_keeps_their_checkpoints(supervisor: Supervisor, runner: FakeRunner) -> None:
    supervisor.set_desired(desired())
    wait_for(lambda: runner.started, "the start")
    supervisor.abandon()
    assert runner.started[0].aborted
    assert not runner.started[0].stopped
    assert not runner.forgotten


def test_a_query_whose_topic_was_replaced_keeps_its_checkpoint(supervisor: Supervisor, runner: FakeRunner) -> None:
    supervisor.set_desired(desired())
    wait_for(lambda: runner.started, "the start")
    runner.started[0].why = "topic T was deleted and created again"
    wait_for(lambda: state(supervisor) == "ERROR", "the failure is noticed")
    assert not runner.forgotten


def test_all_queries_finish_before_the_first_is_waited_for(supervisor: Supervisor, runner: FakeRunner) -> None:
    supervisor.set_desired(desired("CREATE STREAM other AS SELECT id, v FROM s;"))
    wait_for(lambda: len(runner.started) == 2, "the starts")
    supervisor.stop_others({})
    assert all(query.finished and query.stopped and not query.aborted for query in runner.started)


def test_a_stop_that_fails_keeps_no_other_from_stopping(supervisor: Supervisor, runner: FakeRunner) -> None:
    def broken() -> None:
        raise RuntimeError("no")

    supervisor.set_desired(desired("CREATE STREAM other AS SELECT id, v FROM s;"))
    wait_for(lambda: len(runner.started) == 2, "the starts")
    runner.started[0].stop = broken  # type: ignore[method-assign]
    supervisor.stop_others({})
    assert runner.started[1].stopped
    assert supervisor.health(ID) is None


def test_a_start_that_raises_is_a_failure_of_that_query_alone(supervisor: Supervisor, runner: FakeRunner) -> None:
    start, bad = runner.start, desired()[ID].birth

    def some(query: DesiredQuery) -> FakeRunning:
        if query.birth == bad:
            raise RuntimeError("a setting that nobody checked")
        return start(query)

    runner.start = some  # type: ignore[method-assign]
    queries = desired("CREATE STREAM other AS SELECT id, v FROM s;")
    bad = queries[ID].birth
    supervisor.set_desired(queries)
    wait_for(lambda: state(supervisor) == "ERROR", "the failure")
    wait_for(lambda: len(runner.started) == 1, "the other query runs")


def test_queries_start_side_by_side(supervisor: Supervisor, runner: FakeRunner) -> None:
    both, start = threading.Barrier(2, timeout=30), runner.start

    def together(query: DesiredQuery) -> FakeRunning:
        both.wait()
        return start(query)

    runner.start = together  # type: ignore[method-assign]
    supervisor.set_desired(desired("CREATE STREAM other AS SELECT id, v FROM s;"))
    wait_for(lambda: len(runner.started) == 2, "two starts at once")


def test_a_start_that_waits_for_its_turn_is_cancelled_by_a_stop(supervisor: Supervisor, runner: FakeRunner) -> None:
    turns, start = threading.Semaphore(0), runner.start

    def in_turn(query: DesiredQuery) -> FakeRunning:
        assert turns.acquire(timeout=PATIENCE)
        return start(query)

    runner.start = in_turn  # type: ignore[method-assign]
    many = [f"CREATE STREAM other{i} AS SELECT id, v FROM s;" for i in range(2 * STARTS)]
    supervisor.set_desired(desired(*many))
    wait_for(lambda: len(supervisor._queries) > STARTS, "the starts")
    stopping = threading.Thread(target=supervisor.abandon)
    stopping.start()
    queries = supervisor._queries.values()
    wait_for(lambda: sum(query.starting is not None for query in queries) == STARTS, "the others to be cancelled")
    turns.release(STARTS)
    stopping.join(PATIENCE)
    assert not stopping.is_alive()
    assert [query.aborted for query in runner.started] == [True] * STARTS


def test_a_query_is_stopped_while_something_is_done_with_its_checkpoint_and_starts_again(
    supervisor: Supervisor, runner: FakeRunner, caplog: pytest.LogCaptureFixture
) -> None:
    supervisor.set_desired(desired())
    wait_for(lambda: runner.started, "the start")
    assert supervisor.while_stopped(ID, lambda one: (one.query.id, runner.started[0].stopped)) == (ID, True)
    wait_for(lambda: len(runner.started) == 2, "the next start")
    with pytest.raises(OSError, match="full"):
        supervisor.while_stopped(ID, full)
    wait_for(lambda: len(runner.started) == 3, "the start after the failure")
    assert "the checkpoint of" in caplog.text
    caplog.clear()
    with pytest.raises(StatementError, match="it has not run"):
        supervisor.while_stopped(ID, refused)
    assert caplog.text == ""  # the statement is answered with it


def test_a_paused_query_stays_paused_when_something_was_done_with_its_checkpoint(
    supervisor: Supervisor, runner: FakeRunner
) -> None:
    supervisor.set_desired(desired("PAUSE ALL;"))
    wait_for(lambda: state(supervisor) == "PAUSED", "the pause")
    assert supervisor.while_stopped(ID, lambda one: one.query.id) == ID
    supervisor.stop_others({})
    assert not runner.started
    with pytest.raises(StatementError, match="no longer runs query"):
        supervisor.while_stopped(ID, full)


def refused(_: DesiredQuery) -> None:
    raise StatementError("it has not run")


def full(_: DesiredQuery) -> None:
    raise OSError("the disk is full")
