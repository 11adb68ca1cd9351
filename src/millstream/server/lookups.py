"""Look-ups by key over HTTP/1.1, answered without the application: it takes longer than the look-up itself.

    POST /query-stream HTTP/1.1 … Content-Length: 46        a known head (request_heads.py)
    {"sql": "SELECT name FROM t WHERE id = 7;"}             a known shape  (engine/lookups.py)

Both are known from earlier requests that the application has answered, so the answer is the same (docs/design/018).
Every other request, and a look-up whose rows cannot be read, is left to the application, which refuses it with its
reason. A table that is not up to date in time is refused here: the application would wait as long once more.
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
from millstream.server.errors import RequestBoundary, respond, without_stack
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
        return LookupRequest(lookup, head, request.text.strip(), begin, audited)

    async def response(self, request: "LookupRequest") -> bytes | None:
        """The response to a look-up; None if its rows cannot be read, or are many: then the application answers."""
        outcome = await self._batches.answer(request)
        if outcome is None:
            return None
        response = respond(outcome) if isinstance(outcome, RequestFailed) else None
        status = 200 if response is None else response.status_code
        self._durations.observe("POST", request.head.path, status, request.begin)
        if response is not None:
            return _head_of(response, _date(int(time.time()))) + bytes(response.body)
        assert isinstance(outcome, CompleteAnswer)
        return _response(outcome.text.encode(), request.head.media)

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

    def entry(self, refusal: RequestFailed | None = None) -> dict[str, object]:
        """The entry of a look-up that has been answered, or refused, now."""
        state: dict[str, object] = {"principal": self.head.principal, "statement": self.statement}
        if refusal is not None:
            state["error"] = without_stack(refusal.message)
        scope = {"state": state, "client": self.client, "path": self.head.path}
        return entry_of(scope, self.begin, refusal.code // 100 if refusal else 200)


@dataclass(frozen=True, slots=True)
class LookupRequest:
    """A known look-up, with its statement, that came at `begin`, in seconds of time.perf_counter."""

    lookup: PreparedLookup
    head: AcceptedHead
    statement: str
    begin: float
    audited: _Audited | None = None


LookupOutcome = CompleteAnswer | RequestFailed | None
_Waiting = tuple[LookupRequest, asyncio.Future[LookupOutcome]]


class LookupBatches:
    """Runs look-ups in batches: those of one table that come while a batch runs are the next batch.

    So one thread, and one question to Kafka for the topic's end, serve many; a table that is not ready delays its own
    look-ups only. Used by one event loop.
    """

    def __init__(self, context: ServerContext) -> None:
        self._context = context
        self._waiting: dict[str, list[_Waiting]] = {}
        self._running: dict[str, asyncio.Task[None]] = {}

    async def answer(self, request: LookupRequest) -> LookupOutcome:
        """A look-up's whole answer, or its refusal; None if its rows cannot be read, or are too many to be sent as a
        whole."""
        table, future = request.lookup.table, asyncio.get_running_loop().create_future()
        self._waiting.setdefault(table, []).append((request, future))
        if table not in self._running:
            self._running[table] = asyncio.ensure_future(self._run(table))
        outcome: LookupOutcome = await future
        return outcome

    async def _run(self, table: str) -> None:
        try:
            while batch := self._waiting.pop(table, []):
                await self._run_batch(table, batch)
        finally:
            del self._running[table]

    async def _run_batch(self, table: str, batch: list[_Waiting]) -> None:
        """Run the look-ups of one table that wait, and pass each its outcome: None after an error."""
        outcomes: Sequence[LookupOutcome] = []
        requests = [request for request, _ in batch]
        try:
            # After any other error the application runs each look-up again, and answers with it.
            with RequestBoundary():
                answers = await self._context.run(lambda: self._answers(requests))
                if isinstance(answers, RequestFailed):
                    # Look-ups that have come meanwhile are refused, too: they would wait as long for the same result.
                    batch = batch + self._waiting.pop(table, [])
                    outcomes = await self._context.run(lambda: self._refusals(batch, answers))
                else:
                    outcomes = answers
        finally:
            for i, (_, future) in enumerate(batch):
                if not future.done():
                    future.set_result(outcomes[i] if outcomes else None)

    def _answers(self, batch: Sequence[LookupRequest]) -> list[CompleteAnswer | None] | RequestFailed:
        """The answers of a batch, or why its table cannot be read now; blocks."""
        try:
            started = self._context.engine.look_up([request.lookup for request in batch])
        except RequestFailed as refusal:
            return refusal
        answers: list[CompleteAnswer | None] = []
        for request, rows in zip(batch, started, strict=True):
            answer = _complete_answer(rows, request.head.frame)
            if answer is not None:
                self._record(request)
            answers.append(answer)
        return answers

    def _refusals(self, batch: Sequence[_Waiting], reason: RequestFailed) -> list[RequestFailed]:
        """The refusal of each look-up of a batch."""
        refusals = [RequestFailed(reason.code, reason.message, request.statement) for request, _ in batch]
        for (request, _), refusal in zip(batch, refusals, strict=True):
            self._record(request, refusal)
        return refusals

    def _record(self, request: LookupRequest, refusal: RequestFailed | None = None) -> None:
        """Write the entry of a look-up to the audit log, if there is one."""
        if request.audited is not None and self._context.audit is not None:
            self._context.audit.write(request.audited.entry(refusal))


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
    response.raw_headers = [(n, b"%d" if n == b"content-length" else value) for n, value in response.raw_headers]
    return _head_of(response, b"%s")


def _head_of(response: Response, date: bytes) -> bytes:
    """The head of a response as the application sends it."""
    fields = (*response.raw_headers, (b"date", date))
    lines = [b"HTTP/1.1 %d " % response.status_code, *(b"%s: %s" % field for field in fields), b"", b""]
    return b"\r\n".join(lines)


@lru_cache(1)
def _date(second: int) -> bytes:
    """The value of the header `date`."""
    return format_date_time(second).encode()
