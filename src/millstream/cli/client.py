"""A client of the REST API: statements, rows and printed topics, over HTTP/2, with HTTP/1.1 as a fallback."""

import json
import ssl
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx

from millstream.client.errors import MillstreamError, network_reason
from millstream.client.exchange import DELIMITED, KSQL, SessionSettings, address, probed
from millstream.client.rows import LineBuffer
from millstream.formats.tls import context as tls_context
from millstream.model.errors import hint_line
from millstream.services.errors import SetupError

CONNECT_SECONDS = 5.0
LOGIN_HINT = "\n  hint: log in with -u NAME"
Entity = dict[str, Any]


class ClientError(Exception):
    """An error for the user; `hint` says what to do about it."""

    def __init__(self, message: str, hint: str = "") -> None:
        self.message, self.hint = message, hint
        super().__init__(message + hint_line(hint))


class AlreadyReported(ClientError):
    """Something failed, and its error was already shown to the user."""

    def __init__(self) -> None:
        super().__init__("")


class Unreachable(ClientError):
    """No server answered."""


class OutOfTime(ClientError):
    """The answer took longer than the user's time limit."""


class ServerRefused(ClientError):
    """The server's error: its code, its message, the failed statement, and the answers of those before it."""

    def __init__(self, body: Mapping[str, Any]) -> None:
        self.code: int = body.get("error_code", 0)
        self.statement: str = body.get("statementText", "")
        self.entities: list[Entity] = body.get("entities", [])
        super().__init__(str(body.get("message", "the server gave no reason")))


@dataclass(frozen=True, slots=True)
class RowStream:
    """The rows of a query, which are read one by one as they arrive."""

    query_id: str
    names: list[str]
    types: list[str]
    rows: Iterator[list[Any]]


@dataclass(frozen=True, slots=True)
class ClientTls:
    """The authority that a client trusts (None = the system's), and its own certificate with key: PEM files.

    `settings` are ksqlDB's ssl.truststore.… and ssl.keystore.…, which are used for what no PEM file is given.
    """

    authority: Path | None = None
    client_certificate: Path | None = None
    settings: Mapping[str, str] = field(default_factory=dict)

    def context(self) -> ssl.SSLContext:
        """The TLS context of a connection. Raises ClientError if a file cannot be used."""
        try:
            context = tls_context(self.settings, "the server")
            if self.authority is not None:
                context = ssl.create_default_context(cafile=self.authority)
            if self.client_certificate is not None:
                context.load_cert_chain(self.client_certificate)
        except OSError as error:
            raise ClientError(
                f"no TLS with {self.authority or self.client_certificate}: {error.strerror or error}"
            ) from error
        except SetupError as error:
            raise ClientError(error.fact, error.hint) from error
        return context


class RestClient:
    """A server at a URL, with the user's name and password, or token, if it requires them."""

    def __init__(
        self,
        url: str,
        auth: tuple[str, str] | None = None,
        tls: ClientTls | None = None,
        token: str | None = None,
    ) -> None:
        """`url` may contain the name and password: http://ann:secret@host:8088; `auth` overrides them.

        Raises ClientError if it is not a valid URL, or both a name and a token are given.
        """
        user, password = auth or (None, None)
        try:
            server = address(url, user, password, token)
        except MillstreamError as error:
            raise ClientError(str(error)) from error
        self._tls = tls or ClientTls()
        self.url, self._auth, self._token, self._headers = server.url, server.auth, token, server.headers()

    def for_server(self, url: str) -> "RestClient":
        """A client of another server, with the same name and password, or token."""
        return RestClient(url, self._auth, self._tls, self._token)

    def info(self) -> Entity:
        """The server's versions, cluster and state."""
        return dict(self._get("/info")["KsqlServerInfo"])

    def is_valid_property(self, name: str) -> bool:
        """True if the property may be set. Raises ServerRefused with the reason if not."""
        return bool(self._get(f"/is_valid_property/{quote(name, safe='')}"))

    def execute(self, text: str, context: SessionSettings, patience: float | None = None) -> list[Entity]:
        """Execute statements; returns the entities that they answer. Raises ServerRefused."""
        body = {"ksql": text, "streamsProperties": context.properties, "sessionVariables": context.variables}
        with self._connection(patience) as http:
            answer = http.post("/ksql", json=body, headers={"Accept": KSQL})
        return list(_checked(answer))

    @contextmanager
    def query(self, text: str, context: SessionSettings, patience: float | None = None) -> Iterator[RowStream]:
        """Start a query, which ends with the block. Raises ServerRefused, also while the rows are read.

        Raises OutOfTime if nothing arrives for `patience` seconds.
        """
        with self._streaming(text, context, patience) as lines:
            first = _object(next(lines, "{}"))
            names, types = first.get("columnNames", []), first.get("columnTypes", [])
            yield RowStream(str(first.get("queryId")), names, types, map(_row, filter(None, lines)))

    @contextmanager
    def print_topic(
        self, text: str, context: SessionSettings, patience: float | None = None
    ) -> Iterator[Iterator[str]]:
        """A topic's records as lines; reading ends with the block. Raises the same errors as `query`."""
        with self._streaming(text, context, patience) as lines:
            yield map(_line, lines)

    def insert(self, target: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Write rows (column name → JSON value) to a source; they are in Kafka when this returns.

        Call it with at most a few thousand rows: all are sent before the first answer is read. Raises ServerRefused for
        the first row that is refused.
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
        """A separate connection for each exchange: breaking one off does not affect the others.

        It speaks HTTP/1.1: with a single exchange HTTP/2 only costs, since a server sends each row in a frame.
        """
        try:
            with self._open(patience) as http:
                yield http
        except httpx.ReadTimeout as error:
            raise OutOfTime(f"no answer came within {patience:g} s") from error
        except httpx.TransportError as error:
            raise self._unreachable(error) from error

    @property
    def _is_tls(self) -> bool:
        return self.url.startswith("https")

    def _open(self, patience: float | None) -> httpx.Client:
        verify = self._tls.context() if self._is_tls else False
        return httpx.Client(
            base_url=self.url,
            auth=self._auth,
            headers=self._headers,
            timeout=httpx.Timeout(patience, connect=CONNECT_SECONDS),
            verify=verify,
            mounts=probed({"verify": verify}, httpx.HTTPTransport),
        )

    def _unreachable(self, error: httpx.TransportError) -> ClientError:
        if isinstance(error, httpx.RemoteProtocolError | httpx.ReadError):
            reason = error or type(error).__name__
            hint = "" if self._is_tls else f"if it serves TLS, it is {_with_scheme('https', self.url)}"
            return Unreachable(f"the connection to {self.url} was lost: {reason}", hint)
        if "CERTIFICATE_VERIFY_FAILED" in str(error):
            fact = f"the certificate of {self.url} is not trusted ({network_reason(error)})"
            return Unreachable(fact, "name its authority with --cacert FILE, and the host as the certificate does")
        if "WRONG_VERSION_NUMBER" in str(error):
            return Unreachable(f"{self.url} does not speak TLS", f"try {_with_scheme('http', self.url)}")
        return Unreachable(
            f"no server answers at {self.url} ({network_reason(error)})",
            "start one with `millstream dev` or `millstream server`, or name another: `millstream http://HOST:8088`",
        )


def _with_scheme(scheme: str, url: str) -> str:
    return f"{scheme}://{url.partition('://')[2]}"


def _checked(answer: httpx.Response) -> Any:
    """The JSON of a response. Raises ServerRefused if it is an error."""
    try:
        body = answer.json()
    except ValueError as error:
        raise ClientError(
            f"{answer.url} answered {answer.status_code}, but not with JSON: is it a millstream server?"
        ) from error
    if not answer.is_error:
        return body
    if not isinstance(body, dict) or "@type" not in body:
        raise ClientError(
            f"{answer.url} answered {answer.status_code}, but not as a server does: is it a millstream server?"
        )
    if answer.status_code == httpx.codes.UNAUTHORIZED and "Authorization" not in answer.request.headers:
        raise ServerRefused({**body, "message": f"{body.get('message')}{LOGIN_HINT}"})
    if answer.status_code == httpx.codes.NOT_FOUND and "statementText" not in body:
        fact = str(body.get("message")).partition("\n")[0]
        raise ClientError(f"{answer.url}: {fact}", "the URL names the server alone: http://HOST:8088")
    raise ServerRefused(body)


def _object(line: str) -> dict[str, Any]:
    message = json.loads(line)
    if "error_code" in message:
        raise ServerRefused(message)
    return dict(message)


def _row(line: str) -> list[Any]:
    if line.startswith("{"):
        _object(line)
    # A decimal keeps its digits: 12.50 stays 12.50.
    return list(json.loads(line, parse_float=Decimal))


def _line(line: str) -> str:
    """A printed line; raises the error if printing ended with one."""
    if line.startswith('{"@type"') and '"error_code"' in line:
        _object(line)
    return line


def _lines(answer: httpx.Response) -> Iterator[str]:
    """The lines of a body as they arrive; a row may contain every line separator except the newline."""
    buffer = LineBuffer()
    for piece in answer.iter_bytes():
        yield from (line.decode() for line in buffer.lines(piece))
    yield from (line.decode() for line in buffer.last())
