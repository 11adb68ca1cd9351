"""Writes the head of an HTTP/1.1 response with the first part of its body, and reads requests whose response ended."""

import asyncio
from functools import partial

import h11
import hypercorn.protocol
from hypercorn.events import RawData
from hypercorn.protocol.events import EndBody, StreamClosed
from hypercorn.protocol.events import Event as StreamEvent
from hypercorn.protocol.h11 import H11Protocol
from hypercorn.typing import H11SendableEvent

# How long the rest of a request is read whose response has ended.
DRAIN_SECONDS = 10.0


class JoinedHttp1(H11Protocol):  # type: ignore[misc,unused-ignore]
    """HTTP/1.1 on one connection.

    Hypercorn writes the head of a response, each part of its body and its end one by one, each with a system call. Here
    the head waits for what the application sends in the same step of the event loop.

    Hypercorn closes a connection whose response has ended before its request. A client that is still sending then may
    lose the response: here the rest of the request is read for a while, and dropped.
    """

    _head = b""
    _writing: asyncio.Task[None] | None = None

    async def stream_send(self, event: StreamEvent) -> None:
        """Does what hypercorn does; the connection of a request that has not ended stays open for its rest."""
        if isinstance(event, StreamClosed) and self._is_request_open():
            await self._close_stream()
            self.stream = RestOfRequest(self)  # type: ignore[assignment,unused-ignore]
        else:
            await super().stream_send(event)

    def _is_request_open(self) -> bool:
        """True if the response has ended, and the client may still be sending its request."""
        http1, is_stopping = self.connection, self.context.terminated.is_set()
        if not isinstance(http1, h11.Connection) or isinstance(self.stream, RestOfRequest) or is_stopping:
            return False
        return http1.our_state in (h11.DONE, h11.MUST_CLOSE) and http1.their_state is h11.SEND_BODY

    async def recycle(self) -> None:
        """Wait for the next request, or close the connection if this one has not ended."""
        await self._maybe_recycle()

    async def _send_h11_event(self, event: H11SendableEvent) -> None:
        try:
            data = self._head + self.connection.send(event)
        except h11.LocalProtocolError:
            if self.connection.their_state != h11.ERROR:
                raise
            return
        self._head = b""
        if isinstance(event, h11.Response):
            self._head = data
            asyncio.get_running_loop().call_soon(self._write_soon)
        elif data:
            await self.send(RawData(data=data))

    def _write_soon(self) -> None:
        """Begin to write a head that nothing has followed."""
        if self._head:
            self._writing = asyncio.ensure_future(self._write_head())

    async def _write_head(self) -> None:
        # A part of the body that was sent after `_write_soon` has taken the head with it, so the head is written once.
        data, self._head = self._head, b""
        if data:
            await self.send(RawData(data=data))


class RestOfRequest:
    """Drops the rest of a request whose response has ended; then, or after some seconds, its connection is recycled."""

    def __init__(self, connection: JoinedHttp1) -> None:
        self._connection = connection
        begin = partial(connection.task_group.spawn, connection.recycle)
        self._timer = asyncio.get_running_loop().call_later(DRAIN_SECONDS, begin)

    async def handle(self, event: StreamEvent) -> None:
        """Take a part of the request, its end, or that the connection is closed."""
        if isinstance(event, EndBody | StreamClosed):
            self._timer.cancel()
        if isinstance(event, EndBody):
            await self._connection.recycle()


def install() -> None:
    """Make hypercorn use this class, by replacing the name under which it looks it up: there is no other way."""
    hypercorn.protocol.H11Protocol = JoinedHttp1  # type: ignore[misc,attr-defined,unused-ignore]
