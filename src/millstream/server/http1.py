"""Writes the head of an HTTP/1.1 response together with the first part of its body."""

import asyncio

import h11
import hypercorn.protocol
from hypercorn.events import RawData
from hypercorn.protocol.h11 import H11Protocol
from hypercorn.typing import H11SendableEvent


class JoinedHttp1(H11Protocol):  # type: ignore[misc,unused-ignore]
    """HTTP/1.1 on one connection.

    Hypercorn writes the head of a response, each part of its body and its end one by one, each with a system call. Here
    the head waits for what the application sends in the same step of the event loop.
    """

    _head = b""
    _writing: asyncio.Task[None] | None = None

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
        # What was sent since `_write_soon` has taken the head with it: it never comes after its body.
        data, self._head = self._head, b""
        if data:
            await self.send(RawData(data=data))


def install() -> None:
    """Make hypercorn use this class, by replacing the name under which it looks it up: there is no other way."""
    hypercorn.protocol.H11Protocol = JoinedHttp1  # type: ignore[misc,attr-defined,unused-ignore]
