"""The supervisor over a runner of a few lines and a clock that is turned by hand."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from engine.test_state import MADE, SOURCE, after
from millstream.engine.state import DesiredQuery
from millstream.engine.supervisor import CannotRun, Supervisor
from support.kafka import wait_for


@dataclass
class FakeRunning:
    why: str | None = None
    stopped: bool = False

    def failure(self) -> str | None:
        return self.why

    def progress(self) -> Mapping[str, Any]:
        return {}

    def stop(self) -> None:
        self.stopped = True


@dataclass
class FakeRunner:
    started: list[FakeRunning] = field(default_factory=list)
    forgotten: list[str] = field(default_factory=list)
    refuse: str = ""
    now: float = 1000.0

    def start(self, wanted: DesiredQuery) -> FakeRunning:
        if self.refuse:
            raise CannotRun(self.refuse)
        self.started.append(FakeRunning())
        return self.started[-1]

    def forget(self, wanted: DesiredQuery) -> None:
        self.forgotten.append(wanted.birth)


@pytest.fixture
def runner() -> FakeRunner:
    return FakeRunner()


@pytest.fixture
def supervisor(runner: FakeRunner) -> Iterator[Supervisor]:
    made = Supervisor(runner, lambda: runner.now)
    made.begin()
    yield made
    made.end()


def wanted(*more: str) -> dict[str, DesiredQuery]:
    return dict(after(SOURCE, MADE, *more).wanted)


ID = "CSAS_BIG_0"


def state(supervisor: Supervisor) -> str:
    health = supervisor.health(ID)
    return health.state if health else ""


def test_what_is_wanted_runs_and_what_is_not_is_stopped_and_forgotten(
    supervisor: Supervisor, runner: FakeRunner
) -> None:
    one = wanted()
    supervisor.want(one)
    wait_for(lambda: runner.started, "the start")
    supervisor.stop_others({})
    assert runner.started[0].stopped
    assert runner.forgotten == [one[ID].birth]
    assert supervisor.health(ID) is None


def test_a_paused_query_is_stopped_and_keeps_its_checkpoint(supervisor: Supervisor, runner: FakeRunner) -> None:
    one = wanted()[ID]
    supervisor.want({ID: one})
    wait_for(lambda: runner.started, "the start")
    paused = replace(wanted("PAUSE ALL;")[ID], birth=one.birth)
    supervisor.stop_others({ID: paused})
    supervisor.want({ID: paused})
    wait_for(lambda: state(supervisor) == "PAUSED", "the pause")
    assert runner.started[0].stopped
    assert not runner.forgotten
    supervisor.want({ID: one})
    wait_for(lambda: len(runner.started) == 2, "the resume")


def test_a_failed_query_waits_and_starts_again_and_its_first_failure_is_kept(
    supervisor: Supervisor, runner: FakeRunner
) -> None:
    supervisor.want(wanted())
    for n in range(12):
        wait_for(lambda n=n: len(runner.started) == n + 1, "a start")  # type: ignore[misc]
        runner.started[n].why = f"failure {n}"
        wait_for(lambda n=n: runner.started[n].stopped and state(supervisor) == "ERROR", "the failure")  # type: ignore[misc]
        runner.now += 1000
    health = supervisor.health(ID)
    assert health is not None
    messages = [t.message for t in health.troubles]
    assert (messages[0], messages[-1], len(messages)) == ("failure 0", "failure 11", 10)


def test_a_query_that_cannot_start_is_tried_later(supervisor: Supervisor, runner: FakeRunner) -> None:
    runner.refuse = "waiting for topic x"
    supervisor.want(wanted())
    wait_for(lambda: state(supervisor) == "ERROR", "the refusal")
    runner.refuse = ""
    runner.now += 1.5
    wait_for(lambda: state(supervisor) == "RUNNING", "the second try")


def test_halt_stops_all_and_forgets_nothing(supervisor: Supervisor, runner: FakeRunner) -> None:
    supervisor.want(wanted())
    wait_for(lambda: runner.started, "the start")
    supervisor.halt()
    assert runner.started[0].stopped
    assert not runner.forgotten


def test_a_query_whose_place_is_gone_begins_anew(supervisor: Supervisor, runner: FakeRunner) -> None:
    one = wanted()
    supervisor.want(one)
    wait_for(lambda: runner.started, "the start")
    runner.started[0].why = "org.apache.kafka.clients.consumer.OffsetOutOfRangeException: Fetch position …"
    wait_for(lambda: runner.forgotten, "the checkpoint is removed")
    runner.now += 2
    wait_for(lambda: len(runner.started) == 2, "the new start")
