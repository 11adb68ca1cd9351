"""A service whose process ends by itself is started again, and each end and start is reported to the user."""

import signal
import threading
from pathlib import Path

import pytest

from millstream.services import restarts
from millstream.services.child import Child
from millstream.services.errors import EndedWhileStarting, SetupError
from millstream.services.restarts import keep_running, report_end
from support.kafka import wait_for


class FakeService:
    """Ends by itself as often as `endings` says; `refusal` is why it does not start again.

    In the first `failing` starts after an end it ends before it answers.
    """

    def __init__(self, *endings: str, refusal: str = "", failing: int = 0) -> None:
        self.endings, self.refusal, self.starts, self.stops = list(endings), refusal, 0, 0
        self.failing = failing
        self.leaving = threading.Event()

    @property
    def ending(self) -> str:
        if not self.endings:
            self.leaving.set()
        return self.endings[0] if self.endings else ""

    def start(self) -> None:
        self.starts += 1
        if self.starts <= self.failing:
            raise EndedWhileStarting("it ended while starting")
        self.endings = self.endings[1:]
        if self.refusal:
            raise SetupError(self.refusal)

    def stop(self) -> None:
        self.stops += 1


def reports(service: FakeService, step: float = 1e3, ending: str = "") -> list[str]:
    """What is reported of a service; each of its ends is `step` seconds after the one before.

    `ending` is how its first start has ended.
    """
    events, times = list[str](), iter(range(1000))
    keep_running(service, service.leaving, events.append, 0.0, lambda: next(times) * step, ending)
    return events


def test_it_is_started_again_whenever_it_ends() -> None:
    service = FakeService("was ended by SIGKILL", "ended with exit code 3", "ended with exit code 3")
    assert reports(service) == [
        "was ended by SIGKILL: it is started again",
        "answers again",
        *["ended with exit code 3: it is started again", "answers again"] * 2,
    ]


def test_it_is_given_up_if_it_does_not_start_or_ends_again_and_again() -> None:
    assert reports(FakeService("it ended", refusal="no disk")) == [
        "it ended: it is started again",
        "did not start again: no disk",
    ]
    service = FakeService(*["it ended"] * 9)
    assert reports(service, 1.0)[-1] == "it ended, 3 times within 120 s now: it is not started again"
    assert service.starts == restarts.MOST - 1


def test_it_is_started_again_if_it_ended_while_it_started() -> None:
    """A Kafka Connect worker that was killed at the end of its first start was not."""
    assert reports(FakeService(), ending="it was killed") == ["it was killed: it is started again", "answers again"]
    assert reports(FakeService("it ended", failing=1)) == [
        "it ended: it is started again",
        "it ended while starting: it is started again",
        "answers again",
    ]


def test_it_is_given_up_if_it_ends_in_one_start_after_the_other() -> None:
    service = FakeService(failing=9)
    last = reports(service, ending="it was killed")[-1]
    assert last == "it ended while starting, in 3 starts now: it is not started again"
    assert service.starts == restarts.MOST - 1


def test_the_end_of_what_cannot_be_started_again_is_reported_once() -> None:
    events = list[str]()
    service = FakeService("was ended by SIGKILL")
    report_end(service, service.leaving, events.append, "start all again", 0.0)
    assert (events, service.starts) == (["was ended by SIGKILL: start all again"], 0)


def test_a_service_that_is_to_end_while_it_starts_is_stopped() -> None:
    class Leaving(FakeService):
        def start(self) -> None:
            super().start()
            self.leaving.set()

    service = Leaving("it ended")
    assert reports(service) == ["it ended: it is started again"]
    assert service.stops == 1


@pytest.mark.parametrize(
    ("command", "ending"), [("exit 3", "ended with exit code 3"), ("kill -9 $$", "was ended by SIGKILL")]
)
def test_how_a_process_ended(tmp_path: Path, command: str, ending: str) -> None:
    child = Child("it", ["/bin/sh", "-c", command], tmp_path / "log")
    assert child.ending == ""
    child.start()
    wait_for(lambda: not child.running, "its end")
    assert child.ending == ending
    child.stop()
    assert child.ending == ""


def test_a_process_that_is_killed_together_with_its_guard(tmp_path: Path) -> None:
    child = Child("it", ["/bin/sleep", "60"], tmp_path / "log")
    child.start()
    assert child.ending == ""
    child.signal(signal.SIGKILL)
    wait_for(lambda: not child.running, "its end")
    assert child.ending == "was ended by SIGKILL"
