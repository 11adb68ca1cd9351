"""What the requests of one server share: its engine, the threads that call it, and the queries under way."""

from collections.abc import Callable
from typing import TypeVar

import anyio
from anyio import to_thread
from starlette.requests import HTTPConnection

from millstream.engine.api import Engine
from millstream.server.feed import Feeds

T = TypeVar("T")
AT_ONCE = 200


class ServerContext:
    """An engine whose methods block, as the event loop uses it."""

    def __init__(self, engine: Engine, at_once: int = AT_ONCE) -> None:
        self.engine, self.feeds = engine, Feeds()
        self._at_once = at_once
        self._limiter: anyio.CapacityLimiter | None = None

    async def run(self, call: Callable[[], T]) -> T:
        """The result of a blocking call, made in a thread; at most `at_once` at a time, streamed rows apart."""
        if self._limiter is None:
            self._limiter = anyio.CapacityLimiter(self._at_once)
        return await to_thread.run_sync(call, limiter=self._limiter, abandon_on_cancel=True)


def work_of(connection: HTTPConnection) -> ServerContext:
    """The Work of the server that a request came to."""
    work = connection.app.state.work
    assert isinstance(work, ServerContext)
    return work
