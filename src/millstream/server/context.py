"""What the requests of one server share: its engine, the threads that call it, and the running queries."""

from collections.abc import Callable
from typing import TypeVar

from anyio import CapacityLimiter, to_thread
from starlette.requests import HTTPConnection

from millstream.engine.api import Engine
from millstream.security.audit import AuditLog
from millstream.server.feed import Feeds
from millstream.server.options import RequestLimits
from millstream.server.workers import Workers

T = TypeVar("T")
# The most statements that are executed at the same time.
AT_ONCE = 200
# Statements may wait for minutes (ASSERT … TIMEOUT). So there are separate threads for health checks, for ending
# queries, and for parsing large bodies, which is limited to one at a time to limit memory.
QUICK, ENDING, LARGE = 16, 50, 1


class ServerContext:
    """An engine, whose methods block, for use in an event loop."""

    def __init__(
        self,
        engine: Engine,
        limits: RequestLimits | None = None,
        at_once: int = AT_ONCE,
        audit: AuditLog | None = None,
    ) -> None:
        self.engine, self.feeds, self.limits, self.audit = engine, Feeds(), limits or RequestLimits(), audit
        self.workers, self._quick = Workers(at_once), CapacityLimiter(QUICK)
        self._ending, self._large = CapacityLimiter(ENDING), CapacityLimiter(LARGE)
        # The number of open connections of Postgres's clients; None where their protocol is not served.
        self.postgres_connections: Callable[[], int] | None = None

    async def run(self, call: Callable[[], T]) -> T:
        """The result of a blocking call in a thread; at most `at_once` at a time, not counting streamed rows."""
        return await self.workers.run(call)

    async def run_quick(self, call: Callable[[], T]) -> T:
        """The same for a call that must be answered even if many statements wait."""
        return await _in_thread(call, self._quick)

    async def run_ending(self, call: Callable[[], T]) -> T:
        """The same for ending a query."""
        return await _in_thread(call, self._ending)

    async def run_large(self, call: Callable[[], T]) -> T:
        """The same for a call that needs much memory."""
        return await _in_thread(call, self._large)


async def _in_thread(call: Callable[[], T], limiter: CapacityLimiter) -> T:
    return await to_thread.run_sync(call, limiter=limiter, abandon_on_cancel=True)


def context_of(connection: HTTPConnection) -> ServerContext:
    """The ServerContext of the server that received a request."""
    context = connection.app.state.context
    assert isinstance(context, ServerContext)
    return context
