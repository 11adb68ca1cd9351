"""One call for many who ask at the same time: where a topic ends, asked of Kafka by each pull query."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

A = TypeVar("A")
R = TypeVar("R")


@dataclass(slots=True)
class _Calls(Generic[R]):
    """The calls with one argument: how many began, the last one that ended, and what came of it."""

    changed: threading.Condition = field(default_factory=threading.Condition)
    begun: int = 0
    ended: int = 0
    running: bool = False
    result: R | None = None
    failure: Exception | None = None


class SharedCalls(Generic[A, R]):
    """A function of which one call at a time runs for each argument.

    Whoever asks while a call runs gets the result of the next one, with all others who wait: a result is never older
    than the question.
    """

    def __init__(self, function: Callable[[A], R], shared: type[Exception]) -> None:
        """Failures of class `shared` are raised in each who waits for the call; others only in the one who made it."""
        self._function, self._shared = function, shared
        self._calls: dict[A, _Calls[R]] = {}
        self._lock = threading.Lock()

    def __call__(self, argument: A) -> R:
        """The function's result, or what it raises."""
        with self._lock:
            calls = self._calls.setdefault(argument, _Calls())
        with calls.changed:
            desired = calls.begun + 1
            calls.changed.wait_for(lambda: calls.ended >= desired or not calls.running)
            if calls.ended >= desired:
                return _outcome(calls)
            calls.running = True
            calls.begun += 1
        try:
            self._call(argument, calls)
        finally:
            with calls.changed:
                calls.running = False
                calls.changed.notify_all()
        with calls.changed:
            return _outcome(calls)

    def _call(self, argument: A, calls: _Calls[R]) -> None:
        result, failure = None, None
        try:
            result = self._function(argument)
        except self._shared as raised:
            failure = raised
        with calls.changed:
            calls.result, calls.failure, calls.ended = result, failure, calls.begun


def _outcome(calls: _Calls[R]) -> R:
    """What came of the last call; a later one is as good for who waited for an earlier one."""
    result, failure = calls.result, calls.failure
    if failure is not None:
        raise failure
    assert result is not None
    return result
