"""Hypercorn's HTTP/2 with two holes mended: data for streams that have ended, and connections that end."""

import h2.events
import hypercorn.protocol
from hypercorn.events import Closed, Event
from hypercorn.protocol.h2 import H2Protocol


class PatchedHttp2(H2Protocol):  # type: ignore[misc,unused-ignore]
    """HTTP/2 on one connection.

    Hypercorn 0.18 raises KeyError where data comes for a stream that it has answered already, or refuses because
    it is stopping: that ends the connection with all streams on it, and the stopping server with an error. And where
    a connection ends before an answer has gone out, whoever writes the answer waits for good.
    """

    async def handle(self, event: Event) -> None:
        """As hypercorn does, and release whoever waits to write to a connection that has closed."""
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
    """Have hypercorn use it: there is no other door than the name under which it looks the class up."""
    hypercorn.protocol.H2Protocol = PatchedHttp2  # type: ignore[misc,attr-defined,unused-ignore]
