"""The common part of both kinds of connection: addresses, requests, responses and retries."""

import re
import ssl
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar
from urllib.request import getproxies

import httpx
import orjson

from millstream.client.acknowledgements import insert_body
from millstream.client.errors import MillstreamError, UnexpectedAnswer, statement_refused
from millstream.client.values import wire_value
from millstream.model.keepalive import SOCKET_OPTIONS as PROBED

T = TypeVar("T", httpx.HTTPTransport, httpx.AsyncHTTPTransport)
DELIMITED = "application/vnd.ksqlapi.delimited.v1"
KSQL = "application/vnd.ksql.v1+json"
CONTINUATION = "request.ksql.query.push.continuation.token"
# Seconds without data after which a request fails, unless the caller says otherwise.
TIMEOUT = 60.0
Verify = bool | str | Path | ssl.SSLContext
READ_ONLY = re.compile(r"(?:\s*(?:SHOW|LIST|DESCRIBE|EXPLAIN)\b[^;]*(?:;|\Z))+\s*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """`attempts` in all; the second follows after `first` seconds, each later one after `factor` times the last pause.

    Repeated are requests that never reached a server, that a server refused because it is not ready (503 with
    Retry-After), and, if they change nothing (queries, SHOW, DESCRIBE …), those that broke off before a response.
    """

    attempts: int = 5
    first: float = 0.1
    factor: float = 2.0

    def delays(self) -> Iterator[float | None]:
        """For each attempt the seconds to wait after it; None after the last one."""
        for attempt in range(self.attempts - 1):
            yield self.first * self.factor**attempt
        yield None


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """A server's URL without name and password, and the name and password."""

    url: str
    auth: tuple[str, str] | None
    token: str | None = None

    def headers(self) -> dict[str, str]:
        """The headers of every request."""
        return {"Authorization": f"Bearer {self.token}"} if self.token else {}


def address(url: str, user: str | None, password: str | None, token: str | None) -> ServerAddress:
    """The address from `connect`'s arguments; a URL may contain name and password. Raises MillstreamError."""
    try:
        parsed = httpx.URL(url if "://" in url else f"http://{url}")
    except httpx.InvalidURL as error:
        raise MillstreamError(f"{url} is not a URL: {error}") from error
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise MillstreamError(f"{url} is not the address of a server: write http://HOST:8088 or https://HOST:8088")
    name = user if user is not None else parsed.username
    if name and token is not None:
        raise MillstreamError("a user and a token are given: a server accepts only one of them")
    auth = (name, password if password is not None else parsed.password) if name else None
    return ServerAddress(str(parsed.copy_with(userinfo=b"")).rstrip("/"), auth, token)


@dataclass(frozen=True, slots=True)
class SessionSettings:
    """Sent with every request of a connection: the settings of SET and the variables of DEFINE."""

    properties: Mapping[str, Any] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)

    def plus(
        self, properties: Mapping[str, Any] | None, variables: Mapping[str, str] | None = None
    ) -> "SessionSettings":
        """These settings, overridden by those of one request."""
        return SessionSettings({**self.properties, **(properties or {})}, {**self.variables, **(variables or {})})


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request: its path and body, the content type of its response, and if it may be sent twice."""

    path: str
    content: bytes
    accept: str
    idempotent: bool = False
    endless: bool = False

    def request(self, http: httpx.Client | httpx.AsyncClient, timeout: float | None) -> httpx.Request:
        """The request in httpx's form, with a timeout for its parts and those of the response."""
        headers = {"Accept": self.accept, "Content-Type": "application/json"}
        return http.build_request("POST", self.path, content=self.content, headers=headers, timeout=timeout)

    def wait_for_rows(self, request: httpx.Request) -> None:
        """Remove the timeout of a request whose answer is endless; call it once the head of the response has arrived.

        Rows arrive whenever there are some, so any pause between them is legitimate. httpx reads a request's timeouts
        anew each time that it waits for a part of the response.
        """
        if self.endless:
            request.extensions["timeout"]["read"] = None

    def may_retry(self, error: httpx.TransportError) -> bool:
        """True if the request may be sent again after this error."""
        if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
            return True
        return self.idempotent and isinstance(error, httpx.NetworkError | httpx.RemoteProtocolError)


def statement_exchange(sql: str, session: SessionSettings, sequence: int) -> Exchange:
    """/ksql: statements; `sequence` is the number of the last command that must have been applied before."""
    members = {"ksql": sql, "streamsProperties": session.properties, "sessionVariables": session.variables}
    content = orjson.dumps(wire_value(members | {"commandSequenceNumber": sequence}))
    return Exchange("/ksql", content, KSQL, idempotent=bool(READ_ONLY.fullmatch(sql)))


def query_exchange(
    sql: str, session: SessionSettings, sequence: int, endless: bool, continuation: str = ""
) -> Exchange:
    """/query-stream: a SELECT, `endless` with EMIT CHANGES, which goes on after a `continuation` token."""
    members = {"sql": sql, "properties": session.properties, "sessionVariables": session.variables}
    request = {"requestProperties": {CONTINUATION: continuation}} if continuation else {}
    content = orjson.dumps(wire_value(members | request | {"commandSequenceNumber": sequence}))
    return Exchange("/query-stream", content, DELIMITED, idempotent=True, endless=endless)


def close_exchange(query_id: str) -> Exchange:
    """/close-query: end the push query of that id."""
    return Exchange("/close-query", orjson.dumps({"queryId": query_id}), KSQL, idempotent=True)


def insert_exchange(target: str, session: SessionSettings, rows: list[Mapping[str, Any]]) -> Exchange:
    """/inserts-stream: a batch of rows (column to Python value) for the source `target`."""
    return Exchange("/inserts-stream", insert_body(target, session.properties, rows), DELIMITED)


def options(server: ServerAddress, verify: Verify, http2: bool | None, transport: Callable[..., T]) -> dict[str, Any]:
    """httpx's options for a server; `transport` is the class of the client's transports.

    With TLS, HTTP/2 is negotiated; without, `http2` True means HTTP/2 with prior knowledge. False means HTTP/1.1.
    """
    secure = server.url.startswith("https:")
    network = {
        "verify": _context(verify) if secure else False,
        "http1": secure or not http2,
        "http2": http2 if http2 is not None else secure,
        "limits": httpx.Limits(max_connections=None, max_keepalive_connections=20),
    }
    client = {"base_url": server.url, "auth": server.auth, "headers": server.headers(), **network}
    return {**client, "mounts": probed(network, transport)}


def probed(network: Mapping[str, Any], transport: Callable[..., T]) -> dict[str, T]:
    """httpx's `mounts` (URL pattern → transport) for connections that TCP probes while they are idle.

    Without probes a push query that waits for rows would never notice that its server is gone. Behind a proxy there are
    no mounts, because httpx then makes the transports itself.
    """
    return {} if getproxies() else {"all://": transport(**network, socket_options=PROBED)}


def _context(verify: Verify) -> ssl.SSLContext | bool:
    """`verify` in httpx's form; a path is the file or folder of the trusted authorities."""
    if not isinstance(verify, str | Path):
        return ssl.create_default_context() if verify is True else verify
    path = Path(verify)
    if path.is_dir():
        return ssl.create_default_context(capath=path)
    return ssl.create_default_context(cafile=path)


def require_open(http: httpx.Client | httpx.AsyncClient) -> None:
    """Raises MillstreamError if the connection was closed; httpx would raise RuntimeError, which is not one of ours."""
    if http.is_closed:
        raise MillstreamError("this connection was closed: open another one")


def is_not_ready(response: httpx.Response) -> bool:
    """True if the server has done nothing and asks the client to repeat the request later."""
    return response.status_code == 503 and "Retry-After" in response.headers


def failure(response: httpx.Response) -> MillstreamError:
    """The error of an unsuccessful response, which has been read."""
    return _error_of(response.status_code, response.content, str(response.url))


def _error_of(status: int, content: bytes, url: str) -> MillstreamError:
    try:
        body = orjson.loads(content)
    except ValueError:
        body = None
    if isinstance(body, dict) and "message" in body:
        return statement_refused({"error_code": status * 100, **body})
    return UnexpectedAnswer(status, f"{url} answered {status} without an error in JSON: is it a millstream server?")


def parsed(response: httpx.Response) -> Any:
    """The JSON of a response that has been read. Raises StatementRefused, UnexpectedAnswer."""
    if not response.is_success:
        raise failure(response)
    try:
        return orjson.loads(response.content or b"null")
    except ValueError as error:
        message = f"{response.url} did not answer with JSON: is it a millstream server?"
        raise UnexpectedAnswer(response.status_code, message) from error


def server_version(info: Mapping[str, Any]) -> str:
    """A server's own version, of its answer to GET /info; of an older server, or of ksqlDB, the only one it gives."""
    return str(info.get("millstreamVersion", info.get("version", "")))
