"""Cancels the statement that a connection executes: on request, after statement_timeout, or if the client leaves."""

import asyncio
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any

from millstream.pg.failures import CANCELLED, PgError
from millstream.pg.settings import duration_seconds

TIMEOUT_HINT = "SET statement_timeout = 0 for no limit; FETCH … WITH (timeout = '500ms') reads a push query for a while"


class CancellableWork:
    """The work of one connection: one coroutine at a time, which other tasks of the same event loop may cancel."""

    def __init__(self) -> None:
        self._running: asyncio.Task[None] | None = None
        # Why the running coroutine is cancelled; None if it is not, or if it is by the end of the connection's task.
        self._reason: PgError | None = None
        self._has_left = False

    async def run(self, work: Coroutine[Any, Any, None], timeout: str) -> None:
        """Await the coroutine `work`. Raises what it raises, or the reason for which it was cancelled.

        `timeout` is the value of statement_timeout: a duration as Postgres writes it; "" and 0 mean no limit.
        """
        with self._time_limit(timeout):
            await self._run(work)

    def cancel(self, reason: PgError) -> None:
        """Cancel the running coroutine, if any: `run` raises `reason`, which is the client's error."""
        if self._running is not None and not self._running.done():
            self._reason = reason
            # After the first step of a statement that has only just been started: what needs no waiting is answered.
            asyncio.get_running_loop().call_soon(self._running.cancel)

    def client_left(self) -> None:
        """The client has disconnected: cancel what runs, and each further coroutine at its start."""
        self._has_left = True
        self._cancel_for_departure()

    @contextmanager
    def _time_limit(self, timeout: str) -> Iterator[None]:
        """Cancel what the block runs once it has taken the time `timeout`."""
        seconds = duration_seconds(timeout)
        if not seconds:
            yield
            return
        reason = PgError(CANCELLED, f"the statement took longer than statement_timeout, {timeout}", TIMEOUT_HINT)
        timer = asyncio.get_running_loop().call_later(seconds, self.cancel, reason)
        try:
            yield
        finally:
            timer.cancel()

    async def _run(self, work: Coroutine[Any, Any, None]) -> None:
        self._reason, self._running = None, asyncio.ensure_future(work)
        if self._has_left:
            self._cancel_for_departure()
        try:
            await self._running
        except asyncio.CancelledError:
            if self._reason is None:
                self._running.cancel()
                raise
            raise self._reason from None
        finally:
            self._running = None

    def _cancel_for_departure(self) -> None:
        self.cancel(PgError(CANCELLED, "the client has disconnected", fatal=True))
