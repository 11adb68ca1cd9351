"""What a client does about its server's address, its login, and a network that fails: seen from httpx's transport."""

import asyncio
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import HTTPServer
from pathlib import Path

import httpx
import pytest

import millstream
from millstream.client import (
    Connection,
    ConnectionFailed,
    MillstreamError,
    RequestTimeout,
    RetryPolicy,
    StatementRefused,
    UnexpectedAnswer,
)
from millstream.client.aio import AsyncConnection
from millstream.client.exchange import READ_ONLY, SessionSettings, address, options
from millstream.client.rows import Row
from millstream.services.ports import free_port
from support.certificates import server_files
from support.http_server import QuietHandler, serving

AT_ONCE = RetryPolicy(attempts=3, first=0.0)
Handler = Callable[[httpx.Request], httpx.Response]
STREAMS = '[{"@type":"streams","statementText":"","streams":[],"warnings":[]}]'


class FlakyServer:
    """Fails as often as `failures` says, then answers."""

    def __init__(self, *failures: httpx.Response | type[httpx.TransportError]) -> None:
        self.failures, self.requests = list(failures), 0

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests += 1
        if not self.failures:
            return httpx.Response(200, text=STREAMS)
        failure = self.failures.pop(0)
        if isinstance(failure, httpx.Response):
            return failure
        raise failure("the network is down")


def connected(handler: Handler, retry: RetryPolicy = AT_ONCE) -> Connection:
    server = address("http://host:1", None, None, None)
    http = httpx.Client(base_url=server.url, transport=httpx.MockTransport(handler))
    return Connection(http, server, SessionSettings(), 1.0, retry)


def connected_async(handler: Handler, retry: RetryPolicy = AT_ONCE) -> AsyncConnection:
    server = address("http://host:1", None, None, None)
    http = httpx.AsyncClient(base_url=server.url, transport=httpx.MockTransport(handler))
    return AsyncConnection(http, server, SessionSettings(), 1.0, retry)


def test_requests_that_change_nothing_are_repeated_after_a_broken_connection() -> None:
    server = FlakyServer(httpx.ReadError, httpx.RemoteProtocolError)
    assert len(connected(server).execute("SHOW STREAMS;")) == 1
    assert server.requests == 3


def test_attempts_come_to_an_end() -> None:
    server = FlakyServer(*[httpx.ReadError] * 3)
    with pytest.raises(ConnectionFailed, match="the connection to http://host:1 was lost"):
        connected(server).execute("SHOW STREAMS;")
    assert server.requests == 3


def test_requests_that_may_have_been_executed_are_not_repeated() -> None:
    server = FlakyServer(httpx.ReadError)
    with pytest.raises(ConnectionFailed):
        connected(server).execute("CREATE STREAM a AS SELECT 1;")
    server = FlakyServer(httpx.ReadError)
    with pytest.raises(ConnectionFailed):
        connected(server).insert("A", [{"ID": 1}])
    assert server.requests == 1


def test_requests_that_never_reached_a_server_are_repeated() -> None:
    server = FlakyServer(httpx.ConnectError, httpx.ConnectTimeout)
    connected(server).execute("CREATE STREAM a AS SELECT 1;")
    assert server.requests == 3


def test_a_request_to_a_server_that_is_not_ready_is_repeated() -> None:
    body = {"error_code": 50302, "message": "not ready"}
    server = FlakyServer(httpx.Response(503, json=body, headers={"Retry-After": "10"}))
    connected(server).execute("CREATE STREAM a AS SELECT 1;")
    assert server.requests == 2
    server = FlakyServer(httpx.Response(503, json={"error_code": 50303, "message": "shutting down"}))
    with pytest.raises(StatementRefused, match="shutting down"):
        connected(server).execute("CREATE STREAM a AS SELECT 1;")


def test_the_asynchronous_client_sends_again_in_the_same_cases() -> None:
    server = FlakyServer(httpx.ReadError, httpx.ConnectError)
    assert len(asyncio.run(connected_async(server).execute("SHOW STREAMS;"))) == 1
    server = FlakyServer(httpx.ReadError)
    with pytest.raises(ConnectionFailed):
        asyncio.run(connected_async(server).execute("DROP STREAM a;"))
    assert server.requests == 1


def test_waits_grow() -> None:
    assert list(RetryPolicy(attempts=4, first=0.5, factor=3).delays()) == [0.5, 1.5, 4.5, None]


def test_a_timeout_is_not_tried_again() -> None:
    server = FlakyServer(httpx.ReadTimeout)
    with pytest.raises(RequestTimeout):
        connected(server).execute("SHOW STREAMS;")
    assert server.requests == 1


def frozen_server() -> socket.socket:
    """A server that the kernel lets clients connect to, and that answers nothing: as one stopped with SIGSTOP."""
    return socket.create_server(("127.0.0.1", 0))


@pytest.mark.parametrize("http2", [False, True])
def test_a_push_query_to_a_frozen_server_ends_after_the_timeout(http2: bool) -> None:
    with frozen_server() as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        with millstream.connect(url, timeout=0.2, http2=http2) as connection, pytest.raises(RequestTimeout):
            list(connection.push("SELECT * FROM a EMIT CHANGES;"))


def test_an_asynchronous_push_query_to_a_frozen_server_ends_after_the_timeout() -> None:
    async def push(url: str) -> None:
        async with millstream.connect_async(url, timeout=0.2) as connection:
            await connection.push("SELECT * FROM a EMIT CHANGES;")

    with frozen_server() as server, pytest.raises(RequestTimeout):
        asyncio.run(push(f"http://127.0.0.1:{server.getsockname()[1]}"))


class LateRowHandler(QuietHandler):
    """Answers a push query at once, and sends its only row when the client's timeout is long over."""

    def do_POST(self) -> None:
        self.send_response(200)
        self.end_headers()
        if self.path == "/query-stream":
            self.wfile.write(b'{"queryId":"q","columnNames":["A"],"columnTypes":["INTEGER"]}\n')
            self.wfile.flush()
            time.sleep(0.5)
            self.wfile.write(b"[1]\n")


def test_the_rows_of_a_push_query_may_be_late() -> None:
    async def pushed(url: str) -> list[Row]:
        async with millstream.connect_async(url, timeout=0.2) as connection:
            return [row async for row in await connection.push("SELECT * FROM a EMIT CHANGES;")]

    with serving(HTTPServer(("127.0.0.1", 0), LateRowHandler)) as server:
        url = f"http://127.0.0.1:{server.server_port}"
        with millstream.connect(url, timeout=0.2) as connection:
            assert [row.A for row in connection.push("SELECT * FROM a EMIT CHANGES;")] == [1]
        assert [row.A for row in asyncio.run(pushed(url))] == [1]


@pytest.mark.parametrize(
    ("sql", "read_only"),
    [
        ("SHOW STREAMS;", True),
        ("show streams; Describe a;\n list tables", True),
        ("SHOW STREAMS; DROP STREAM a;", False),
        ("SHOWN;", False),
        ("INSERT INTO a VALUES ('SHOW x;');", False),
    ],
)
def test_which_statements_change_nothing(sql: str, read_only: bool) -> None:
    assert bool(READ_ONLY.fullmatch(sql)) == read_only


def test_no_server() -> None:
    url = f"http://127.0.0.1:{free_port()}"
    with pytest.raises(ConnectionFailed, match=f"no server answers at {url}"):
        millstream.connect(url, retry=AT_ONCE).execute("SHOW STREAMS;")
    with pytest.raises(ConnectionFailed):
        millstream.connect(url).info()


def test_a_server_that_is_no_millstream() -> None:
    for response in (httpx.Response(502, text="<html>"), httpx.Response(200, text="<html>")):
        with pytest.raises(UnexpectedAnswer, match="is it a millstream") as unexpected:
            connected(FlakyServer(response)).execute("SHOW STREAMS;")
        assert unexpected.value.status == response.status_code


def test_a_refusal_without_a_code_has_that_of_its_status() -> None:
    with pytest.raises(StatementRefused) as refused:
        connected(FlakyServer(httpx.Response(401, json={"message": "log in"}))).execute("SHOW STREAMS;")
    assert refused.value.code == 40100


def sent_by(connection: Connection) -> httpx.Request:
    """The request of a statement, as it would leave."""
    request = connection._http.build_request("POST", "/ksql")
    auth = connection._http._build_request_auth(request)
    return next(auth.auth_flow(request))


def test_logins() -> None:
    basic = "Basic " + "YWxpY2U6c2VjcmV0"
    connection = millstream.connect("https://host:1", user="alice", password="secret")
    assert sent_by(connection).headers["Authorization"] == basic
    assert sent_by(millstream.connect("http://alice:secret@host:1")).headers["Authorization"] == basic
    assert sent_by(millstream.connect("host:1", token="t0")).headers["Authorization"] == "Bearer t0"
    assert "Authorization" not in sent_by(millstream.connect("host:1")).headers
    assert millstream.connect("http://alice:secret@host:1").url == "http://host:1"


def test_a_password_is_in_no_message() -> None:
    url = f"http://alice:secret@127.0.0.1:{free_port()}"
    with pytest.raises(ConnectionFailed) as failed:
        millstream.connect(url, retry=AT_ONCE).execute("SHOW STREAMS;")
    assert "secret" not in str(failed.value)


@pytest.mark.parametrize("url", ["ftp://host", "http://", "http://host:port"])
def test_what_is_no_address(url: str) -> None:
    with pytest.raises(MillstreamError):
        millstream.connect(url)


def test_a_user_together_with_a_token_is_refused() -> None:
    with pytest.raises(MillstreamError, match="a user and a token"):
        millstream.connect("http://host:1", user="a", token="b")


def test_protocols() -> None:
    plain, secure = address("http://h", None, None, None), address("https://h", None, None, None)
    cases = [
        options(server, False, http2, httpx.HTTPTransport)
        for server in (plain, secure)
        for http2 in (None, True, False)
    ]
    assert [(each["http1"], each["http2"]) for each in cases] == [
        *((True, False), (False, True), (True, False)),
        *((True, True), (True, True), (True, False)),
    ]


class InfoHandler(QuietHandler):
    """Answers every GET as /info is answered."""

    def do_GET(self) -> None:
        self.answer(200, b'{"KsqlServerInfo": {"version": "1"}}')


def test_an_idle_connection_is_probed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a push query waits forever if its server's machine is gone, or a router has forgotten the connection."""
    monkeypatch.setattr("millstream.client.exchange.getproxies", dict)
    with serving(HTTPServer(("127.0.0.1", 0), InfoHandler)) as server:
        here = address(f"http://127.0.0.1:{server.server_port}", None, None, None)
        with (
            httpx.Client(**options(here, True, None, httpx.HTTPTransport)) as client,
            client.stream("GET", "/info") as response,
        ):
            connected_socket = response.extensions["network_stream"].get_extra_info("socket")
            assert connected_socket.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)


def test_a_proxy_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(HTTPServer(("127.0.0.1", 0), InfoHandler)) as proxy:
        monkeypatch.setenv("all_proxy", f"http://127.0.0.1:{proxy.server_port}")
        with millstream.connect("http://somewhere.invalid:8088") as connection:
            assert connection.info() == {"version": "1"}


@contextmanager
def tls_server(certificate: Path) -> Iterator[str]:
    """The URL of a server with this key and certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    server = HTTPServer(("127.0.0.1", 0), InfoHandler)
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    with serving(server):
        yield f"https://127.0.0.1:{server.server_port}"


def test_tls_trusts_the_configured_authorities(tmp_path: Path) -> None:
    trust, certificate = server_files(tmp_path)
    with tls_server(certificate) as url:
        for verify in (trust, str(trust), ssl.create_default_context(cafile=trust), False):
            with millstream.connect(url, verify=verify) as connection:
                assert connection.info() == {"version": "1"}
        with millstream.connect(url) as stranger, pytest.raises(ConnectionFailed, match="certificate verify failed"):
            stranger.info()
