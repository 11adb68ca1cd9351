"""A middleware that takes the rest of a request while the end of its response is sent."""

import anyio
from starlette.types import ASGIApp, Message, Receive, Scope, Send


class RequestDrain:
    """Takes and drops what has arrived of a request's body that the application has not read.

    Otherwise the connection, which waits until the application takes it, would not notice that the response has ended
    and read the rest (http1.py).
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request as an ASGI application, with the end of its response as described."""
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
            async with anyio.create_task_group() as group:
                group.start_soon(self._drain)
                await self._send(message)
        else:
            await self._send(message)

    async def _drain(self) -> None:
        """Take the rest of the request, or that the response has ended, which comes as a disconnection."""
        while not self._read:
            await self.receive()
