"""Hypercorn's connections with limits: their number, and the time that a client may take to send request headers.

If all places are taken, a new connection replaces the one that has waited longest for a request; if all have a request
in progress, it is answered 503. So clients that connect and send a byte from time to time do not block others.
"""

import asyncio
from contextlib import suppress
from ssl import SSLContext, SSLError
from typing import Any

import h11
import hypercorn.asyncio.run
from hypercorn.asyncio.tcp_server import TCPServer
from hypercorn.config import Config
from hypercorn.events import Closed, Event, RawData, Updated
from hypercorn.protocol.h11 import H11Protocol

from millstream.server.options import RequestLimits

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
        if len(self._open) >= self._most and not self._make_room():
            return False
        self._open.add(connection)
        self._idle[connection] = None
        return True

    def update(self, connection: "BoundedConnection", idle: bool) -> None:
        """Record if a connection waits for a request."""
        self._idle.pop(connection, None)
        if idle and connection in self._open:
            self._idle[connection] = None

    def remove(self, connection: "BoundedConnection") -> None:
        """Free the place of a connection that has ended."""
        self._open.discard(connection)
        self._idle.pop(connection, None)

    def _make_room(self) -> bool:
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

    def __init__(self, limits: RequestLimits, tls: SSLContext | None) -> None:
        super().__init__()
        self.limits, self.tls = limits, tls
        self.ssl_handshake_timeout = limits.header_seconds
        self.table = ConnectionTable(limits.connections)

    @property
    def ssl_enabled(self) -> bool:
        """True if the listener uses TLS."""
        return self.tls is not None

    def create_ssl_context(self) -> SSLContext | None:
        """The TLS context from the server's settings."""
        return self.tls


class BoundedConnection(TCPServer):  # type: ignore[misc,unused-ignore]
    """A connection with a place in the table, and a deadline for the headers of each request."""

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        assert isinstance(self.config, BoundedConfig)
        self._table, self._limits = self.config.table, self.config.limits
        self._served = self._header_begun = False

    async def run(self) -> None:
        """Serve the connection until it ends."""
        if not self._table.admit(self):
            self.writer.write(NO_PLACE)
            await self._close()
            return
        try:
            await super().run()
        finally:
            self._table.remove(self)

    async def evict(self) -> None:
        """Close a connection without a request, to make room for another."""
        with suppress(OSError):
            await self._initiate_server_close()

    async def protocol_send(self, event: Event) -> None:
        """Overrides hypercorn's method to record if a request is in progress."""
        if isinstance(event, Updated):
            self._served = self._served or not event.idle
            self._table.update(self, event.idle)
        await super().protocol_send(event)

    async def _read_data(self) -> None:
        with suppress(OSError, SSLError):
            while not self.reader.at_eof():
                await self.protocol.handle(RawData(await self.reader.read(PIECE)))
                await self._watch_header()
        await self.protocol.handle(Closed())

    async def _watch_header(self) -> None:
        """Start the deadline at the first byte of a request on a connection that has served others."""
        begun = self._has_part_of_a_header()
        if begun and not self._header_begun:
            self._header_begun = True
            await self.idle_task.restart(self._task_group, self._idle_timeout)
        self._header_begun = begun

    def _has_part_of_a_header(self) -> bool:
        protocol = self.protocol.protocol
        if not isinstance(protocol, H11Protocol) or not isinstance(protocol.connection, h11.Connection):
            return False
        return protocol.connection.their_state is h11.IDLE and bool(protocol.connection.trailing_data[0])

    async def _idle_timeout(self) -> None:
        headers_awaited = self._header_begun or not self._served
        patience = self._limits.header_seconds if headers_awaited else self._limits.idle_seconds
        try:
            await asyncio.wait_for(self.context.terminated.wait(), patience)
        except TimeoutError:
            protocol = self.protocol.protocol
            if isinstance(protocol, H11Protocol) and self._has_part_of_a_header():
                await protocol._send_error_response(408)
        await asyncio.shield(self._initiate_server_close())


def install() -> None:
    """Make hypercorn use this class, by replacing the name under which it looks it up: there is no other way."""
    hypercorn.asyncio.run.TCPServer = BoundedConnection  # type: ignore[misc,assignment,attr-defined,unused-ignore]
