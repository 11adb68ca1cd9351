"""Passes the rows of queries to the event loop as they arrive: read by a thread, or taken when they are announced.

thread of a Feed                    event loop
reads 1, which wakes the loop
reads 2                             takes 1 and 2 together, and sends them
reads 3 … 1002                      the client does not read: a write to it waits
waits: 1,000 items are ahead        takes them when the write is done, which lets the thread go on
"""

import asyncio
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Generic, Protocol, TypeVar

from millstream.engine.api import BatchedRows, RequestFailed
from millstream.security.login import LoginRefused
from millstream.security.roles import ANYONE, Principal
from millstream.server.codes import FORBIDDEN, UNAUTHORIZED
from millstream.server.errors import RequestBoundary

T = TypeVar("T")
# The most items that are read ahead of the client.
AHEAD = 1000


class Feed(Generic[T]):
    """The items of `source` (None = nothing arrived, check whether to stop); `close` ends it and frees its resources.

    The thread reads at most `ahead` items in advance, so that a slow client slows down the query, not the server.
    """

    def __init__(self, source: Iterable[T | None], close: Callable[[], None], ahead: int = AHEAD) -> None:
        self._source, self._close, self._ahead = source, close, ahead
        self._loop, self._arrived = asyncio.get_running_loop(), asyncio.Event()
        self._not_full, self._waiting = threading.Condition(), deque[T]()
        self._stopped = self._ended = False
        self._error: Exception | None = None
        threading.Thread(target=self._read, name="rows", daemon=True).start()

    async def batches(self) -> AsyncIterator[list[T]]:
        """Yields the items that have arrived since the last batch; ends with the source. Raises RequestFailed."""
        while not (self._ended and not self._waiting):
            await self._arrived.wait()
            self._arrived.clear()
            if batch := self._take():
                yield batch
        if self._error is not None:
            raise self._error

    def stop(self) -> None:
        """End the thread, and close the source: blocks, may be called from any thread and more than once."""
        with self._not_full:
            self._stopped = True
            self._not_full.notify_all()
        self._close()

    def fail(self, error: Exception) -> None:
        """End the batches with an error, whatever the source does; may be called from any thread."""
        self._error, self._ended = error, True
        self._wake()

    def _take(self) -> list[T]:
        with self._not_full:
            batch = list(self._waiting)
            self._waiting.clear()
            self._not_full.notify_all()
        return batch

    def _read(self) -> None:
        with RequestBoundary() as boundary:
            for item in self._source:
                if not self._put(item):
                    break
        self._error = self._error or boundary.error
        self._ended = True
        self._wake()
        if isinstance(self._source, Generator):
            self._source.close()

    def _put(self, item: T | None) -> bool:
        """Pass an item on once there is room; True if more items are needed."""
        with self._not_full:
            self._not_full.wait_for(lambda: self._stopped or len(self._waiting) < self._ahead)
            # The event loop takes all items at once: it is woken for the first of them.
            is_first = item is not None and not self._waiting
            if item is not None and not self._stopped:
                self._waiting.append(item)
        if is_first:
            self._wake()
        return not self._stopped

    def _wake(self) -> None:
        try:
            self._loop.call_soon_threadsafe(self._arrived.set)
        except RuntimeError:
            # The event loop is closed: the server has stopped, and no client waits for items.
            self._stopped = True


class Wakeups:
    """Sets events of an event loop from other threads: many that are set at about the same time wake the loop once."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop, self._lock = loop, threading.Lock()
        self._waiting: set[asyncio.Event] = set()

    def set(self, event: asyncio.Event) -> None:
        """Set an event soon; may be called by any thread."""
        with self._lock:
            is_first = not self._waiting
            self._waiting.add(event)
        if is_first:
            # A closed event loop raises RuntimeError: the server has stopped, and no task waits.
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._set_all)

    def _set_all(self) -> None:
        with self._lock:
            waiting, self._waiting = self._waiting, set()
        for event in waiting:
            event.set()


class ArrivalFeed:
    """The batches of a query that announces them: it has no thread, and what a client does not take stays in the query.

    It is used as a Feed is.
    """

    def __init__(self, rows: BatchedRows, wakeups: Wakeups) -> None:
        self._rows, self._wakeups, self._arrived = rows, wakeups, asyncio.Event()
        self._error: Exception | None = None
        rows.listen(self._wake)

    async def batches(self) -> AsyncIterator[list[Any]]:
        """Yields the batches that have arrived; ends with the query. Raises RequestFailed."""
        while self._error is None and not self._rows.ended:
            await self._arrived.wait()
            self._arrived.clear()
            if batches := self._arrived_rows():
                yield batches
        if self._error is not None:
            raise self._error

    def stop(self) -> None:
        """Close the query: blocks, may be called from any thread and more than once."""
        self._rows.close()

    def fail(self, error: Exception) -> None:
        """End the batches with an error; may be called from any thread."""
        self._error = error
        self._wake()

    def _wake(self) -> None:
        self._wakeups.set(self._arrived)

    def _arrived_rows(self) -> list[Any]:
        if self._error is not None:
            return []
        with RequestBoundary() as boundary:
            return self._rows.arrived()
        self._error = boundary.error
        return []


AnyFeed = Feed[Any] | ArrivalFeed


class Endable(Protocol):
    """What a client keeps open, and the server can end."""

    def fail(self, error: RequestFailed) -> None:
        """End it with an error; may be called from any thread."""


class Feeds:
    """The running feeds of a server, so that its shutdown can end them."""

    def __init__(self) -> None:
        self._running: set[AnyFeed] = set()
        self._owners: dict[Endable, tuple[str, Principal]] = {}
        # One for each event loop: HTTP and Postgres's protocol are served by one of their own.
        self._wakeups: dict[asyncio.AbstractEventLoop, Wakeups] = {}

    def open(
        self,
        source: Iterable[T | None],
        close: Callable[[], None],
        query_id: str = "",
        owner: Principal = ANYONE,
        ahead: int = AHEAD,
    ) -> Feed[T]:
        """Start a feed; the consumer calls `finish` at the end. `owner` is the user whose query it is."""
        feed = Feed(source, close, ahead)
        self._owners[feed] = query_id, owner
        self._running.add(feed)
        return feed

    def follow(self, rows: BatchedRows, owner: Principal = ANYONE) -> ArrivalFeed:
        """Start a feed of a query that announces its rows, in the event loop; else as `open`."""
        loop = asyncio.get_running_loop()
        feed = ArrivalFeed(rows, self._wakeups.setdefault(loop, Wakeups(loop)))
        self._owners[feed] = rows.query_id, owner
        self._running.add(feed)
        return feed

    @contextmanager
    def owned(self, stream: Endable, owner: Principal) -> Iterator[None]:
        """While the block runs, `end_changed` ends `stream` too if its user is removed or changed."""
        self._owners[stream] = "", owner
        try:
            yield
        finally:
            self._owners.pop(stream, None)

    def finish(self, feed: AnyFeed) -> None:
        """Stop a feed and remove it; blocks."""
        self._running.discard(feed)
        self._owners.pop(feed, None)
        feed.stop()

    def owner(self, query_id: str) -> str | None:
        """The user whose query it is; None if no query of that id is read here."""
        return next((owner.name for id, owner in list(self._owners.values()) if id == query_id), None)

    def end_changed(self, current: Callable[[Principal], Principal]) -> None:
        """End what users have open who were removed, whose token has expired, or whose roles are others now.

        `current` is Login.current.
        """
        for feed, (_, owner) in tuple(self._owners.items()):
            try:
                is_unchanged = current(owner) == owner
            except LoginRefused as refused:
                feed.fail(RequestFailed(UNAUTHORIZED, str(refused)))
                continue
            if not is_unchanged:
                feed.fail(RequestFailed(FORBIDDEN, f"the roles of user {owner.name} have changed"))

    def fail_all(self, error: Exception) -> None:
        """End every running feed with an error; may be called from any thread."""
        for feed in tuple(self._running):
            feed.fail(error)
