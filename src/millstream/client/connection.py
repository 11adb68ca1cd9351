"""The blocking connection: statements, pull and push queries, and inserts."""

import time
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import httpx

from millstream.client.acknowledgements import Acknowledgement, acknowledgements, batches
from millstream.client.closing import ClosedByBlock
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
from millstream.client.pull import PullRows, PushRows
from millstream.client.results import Result, last_sequence, result
from millstream.client.rows import LineBuffer


def connect(
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
) -> "Connection":
    """A connection to the server at `url`; it is opened by the first request.

    `user` and `password` log in with Basic authentication, `token` with Bearer. `verify` is True for the system's
    authorities, the path of a file or folder of others, an SSLContext, or False. `timeout` is in seconds without data;
    push queries wait as long as they run. `properties` and `variables` are sent with each request, as if SET and DEFINE
    preceded it. With TLS, `http2` is negotiated. Raises MillstreamError if the arguments are not valid.
    """
    session = SessionSettings(properties or {}, variables or {})
    server = address(url, user, password, token)
    http = httpx.Client(**options(server, verify, http2, httpx.HTTPTransport))
    return Connection(http, server, session, timeout, retry or RetryPolicy())


class Connection(ClosedByBlock):
    """A server and a session's settings; thread-safe, since each request is independent."""

    def __init__(
        self,
        http: httpx.Client,
        server: ServerAddress,
        session: SessionSettings,
        timeout: float | None,
        retry: RetryPolicy,
    ) -> None:
        self._http, self._server, self._session = http, server, session
        self._timeout, self._retry = timeout, retry
        self._sequence = -1

    def __repr__(self) -> str:
        return f"Connection({self.url!r})"

    @property
    def url(self) -> str:
        """The server's URL, without name and password."""
        return self._server.url

    def info(self) -> dict[str, Any]:
        """The server's version, state and cluster: GET /info. Raises MillstreamError."""
        require_open(self._http)
        try:
            response = self._http.get("/info", timeout=self._timeout)
        except httpx.TransportError as error:
            raise transport_error(error, self.url) from error
        return dict(parsed(response)["KsqlServerInfo"])

    def execute(
        self,
        statements: str,
        *,
        properties: Mapping[str, Any] | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> list[Result]:
        """Execute statements other than queries, and return the answers of those that have one.

        Each call is a session: SET and DEFINE apply until its end. Raises StatementRefused for the first statement that
        is refused; those before it were executed.
        """
        exchange = statement_exchange(statements, self._session.plus(properties, variables), self._sequence)
        results = [result(entity) for entity in parsed(self._read_response(exchange)) or ()]
        self._sequence = max(self._sequence, last_sequence(results))
        return results

    def query(
        self, sql: str, *, properties: Mapping[str, Any] | None = None, variables: Mapping[str, str] | None = None
    ) -> PullRows:
        """The rows of a SELECT over the present data. Raises StatementRefused."""
        exchange = query_exchange(sql, self._session.plus(properties, variables), self._sequence, endless=False)
        return PullRows(self._lines(exchange))

    def push(
        self,
        sql: str,
        *,
        properties: Mapping[str, Any] | None = None,
        variables: Mapping[str, str] | None = None,
        continuation: str = "",
    ) -> PushRows:
        """The rows of a SELECT … EMIT CHANGES, as they arrive, after a continuation token. Raises StatementRefused."""
        session = self._session.plus(properties, variables)
        exchange = query_exchange(sql, session, self._sequence, True, continuation)
        return PushRows(self._lines(exchange), self.close_query)

    def close_query(self, query_id: str) -> None:
        """End a push query; no effect if it has ended already, or the server has stopped."""
        with suppress(MillstreamError):
            self._read_response(close_exchange(query_id))

    def insert(
        self, target: str, rows: Iterable[Mapping[str, Any]], *, properties: Mapping[str, Any] | None = None
    ) -> list[Acknowledgement]:
        """Write rows, each a mapping of column to value, to a stream or table; they are in Kafka when this returns.

        All rows are sent; raises InsertError if some were refused, StatementRefused if the target cannot be written to.
        """
        acks = list(self.insert_stream(target, rows, properties=properties))
        require_written(acks)
        return acks

    def insert_stream(
        self, target: str, rows: Iterable[Mapping[str, Any]], *, properties: Mapping[str, Any] | None = None
    ) -> Iterator[Acknowledgement]:
        """Write the rows of `rows` in batches, and yield the acknowledgement of each, refused or not.

        Raises StatementRefused if the target cannot be written to.
        """
        session, start = self._session.plus(properties), 0
        for batch in batches(rows):
            while batch:
                end = start
                for ack in acknowledgements(self._lines(insert_exchange(target, session, batch)), start):
                    end = ack.seq + 1
                    yield ack
                # The server stops at a row that it refuses: the rows behind it are sent in another request.
                start, batch = end, unanswered(batch, end - start)

    def close(self) -> None:
        """Close the connection, and end the queries that are being read from it."""
        self._http.close()

    def _read_response(self, exchange: Exchange) -> httpx.Response:
        """The response, read to its end. Raises MillstreamError."""
        with self._opened(exchange) as response:
            response.read()
            return response

    def _lines(self, exchange: Exchange) -> Generator[bytes, None, None]:
        """The lines of the response as they arrive; if the generator is closed, the rest is not read."""
        buffer = LineBuffer()
        with self._opened(exchange) as response:
            for chunk in response.iter_bytes():
                yield from buffer.lines(chunk)
        yield from buffer.last()

    @contextmanager
    def _opened(self, exchange: Exchange) -> Iterator[httpx.Response]:
        """A successful response, to be read. Raises MillstreamError."""
        try:
            response = self._sent(exchange)
            try:
                if not response.is_success:
                    response.read()
                    raise failure(response)
                yield response
            finally:
                response.close()
        except httpx.TransportError as error:
            raise transport_error(error, self.url) from error

    def _sent(self, exchange: Exchange) -> httpx.Response:
        """The beginning of the response to the first attempt that gets one."""
        require_open(self._http)
        for delay in self._retry.delays():
            try:
                request = exchange.request(self._http, self._timeout)
                response = self._http.send(request, stream=True)
            except httpx.TransportError as error:
                if delay is None or not exchange.may_retry(error):
                    raise
            else:
                if delay is None or not is_not_ready(response):
                    exchange.wait_for_rows(request)
                    return response
                response.close()
            time.sleep(delay)
        raise AssertionError("the last attempt returns or raises")
