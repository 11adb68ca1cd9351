"""Calls that many ask for at once: few are made, and none answers a question that came after it began."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from millstream.tables.shared_calls import SharedCalls


def test_callers_during_a_call_share_the_next_one() -> None:
    begun, go_on, count = threading.Semaphore(0), threading.Semaphore(0), [0]

    def slow(argument: str) -> tuple[str, int]:
        count[0] += 1
        number = count[0]
        begun.release()
        go_on.acquire()
        return argument, number

    calls = SharedCalls(slow, ValueError)
    with ThreadPoolExecutor(10) as threads:
        first = threads.submit(calls, "a")
        begun.acquire()
        others = [threads.submit(calls, "a") for _ in range(9)]
        go_on.release()
        begun.acquire()
        # All nine may have come before the second call began, or some after it: those have a third one.
        go_on.release(9)
        results = [other.result() for other in others]
    assert first.result() == ("a", 1)
    assert all(argument == "a" and number >= 2 for argument, number in results)
    assert count[0] < 10


def test_a_failure_is_raised_and_not_kept() -> None:
    outcomes = iter([ValueError("no broker"), 7])

    def call(argument: str) -> int:
        outcome = next(outcomes)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    calls = SharedCalls(call, ValueError)
    with pytest.raises(ValueError, match="no broker"):
        calls("a")
    assert calls("a") == 7


def test_arguments_do_not_wait_for_each_other() -> None:
    calls = SharedCalls(lambda argument: argument * 2, ValueError)
    assert [calls(1), calls(2), calls(1)] == [2, 4, 2]
