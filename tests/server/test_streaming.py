"""Rows and acks leave one by one while the exchange is open, and a query ends with its client or its server."""

import json
import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from urllib.parse import quote

import httpx
import pytest

from millstream.engine.api import RequestFailed
from millstream.server import http1, run
from millstream.server.options import RequestLimits, ServerOptions
from millstream.server.run import Server
from millstream.services.errors import SetupError
from support.engine import FakeEngine
from support.http_clients import Http1Client, Http2Client, WebSocket
from support.kafka import wait_for
from support.patience import PATIENCE

PUSH = json.dumps({"sql": "SELECT * FROM orders EMIT CHANGES;"})
AT_ONCE = 1.0


def test_rows_leave_one_by_one_and_the_query_ends_with_the_client_of_http1(server: Server, engine: FakeEngine) -> None:
    with Http1Client(server.port, "/query-stream") as client:
        client.send(PUSH)
        client.end()
        assert client.status() == 200
        (rows,) = engine.wait_for_queries(1)
        read = "".join(client.part() for _ in range(2))
        assert read.startswith('{"queryId"')
        rows.emit([4, "four"])
        while "[4," not in read:
            read += client.part()
        assert read.endswith('[4,"four"]\n')
        assert not rows.closed.is_set()
    assert rows.closed.wait(AT_ONCE), "the query outlived its client"


def test_a_stream_that_is_reset_ends_its_query_and_no_other(server: Server, engine: FakeEngine) -> None:
    with Http2Client(server.port) as client:
        streams = [client.open("/query-stream") for _ in range(3)]
        for stream in streams:
            client.send(stream, PUSH, end=True)
            assert client.status(stream) == 200
            client.part(stream)
        first, second, third = engine.wait_for_queries(3)
        client.reset(streams[1])
        assert second.closed.wait(AT_ONCE), "the query outlived its stream"
        third.emit([9, "nine"])
        read = ""
        while "[9," not in read:
            read += client.part(streams[2])
        assert not first.closed.is_set()
    assert first.closed.wait(AT_ONCE)
    assert third.closed.wait(AT_ONCE), "the query outlived its connection"


def test_over_http2_each_row_has_a_frame_of_its_own(server: Server, engine: FakeEngine) -> None:
    """Clients of ksqlDB take a frame for a row."""
    with Http2Client(server.port) as client:
        stream = client.open("/query-stream")
        client.send(stream, PUSH, end=True)
        (rows,) = engine.wait_for_queries(1)
        for number in range(100, 200):
            rows.emit([number, "a\u2028b"])
        frames = []
        while not frames or not frames[-1].startswith("[199,"):
            frames.append(client.part(stream))
    assert frames[0].startswith('{"queryId"')
    assert [json.loads(frame)[0] for frame in frames[-100:]] == list(range(100, 200))


def test_closing_a_query_ends_its_answer(server: Server, engine: FakeEngine) -> None:
    with Http2Client(server.port) as client:
        stream = client.open("/query-stream")
        client.send(stream, PUSH, end=True)
        query_id = json.loads(client.part(stream).splitlines()[0])["queryId"]
        assert httpx.post(f"{server.url}/close-query", json={"queryId": query_id}).status_code == 200
        while client.part(stream):
            pass


@pytest.mark.parametrize("path", ["/query", "/query-stream"])
def test_a_server_that_stops_ends_the_streams_of_its_clients(engine: FakeEngine, path: str) -> None:
    with Server(engine, port=0) as server:
        client = Http1Client(server.port, path)
        client.send(PUSH)
        client.end()
        assert client.status() == 200
        client.part()
    read = "".join(iter(client.part, ""))
    client.leave()
    assert '"error_code":50303' in read
    assert engine.wait_for_queries(1)[0].closed.wait(AT_ONCE)


def test_hundreds_of_push_queries_at_once(server: Server, engine: FakeEngine) -> None:
    count = 300
    with Http2Client(server.port) as client:
        streams = [client.open("/query-stream") for _ in range(count)]
        for stream in streams:
            client.send(stream, PUSH, end=True)
        for number, rows in enumerate(engine.wait_for_queries(count)):
            rows.emit([number, "mine"])
        for stream in streams:
            read = ""
            while "mine" not in read:
                read += client.part(stream)
        # Statements are answered meanwhile.
        assert httpx.post(f"{server.url}/ksql", json={"ksql": "SHOW STREAMS;"}).status_code == 200
    assert all(rows.closed.wait(PATIENCE) for rows in engine.queries.values())


def test_a_slow_reader_holds_its_query_back_and_loses_nothing(server: Server, engine: FakeEngine) -> None:
    with Http1Client(server.port, "/query-stream") as client:
        client.send(PUSH)
        client.end()
        (rows,) = engine.wait_for_queries(1)
        for number in range(20_000):
            rows.emit([number, "x" * 100])
        rows.emit([-1, "last"])
        assert client.status() == 200
        read = ""
        while "last" not in read[-200:]:
            read += client.part()
        assert [json.loads(line)[0] for line in read.splitlines()[4:]] == [*range(20_000), -1]


@pytest.mark.parametrize("path", ["/query-stream", "/query"])
def test_a_client_that_reads_nothing_is_cut_off_in_the_end(engine: FakeEngine, path: str) -> None:
    """Else its connection and its query would be held for good."""
    limits = RequestLimits(idle_seconds=0.5)
    with (
        Server(engine, port=0, options=ServerOptions(limits=limits)) as server,
        Http1Client(server.port, path) as client,
    ):
        client.send(PUSH)
        client.end()
        (rows,) = engine.wait_for_queries(1)
        # More than the system keeps for a client.
        for number in range(3000):
            rows.emit([number, "x" * 10_000])
        assert rows.closed.wait(PATIENCE), "the query outlived its client"


@pytest.mark.parametrize("path", ["/query-stream", "/query"])
def test_a_client_of_http2_whose_window_stays_full_is_cut_off_in_the_end(engine: FakeEngine, path: str) -> None:
    """Its stream is reset, and its connection serves other streams."""
    limits = RequestLimits(idle_seconds=0.5)
    with (
        Server(engine, port=0, options=ServerOptions(limits=limits)) as server,
        Http2Client(server.port) as client,
    ):
        client.send(client.open(path), PUSH, end=True)
        (rows,) = engine.wait_for_queries(1)
        for number in range(1000):
            rows.emit([number, "x" * 1000])
        assert rows.closed.wait(PATIENCE), "the query outlived its client"
        other = client.open("/query-stream")
        client.send(other, PUSH, end=True)
        assert engine.wait_for_queries(2)


def test_a_slow_reader_of_http2_gets_all_rows_though_its_window_is_full_most_of_the_time(
    server: Server, engine: FakeEngine
) -> None:
    with Http2Client(server.port) as client:
        stream = client.open("/query-stream")
        client.send(stream, PUSH, end=True)
        (rows,) = engine.wait_for_queries(1)
        for number in range(20_000):
            rows.emit([number, "x" * 100])
        rows.emit([-1, "last"])
        read = ""
        while "last" not in read[-200:]:
            read += client.part(stream)
        assert [json.loads(line)[0] for line in read.splitlines()[4:]] == [*range(20_000), -1]


def test_acks_come_back_while_the_request_is_open_over_http1(server: Server, engine: FakeEngine) -> None:
    with Http1Client(server.port, "/inserts-stream") as client:
        client.send('{"target":"ORDERS"}\n')
        assert client.status() == 200
        for seq in range(3):
            client.send(f'{{"ID":{seq}}}\n')
            assert json.loads(client.part()) == {"status": "ok", "seq": seq}
        client.send('{"ID":1')
        client.send("4}\n")
        assert json.loads(client.part()) == {"status": "ok", "seq": 3}
        client.end()
        assert client.part() == ""
    assert [row["ID"] for row in engine.inserted] == [0, 1, 2, 14]
    assert engine.inserters[0].closed


REFUSED = {
    "a refused row": ('{"ID":13}', "ID 13 is bad luck"),
    "no JSON": ("nonsense", "the request is not valid JSON"),
}


@pytest.mark.parametrize("reason", REFUSED)
def test_the_first_row_that_is_refused_is_the_end_over_http1(
    server: Server, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch, reason: str
) -> None:
    """As in ksqlDB: no row after it is written. The answer ends at once; the connection waits for the request's end."""
    monkeypatch.setattr(http1, "DRAIN_SECONDS", 3600.0)
    line, why = REFUSED[reason]
    with Http1Client(server.port, "/inserts-stream") as client:
        client.send(f'{{"target":"ORDERS"}}\n{{"ID":1}}\n{line}\n{{"ID":2}}\n')
        assert client.status() == 200
        acks = "".join(iter(client.part, ""))
        assert [json.loads(ack)["status"] for ack in acks.splitlines()] == ["ok", "error"]
        assert why in acks
        for number in range(100):
            client.send(f'{{"ID":{number},"NAME":"{"x" * 100_000}"}}\n')
        client.end()
    assert [row["ID"] for row in engine.inserted] == [1]
    assert engine.inserters[0].closed


def test_the_first_row_that_is_refused_is_the_end_over_http2(server: Server, engine: FakeEngine) -> None:
    with Http2Client(server.port) as client:
        stream = client.open("/inserts-stream")
        client.send(stream, '{"target":"ORDERS"}\n{"ID":1}\n{"ID":13}\n{"ID":2}\n')
        acks = "".join(iter(lambda: client.part(stream), ""))
        assert [json.loads(ack)["status"] for ack in acks.splitlines()] == ["ok", "error"]
        other = client.open("/ksql")
        client.send(other, '{"ksql":"SHOW STREAMS;"}', end=True)
        assert client.status(other) == 200
    assert [row["ID"] for row in engine.inserted] == [1]


def test_a_connection_serves_the_next_request_after_one_that_was_answered_before_its_end(server: Server) -> None:
    with socket.create_connection(("127.0.0.1", server.port), PATIENCE) as opened:
        opened.sendall(b"POST /nowhere HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n")
        answers = opened.makefile("rb")
        assert answers.readline().startswith(b"HTTP/1.1 404")
        opened.sendall(b"x" * 1_000_000 + b"GET /info HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        assert b"HTTP/1.1 200" in answers.read()


def test_a_request_that_goes_on_behind_its_answer_is_cut_off_in_the_end(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http1, "DRAIN_SECONDS", 0.1)
    with socket.create_connection(("127.0.0.1", server.port), PATIENCE) as opened:
        opened.sendall(b"POST /nowhere HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n")
        assert opened.makefile("rb").read().startswith(b"HTTP/1.1 404")


def test_acks_come_back_while_the_request_is_open_over_http2(server: Server, engine: FakeEngine) -> None:
    with Http2Client(server.port) as client:
        stream = client.open("/inserts-stream")
        client.send(stream, '{"target":"ORDERS"}\n')
        assert client.status(stream) == 200
        for seq in range(3):
            client.send(stream, f'{{"ID":{seq}}}\n')
            assert json.loads(client.part(stream)) == {"status": "ok", "seq": seq}
        client.send(stream, "", end=True)
        assert client.part(stream) == ""


def test_many_rows_are_all_written_in_order(server: Server, engine: FakeEngine) -> None:
    count = 20_000
    body = '{"target":"ORDERS"}\n' + "".join(f'{{"ID":{number + 100}}}\n' for number in range(count))
    acks = httpx.post(f"{server.url}/inserts-stream", content=body, timeout=PATIENCE).text.splitlines()
    assert [json.loads(ack)["seq"] for ack in acks] == list(range(count))
    assert [row["ID"] - 100 for row in engine.inserted] == list(range(count))


def test_a_refused_insert_stream_is_answered_before_all_is_sent(server: Server) -> None:
    with Http2Client(server.port) as client:
        stream = client.open("/inserts-stream")
        client.send(stream, '{"target":"NOWHERE"}\n')
        assert client.status(stream) == 400
        assert "NOWHERE" in client.part(stream)
        for _ in range(100):
            client.send(stream, '{"ID":1}\n')
        client.send(stream, "", end=True)
        assert client.part(stream) == ""
        # The connection is still good.
        other = client.open("/ksql")
        client.send(other, '{"ksql":"SHOW STREAMS;"}', end=True)
        assert client.status(other) == 200


def test_a_server_that_stops_refuses_new_streams_without_an_error(
    server: Server, engine: FakeEngine, caplog: pytest.LogCaptureFixture
) -> None:
    """Requests go on coming over a connection whose push query keeps it open while the server stops."""
    with Http2Client(server.port) as client, ThreadPoolExecutor(1) as pool:
        first = client.open("/query-stream")
        client.send(first, PUSH, end=True)
        client.part(first)
        stopping = pool.submit(server.stop)
        with suppress(OSError):
            for _ in range(50):
                client.send(client.open("/ksql"), '{"ksql":"SHOW STREAMS;"}', end=True)
        client.leave()
        stopping.result()
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []


def test_an_insert_stream_whose_client_leaves_is_closed(server: Server, engine: FakeEngine) -> None:
    with Http1Client(server.port, "/inserts-stream") as client:
        client.send('{"target":"ORDERS"}\n{"ID":1}\n')
        client.status()
        client.part()
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(_until_closed, engine).result(20)


def test_socket_sends_schema_rows_and_done(server: Server) -> None:
    with _socket(server, "SELECT * FROM odd;") as socket:
        schema = {"type": "INTEGER", "fields": None, "memberSchema": None}
        assert json.loads(socket.message())[0] == {"name": "ID", "schema": schema}
        assert socket.message() == '{"row":{"columns":[1.50,"NaN"]}}'
        assert socket.message() == '{"row":{"columns":[2,null],"tombstone":true}}'
        assert socket.message() == ""
        assert socket.closed == (1000, "done")


@pytest.mark.parametrize("leave", [WebSocket.close, WebSocket.leave])
def test_socket_that_closes_ends_its_query(
    server: Server, engine: FakeEngine, leave: Callable[[WebSocket], None]
) -> None:
    socket = _socket(server, "SELECT * FROM orders EMIT CHANGES;")
    socket.message()
    (rows,) = engine.wait_for_queries(1)
    rows.emit([7, "seven"])
    while "seven" not in socket.message():
        pass
    leave(socket)
    assert rows.closed.wait(AT_ONCE), "the query outlived its socket"


def test_a_socket_that_has_ended_frees_its_place(engine: FakeEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    """It does not keep it until its next ping is due."""
    monkeypatch.setattr(run, "PING_SECONDS", 600.0)
    with Server(engine, port=0, options=ServerOptions(limits=RequestLimits(connections=1))) as server:
        with _socket(server, "SELECT * FROM nowhere;") as socket:
            while socket.message():
                pass
        wait_for(lambda: httpx.get(f"{server.url}/info").status_code == 200, "a place for a connection")


@pytest.mark.parametrize(
    ("statement", "reason"),
    [("SELECT * FROM nowhere;", "there is no stream NOWHERE"), ("SELECT * FROM broken;", "a task failed")],
)
def test_a_socket_closes_with_the_error(server: Server, statement: str, reason: str) -> None:
    with _socket(server, statement) as socket:
        while socket.message():
            pass
        assert socket.closed is not None
        assert reason in socket.closed[1]


def test_a_socket_that_may_be_opened_later_is_closed_with_a_code_of_its_own(server: Server) -> None:
    refused = {"SELECT * FROM nowhere;": 1003, "SELECT * FROM late;": 1013}
    for statement, code in refused.items():
        with _socket(server, statement) as socket:
            assert socket.message() == ""
            assert socket.closed is not None
            assert socket.closed[0] == code


def test_socket_prints_the_records_of_a_topic_as_json_texts(server: Server) -> None:
    with _socket(server, "PRINT orders;") as socket:
        message = socket.message()
        assert json.loads(message or "") == "rowtime: 1970-01-01T00:00:00.000Z, key: a, value: {}, partition: 0"


def test_a_busy_port_is_reported_in_one_line(server: Server, engine: FakeEngine) -> None:
    with pytest.raises(SetupError, match=f"port {server.port} is in use.*\n  hint: .*--listen"):
        Server(engine, port=server.port).start()


def test_an_unexpected_exception_is_answered_as_a_server_error(server: Server, engine: FakeEngine) -> None:
    def broken(_: object) -> bool:
        raise KeyError("oops")

    engine.is_print = broken  # type: ignore[method-assign,assignment]
    answer = httpx.post(f"{server.url}/query", json={"ksql": "SELECT 1;"})
    assert (answer.status_code, answer.json()["error_code"]) == (500, 50000)


def test_a_server_that_is_not_ready_sends_retry_after(server: Server, engine: FakeEngine) -> None:
    def starting(_: object) -> bool:
        raise RequestFailed(50302, "the server is starting")

    engine.is_print = starting  # type: ignore[method-assign,assignment]
    answer = httpx.post(f"{server.url}/query", json={"ksql": "SELECT 1;"})
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "10")


def _socket(server: Server, statement: str) -> WebSocket:
    request = quote(json.dumps({"ksql": statement, "streamsProperties": {}}))
    return WebSocket(server.port, f"/ws/query?request={request}")


def _until_closed(engine: FakeEngine) -> bool:
    while not engine.inserters[0].closed:
        pass
    return True
