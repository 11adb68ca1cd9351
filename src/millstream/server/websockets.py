"""Hypercorn's WebSockets without compression, and without a wait for the next ping when one has ended.

A compressed message of 500 KB may unpack to 500 MB of zeros, and its size is only checked afterwards; clients send
nothing but the close.
"""

import asyncio
from contextlib import suppress

import hypercorn.protocol.h2
import hypercorn.protocol.h11
import hypercorn.protocol.ws_stream
from hypercorn.protocol.events import Event
from hypercorn.protocol.ws_stream import WSStream
from wsproto.events import Ping
from wsproto.extensions import Extension


class NoExtension(Extension):
    """Replaces hypercorn's permessage-deflate, and declines each client's offer of it."""

    name = "none"

    def enabled(self) -> bool:
        """False: no connection uses the extension."""
        return False

    def offer(self) -> bool:
        """False: nothing is offered. The base class requires the method, which only clients call."""
        return False

    def accept(self, offer: str) -> None:
        """None: the offer of a client is declined, whatever it is."""


class PromptWebSocket(WSStream):  # type: ignore[misc,unused-ignore]
    """A WebSocket whose task that sends pings ends with it.

    Hypercorn's sleeps until the next ping is due, and keeps the closed connection as long: its place among the
    connections, and a server that stops.
    """

    _ended: asyncio.Event | None = None

    async def handle(self, event: Event) -> None:
        """Does what hypercorn does, and ends the pings of a stream that has closed."""
        await super().handle(event)
        if self.closed and self._ended is not None:
            self._ended.set()

    async def _send_pings(self) -> None:
        self._ended = asyncio.Event()
        while not self.closed:
            await self._send_wsproto_event(Ping())
            with suppress(TimeoutError):
                async with asyncio.timeout(self.config.websocket_ping_interval):
                    await self._ended.wait()


def install() -> None:
    """Make hypercorn use these classes, by replacing the names under which it looks them up: there is no other way."""
    hypercorn.protocol.ws_stream.PerMessageDeflate = NoExtension  # type: ignore[assignment,misc,attr-defined,unused-ignore]
    for protocol in (hypercorn.protocol.h11, hypercorn.protocol.h2):
        protocol.WSStream = PromptWebSocket  # type: ignore[misc,attr-defined,unused-ignore]
