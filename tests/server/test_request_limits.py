"""The limits of what a client may send and how long it may take; waiting clients do not block others."""

import json
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager

import httpx
import pytest

from millstream.engine.api import Entity, Request, RequestFailed
from millstream.server.context import AT_ONCE
from millstream.server.errors import without_stack
from millstream.server.options import RequestLimits, ServerOptions
from millstream.server.run import Server, listen
from support.engine import FakeEngine
from support.http_clients import Http1Client
from support.patience import PATIENCE

SMALL = RequestLimits(
    body_bytes=4000, statement_bytes=1000, row_bytes=100, connections=10, header_seconds=0.5, body_seconds=0.5
)
SHOW = {"ksql": "SHOW STREAMS;"}


@pytest.fixture
def small(engine: FakeEngine) -> Iterator[Server]:
    with Server(engine, port=0, options=ServerOptions(limits=SMALL)) as server:
        yield server


@contextmanager
def connection(server: Server, sent: bytes) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", server.port), PATIENCE) as opened:
        opened.sendall(sent)
        yield opened


def status(opened: socket.socket) -> str:
    """The status of the answer, "" where the connection is closed without one."""
    with opened.makefile("rb") as answer:
        return answer.readline().decode().partition(" ")[2].partition(" ")[0]


def test_an_idle_connection_is_probed() -> None:
    """Else a push query runs forever if its client's machine is gone, as it has no rows that cannot be sent."""
    with (
        listen("127.0.0.1", 0) as listening,
        socket.create_connection(listening.getsockname(), PATIENCE),
        listening.accept()[0] as accepted,
    ):
        assert accepted.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)


@pytest.mark.parametrize("http2", [False, True])
@pytest.mark.parametrize("path", ["/ksql", "/query", "/query-stream", "/close-query", "/ksql/terminate"])
def test_a_body_that_is_too_large(small: Server, path: str, http2: bool) -> None:
    with httpx.Client(http1=not http2, http2=http2, timeout=PATIENCE) as client:
        answer = client.post(small.url + path, content=b" " * 100_000)
        assert (answer.status_code, answer.json()["error_code"]) == (413, 41300)
        assert "millstream.request.max.bytes" in answer.json()["message"]


@pytest.mark.parametrize("path", ["/ksql", "/query", "/query-stream"])
def test_a_statement_that_is_too_long(small: Server, path: str) -> None:
    answer = httpx.post(small.url + path, json={"ksql": f"SELECT '{'é' * 600}' FROM x;"})
    assert (answer.status_code, answer.json()["error_code"]) == (413, 41300)
    assert "millstream.statement.max.bytes" in answer.json()["message"]


def test_headers_that_are_too_long(small: Server) -> None:
    with connection(small, b"GET /info HTTP/1.1\r\nHost: x\r\nX: " + b"x" * 100_000) as opened:
        assert status(opened) == "431"


@pytest.mark.parametrize("line", [b'{"ID": 1, "NAME": "' + b"x" * 200, b'{"NAME": "' + b"x" * 200 + b'"}\n'])
def test_a_line_that_is_too_long(small: Server, engine: FakeEngine, line: bytes) -> None:
    first = httpx.post(f"{small.url}/inserts-stream", content=line)
    assert (first.status_code, first.json()["error_code"]) == (413, 41300)
    rows = b'{"target": "ORDERS"}\n{"ID": 1}\n{"ID": 2}\n' + line
    acks = [json.loads(ack) for ack in httpx.post(f"{small.url}/inserts-stream", content=rows).text.splitlines()]
    assert [(ack["seq"], ack["status"]) for ack in acks] == [(0, "ok"), (1, "ok"), (2, "error")]
    assert acks[2]["error_code"] == 41300
    assert [row["ID"] for row in engine.inserted] == [1, 2]


@pytest.mark.parametrize("path", ["/ksql", "/inserts-stream"])
def test_a_body_that_does_not_arrive_in_time(small: Server, path: str) -> None:
    with Http1Client(small.port, path) as client:
        client.send("{")
        assert client.status() == 408


@pytest.mark.parametrize("sent", [b"G", b"GET /info HTTP/1.1\r\nHost: x\r\nX-Slow: "])
def test_headers_that_do_not_come(small: Server, sent: bytes) -> None:
    with connection(small, sent) as opened:
        assert status(opened) == "408"


def test_the_second_request_has_the_deadline_of_the_first(small: Server) -> None:
    with connection(small, b"GET /chc/live HTTP/1.1\r\nHost: x\r\n\r\n") as opened:
        assert b"200" in opened.recv(65536)
        opened.sendall(b"GET /chc/live HT")
        assert status(opened) == "408"


def test_a_connection_without_a_request_is_closed(small: Server) -> None:
    with connection(small, b"") as opened:
        assert status(opened) == ""


def test_a_new_connection_replaces_one_without_a_request(engine: FakeEngine) -> None:
    with (
        Server(engine, port=0, options=ServerOptions(limits=RequestLimits(connections=10))) as server,
        ExitStack() as all,
    ):
        for _ in range(50):
            all.enter_context(connection(server, b"G"))
        for _ in range(3):
            assert httpx.get(f"{server.url}/info").status_code == 200


def test_a_connection_beyond_the_last_place_gets_an_error(small: Server, engine: FakeEngine) -> None:
    with ExitStack() as all:
        queries = [all.enter_context(Http1Client(small.port, "/query-stream")) for _ in range(SMALL.connections)]
        for query in queries:
            query.send(json.dumps({"sql": "SELECT * FROM orders EMIT CHANGES;"}))
            query.end()
            assert query.status() == 200
        with connection(small, b"GET /info HTTP/1.1\r\nHost: x\r\n\r\n") as opened:
            assert status(opened) == "503"
    assert all_closed(engine)
    assert httpx.get(f"{small.url}/info").status_code == 200


def all_closed(engine: FakeEngine) -> bool:
    return all(rows.closed.wait(PATIENCE) for rows in engine.queries.values())


class WaitingEngine(FakeEngine):
    """An engine whose statements wait until they are let go."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting, self.go = threading.Semaphore(0), threading.Event()

    def execute(self, request: Request) -> list[Entity]:
        self.waiting.release()
        assert self.go.wait(PATIENCE)
        return []


def test_health_checks_do_not_wait_for_statements() -> None:
    engine, count = WaitingEngine(), AT_ONCE + 10
    limits = httpx.Limits(max_connections=None)
    with (
        Server(engine, port=0) as server,
        ThreadPoolExecutor(count) as pool,
        httpx.Client(base_url=server.url, timeout=PATIENCE, limits=limits) as client,
    ):
        statements = [pool.submit(client.post, "/ksql", json=SHOW) for _ in range(count)]
        try:
            assert all(engine.waiting.acquire(timeout=PATIENCE) for _ in range(AT_ONCE))
            for path in ("/info", "/healthcheck", "/chc/ready", "/chc/live", "/v1/metadata"):
                assert client.get(path).status_code == 200
            assert not any(statement.done() for statement in statements)
        finally:
            engine.go.set()
        assert {statement.result().status_code for statement in statements} == {200}


@pytest.mark.parametrize(
    ("raised", "message"),
    [
        (
            "An error occurred while calling o7.run.\n"
            ": java.lang.OutOfMemoryError: Java heap space\n\tat a.B.c(B.java:1)\n",
            "java.lang.OutOfMemoryError: Java heap space",
        ),
        ("the query failed: no room\n\tat a.B.c(B.java:1)\n\tat a.B.d(B.java:2)", "the query failed: no room"),
        ("[ERROR] a fact\n\nJVM stacktrace:\na.B\n\tat a.B", "[ERROR] a fact"),
        ("line 1:1: a fact\n  hint: a hint", "line 1:1: a fact\n  hint: a hint"),
    ],
)
def test_no_stack_is_shown(server: Server, engine: FakeEngine, raised: str, message: str) -> None:
    def broken(_: object) -> list[Entity]:
        raise RuntimeError(raised)

    engine.execute = broken  # type: ignore[method-assign,assignment]
    assert httpx.post(f"{server.url}/ksql", json=SHOW).json()["message"] == message
    assert without_stack(str(RequestFailed(50000, raised))) == message


def test_a_websocket_is_not_compressed(small: Server) -> None:
    """A message of 500 KB that unpacks to 500 MB took the event loop for half a minute."""
    offer = "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits\r\n"
    keys = "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: eA==\r\n"
    with connection(small, f"GET /ws/query HTTP/1.1\r\nHost: localhost\r\n{keys}{offer}\r\n".encode()) as opened:
        head = opened.recv(1000).partition(b"\r\n\r\n")[0].decode().lower()
    assert " 101 " in head
    assert "sec-websocket-accept" in head
    assert "permessage-deflate" not in head
