"""A response that is written while the query runs, and ends with the query or when the client disconnects."""

from collections.abc import Awaitable, Callable

import anyio
from anyio.abc import TaskGroup
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from millstream.engine.api import RequestFailed
from millstream.server.audit import note
from millstream.server.context import ServerContext
from millstream.server.feed import AnyFeed
from millstream.server.framing import Framing

# Proxies should pass each row on as it arrives.
HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


class StreamedResponse(Response):
    """The items of a feed in a framing; the feed is finished after the last item or when the client disconnects."""

    def __init__(self, feed: AnyFeed, framing: Framing, media: str, context: ServerContext) -> None:
        super().__init__(media_type=media, headers=HEADERS)
        del self.headers["content-length"]
        self._feed, self._framing, self._context = feed, framing, context

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Write until the end, or until the client disconnects."""
        try:
            await first_of(lambda: _disconnected(receive), lambda: self._write(scope, send))
        finally:
            with anyio.CancelScope(shield=True):
                await self._context.run_ending(lambda: self._context.feeds.finish(self._feed))

    async def _write(self, scope: Scope, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        await send(part(self._framing.start()))
        try:
            async for batch in self._feed.batches():
                await send(part(self._framing.items(batch)))
        except RequestFailed as refusal:
            note(scope, error=refusal.message)
            await send(part(self._framing.error(refusal)))
        else:
            await send(part(self._framing.end()))
        await send(LAST)


LAST: Message = {"type": "http.response.body", "body": b"", "more_body": False}


def part(text: str) -> Message:
    """A piece of a body that is not its end."""
    return {"type": "http.response.body", "body": text.encode(), "more_body": True}


async def first_of(*tasks: Callable[[], Awaitable[None]]) -> None:
    """Run tasks together until one of them ends, and cancel the others."""
    async with anyio.create_task_group() as group:
        for task in tasks:
            group.start_soon(_ending, group, task)


async def _ending(group: TaskGroup, task: Callable[[], Awaitable[None]]) -> None:
    await task()
    group.cancel_scope.cancel()


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
