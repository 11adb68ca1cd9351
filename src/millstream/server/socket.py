"""/ws/query: a query's rows as WebSocket messages."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import anyio
from starlette.websockets import WebSocket, WebSocketDisconnect

from millstream.engine.api import RequestFailed, Rows
from millstream.engine.entities.types import described
from millstream.server.audit import note
from millstream.server.authentication import principal_of
from millstream.server.bodies import parse_object, to_request
from millstream.server.context import ServerContext, context_of
from millstream.server.errors import RequestBoundary
from millstream.server.feed import Feed
from millstream.server.framing import row_object
from millstream.server.queries import Printing, start_query
from millstream.server.streamed_response import first_of
from millstream.server.text import dumps

DONE, BROKEN, REFUSED, TRY_AGAIN_LATER = 1000, 1011, 1003, 1013
UNAVAILABLE = 503
REASON_BYTES = 120  # a close frame carries 123
# How PRINT's line of a record begins; a socket has no lines about formats, as in ksqlDB.
RECORD = "rowtime: "


async def socket_query(socket: WebSocket) -> None:
    """GET /ws/query?request={"ksql": …}: the schema, then one message for each row; closes as "done", or with an
    error."""
    await socket.accept()
    context = context_of(socket)
    with RequestBoundary() as boundary:
        statements = to_request(parse_object(socket.query_params.get("request", "{}")), context.limits.statement_bytes)
        note(socket.scope, statement=statements.text)
        query = replace(statements, missing_right=principal_of(socket).missing)
        started = await context.run(lambda: start_query(query, context))
    if (refusal := boundary.error) is not None:
        note(socket.scope, error=refusal.message)
        await _close(socket, _refused(refusal), refusal.message)
    else:
        await _stream(socket, started, context)


def _refused(refusal: RequestFailed) -> int:
    """The close code of a refused socket, as in ksqlDB: TRY_AGAIN_LATER while the server is not ready, else REFUSED."""
    return TRY_AGAIN_LATER if refusal.code // 100 == UNAVAILABLE else REFUSED


async def _stream(socket: WebSocket, started: Rows | Printing, context: ServerContext) -> None:
    items, id = (started.lines, "") if isinstance(started, Printing) else (started, started.query_id)
    # As in ksqlDB, the end of a user's token ends a socket only if the server limits how long sockets stay open.
    seconds, user = context.limits.socket_seconds, principal_of(socket)
    feed: Feed[Any] = context.feeds.open(items, started.close, id, user if seconds else user.without_expiry())
    try:
        with anyio.move_on_after(seconds or None):
            await first_of(lambda: _left(socket), lambda: _send(socket, started, feed))
    finally:
        with anyio.CancelScope(shield=True):
            await context.run_ending(lambda: context.feeds.finish(feed))


async def _send(socket: WebSocket, started: Rows | Printing, feed: Feed[Any]) -> None:
    try:
        if not isinstance(started, Printing):
            await socket.send_text(dumps(described(started.names, started.types)))
        async for batch in feed.batches():
            for message in _messages(started, batch):
                await socket.send_text(message)
    except WebSocketDisconnect:
        pass
    except RequestFailed as refusal:
        await _close(socket, BROKEN, refusal.message)
    else:
        await _close(socket, DONE, "done")


def _messages(started: Rows | Printing, batch: Sequence[Any]) -> list[str]:
    if isinstance(started, Printing):
        return [dumps(line) for line in batch if line.startswith(RECORD)]
    return [dumps({"row": row_object(row)}) for row in batch]


async def _left(socket: WebSocket) -> None:
    with suppress(WebSocketDisconnect):
        while True:
            await socket.receive_text()


async def _close(socket: WebSocket, code: int, reason: str) -> None:
    await socket.close(code, reason.encode()[:REASON_BYTES].decode(errors="ignore"))
