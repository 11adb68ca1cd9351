"""Known look-ups are answered without the application, with the same bytes as it would send."""

import json
import re
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from millstream.engine.api import PreparedLookup, Request, RequestFailed, Rows
from millstream.security.audit import AuditFile, AuditLog
from millstream.security.login import Login, basic
from millstream.security.roles import read_roles
from millstream.security.users import UserFile
from millstream.server.options import RequestLimits, ServerOptions
from millstream.server.run import Server
from support.engine import FakeEngine, FakeRows
from support.kafka import wait_for
from support.logins import PASSWORD, users_file
from support.patience import PATIENCE

LOOKUP = re.compile(r"SELECT \* FROM (\w+) WHERE ID = (\d+);")
DATE = re.compile(rb"date: [^\r]*")


@dataclass(frozen=True)
class FakeLookup:
    table: str
    key: int


class LookupEngine(FakeEngine):
    """Knows each look-up after its first: `batches` has the keys of those that ran without the application."""

    def __init__(self) -> None:
        super().__init__()
        self.has_prepared, self.batches = True, list[list[int]]()
        self.failure: Callable[[FakeLookup], None] = lambda lookup: None
        self.refuse: Callable[[object], None] = lambda request: None
        self.table_ready = threading.Event()
        self.table_ready.set()

    def query(self, request: Request) -> Rows:
        self.requests.append(request)
        self.refuse(request)
        match = LOOKUP.fullmatch(request.text)
        return super().query(request) if match is None else _rows(int(match[2]))

    def prepared_lookup(self, request: Request) -> PreparedLookup | None:
        match = LOOKUP.fullmatch(request.text) if self.has_prepared else None
        return None if match is None else FakeLookup(match[1], int(match[2]))

    def look_up(self, lookups: Sequence[PreparedLookup]) -> list[Rows]:
        prepared = [lookup for lookup in lookups if isinstance(lookup, FakeLookup)]
        assert {lookup.table for lookup in prepared} == {prepared[0].table}
        if prepared[0].table == "SLOW":
            assert self.table_ready.wait(PATIENCE)
        for lookup in prepared:
            self.failure(lookup)
        self.batches.append([lookup.key for lookup in prepared])
        return [_rows(lookup.key) for lookup in prepared]


def _rows(key: int) -> FakeRows:
    rows: list[Any] = [[key, "é\n"]]
    if key == 13:
        rows.append(RequestFailed(50000, "bad luck"))
    answer = FakeRows("q1", rows if key < 1000 else rows * key)
    answer.short = True
    return answer


@pytest.fixture
def engine() -> LookupEngine:
    return LookupEngine()


def request(key: int, table: str = "T", path: str = "/query-stream", head: str = "") -> bytes:
    body = json.dumps({"sql": f"SELECT * FROM {table} WHERE ID = {key};"}).encode()
    fields = f"Host: localhost\r\n{head}Content-Length: {len(body)}\r\n\r\n"
    return f"POST {path} HTTP/1.1\r\n{fields}".encode() + body


@contextmanager
def connection(server: Server) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", server.port), PATIENCE) as opened:
        yield opened


def exchange(opened: socket.socket, *pieces: bytes) -> bytes:
    """The response to a request that is sent in pieces."""
    for piece in pieces:
        opened.sendall(piece)
    return response(opened)


def response(opened: socket.socket) -> bytes:
    data = b""
    while b"\r\n\r\n" not in data:
        data += _received(opened)
    length = int(data.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
    while len(data.partition(b"\r\n\r\n")[2]) < length:
        data += _received(opened)
    return data


def _received(opened: socket.socket) -> bytes:
    piece = opened.recv(65536)
    assert piece, "the server closed the connection"
    return piece


ACCEPTED = ["", "Accept: application/json\r\n", "Accept: application/vnd.ksql.v1+json\r\nConnection: keep-alive\r\n"]


@pytest.mark.parametrize("path", ["/query", "/query-stream"])
@pytest.mark.parametrize("accept", ACCEPTED)
def test_the_same_bytes_as_from_the_application(server: Server, engine: LookupEngine, path: str, accept: str) -> None:
    with connection(server) as opened:
        engine.has_prepared = False
        by_application = exchange(opened, request(7, path=path, head=accept))
        engine.has_prepared = True
        assert DATE.sub(b"", exchange(opened, request(7, path=path, head=accept))) == DATE.sub(b"", by_application)
    assert (len(engine.requests), engine.batches) == (1, [[7]])


NOT_SHORT = {
    "another statement": b'{"sql": "SELECT * FROM ORDERS;"}',
    "no JSON": b"SELECT",
    "no statement": b"{}",
}


@pytest.mark.parametrize("body", NOT_SHORT.values(), ids=NOT_SHORT)
def test_other_bodies_are_left_to_the_application(server: Server, engine: LookupEngine, body: bytes) -> None:
    head = b"POST /query-stream HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body)
    with connection(server) as opened:
        opened.sendall(head + body)
        assert opened.recv(65536).startswith(b"HTTP/1.1 ")
    assert engine.batches == []


REFUSED = {
    "Origin: http://evil.example\r\n": b"403",
    "Host: evil.example\r\n": b"400",
    "Accept: text/html\r\n": b"406",
    "Content-Type: text/plain\r\n": b"415",
}


@pytest.mark.parametrize("head", REFUSED)
def test_the_application_refuses(server: Server, engine: LookupEngine, head: str) -> None:
    with connection(server) as opened:
        exchange(opened, request(1))
        assert exchange(opened, request(2, head=head)).split(b" ")[1] == REFUSED[head]
    assert engine.batches == [[1]]


def test_requests_in_pieces_and_together(server: Server, engine: LookupEngine) -> None:
    with connection(server) as opened:
        whole = request(1)
        assert b"200" in exchange(opened, whole)
        opened.sendall(request(2) + request(3))
        received = response(opened)
        while received.count(b"HTTP/1.1 200") < 2 or not received.endswith(b'[3,"\xc3\xa9\\n"]\n'):
            received += _received(opened)
        opened.sendall(whole[:30])
        # Once another connection is served, the first piece has been read.
        assert b"200" in _look_up(server, 4, "T")
        assert b"200" in exchange(opened, whole[30:])
        assert b"200" in exchange(opened, request(5))
    # What came in pieces, or together with another request, was answered by the application.
    assert (engine.batches, len(engine.requests)) == ([[1], [4], [5]], 3)


def test_a_failure_is_reported_by_the_application(server: Server, engine: LookupEngine) -> None:
    with connection(server) as opened:
        partial = exchange(opened, request(13))
        assert b"bad luck" in partial
        opened.sendall(request(1000))
        data = b""
        while not data.endswith(b"0\r\n\r\n"):
            data += _received(opened)
        assert data.count(b'[1000,"') == 1000
    assert len(engine.requests) == 2


def test_a_batch_that_fails_as_a_whole(server: Server, engine: LookupEngine) -> None:
    def fail(_: FakeLookup) -> None:
        raise ValueError("a bug")

    engine.failure = fail
    with connection(server) as opened:
        assert b"200" in exchange(opened, request(1))
        engine.failure = lambda lookup: None
        assert b"200" in exchange(opened, request(2))
    assert (len(engine.requests), engine.batches) == (1, [[2]])


@pytest.mark.parametrize("code", [50000, 40300, 50302])
@pytest.mark.parametrize("path", ["/query", "/query-stream"])
def test_a_table_that_is_not_ready_is_waited_for_once(
    server: Server, engine: LookupEngine, path: str, code: int
) -> None:
    """The application would wait as long again; the refusal has the bytes that it would send."""
    text = "SELECT * FROM T WHERE ID = 7;"

    def refuse(_: object) -> None:
        raise RequestFailed(code, "Kafka does not answer\n  hint: wait", text)

    with connection(server) as opened:
        engine.has_prepared, engine.refuse = False, refuse
        by_application = exchange(opened, request(7, path=path))
        engine.has_prepared, engine.failure = True, refuse
        assert DATE.sub(b"", exchange(opened, request(7, path=path))) == DATE.sub(b"", by_application)
        assert by_application.startswith(b"HTTP/1.1 %d " % (code // 100))
        engine.failure = lambda lookup: None
        assert b"200" in exchange(opened, request(8, path=path))
    assert (len(engine.requests), engine.batches) == (1, [[8]])


def _begin_slow_lookups(server: Server, first: socket.socket, second: socket.socket) -> None:
    """Look-ups of the keys 1 and 2, the first of which runs and the other waits until the table is ready."""
    for opened, key in ((first, 1), (second, 2)):
        opened.sendall(request(key, "SLOW"))
        assert b"200" in _look_up(server, 50, "T")


def test_lookups_that_come_while_a_table_is_waited_for_share_its_refusal(server: Server, engine: LookupEngine) -> None:
    refused: list[int] = []

    def refuse(lookup: FakeLookup) -> None:
        if lookup.table == "SLOW":
            refused.append(lookup.key)
            raise RequestFailed(50000, "Kafka does not answer")

    engine.failure = refuse
    engine.table_ready.clear()
    with connection(server) as first, connection(server) as second:
        _begin_slow_lookups(server, first, second)
        engine.table_ready.set()
        for opened, key in ((first, 1), (second, 2)):
            answer = response(opened)
            assert b" 500 " in answer
            assert b"FROM SLOW WHERE ID = %d;" % key in answer
    assert (refused, engine.requests) == ([1], [])


def test_a_batch_that_fails_unexpectedly_leaves_no_other_waiting(server: Server, engine: LookupEngine) -> None:
    def fail(lookup: FakeLookup) -> None:
        if lookup.key == 1:
            raise ValueError("a bug")

    engine.failure = fail
    engine.table_ready.clear()
    with connection(server) as first, connection(server) as second:
        _begin_slow_lookups(server, first, second)
        engine.table_ready.set()
        assert b"200" in response(first)
        assert b"200" in response(second)


def test_waiting_lookups_are_one_batch_and_delay_no_other_table(server: Server, engine: LookupEngine) -> None:
    engine.table_ready.clear()
    with ExitStack() as stack:
        waiting = [stack.enter_context(connection(server)) for _ in range(8)]
        for key, opened in enumerate(waiting):
            opened.sendall(request(key, "SLOW"))
        # Once another connection is served, all of these have been read.
        assert b"200" in _look_up(server, 50, "T")
        engine.table_ready.set()
        assert all(b"200" in response(opened) for opened in waiting)
    first, *others = engine.batches
    assert (first, sorted(key for batch in others for key in batch)) == ([50], list(range(8)))
    assert len(others) <= 2


def _look_up(server: Server, key: int, table: str) -> bytes:
    with connection(server) as opened:
        return exchange(opened, request(key, table))


def test_a_client_that_leaves(server: Server, engine: LookupEngine) -> None:
    engine.table_ready.clear()
    with connection(server) as opened:
        opened.sendall(request(1, "SLOW"))
        assert b"200" in _look_up(server, 2, "T")
    engine.table_ready.set()
    assert b"200" in _look_up(server, 3, "SLOW")


def test_a_connection_that_looks_up_is_not_idle(engine: LookupEngine) -> None:
    limits = RequestLimits(header_seconds=1.0, idle_seconds=1.0, connections=1)
    with Server(engine, port=0, options=ServerOptions(limits=limits)) as server, connection(server) as opened:
        for key in range(8):
            assert b"200" in exchange(opened, request(key))
            threading.Event().wait(0.25)
        opened.settimeout(PATIENCE)
        assert opened.recv(1) == b""  # closed once it has been idle for a second
    assert len(engine.batches) == 8


def test_a_head_that_does_not_end_gets_no_more_time(engine: LookupEngine) -> None:
    limits = RequestLimits(header_seconds=0.5, idle_seconds=600)
    with Server(engine, port=0, options=ServerOptions(limits=limits)) as server, connection(server) as opened:
        assert b"200" in exchange(opened, request(1))
        opened.sendall(request(2)[:50])
        assert opened.recv(65536).startswith(b"HTTP/1.1 408")


@pytest.mark.parametrize("code", [200, 500])
def test_durations_and_audit(engine: LookupEngine, tmp_path: Path, code: int) -> None:
    def refuse(_: object) -> None:
        raise RequestFailed(50000, "Kafka does not answer", "SELECT")

    audit = AuditLog([AuditFile(tmp_path / "audit", 10_000, 1)])
    if code == 500:
        engine.refuse = engine.failure = refuse
    with Server(engine, port=0, options=ServerOptions(audit=audit)) as server, connection(server) as opened:
        engine.has_prepared = False
        exchange(opened, request(1))
        engine.has_prepared = True
        exchange(opened, request(1))
        text = httpx.get(f"{server.url}/metrics").text
    metric = 'http_request_duration_seconds_count{code="%d",method="POST",route="/query-stream"} 2.0'
    assert metric % code in text
    entries = [json.loads(line) for line in (tmp_path / "audit").read_text().splitlines()]
    varying = ("time", "ms")
    by_application, prepared = ({k: v for k, v in entry.items() if k not in varying} for entry in entries)
    assert prepared == by_application


def test_a_login_ends_within_seconds(engine: LookupEngine, tmp_path: Path) -> None:
    users = users_file(tmp_path, {"ann": ["admin"]})
    options = ServerOptions(login=Login(UserFile(users), None, read_roles(None)))
    head = f"Authorization: {basic('ann', PASSWORD)}\r\n"
    with Server(engine, port=0, options=options) as server, connection(server) as opened:
        # The first request hashes the password: the application does that.
        assert b"200" in exchange(opened, request(1, head=head))
        assert b"200" in exchange(opened, request(2, head=head))
        assert (len(engine.requests), engine.batches) == (1, [[2]])
        assert exchange(opened, request(3)).startswith(b"HTTP/1.1 401")
        users_file(tmp_path, {"bob": ["admin"]})
        wait_for(lambda: exchange(opened, request(4, head=head)).startswith(b"HTTP/1.1 401"), "the end of the login")
