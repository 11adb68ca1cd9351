"""Loops: they survive their step's exceptions, open their resource again, and report their state."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from millstream.services.loop import Loop, Loops, ReopenResource, attempt, no_resource
from support.kafka import wait_for
from support.patience import PATIENCE


class Away(Exception):
    """What the loop waits for is not there."""


class Clock:
    """Seconds that a test turns by hand."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_step_that_raises_is_tried_again_with_a_new_resource() -> None:
    opened: list[int] = []
    steps: list[int] = []

    @contextmanager
    def resource() -> Iterator[int]:
        opened.append(len(opened))
        yield opened[-1]

    def step(number: int) -> None:
        steps.append(number)
        if number < 2:
            raise RuntimeError("broken")

    loop = Loop("test", step, resource)
    loop.start()
    wait_for(lambda: len(steps) > 5, "steps after the failures")
    assert loop.health().error == ""
    loop.stop()
    assert opened == [0, 1, 2]
    assert steps[:3] == [0, 1, 2]


def test_a_step_can_have_its_resource_opened_again_without_a_pause() -> None:
    opened: list[int] = []

    @contextmanager
    def resource() -> Iterator[int]:
        opened.append(len(opened))
        yield opened[-1]

    def step(number: int) -> None:
        if number < 100:
            raise ReopenResource

    loop = Loop("test", step, resource)
    loop.start()
    wait_for(lambda: len(opened) > 100, "a hundred resources, which pauses would make last minutes")
    assert loop.health().error == ""
    loop.stop()


def test_a_resource_that_cannot_be_opened_is_opened_later() -> None:
    tries: list[str] = []

    @contextmanager
    def resource() -> Iterator[None]:
        tries.append("open")
        if len(tries) < 3:
            raise Away
        yield

    worked = threading.Event()
    loop = Loop("test", lambda _: worked.set(), resource, outages=(Away,))
    loop.start()
    assert worked.wait(30)
    loop.stop()


@pytest.mark.parametrize(
    ("error", "fatal_after_a_minute"), [(RuntimeError("no"), True), (Away("away"), False)], ids=["fault", "outage"]
)
def test_a_fault_is_fatal_after_a_minute_and_an_outage_never(error: Exception, fatal_after_a_minute: bool) -> None:
    clock = Clock()

    def step(_: None) -> None:
        raise error

    loop = Loop("test", step, no_resource, outages=(Away,), clock=clock)
    loops = Loops()
    loops.add(loop)
    loop.start()
    wait_for(lambda: loop.health().error, "the failure")
    assert loops.fatal() == ""
    clock.now += 61
    assert bool(loops.fatal()) == fatal_after_a_minute
    assert loops.health()["test"].error == str(error)
    loop.stop()


def test_an_outage_is_not_over_with_the_first_step_that_succeeds(caplog: pytest.LogCaptureFixture) -> None:
    """A disk is full: each second step after it was noticed has nothing to write, and succeeds."""
    clock, steps, is_full = Clock(), iter(range(2**31)), [True]

    def step(_: None) -> None:
        if next(steps) % 2 and is_full[0]:
            raise Away("the disk is full")

    loop = Loop("test", step, no_resource, outages=(Away,), clock=clock, settling=3.0)
    loop.start()
    wait_for(lambda: next(steps) > 8, "several failures")
    for _ in range(20):
        assert loop.health().error == "the disk is full"
        time.sleep(0.01)
    assert len(caplog.records) == 1
    is_full.clear()
    is_full.append(False)

    def is_over() -> bool:
        clock.now += 4
        return not loop.health().error

    wait_for(is_over, "the end of the outage", timeout=20)
    loop.stop()


def test_an_error_after_which_no_retry_can_succeed_is_fatal_at_once() -> None:
    def step(_: None) -> None:
        raise Away("for ever")

    loop = Loop("test", step, no_resource, hopeless=(Away,))
    loop.start()
    wait_for(lambda: loop.health().fatal, "the end")
    loop.stop()


def test_a_step_that_does_not_return_is_noticed() -> None:
    clock, release = Clock(), threading.Event()
    loop = Loop("test", lambda _: bool(release.wait(60)) and None, no_resource, clock=clock)
    loop.start()
    clock.now += 301
    assert loop.health().fatal
    assert "has not finished" in loop.health().error
    release.set()
    loop.stop()
    assert loop.health().error == ""


def test_a_stop_ends_the_pause_between_two_steps() -> None:
    steps: list[None] = []
    loop = Loop("test", steps.append, no_resource, pause=60)
    loop.start()
    wait_for(lambda: steps, "the first step")
    start = time.monotonic()
    loop.stop()
    assert time.monotonic() - start < 30
    assert steps == [None]


def test_an_attempt_gives_the_result_or_what_was_raised() -> None:
    def fail() -> int:
        raise Away("no")

    assert attempt("test", lambda: 7) == 7
    assert isinstance(attempt("test", fail), Away)


def test_a_step_may_stop_its_own_loop() -> None:
    stopped = threading.Event()
    loops = Loops()

    @contextmanager
    def resource() -> Iterator[None]:
        yield
        stopped.set()

    def step(_: None) -> None:
        loop.stop()
        loops.remove(loop)

    loop = Loop("test", step, resource)
    loops.add(loop)
    loop.start()
    assert stopped.wait(PATIENCE)
    assert loops.health() == {}
