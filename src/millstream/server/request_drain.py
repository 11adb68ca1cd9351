"""A middleware that reads each request to its end before the response ends."""

import anyio
from starlette.types import ASGIApp, Message, Receive, Scope, Send

DRAIN_SECONDS = 10


class RequestDrain:
    """Reads and drops the rest of a request's body, for a limited time, when its response is ready.

    So a client that is still sending receives an error response; if the connection were closed, it might lose it.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request as an ASGI application, then read the rest of its body."""
        exchange = _Exchange(receive, send)
        is_http = scope["type"] == "http"
        await (self._app(scope, exchange.receive, exchange.send) if is_http else self._app(scope, receive, send))


class _Exchange:
    """One request and its response; `_read` is True once the request was read to its end."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive, self._send, self._read = receive, send, False

    async def receive(self) -> Message:
        """The next message of the request, which the application reads; `_read` is set by the last one."""
        message = await self._receive()
        self._read = self._read or not message.get("more_body", False)
        return message

    async def send(self, message: Message) -> None:
        """Send a part of the response; before its end the rest of the request is read."""
        last = message["type"] == "http.response.body" and not message.get("more_body", False)
        if last and not self._read:
            await self._send({**message, "more_body": True})
            await self._drain()
            message = {"type": "http.response.body", "body": b"", "more_body": False}
        await self._send(message)

    async def _drain(self) -> None:
        with anyio.move_on_after(DRAIN_SECONDS):
            while not self._read:
                await self.receive()
