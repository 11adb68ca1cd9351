"""Fixes two faults of hypercorn's HTTP/2: data for streams that have ended, and connections that end."""

import h2.events
import hypercorn.protocol
from hypercorn.events import Closed, Event
from hypercorn.protocol.h2 import H2Protocol


class PatchedHttp2(H2Protocol):  # type: ignore[misc,unused-ignore]
    """HTTP/2 on one connection.

    Hypercorn 0.18 raises KeyError if data arrives for a stream that it has answered already, or refuses because it is
    stopping: that ends the connection with all its streams, and the stopping server with an error. And if a connection
    ends before a response was sent, the task that writes the response waits forever.
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
                await super()._handle_events([event])
        await self._flush()


def install() -> None:
    """Make hypercorn use this class, by replacing the name under which it looks it up: there is no other way."""
    hypercorn.protocol.H2Protocol = PatchedHttp2  # type: ignore[misc,attr-defined,unused-ignore]
