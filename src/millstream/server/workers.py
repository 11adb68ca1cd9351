"""Threads that run blocking calls for the event loop, at a fraction of the cost of anyio's."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

T = TypeVar("T")
# Seconds after which a thread without work ends.
IDLE_SECONDS = 10.0


class Workers:
    """At most `most` daemon threads, which are started when calls wait and no thread is idle; thread-safe.

    A call whose caller is cancelled runs to its end.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._calls = SimpleQueue[_Call]()
        self._lock = threading.Lock()
        self._threads = self._idle = 0

    async def run(self, call: Callable[[], T]) -> T:
        """The result of a blocking call, or its exception."""
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        with self._lock:
            self._calls.put(_Call(call, future))
            begin = self._calls.qsize() > self._idle and self._threads < self._most
            self._threads += begin
        if begin:
            threading.Thread(target=self._work, name="statements", daemon=True).start()
        return await future

    def _work(self) -> None:
        while (call := self._next()) is not None:
            call.run()

    def _next(self) -> "_Call | None":
        """The next call; None if there was none for some time: then the thread has to end."""
        with self._lock:
            self._idle += 1
        try:
            call = self._calls.get(timeout=IDLE_SECONDS)
        except Empty:
            call = None
        with self._lock:
            self._idle -= 1
            if call is None and not self._calls.empty():
                call = self._calls.get()
            self._threads -= call is None
        return call


class _Call:
    """A call, and the future of an event loop that awaits its outcome."""

    __slots__ = ("_call", "_future", "_loop")

    def __init__(self, call: Callable[[], Any], future: "asyncio.Future[Any]") -> None:
        self._call, self._future, self._loop = call, future, future.get_loop()

    def run(self) -> None:
        """Run the call in this thread, and pass its outcome to the event loop."""
        result, error = None, None
        try:
            result = self._call()
        except BaseException as raised:  # noqa: BLE001  the boundary of two threads: the awaiting one raises it
            error = raised
        # A closed event loop raises RuntimeError: the server has stopped, and no coroutine awaits the result.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._settle, result, error)

    def _settle(self, result: Any, error: BaseException | None) -> None:
        if self._future.cancelled():
            return
        if error is None:
            self._future.set_result(result)
        else:
            self._future.set_exception(error)
