"""Look-ups by key over HTTP/1.1, answered without the application: it takes longer than the look-up itself.

    POST /query-stream HTTP/1.1 … Content-Length: 46        a known head (request_heads.py)
    {"sql": "SELECT name FROM t WHERE id = 7;"}             a known shape  (engine/lookups.py)

Both are known from earlier requests that the application has answered, so the answer is the same (docs/design/018).
Every other request, and every look-up that fails, is left to the application, which refuses it with its reason.
Look-ups of several connections in one table run together: one thread reads the rows of all that wait.
"""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from wsgiref.handlers import format_date_time

from starlette.responses import Response

from millstream.engine.api import PreparedLookup, Request, RequestFailed, Rows
from millstream.server.audit import entry_of
from millstream.server.bodies import parse_object, to_request
from millstream.server.context import ServerContext
from millstream.server.errors import RequestBoundary
from millstream.server.metrics import RequestDurations
from millstream.server.queries import FORMS, CompleteAnswer, Frame, read_short
from millstream.server.request_heads import LONGEST, AcceptedHead, RequestHeads
from millstream.server.streamed_response import HEADERS

BEGINNINGS = tuple(f"POST {path} HTTP/1.1\r\n".encode() for path in FORMS)
END = b"\r\n\r\n"
# The most bytes of a body.
BODY = 4096
Address = tuple[str, int]


class LookupResponses:
    """Answers the look-ups of a server's HTTP/1.1 connections; used by its event loop only."""

    def __init__(self, context: ServerContext, heads: RequestHeads, durations: RequestDurations) -> None:
        self._context, self._heads, self._durations = context, heads, durations
        self._batches = LookupBatches(context)

    async def find(self, data: bytes, client: Address | None, scheme: str) -> "LookupRequest | None":
        """The look-up in `data`, if that is exactly one request, for a known look-up; None otherwise.

        `client` is the sender's address, `scheme` http or https.
        """
        if not data.startswith(BEGINNINGS):
            return None
        begin, end = time.perf_counter(), data.find(END, 0, LONGEST) + len(END)
        if end < len(END) or len(data) - end > BODY:
            return None
        head = await self._heads.find(data[:end], scheme)
        if head is None or len(data) - end != head.length:
            return None
        request = self._request(data[end:], head)
        lookup = None if request is None else self._context.engine.prepared_lookup(request)
        if request is None or lookup is None:
            return None
        audited = _Audited(head, request.text, client, time.time()) if self._context.audit else None
        return LookupRequest(lookup, head, begin, audited)

    async def response(self, request: "LookupRequest") -> bytes | None:
        """The response to a look-up; None if it fails, or if the response is long: then the application answers."""
        answer = await self._batches.answer(request)
        if answer is None:
            return None
        self._durations.observe("POST", request.head.path, 200, request.begin)
        return _response(answer.text.encode(), request.head.media)

    def _request(self, body: bytes, head: AcceptedHead) -> Request | None:
        """The engine's request in a body; None if the application would refuse it."""
        try:
            request = to_request(parse_object(body), self._context.limits.statement_bytes)
        except RequestFailed:
            return None
        return replace(request, missing_right=head.principal.missing)


@dataclass(frozen=True, slots=True)
class _Audited:
    """What the audit log records of a look-up that came at `begin`, in epoch seconds."""

    head: AcceptedHead
    statement: str
    client: Address | None
    begin: float

    def entry(self) -> dict[str, object]:
        """The entry of a look-up that has been answered now."""
        state = {"principal": self.head.principal, "statement": self.statement}
        return entry_of({"state": state, "client": self.client, "path": self.head.path}, self.begin, 200)


@dataclass(frozen=True, slots=True)
class LookupRequest:
    """A known look-up that came at `begin`, in seconds of time.perf_counter."""

    lookup: PreparedLookup
    head: AcceptedHead
    begin: float
    audited: _Audited | None = None


class LookupBatches:
    """Runs look-ups in batches: those of one table that come while a batch runs are the next batch.

    So one thread, and one question to Kafka for the topic's end, serve many; a table that is not ready delays its own
    look-ups only. Used by one event loop.
    """

    def __init__(self, context: ServerContext) -> None:
        self._context = context
        self._waiting: dict[str, list[tuple[LookupRequest, asyncio.Future[CompleteAnswer | None]]]] = {}
        self._running: dict[str, asyncio.Task[None]] = {}

    async def answer(self, request: LookupRequest) -> CompleteAnswer | None:
        """A look-up's whole answer; None if it failed, or is too long to be sent as a whole."""
        table, future = request.lookup.table, asyncio.get_running_loop().create_future()
        self._waiting.setdefault(table, []).append((request, future))
        if table not in self._running:
            self._running[table] = asyncio.ensure_future(self._run(table))
        answer: CompleteAnswer | None = await future
        return answer

    async def _run(self, table: str) -> None:
        try:
            while batch := self._waiting.pop(table, []):
                await self._run_batch(batch)
        finally:
            del self._running[table]

    async def _run_batch(self, batch: Sequence[tuple[LookupRequest, "asyncio.Future[CompleteAnswer | None]"]]) -> None:
        answers: Sequence[CompleteAnswer | None] = []
        requests = [request for request, _ in batch]
        try:
            # After a failure the application runs each look-up again, and answers with it.
            with RequestBoundary():
                answers = await self._context.run(lambda: self._answers(requests))
        finally:
            for i, (_, future) in enumerate(batch):
                if not future.done():
                    future.set_result(answers[i] if answers else None)

    def _answers(self, batch: Sequence[LookupRequest]) -> list[CompleteAnswer | None]:
        """The answers of a batch; blocks. Raises RequestFailed, or what else it may be, if none can be answered."""
        started = self._context.engine.look_up([request.lookup for request in batch])
        answers: list[CompleteAnswer | None] = []
        for request, rows in zip(batch, started, strict=True):
            answer = _complete_answer(rows, request.head.frame)
            if answer is not None and request.audited is not None and self._context.audit is not None:
                self._context.audit.write(request.audited.entry())
            answers.append(answer)
        return answers


def _complete_answer(rows: Rows, frame: Frame) -> CompleteAnswer | None:
    """The whole answer of a short query; None if it fails, or is too long."""
    try:
        answer = read_short(rows, frame(rows))
    except RequestFailed:
        return None
    return answer if isinstance(answer, CompleteAnswer) and not answer.error else None


def _response(body: bytes, media: str) -> bytes:
    return _head(media) % (len(body), _date(int(time.time()))) + body


@lru_cache
def _head(media: str) -> bytes:
    """The head of a response as the application sends it, without the values of content-length and date."""
    response = Response(media_type=media, headers=HEADERS)
    fields = [(name, b"%d" if name == b"content-length" else value) for name, value in response.raw_headers]
    lines = [b"HTTP/1.1 200 ", *(b"%s: %s" % field for field in fields), b"date: %s", b"", b""]
    return b"\r\n".join(lines)


@lru_cache(1)
def _date(second: int) -> bytes:
    """The value of the header `date`."""
    return format_date_time(second).encode()
