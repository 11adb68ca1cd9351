"""/inserts-stream: rows arrive as lines of an open request, and acknowledgements are sent meanwhile."""

from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from itertools import takewhile
from typing import Any

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream
from starlette.requests import ClientDisconnect
from starlette.requests import Request as HttpRequest
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from millstream.engine.api import Inserter, MissingRight, RequestFailed
from millstream.security.roles import Principal
from millstream.server.audit import note
from millstream.server.authentication import principal_of
from millstream.server.bodies import object_in, parse_object, required, too_large
from millstream.server.codes import TOO_SLOW
from millstream.server.context import ServerContext, context_of
from millstream.server.errors import RequestBoundary
from millstream.server.media import DELIMITED, JSON, accepted, check_readable
from millstream.server.options import RequestLimits
from millstream.server.request_fields import EXAMPLES
from millstream.server.streamed_response import HEADERS, LAST, part
from millstream.server.text import dumps

# The most lines that are written together, if more have arrived; and the most pieces of lines that wait.
AT_ONCE = 2000
READ_AHEAD = 50
OK = '{"status":"ok","seq":%d}'


async def inserts(request: HttpRequest) -> Response:
    """POST /inserts-stream: {"target": …} on the first line, then one row on each line; an ack for each row, up to the
    first one that is refused."""
    media = accepted(request, (DELIMITED, JSON))
    check_readable(request)
    context = context_of(request)
    lines = InputLines(request.stream(), context.limits)
    missing_right = principal_of(request).missing
    first = await lines.first()
    note(request.scope, statement=first.decode(errors="replace"))
    return Acks(await _open(first, missing_right, context), lines, media, context, principal_of(request))


async def _open(line: bytes, missing_right: MissingRight, context: ServerContext) -> Inserter:
    header = parse_object(line or b"{}", EXAMPLES["/inserts-stream"])
    target, properties = required(header, "target"), object_in(header, "properties")
    return await context.run(lambda: context.engine.inserter(target, properties, missing_right))


class InputLines:
    """The lines of a request body as they arrive, several at once if several have arrived.

    Raises RequestFailed 41300 at a line that is too long; 40800 if a line that has begun is not completed in time, or
    if none arrives for as long as a connection may be idle.
    """

    def __init__(self, pieces: AsyncIterator[bytes], limits: RequestLimits) -> None:
        self._pieces, self._limits, self._incomplete_line = pieces, limits, b""
        self._waiting: list[bytes] = []
        self._too_long = False

    async def first(self) -> bytes:
        """The first line that is not empty; b"" if there is none."""
        async for lines in self:
            self._waiting = lines[1:]
            return lines[0]
        return b""

    async def __aiter__(self) -> AsyncIterator[list[bytes]]:
        """Yields the complete lines that have arrived, without empty ones; the last line needs no newline."""
        if self._waiting:
            waiting, self._waiting = self._waiting, []
            yield waiting
        while not self._too_long and (piece := await self._piece()) is not None:
            *complete_lines, self._incomplete_line = (self._incomplete_line + piece).split(b"\n")
            short_enough = list(takewhile(lambda line: len(line) <= self._limits.row_bytes, complete_lines))
            self._too_long = (
                len(short_enough) < len(complete_lines) or len(self._incomplete_line) > self._limits.row_bytes
            )
            if lines := [line for line in short_enough if line.strip()]:
                yield lines
        if self._too_long:
            raise too_large("a line", self._limits.row_bytes, "millstream.row.max.bytes")
        if self._incomplete_line.strip():
            last, self._incomplete_line = self._incomplete_line, b""
            yield [last]

    async def _piece(self) -> bytes | None:
        """The next piece of the body; None at its end."""
        seconds = self._limits.body_seconds if self._incomplete_line else self._limits.idle_seconds
        try:
            with anyio.fail_after(seconds):
                return await anext(self._pieces, None)
        except TimeoutError as error:
            raise RequestFailed(TOO_SLOW, f"no line arrived within {seconds:g} s") from error


class Acks(Response):
    """Writes rows as they arrive, and answers each with {"status":"ok","seq":n}, the first that is refused with
    {"status":"error",…}: that is the end, and no row after it is written, as in ksqlDB.

    It also ends if its user is removed, or gets other roles, or if his token expires.
    """

    def __init__(
        self, inserter: Inserter, lines: InputLines, media: str, context: ServerContext, user: Principal
    ) -> None:
        super().__init__(media_type=media, headers=HEADERS)
        del self.headers["content-length"]
        self._inserter, self._lines, self._context = inserter, lines, context
        self._as_array, self._sequence = media == JSON, 0
        self._user = user
        self._ended: RequestFailed | None = None

    def fail(self, error: RequestFailed) -> None:
        """Refuse the lines that arrive from now on, and end with the next; may be called from any thread."""
        self._ended = error

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer until the request ends or the client disconnects."""
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        # A client may wait for the response's headers before it sends rows; they are sent with the first piece.
        await send(part("[" if self._as_array else ""))
        try:
            with self._context.feeds.owned(self, self._user):
                await self._pass_on(send)
        finally:
            with anyio.CancelScope(shield=True):
                await self._context.run_ending(self._inserter.close)
        await send(part("]" if self._as_array else ""))
        await send(LAST)

    async def _pass_on(self, send: Send) -> None:
        """Reads lines while rows are being written, so that lines that arrive meanwhile are written together."""
        into, out = anyio.create_memory_object_stream[list[bytes]](READ_AHEAD)
        refusal: RequestFailed | None = None
        async with anyio.create_task_group() as group:
            group.start_soon(self._write, out, send, group.cancel_scope)
            async with into:
                try:
                    async for lines in self._lines:
                        if self._ended is not None:
                            raise self._ended
                        await into.send(lines)
                except ClientDisconnect:
                    pass
                except RequestFailed as error:
                    refusal = error
        if refusal is not None:
            await send(part(self._ack(refusal)))

    async def _write(
        self, arriving: MemoryObjectReceiveStream[list[bytes]], send: Send, reading: anyio.CancelScope
    ) -> None:
        """Write the lines that arrive, until one is refused: then `reading` ends."""
        async for lines in arriving:
            batch = lines + _arrived_lines(arriving)
            outcomes = await self._context.run(lambda batch=batch: insert(self._inserter, batch))  # type: ignore[misc]
            await send(part("".join(map(self._ack, outcomes))))
            if any(outcomes):
                reading.cancel()
                return

    def _ack(self, outcome: RequestFailed | None) -> str:
        """One acknowledgement, preceded by the separator from the one before."""
        seq, self._sequence = self._sequence, self._sequence + 1
        if outcome is None:
            text = OK % seq
        else:
            text = dumps({"status": "error", "seq": seq, "error_code": outcome.code, "message": outcome.message})
        if self._as_array:
            return ("," if seq else "") + text
        return text + "\n"


def _arrived_lines(arriving: MemoryObjectReceiveStream[list[bytes]]) -> list[bytes]:
    """The lines that have arrived already."""
    lines: list[bytes] = []
    with suppress(anyio.WouldBlock, anyio.EndOfStream):
        while len(lines) < AT_ONCE:
            lines += arriving.receive_nowait()
    return lines


def insert(inserter: Inserter, lines: Sequence[bytes]) -> Sequence[RequestFailed | None]:
    """Write lines as rows up to the first that is refused, and return for each None or, at last, its error; blocks."""
    rows, refusal = _rows(lines)
    outcomes = [*_insert_all(inserter, rows), *([refusal] if refusal else [])]
    refused = next((i for i, outcome in enumerate(outcomes) if outcome), len(outcomes))
    return outcomes[: refused + 1]


def _rows(lines: Sequence[bytes]) -> tuple[list[dict[str, Any]], RequestFailed | None]:
    """The rows of lines, up to the first that is not a JSON object, and why that is refused."""
    rows: list[dict[str, Any]] = []
    for line in lines:
        row = _row(line)
        if isinstance(row, RequestFailed):
            return rows, row
        rows.append(row)
    return rows, None


def _insert_all(inserter: Inserter, rows: Sequence[dict[str, Any]]) -> Sequence[RequestFailed | None]:
    with RequestBoundary() as boundary:
        return inserter.insert_all(rows) if rows else []
    return [boundary.error]  # an error that affects all rows is acknowledged for the first


def _row(line: bytes) -> dict[str, Any] | RequestFailed:
    try:
        return parse_object(line)
    except RequestFailed as error:
        return error
