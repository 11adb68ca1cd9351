"""A clock that is set back, by which librdkafka's waits last longer."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from millstream.services.clock_watch import MOST, PAUSE, clock_watch
from millstream.services.loop import Loop, Loops
from support.kafka import wait_for


@dataclass
class Clock:
    """A clock that was set to `now` by an operator; `time` is the time since the machine's start."""

    now: float = 1_000_000.0
    looks: int = 0

    def __call__(self) -> float:
        self.looks += 1
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def watch(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Iterator[Loop[None]]:
    loop = clock_watch(clock, lambda: 5.0)
    loop.start()
    yield loop
    loop.stop()


def look(clock: Clock) -> None:
    """Wait until it has looked at the clock, and the step is over."""
    looks = clock.looks
    wait_for(lambda: clock.looks > looks + 1, f"a look each {PAUSE} s")


def test_a_clock_that_is_set_back_ends_the_process(clock: Clock, watch: Loop[None]) -> None:
    loops = Loops()
    loops.add(watch)
    for step in (MOST / 2, MOST, 3600):  # forward, which makes waits shorter
        clock.now += step
        look(clock)
        assert loops.fatal() == ""
    clock.now -= MOST / 2  # a bit, as by NTP
    look(clock)
    assert loops.fatal() == ""
    clock.now -= 3600
    look(clock)
    wait_for(loops.fatal, "the end")
    assert "clock: the machine's clock was set back by 3600 s" in loops.fatal()
    clock.now += 3600
    wait_for(lambda: not loops.fatal(), "waits end as they should")
