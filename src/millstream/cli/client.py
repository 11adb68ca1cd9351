"""A client of the REST API: statements, rows and printed topics, over HTTP/2 with HTTP/1.1 in reserve."""

import json
import re
import ssl
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx

from millstream.client.errors import MillstreamError
from millstream.client.exchange import DELIMITED, KSQL, SessionSettings, address
from millstream.client.rows import LineBuffer

CONNECT_SECONDS = 5.0
Entity = dict[str, Any]


class ClientError(Exception):
    """What went wrong, for the user; `hint` says what to do about it."""

    def __init__(self, message: str, hint: str = "") -> None:
        self.message, self.hint = message, hint
        super().__init__(message + (f"\n  hint: {hint}" if hint else ""))


class AlreadyReported(ClientError):
    """Something failed, and the user has been told already."""

    def __init__(self) -> None:
        super().__init__("")


class Unreachable(ClientError):
    """No server answered."""


class OutOfTime(ClientError):
    """The answer took longer than the user wanted to wait."""


class ServerRefused(ClientError):
    """The server's error: its code, its message, the statement at fault, and what was done before it."""

    def __init__(self, body: Mapping[str, Any]) -> None:
        self.code: int = body.get("error_code", 0)
        self.statement: str = body.get("statementText", "")
        self.entities: list[Entity] = body.get("entities", [])
        super().__init__(str(body.get("message", "the server gave no reason")))


@dataclass(frozen=True, slots=True)
class RowStream:
    """The rows of a query, to be taken one by one while they come."""

    query_id: str
    names: list[str]
    types: list[str]
    rows: Iterator[list[Any]]


@dataclass(frozen=True, slots=True)
class ClientTls:
    """Whom a client trusts (None = the system's authorities), and its own certificate with key: PEM files."""

    authority: Path | None = None
    own: Path | None = None

    def context(self) -> ssl.SSLContext:
        """The context of a connection. Raises ClientError where a file cannot be used."""
        try:
            context = ssl.create_default_context(cafile=self.authority)
            if self.own is not None:
                context.load_cert_chain(self.own)
        except OSError as error:
            raise ClientError(f"no TLS with {self.authority or self.own}: {error.strerror or error}") from error
        return context


class RestClient:
    """A server at a URL, with the user's name and password if it asks for them."""

    def __init__(self, url: str, auth: tuple[str, str] | None = None, tls: ClientTls | None = None) -> None:
        """`url` may hold the name and password: http://ann:secret@host:8088; `auth` outranks them.

        Raises ClientError where it is no URL.
        """
        try:
            server = address(url, None, None, None)
        except MillstreamError as error:
            raise ClientError(str(error)) from error
        self._tls = tls or ClientTls()
        self.url, self._auth = server.url, auth or server.auth
        self._chosen: str | None = None

    def elsewhere(self, url: str) -> "RestClient":
        """A client of another server, with the same name and password."""
        return RestClient(url, self._auth, self._tls)

    def info(self) -> Entity:
        """The server's version, cluster and state."""
        return dict(self._get("/info")["KsqlServerInfo"])

    def is_valid_property(self, name: str) -> bool:
        """Whether the property may be set. Raises Refused with the reason where not."""
        return bool(self._get(f"/is_valid_property/{name}"))

    def execute(self, text: str, context: SessionSettings, patience: float | None = None) -> list[Entity]:
        """Carry out statements, and give the entities that they answer. Raises Refused."""
        body = {"ksql": text, "streamsProperties": context.properties, "sessionVariables": context.variables}
        with self._connection(patience) as http:
            answer = http.post("/ksql", json=body, headers={"Accept": KSQL})
        return list(_checked(answer))

    @contextmanager
    def query(self, text: str, context: SessionSettings, patience: float | None = None) -> Iterator[RowStream]:
        """Ask for rows; the query ends with the block. Raises Refused, also in the middle of the rows.

        OutOfTime is raised where nothing comes for `patience` seconds.
        """
        with self._streaming(text, context, patience) as lines:
            first = _object(next(lines, "{}"))
            names, types = first.get("columnNames", []), first.get("columnTypes", [])
            yield RowStream(str(first.get("queryId")), names, types, map(_row, filter(None, lines)))

    @contextmanager
    def print_topic(
        self, text: str, context: SessionSettings, patience: float | None = None
    ) -> Iterator[Iterator[str]]:
        """Ask for a topic's records as lines; reading ends with the block. Raises as `query` does."""
        with self._streaming(text, context, patience) as lines:
            yield map(_line, lines)

    def insert(self, target: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Write rows, given as column name → JSON value, to a source; they are in Kafka when this returns.

        A few thousand at a time: all are sent before the first answer is read. Raises Refused for the first that is.
        """
        lines = [json.dumps({"target": target}), *map(json.dumps, rows)]
        with self._connection(None) as http:
            answer = http.post("/inserts-stream", content="\n".join(lines), headers={"Accept": DELIMITED})
        if answer.is_error:
            _checked(answer)
        for acknowledgement in map(json.loads, filter(None, answer.content.split(b"\n"))):
            if acknowledgement.get("status") != "ok":
                raise ServerRefused(acknowledgement)

    def _get(self, path: str) -> Any:
        with self._connection(CONNECT_SECONDS) as http:
            return _checked(http.get(path, headers={"Accept": KSQL}))

    @contextmanager
    def _streaming(self, text: str, context: SessionSettings, patience: float | None) -> Iterator[Iterator[str]]:
        body = {"sql": text, "properties": context.properties, "sessionVariables": context.variables}
        with (
            self._connection(patience) as http,
            http.stream("POST", "/query-stream", json=body, headers={"Accept": DELIMITED}) as answer,
        ):
            if answer.is_error:
                answer.read()
                _checked(answer)
            yield _lines(answer)

    @contextmanager
    def _connection(self, patience: float | None) -> Iterator[httpx.Client]:
        """A connection of its own for each exchange: one that is broken off harms no other."""
        try:
            with self._open(self._protocol(), patience) as http:
                yield http
        except httpx.ReadTimeout as error:
            raise OutOfTime(f"no answer came within {patience:g} s") from error
        except httpx.TransportError as error:
            raise self._unreachable(error) from error

    def _protocol(self) -> str:
        """HTTP/2 if the server speaks it; with TLS the two sides agree on it by themselves."""
        if self._chosen is None:
            self._chosen = "both" if self.url.startswith("https") else self._probed()
        return self._chosen

    def _probed(self) -> str:
        try:
            with self._open("http2", CONNECT_SECONDS) as http:
                http.get("/info")
        except httpx.RemoteProtocolError:
            return "http1"
        return "http2"

    def _open(self, protocol: str, patience: float | None) -> httpx.Client:
        return httpx.Client(
            base_url=self.url,
            auth=self._auth,
            timeout=httpx.Timeout(patience, connect=CONNECT_SECONDS),
            verify=self._tls.context() if self.url.startswith("https") else False,
            http1=protocol != "http2",
            http2=protocol != "http1",
        )

    def _unreachable(self, error: httpx.TransportError) -> ClientError:
        if isinstance(error, httpx.RemoteProtocolError | httpx.ReadError):
            return Unreachable(f"the server at {self.url} broke off: {error or type(error).__name__}")
        return Unreachable(
            f"no server answers at {self.url} ({_reason(error)})",
            "start one with `millstream dev` or `millstream server`, or name another: `millstream http://HOST:8088`",
        )


def _reason(error: Exception) -> str:
    """The system's words for what failed, without its number."""
    return re.sub(r"\[Errno -?\d+\] ", "", str(error)) or type(error).__name__


def _checked(answer: httpx.Response) -> Any:
    """The JSON of an answer. Raises Refused where it is an error."""
    try:
        body = answer.json()
    except ValueError as error:
        raise ClientError(f"{answer.url} answered {answer.status_code} and no JSON: is it a millstream?") from error
    if answer.is_error:
        raise ServerRefused(body if isinstance(body, dict) else {"message": answer.text})
    return body


def _object(line: str) -> dict[str, Any]:
    message = json.loads(line)
    if "error_code" in message:
        raise ServerRefused(message)
    return dict(message)


def _row(line: str) -> list[Any]:
    if line.startswith("{"):
        _object(line)
    # A decimal keeps the digits that it was sent with: 12.50 stays 12.50.
    return list(json.loads(line, parse_float=Decimal))


def _line(line: str) -> str:
    """A printed line; the error with which printing ended is raised."""
    if line.startswith('{"@type"') and '"error_code"' in line:
        _object(line)
    return line


def _lines(answer: httpx.Response) -> Iterator[str]:
    """The lines of a body as it comes; a row may hold every line separator but the newline."""
    buffer = LineBuffer()
    for piece in answer.iter_bytes():
        yield from (line.decode() for line in buffer.lines(piece))
    yield from (line.decode() for line in buffer.last())
