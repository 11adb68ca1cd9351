"""/query, /query-stream and /close-query: streamed answers.

    SELECT * FROM t WHERE id = 7;       CompleteAnswer: few rows, read by the thread that starts the query
    SELECT * FROM s EMIT CHANGES;       RunningAnswer: rows → a feed → the framing → StreamedResponse
    PRINT orders;                       Printing: lines of text, through a feed and PrintFraming

The request's path and its Accept header choose the framing (FORMS). An error at the start is the response's status;
one among the rows is the answer's last element.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

from starlette.requests import Request as HttpRequest
from starlette.responses import Response

from millstream.engine.api import BatchedRows, Request, RequestFailed, Rows
from millstream.security.rights import Right
from millstream.server.audit import note
from millstream.server.authentication import principal_of, require
from millstream.server.bodies import read_object, read_request, required
from millstream.server.codes import BAD_REQUEST, NOT_ACCEPTABLE
from millstream.server.context import ServerContext, context_of
from millstream.server.errors import RequestBoundary
from millstream.server.framing import (
    ArrayFraming,
    BatchFraming,
    Framing,
    LineFraming,
    ObjectFraming,
    PrintFraming,
    ProtobufFraming,
)
from millstream.server.media import DELIMITED, JSON, KSQL, PROTOBUF, accepted
from millstream.server.protobuf_rows import ProtobufRows
from millstream.server.streamed_response import HEADERS, StreamedResponse

# The most rows of an answer that is sent as a whole.
SHORT = 1000
Frame = Callable[[Rows], Framing]


def protobuf_framing(rows: Rows) -> Framing:
    """The form of rows as Protobuf messages. Raises RequestFailed 40600 if their columns have no such form."""
    encoder = ProtobufRows(rows)
    return ProtobufFraming(rows, encoder.schema, encoder.encode)


QUERY: dict[str, Frame] = {
    KSQL: ObjectFraming,
    JSON: ObjectFraming,
    PROTOBUF: protobuf_framing,
    DELIMITED: LineFraming,
}
QUERY_STREAM: dict[str, Frame] = {
    DELIMITED: LineFraming,
    JSON: ArrayFraming,
    KSQL: ObjectFraming,
    PROTOBUF: protobuf_framing,
}
# The forms of an answer on each path, the preferred one first.
FORMS = {"/query": QUERY, "/query-stream": QUERY_STREAM}


async def query(request: HttpRequest) -> Response:
    """POST /query: rows as objects in one array, or as arrays, a line each; a PRINT as lines."""
    media = accepted(request, tuple(QUERY))
    statement = await read_request(request)
    return await _answer(statement, media, QUERY[media], request)


async def query_stream(request: HttpRequest) -> Response:
    """POST /query-stream: rows as arrays; a PRINT only if the client accepts lines."""
    media = accepted(request, tuple(QUERY_STREAM))
    return await _answer(await read_request(request), media, QUERY_STREAM[media], request, media == DELIMITED)


async def close_query(request: HttpRequest) -> Response:
    """POST /close-query: end a running push query by its id. The query of another user needs the right WRITE.

    Raises RequestFailed 40000 if no query of that id is running, 40300 if the right is missing.
    """
    query_id, context = required(await read_object(request), "queryId"), context_of(request)
    if context.feeds.owner(query_id) != principal_of(request).name:
        require(request, Right.WRITE)
    if not await context.run(lambda: context.engine.close_query(query_id)):
        raise RequestFailed(BAD_REQUEST, f"No query with id {query_id}")
    return Response()


async def _answer(query: Request, media: str, frame: Frame, request: HttpRequest, lines: bool = True) -> Response:
    """The response to a SELECT or PRINT: complete, or streamed from a feed while the query runs. Raises RequestFailed.

    `frame` makes the framing from the answer's rows, `media` is its content type; `lines`: see start_answer.
    """
    context = context_of(request)
    started = await context.run(lambda: start_answer(query, frame, lines, context))
    match started:
        case CompleteAnswer():
            if started.error:
                note(request.scope, error=started.error)
            return Response(started.text, headers=HEADERS, media_type=media)
        case Printing():
            feed = context.feeds.open(started.lines, started.close, owner=principal_of(request))
            return StreamedResponse(feed, PrintFraming(), "text/plain; charset=utf-8", context)
    rows, framing, user = started.rows, started.framing, principal_of(request)
    owner = user if rows.push else user.without_expiry()
    if isinstance(rows, BatchedRows):
        return StreamedResponse(context.feeds.follow(rows, owner), BatchFraming(framing, rows.token), media, context)
    feed = context.feeds.open(started.items, rows.close, rows.query_id, owner)
    return StreamedResponse(feed, framing, media, context)


@dataclass(frozen=True, slots=True)
class CompleteAnswer:
    """The complete body of an answer, and its error if it ends with one."""

    text: str
    error: str = ""


@dataclass(frozen=True, slots=True)
class RunningAnswer:
    """A running query, all of its items (some may have been read already), and the form of its answer."""

    rows: Rows
    items: Iterable[Any]
    framing: Framing


@dataclass(frozen=True, slots=True)
class Printing:
    """A running PRINT: its lines, at times None while no record arrives."""

    lines: Iterator[str | None]

    def close(self) -> None:
        """No effect: the thread that reads the lines stops at the next line or at the next None."""


def start_answer(
    query: Request, frame: Frame, lines: bool, context: ServerContext
) -> CompleteAnswer | RunningAnswer | Printing:
    """Start the SELECT or PRINT of a request, and read the rows of a short answer; blocks.

    `lines`: the client accepts lines of text, which is how a PRINT is answered. Raises RequestFailed.
    """
    started = start_query(query, context, lines)
    if isinstance(started, Printing):
        return started
    try:
        framing = frame(started)
    except RequestFailed:
        started.close()
        raise
    return read_short(started, framing) if started.short else RunningAnswer(started, started, framing)


def read_short(rows: Rows, framing: Framing) -> CompleteAnswer | RunningAnswer:
    """The answer of a short query: a thread and a feed for each would cost more than the rows."""
    items = iter(rows)
    batch: list[Any] = []
    with RequestBoundary() as boundary:
        for item in islice(items, SHORT):
            batch.append(item)
    if (refusal := boundary.error) is not None:
        return CompleteAnswer(framing.start() + framing.items(batch) + framing.error(refusal), refusal.message)
    if len(batch) == SHORT:
        return RunningAnswer(rows, chain(batch, items), framing)
    return CompleteAnswer(framing.start() + framing.items(batch) + framing.end())


def start_query(query: Request, context: ServerContext, lines: bool = True) -> Rows | Printing:
    """Start the SELECT or PRINT of a request, a PRINT only if the client accepts `lines`; blocks.

    Raises RequestFailed.
    """
    if context.engine.is_print(query):
        if not lines:
            raise RequestFailed(NOT_ACCEPTABLE, f"PRINT is answered in lines of text: accept {DELIMITED}", query.text)
        return Printing(context.engine.print_topic(query))
    return context.engine.query(query)
