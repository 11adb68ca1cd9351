"""Fixes three faults of hypercorn's HTTP/2: data for streams that have ended, and two of connections that have ended.

Also lets the application decide which bytes share a frame.
"""

from collections import deque
from contextlib import suppress

import h2.events
import hypercorn.protocol
import hypercorn.protocol.h2
from h2.exceptions import ProtocolError
from hypercorn.events import Closed, Event
from hypercorn.protocol.h2 import H2Protocol, StreamBuffer
from hypercorn.typing import Event as IOEvent


class PatchedHttp2(H2Protocol):  # type: ignore[misc,unused-ignore]
    """HTTP/2 on one connection.

    Hypercorn 0.18 raises KeyError if data arrives for a stream that it has answered already, or refuses because it is
    stopping: that ends the connection with all its streams, and the stopping server with an error. So does a request
    that it refuses on a connection that has ended, as when the client sent both together. And if a connection ends
    before a response was sent, the task that writes the response waits forever.
    """

    async def handle(self, event: Event) -> None:
        """Does what hypercorn does, and releases tasks that wait to write to a connection that has closed."""
        await super().handle(event)
        if isinstance(event, Closed):
            for buffer in list(self.stream_buffers.values()):
                await buffer.close()

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
    """What is to be sent on a stream. Each piece that the application sends begins a frame."""

    def __init__(self, event_class: type[IOEvent]) -> None:
        super().__init__(event_class)
        self._lengths: deque[int] = deque()

    async def push(self, data: bytes) -> None:
        """Add a piece; waits while there is too much already."""
        if data:
            self._lengths.append(len(data))
        await super().push(data)

    async def pop(self, max_length: int) -> bytes:
        """The next bytes of a piece, at most `max_length`."""
        if not self._lengths:
            return bytes(await super().pop(0))
        data = bytes(await super().pop(min(max_length, self._lengths[0])))
        self._lengths[0] -= len(data)
        if not self._lengths[0]:
            self._lengths.popleft()
        return data


def install() -> None:
    """Make hypercorn use these classes, by replacing the names under which it looks them up: there is no other way."""
    hypercorn.protocol.h2.StreamBuffer = PieceBuffer  # type: ignore[misc,attr-defined,unused-ignore]
    hypercorn.protocol.H2Protocol = PatchedHttp2  # type: ignore[misc,attr-defined,unused-ignore]
