"""Fixes three faults of hypercorn's HTTP/2: data for streams that have ended, and two of connections that have ended.

Ends a stream whose client takes none of it for as long as a connection may be idle: its flow-control window is full.
Also sends each line of a query's answer in a frame of its own, as ksqlDB does. Clients of ksqlDB take a frame for a
row: npm's ksqldb-client, and ksql-python-ng with parse=True.
"""

import asyncio
import re
from collections import deque
from collections.abc import Awaitable
from contextlib import suppress

import h2.errors
import h2.events
import hypercorn.protocol
import hypercorn.protocol.h2
from h2.exceptions import ProtocolError
from hypercorn.events import Closed, Event
from hypercorn.protocol.events import Event as StreamEvent
from hypercorn.protocol.events import Response
from hypercorn.protocol.h2 import BUFFER_HIGH_WATER, BUFFER_LOW_WATER, H2Protocol, StreamBuffer
from hypercorn.protocol.http_stream import HTTPStream
from hypercorn.typing import Event as IOEvent

from millstream.server.connections import BoundedConfig
from millstream.server.queries import FORMS

LINE = re.compile(rb"[^\n]*\n|[^\n]+")
# The most frames that are written to the socket together.
TOGETHER = 500


class PatchedHttp2(H2Protocol):  # type: ignore[misc,unused-ignore]
    """HTTP/2 on one connection.

    Hypercorn 0.18 raises KeyError if data arrives for a stream that it has answered already, or refuses because it is
    stopping: that ends the connection with all its streams, and the stopping server with an error. So does a request
    that it refuses on a connection that has ended, as when the client sent both together. And if a connection ends
    before a response was sent, the task that writes the response waits forever.
    """

    _holding = False

    async def handle(self, event: Event) -> None:
        """Does what hypercorn does, and releases tasks that wait to write to a connection that has closed."""
        await super().handle(event)
        if isinstance(event, Closed):
            for buffer in list(self.stream_buffers.values()):
                await buffer.close()

    async def stream_send(self, event: StreamEvent) -> None:
        """Does what hypercorn does; the body of an answer to a query is sent by lines."""
        stream, buffer = self.streams.get(event.stream_id), self.stream_buffers.get(event.stream_id)
        if isinstance(event, Response) and isinstance(stream, HTTPStream) and isinstance(buffer, PieceBuffer):
            buffer.by_lines = stream.scope["path"] in FORMS
        try:
            await super().stream_send(event)
        except TimeoutError:
            await self._reset(event.stream_id)

    async def _create_stream(self, request: h2.events.RequestReceived) -> None:
        await super()._create_stream(request)
        buffer = self.stream_buffers.get(request.stream_id or 0)
        if isinstance(buffer, PieceBuffer) and isinstance(self.config, BoundedConfig):
            buffer.idle_seconds = self.config.limits.idle_seconds

    async def _reset(self, stream_id: int) -> None:
        """End a stream as if the client had: the application gets a disconnect, and its buffer is dropped."""
        with suppress(ProtocolError):
            self.connection.reset_stream(stream_id, h2.errors.ErrorCodes.CANCEL)
        await self._close_stream(stream_id)
        await self._window_updated(stream_id)
        await self._flush()

    async def _send_data(self, stream_id: int) -> None:
        """Does what hypercorn does for one frame, for several frames that are then written to the socket together."""
        self._holding = True
        try:
            for _ in range(TOGETHER):
                await super()._send_data(stream_id)
                if not self._can_send_more(stream_id):
                    break
        finally:
            self._holding = False
        await self._flush()

    def _can_send_more(self, stream_id: int) -> bool:
        """True if the stream has more to send and the client's flow control admits it."""
        buffer = self.stream_buffers.get(stream_id)
        if buffer is None or not buffer.buffer:
            return False
        with suppress(ProtocolError):
            return self.connection.local_flow_control_window(stream_id) > 0
        return False

    async def _flush(self) -> None:
        if not self._holding:
            await super()._flush()

    async def _handle_events(self, events: list[h2.events.Event]) -> None:
        for event in events:
            if isinstance(event, h2.events.DataReceived) and event.stream_id not in self.streams:
                self.connection.acknowledge_received_data(event.flow_controlled_length or 0, event.stream_id)
            else:
                # The connection may have ended behind the event, or while an earlier one was handled.
                with suppress(ProtocolError):
                    await super()._handle_events([event])
        await self._flush()


class PieceBuffer(StreamBuffer):  # type: ignore[misc,unused-ignore]
    """What is to be sent on a stream. Each piece that the application sends begins a frame; `by_lines`: each line of
    it. `idle_seconds` is how long the client may take nothing of it.
    """

    def __init__(self, event_class: type[IOEvent]) -> None:
        super().__init__(event_class)
        self.by_lines = False
        self.idle_seconds: float | None = None
        self._lengths: deque[int] = deque()
        self._deadline: asyncio.Timeout | None = None

    async def push(self, data: bytes) -> None:
        """Add a piece; waits while there is too much already. Raises TimeoutError: the client takes nothing."""
        if self.by_lines:
            self._lengths.extend(map(len, LINE.findall(data)))
        elif data:
            self._lengths.append(len(data))
        # A timer for each piece would cost as much as sending it.
        if len(self.buffer) + len(data) < BUFFER_HIGH_WATER:
            await super().push(data)
        else:
            # The event may be set from before, when there was room; wait for room for this piece.
            await self._paused.clear()
            await self._in_time(super().push(data))

    async def drain(self) -> None:
        """Wait until everything is sent. Raises TimeoutError: the client takes nothing."""
        await self._in_time(super().drain())

    async def pop(self, max_length: int) -> bytes:
        """The next bytes of a piece, at most `max_length`.

        Hypercorn lets the application send more after a call that takes few bytes, also if it takes none because the
        flow-control window is full. Here the application may send more only when few bytes are left in the buffer.
        """
        length = min(max_length, self._lengths[0]) if self._lengths else 0
        data = bytes(self.buffer[:length])
        if data:
            del self.buffer[:length]
            self._lengths[0] -= length
            self._restart_deadline()
        if self._lengths and not self._lengths[0]:
            self._lengths.popleft()
        if len(self.buffer) < BUFFER_LOW_WATER:
            await self._paused.set()
        if not self.buffer:
            await self._is_empty.set()
        return data

    async def _in_time(self, sending: Awaitable[None]) -> None:
        try:
            async with asyncio.timeout(self.idle_seconds) as self._deadline:
                await sending
        finally:
            self._deadline = None

    def _restart_deadline(self) -> None:
        if self._deadline is not None and self.idle_seconds is not None and not self._deadline.expired():
            self._deadline.reschedule(asyncio.get_running_loop().time() + self.idle_seconds)


def install() -> None:
    """Make hypercorn use these classes, by replacing the names under which it looks them up: there is no other way."""
    hypercorn.protocol.h2.StreamBuffer = PieceBuffer  # type: ignore[misc,attr-defined,unused-ignore]
    hypercorn.protocol.H2Protocol = PatchedHttp2  # type: ignore[misc,attr-defined,unused-ignore]
