"""Shares one call among concurrent callers: pull queries use it to request a topic's end offsets from Kafka."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

A = TypeVar("A")
R = TypeVar("R")


@dataclass(slots=True)
class _Calls(Generic[R]):
    """The state of the calls with one argument: the numbers of the last call begun and ended, and its outcome."""

    changed: threading.Condition = field(default_factory=threading.Condition)
    begun: int = 0
    ended: int = 0
    running: bool = False
    result: R | None = None
    failure: Exception | None = None


class SharedCalls(Generic[A, R]):
    """Wraps a function so that at most one call for each argument runs at a time. It is thread-safe.

    All callers that arrive while a call runs share the next call, which begins after they arrived: a result is never
    older than the request for it.
    """

    def __init__(self, function: Callable[[A], R], shared: type[Exception]) -> None:
        """Exceptions of class `shared` are raised in every waiting caller, others only in the one that ran the call."""
        self._function, self._shared = function, shared
        self._calls: dict[A, _Calls[R]] = {}
        self._lock = threading.Lock()

    def __call__(self, argument: A) -> R:
        """The function's result for an argument. Raises what the function raises."""
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
    """The outcome of the last call that ended, which may be later than the awaited one: newer results are valid too."""
    result, failure = calls.result, calls.failure
    if failure is not None:
        raise failure
    assert result is not None
    return result
