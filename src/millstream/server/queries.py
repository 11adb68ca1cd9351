"""/query, /query-stream and /close-query: streamed answers."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from starlette.requests import Request as HttpRequest
from starlette.responses import Response

from millstream.engine.api import BatchedRows, Request, RequestFailed, Rows
from millstream.security.rights import Right
from millstream.server.authentication import principal_of, require
from millstream.server.bodies import read_object, read_request, required
from millstream.server.codes import BAD_REQUEST, NOT_ACCEPTABLE
from millstream.server.context import ServerContext, work_of
from millstream.server.framing import ArrayFraming, BatchFraming, Framing, LineFraming, ObjectFraming, PrintFraming
from millstream.server.media import DELIMITED, JSON, KSQL, accepted
from millstream.server.streamed_response import StreamedResponse

Frame = Callable[[Rows], Framing]
QUERY: dict[str, Frame] = {KSQL: ObjectFraming, JSON: ObjectFraming}
QUERY_STREAM: dict[str, Frame] = {DELIMITED: LineFraming, JSON: ArrayFraming, KSQL: ObjectFraming}

# The most batches that wait for a client beside those in its query's own buffer.
BATCHES_AHEAD = 4


async def query(request: HttpRequest) -> Response:
    """POST /query: rows as objects in one array; a PRINT as lines."""
    media = accepted(request, tuple(QUERY))
    statement = await read_request(request)
    return await _answer(statement, media, QUERY[media], request)


async def query_stream(request: HttpRequest) -> Response:
    """POST /query-stream: rows as arrays; a PRINT only if the client accepts lines."""
    media = accepted(request, tuple(QUERY_STREAM))
    statement, work = await read_request(request), work_of(request)
    if media != DELIMITED and await work.run(lambda: work.engine.is_print(statement)):
        raise RequestFailed(NOT_ACCEPTABLE, f"PRINT is answered in lines of text: accept {DELIMITED}", statement.text)
    return await _answer(statement, media, QUERY_STREAM[media], request)


async def close_query(request: HttpRequest) -> Response:
    """POST /close-query: end a running push query by its id."""
    query_id, work = required(await read_object(request), "queryId"), work_of(request)
    if work.feeds.owner(query_id) != principal_of(request).name:
        require(request, Right.WRITE)
    if not await work.run(lambda: work.engine.close_query(query_id)):
        raise RequestFailed(BAD_REQUEST, f"No query with id {query_id}")
    return Response()


async def _answer(query: Request, media: str, frame: Frame, request: HttpRequest) -> Response:
    work = work_of(request)
    started = await work.run(lambda: start(query, work))
    if isinstance(started, Printing):
        return StreamedResponse(
            work.feeds.open(started.lines, started.close), PrintFraming(), "text/plain; charset=utf-8", work
        )
    owner, framing = principal_of(request).name, frame(started)
    if isinstance(started, BatchedRows):
        batches = work.feeds.open(started.batches(), started.close, started.query_id, owner, BATCHES_AHEAD)
        return StreamedResponse(batches, BatchFraming(framing), media, work)
    feed = work.feeds.open(started, started.close, started.query_id, owner)
    return StreamedResponse(feed, framing, media, work)


@dataclass(frozen=True, slots=True)
class Printing:
    """A running PRINT."""

    lines: Iterator[str | None]

    def close(self) -> None:
        """No effect: the thread that reads the lines stops at the next line or at the next None."""


def start(query: Request, work: ServerContext) -> Rows | Printing:
    """Start the SELECT or PRINT of a request; blocks. Raises RequestFailed."""
    if work.engine.is_print(query):
        return Printing(work.engine.print_topic(query))
    return work.engine.query(query)
