"""Hypercorn's connections with limits: their number, and the time that a client may take to send request headers.

If all places are taken, a new connection replaces the one that has waited longest for a request; if all have a request
in progress, it is answered 503. So clients that connect and send a byte from time to time do not block others.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from ssl import SSLContext, SSLError
from typing import Any

import h11
import hypercorn.asyncio.run
from hypercorn.asyncio.tcp_server import TCPServer
from hypercorn.config import Config
from hypercorn.events import Closed, Event, RawData, Updated
from hypercorn.protocol.h11 import H11Protocol
from hypercorn.typing import Event as Signal
from hypercorn.typing import TaskGroup

from millstream.server.lookups import LookupResponses
from millstream.server.options import RequestLimits

# The most bytes of one read.
PIECE = 2**16
NO_PLACE = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


class ConnectionTable:
    """The connections of one server; those without a request are ordered by how long they have waited."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._open: set[BoundedConnection] = set()
        self._idle: dict[BoundedConnection, None] = {}
        self._closing: set[asyncio.Task[None]] = set()

    def admit(self, connection: "BoundedConnection") -> bool:
        """Give a connection a place; False if there is none."""
        if len(self._open) >= self._most and not self._evict():
            return False
        self._open.add(connection)
        self._idle[connection] = None
        return True

    def update(self, connection: "BoundedConnection", idle: bool) -> None:
        """Record whether a connection waits for a request (`idle`), which makes it one that may be replaced."""
        self._idle.pop(connection, None)
        if idle and connection in self._open:
            self._idle[connection] = None

    def remove(self, connection: "BoundedConnection") -> None:
        """Free the place of a connection that has ended."""
        self._open.discard(connection)
        self._idle.pop(connection, None)

    def _evict(self) -> bool:
        longest = next(iter(self._idle), None)
        if longest is None:
            return False
        self.remove(longest)
        task = asyncio.ensure_future(longest.evict())
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)
        return True


class BoundedConfig(Config):  # type: ignore[misc,unused-ignore]
    """Hypercorn's configuration of one server, with what BoundedConnection needs."""

    def __init__(self, limits: RequestLimits, tls: SSLContext | None, lookups: LookupResponses) -> None:
        super().__init__()
        self.limits, self.tls, self.lookups = limits, tls, lookups
        self.ssl_handshake_timeout = limits.header_seconds
        self.table = ConnectionTable(limits.connections)

    @property
    def ssl_enabled(self) -> bool:
        """True if the listener uses TLS."""
        return self.tls is not None

    def create_ssl_context(self) -> SSLContext | None:
        """The TLS context of the listener; None if it has no TLS. Overrides hypercorn's method, which reads files."""
        return self.tls


class IdleTimer:
    """A timer in the place of hypercorn's task for an idle connection, which costs a new task for each request.

    `patience` is the time in seconds after which the action begins; it begins at once if the server is stopping.
    """

    def __init__(self, patience: Callable[[], float], terminated: Signal) -> None:
        self._patience, self._terminated = patience, terminated
        self._timer: asyncio.TimerHandle | None = None
        self._begin: Callable[[], None] = lambda: None
        self._ended = False

    async def restart(self, group: TaskGroup, action: Callable[[], Awaitable[None]]) -> None:
        """Begin to wait anew; `action` will run in the group."""
        await self.stop()
        if self._ended:
            return
        self._begin = partial(group.spawn, action)
        wait = 0.0 if self._terminated.is_set() else self._patience()
        self._timer = asyncio.get_running_loop().call_later(wait, self._begin)

    async def stop(self) -> None:
        """Do not run the action that `restart` got last; a further `restart` waits anew."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    async def end(self) -> None:
        """Never run the action again: the client has left, and the group takes no more tasks once its last one ends."""
        self._ended = True
        await self.stop()

    async def until_terminated(self) -> None:
        """Wait until the server stops; then run the action at once if one is scheduled."""
        await self._terminated.wait()
        if self._timer is not None:
            await self.stop()
            self._begin()


class BoundedConnection(TCPServer):  # type: ignore[misc,unused-ignore]
    """A connection with a place in the table, and a deadline for the headers of each request."""

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        assert isinstance(self.config, BoundedConfig)
        self._table, self._limits, self._lookups = self.config.table, self.config.limits, self.config.lookups
        self._scheme = "https" if self.config.tls is not None else "http"
        self._served = self._header_begun = False
        self._idle = IdleTimer(self._patience, self.context.terminated)
        self.idle_task = self._idle  # type: ignore[assignment,unused-ignore]

    async def run(self) -> None:
        """Serve the connection until it ends."""
        if not self._table.admit(self):
            self.writer.write(NO_PLACE)
            await self._close()
            return
        stopping = asyncio.ensure_future(self._idle.until_terminated())
        try:
            await super().run()
        finally:
            stopping.cancel()
            self._table.remove(self)

    async def evict(self) -> None:
        """Close a connection without a request, to make room for another."""
        with suppress(OSError):
            await self._initiate_server_close()

    async def protocol_send(self, event: Event) -> None:
        """Overrides hypercorn's method to record if a request is in progress, and to limit the time of a write."""
        if isinstance(event, Updated):
            self._served = self._served or not event.idle
            self._table.update(self, event.idle)
        if isinstance(event, RawData):
            await self._write(event.data)
        else:
            await super().protocol_send(event)

    async def _write(self, data: bytes) -> None:
        """Send data. A client that takes none of it for as long as a connection may be idle has left."""
        async with self.send_lock:
            try:
                self.writer.write(data)
                # A timer for each write would cost as much as the write.
                if self.writer.transport.get_write_buffer_size():
                    async with asyncio.timeout(self._limits.idle_seconds):
                        await self.writer.drain()
                else:
                    await self.writer.drain()
            # RuntimeError: the connection is closed. TimeoutError is TCP's too, if the client's machine is gone.
            except (OSError, RuntimeError):
                self.writer.transport.abort()
                await self.protocol.handle(Closed())

    async def _read_data(self) -> None:
        with suppress(OSError, SSLError):
            while not self.reader.at_eof():
                data = await self.reader.read(PIECE)
                if not (self._is_between_requests() and await self._look_up(data)):
                    await self.protocol.handle(RawData(data))
                    await self._watch_header()
        await self._idle.end()
        await self.protocol.handle(Closed())

    def _is_between_requests(self) -> bool:
        """True if the next byte is the first of a request of HTTP/1.1."""
        http1 = self._http1()
        if http1 is None or self.context.terminated.is_set():
            return False
        return http1.our_state is http1.their_state is h11.IDLE and not http1.trailing_data[0]

    async def _look_up(self, data: bytes) -> bool:
        """Answer a known look-up; False for any other data, which the application has to answer."""
        request = await self._lookups.find(data, self.protocol.client, self._scheme)
        if request is None:
            return False
        await self.protocol_send(Updated(idle=False))
        response = await self._lookups.response(request)
        if response is None:
            return False
        await self.protocol_send(RawData(response))
        await self.protocol_send(Updated(idle=True))
        return True

    async def _watch_header(self) -> None:
        """Start the deadline at the first byte of a request on a connection that has served others."""
        begun = self._has_partial_header()
        if begun and not self._header_begun:
            self._header_begun = True
            await self.idle_task.restart(self._task_group, self._idle_timeout)
        self._header_begun = begun

    def _has_partial_header(self) -> bool:
        http1 = self._http1()
        return http1 is not None and http1.their_state is h11.IDLE and bool(http1.trailing_data[0])

    def _http1(self) -> h11.Connection | None:
        """The state of HTTP/1.1; None if the connection speaks another protocol."""
        protocol = self.protocol.protocol
        if not isinstance(protocol, H11Protocol) or not isinstance(protocol.connection, h11.Connection):
            return None
        return protocol.connection

    def _patience(self) -> float:
        """Seconds that the connection may be idle."""
        headers_awaited = self._header_begun or not self._served
        return self._limits.header_seconds if headers_awaited else self._limits.idle_seconds

    async def _idle_timeout(self) -> None:
        """Close the connection; a request that has begun is answered."""
        protocol = self.protocol.protocol
        if isinstance(protocol, H11Protocol) and self._has_partial_header() and not self.context.terminated.is_set():
            await protocol._send_error_response(408)
        await asyncio.shield(self._initiate_server_close())


def install() -> None:
    """Make hypercorn use this class, by replacing the name under which it looks it up: there is no other way."""
    hypercorn.asyncio.run.TCPServer = BoundedConnection  # type: ignore[misc,assignment,attr-defined,unused-ignore]
