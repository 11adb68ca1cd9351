"""The connection for asyncio: the asynchronous form of connection.py and pull.py."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any

import httpx

from millstream.client.acknowledgements import BATCH, Acknowledgement, acknowledgements, batches
from millstream.client.closing import ClosedByAsyncBlock
from millstream.client.errors import MillstreamError, require_written, transport_error, unanswered
from millstream.client.exchange import (
    TIMEOUT,
    Exchange,
    RetryPolicy,
    ServerAddress,
    SessionSettings,
    Verify,
    address,
    close_exchange,
    failure,
    insert_exchange,
    is_not_ready,
    options,
    parsed,
    query_exchange,
    require_open,
    statement_exchange,
)
from millstream.client.frames import arrow_table, pandas_frame, polars_frame
from millstream.client.results import Result, last_sequence, result
from millstream.client.rows import AnswerHeader, DescribedRows, LineBuffer, Row


def connect_async(
    url: str,
    *,
    user: str | None = None,
    password: str | None = None,
    token: str | None = None,
    verify: Verify = True,
    timeout: float | None = TIMEOUT,
    properties: Mapping[str, Any] | None = None,
    variables: Mapping[str, str] | None = None,
    retry: RetryPolicy | None = None,
    http2: bool | None = None,
) -> "AsyncConnection":
    """A connection for asyncio; the arguments are those of `connect`. Raises MillstreamError if they are not valid."""
    session = SessionSettings(properties or {}, variables or {})
    server = address(url, user, password, token)
    http = httpx.AsyncClient(**options(server, verify, http2, httpx.AsyncHTTPTransport))
    return AsyncConnection(http, server, session, timeout, retry or RetryPolicy())


class AsyncRowIterator(DescribedRows, ClosedByAsyncBlock):
    """Rows as named tuples; an asynchronous context manager that ends the query with its block."""

    def __init__(self, lines: AsyncGenerator[bytes, None], header: AnswerHeader) -> None:
        super().__init__(header)
        self._lines = lines

    def __aiter__(self) -> AsyncIterator[Row]:
        return self

    async def __anext__(self) -> Row:
        while (row := self._header.row(await anext(self._lines))) is None:
            continue
        return row

    async def fetchone(self) -> Row | None:
        """The next row; None at the end."""
        return await anext(self, None)

    async def fetchmany(self, size: int) -> list[Row]:
        """The next rows, at most `size`."""
        rows: list[Row] = []
        while len(rows) < size:
            try:
                rows.append(await anext(self))
            except StopAsyncIteration:
                break
        return rows

    async def close(self) -> None:
        """End the query; may be called more than once."""
        # Another task that waits for a row ends when the server has ended the query.
        with suppress(RuntimeError):
            await self._lines.aclose()


class AsyncPullRows(AsyncRowIterator):
    """The answer of a pull query."""

    async def fetchall(self) -> list[Row]:
        """The remaining rows, as named tuples. Raises MillstreamError if the answer ends with an error."""
        return [row async for row in self]

    async def to_arrow(self) -> Any:
        """The remaining rows as a pyarrow.Table. Raises MissingPackage."""
        return arrow_table(self.columns, self.types, await self.fetchall())

    async def to_pandas(self) -> Any:
        """The remaining rows as a pandas.DataFrame. Raises MissingPackage."""
        return pandas_frame(self.columns, self.types, await self.fetchall())

    async def to_polars(self) -> Any:
        """The remaining rows as a polars.DataFrame. Raises MissingPackage."""
        return polars_frame(self.columns, self.types, await self.fetchall())


class AsyncPushRows(AsyncRowIterator):
    """The answer of a push query: it continues until it is closed, or its LIMIT is reached."""

    def __init__(
        self,
        lines: AsyncGenerator[bytes, None],
        header: AnswerHeader,
        close_query: Callable[[str], Awaitable[None]],
    ) -> None:
        super().__init__(lines, header)
        self._close_query = close_query
        self._closed = False

    async def close(self) -> None:
        """End the query at the server, which ends the iteration; may be called more than once, and by any task."""
        if not self._closed:
            self._closed = True
            await self._close_query(self.query_id)
        await super().close()


class AsyncConnection(ClosedByAsyncBlock):
    """A server and a session's settings, for the tasks of one event loop."""

    def __init__(
        self,
        http: httpx.AsyncClient,
        server: ServerAddress,
        session: SessionSettings,
        timeout: float | None,
        retry: RetryPolicy,
    ) -> None:
        self._http, self._server, self._session = http, server, session
        self._timeout, self._retry = timeout, retry
        self._sequence = -1

    def __repr__(self) -> str:
        return f"AsyncConnection({self.url!r})"

    @property
    def url(self) -> str:
        """The server's URL, without name and password."""
        return self._server.url

    async def info(self) -> dict[str, Any]:
        """The server's version, state and cluster: GET /info. Raises MillstreamError."""
        require_open(self._http)
        try:
            response = await self._http.get("/info", timeout=self._timeout)
        except httpx.TransportError as error:
            raise transport_error(error, self.url) from error
        return dict(parsed(response)["KsqlServerInfo"])

    async def execute(
        self,
        statements: str,
        *,
        properties: Mapping[str, Any] | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> list[Result]:
        """Execute statements other than queries; see Connection.execute. Raises StatementRefused."""
        exchange = statement_exchange(statements, self._session.plus(properties, variables), self._sequence)
        results = [result(entity) for entity in parsed(await self._read_response(exchange)) or ()]
        self._sequence = max(self._sequence, last_sequence(results))
        return results

    async def query(
        self, sql: str, *, properties: Mapping[str, Any] | None = None, variables: Mapping[str, str] | None = None
    ) -> AsyncPullRows:
        """The rows of a SELECT over the present data. Raises StatementRefused."""
        exchange = query_exchange(sql, self._session.plus(properties, variables), self._sequence, endless=False)
        lines = self._lines(exchange)
        return AsyncPullRows(lines, await _header(lines))

    async def push(
        self,
        sql: str,
        *,
        properties: Mapping[str, Any] | None = None,
        variables: Mapping[str, str] | None = None,
        continuation: str = "",
    ) -> AsyncPushRows:
        """The rows of a SELECT … EMIT CHANGES, as they arrive, after a continuation token. Raises StatementRefused."""
        session = self._session.plus(properties, variables)
        exchange = query_exchange(sql, session, self._sequence, True, continuation)
        lines = self._lines(exchange)
        return AsyncPushRows(lines, await _header(lines), self.close_query)

    async def close_query(self, query_id: str) -> None:
        """End a push query; no effect if it has ended already, or the server has stopped."""
        with suppress(MillstreamError):
            await self._read_response(close_exchange(query_id))

    async def insert(
        self,
        target: str,
        rows: Iterable[Mapping[str, Any]] | AsyncIterable[Mapping[str, Any]],
        *,
        properties: Mapping[str, Any] | None = None,
    ) -> list[Acknowledgement]:
        """Write rows to a stream or table; see Connection.insert. Raises InsertError, StatementRefused."""
        acks = [ack async for ack in self.insert_stream(target, rows, properties=properties)]
        require_written(acks)
        return acks

    async def insert_stream(
        self,
        target: str,
        rows: Iterable[Mapping[str, Any]] | AsyncIterable[Mapping[str, Any]],
        *,
        properties: Mapping[str, Any] | None = None,
    ) -> AsyncIterator[Acknowledgement]:
        """Write the rows of `rows` in batches, and yield the acknowledgement of each; see Connection.insert_stream."""
        session, start = self._session.plus(properties), 0
        async for batch in _batches(rows):
            while batch:
                lines = [line async for line in self._lines(insert_exchange(target, session, batch))]
                acks = list(acknowledgements(lines, start))
                for ack in acks:
                    yield ack
                start, batch = start + len(acks), unanswered(batch, len(acks))

    async def close(self) -> None:
        """Close the connection, and end the queries that are being read from it."""
        await self._http.aclose()

    async def _read_response(self, exchange: Exchange) -> httpx.Response:
        async with self._opened(exchange) as response:
            await response.aread()
            return response

    async def _lines(self, exchange: Exchange) -> AsyncGenerator[bytes, None]:
        buffer = LineBuffer()
        async with self._opened(exchange) as response:
            async for chunk in response.aiter_bytes():
                for line in buffer.lines(chunk):
                    yield line
        for line in buffer.last():
            yield line

    @asynccontextmanager
    async def _opened(self, exchange: Exchange) -> AsyncIterator[httpx.Response]:
        """A successful response, to be read. Raises MillstreamError."""
        try:
            response = await self._sent(exchange)
            try:
                if not response.is_success:
                    await response.aread()
                    raise failure(response)
                yield response
            finally:
                await response.aclose()
        except httpx.TransportError as error:
            raise transport_error(error, self.url) from error

    async def _sent(self, exchange: Exchange) -> httpx.Response:
        """The beginning of the response to the first attempt that gets one."""
        require_open(self._http)
        for delay in self._retry.delays():
            try:
                request = exchange.request(self._http, self._timeout)
                response = await self._http.send(request, stream=True)
            except httpx.TransportError as error:
                if delay is None or not exchange.may_retry(error):
                    raise
            else:
                if delay is None or not is_not_ready(response):
                    exchange.wait_for_rows(request)
                    return response
                await response.aclose()
            await asyncio.sleep(delay)
        raise AssertionError("the last attempt returns or raises")


async def _header(lines: AsyncGenerator[bytes, None]) -> AnswerHeader:
    return AnswerHeader(await anext(lines, b"{}"))


async def _batches(
    rows: Iterable[Mapping[str, Any]] | AsyncIterable[Mapping[str, Any]],
) -> AsyncIterator[list[Mapping[str, Any]]]:
    if not isinstance(rows, AsyncIterable):
        for batch in batches(rows):
            yield batch
        return
    waiting: list[Mapping[str, Any]] = []
    async for row in rows:
        waiting.append(row)
        if len(waiting) == BATCH:
            yield waiting
            waiting = []
    if waiting:
        yield waiting
