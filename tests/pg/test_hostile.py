"""Bytes that no client sends: each is refused with a SQLSTATE, and the server goes on."""

import json
import socket
from pathlib import Path
from typing import Any

import psycopg
import pytest

from millstream.pg.context import PgContext
from millstream.pg.server import PgServer
from millstream.server.context import ServerContext
from millstream.server.options import RequestLimits
from support.patience import PATIENCE
from support.pg_engine import PgEngine, address

CASES: dict[str, dict[str, Any]] = json.loads(Path(__file__).with_name("hostile.json").read_text(encoding="utf-8"))
STARTUP = bytes.fromhex("0000001600030000") + b"user\0someone\0\0"


def answered(server: PgServer, first: bytes, then: bytes = b"") -> bytes:
    """All bytes that the server sends until it closes the connection."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as wire:
        wire.sendall(first + then)
        wire.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: wire.recv(65536), b""))


@pytest.mark.parametrize("name", CASES)
def test_bytes_are_refused(server: PgServer, name: str) -> None:
    case = CASES[name]
    first = bytes.fromhex(case["first"]) if "first" in case else STARTUP
    answer = answered(server, first, bytes.fromhex(case.get("then", "")))
    assert f"\0C{case['state']}\0".encode() in answer
    with psycopg.connect(address(server)) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_the_last_message_of_a_client_that_leaves_is_answered(server: PgServer) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as wire:
        wire.sendall(STARTUP)
        while not wire.recv(65536).endswith(b"Z\0\0\0\x05I"):
            pass
        # The server waits for a message now: it reads this one and the end at almost the same moment.
        wire.sendall(bytes.fromhex(CASES["a password that nobody asked for"]["then"]))
        wire.shutdown(socket.SHUT_WR)
        assert b"\0C08P01\0" in b"".join(iter(lambda: wire.recv(65536), b""))


def test_an_endless_query_ends_if_its_client_leaves_at_once(server: PgServer) -> None:
    text = b"SELECT * FROM orders EMIT CHANGES\0"
    query = b"Q" + (len(text) + 4).to_bytes(4) + text
    assert b"\0C57014\0" in answered(server, STARTUP, query)


def test_every_beginning_of_a_session_may_be_its_end(server: PgServer) -> None:
    query = b"Q\0\0\0\x0dSELECT 1\0"
    for length in range(len(STARTUP + query)):
        answered(server, (STARTUP + query)[:length])
    with psycopg.connect(address(server)) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_the_number_of_connections_is_limited(engine: PgEngine) -> None:
    limits = RequestLimits(connections=2)
    with PgServer(PgContext(ServerContext(engine, limits)), port=0) as server:
        kept = [psycopg.connect(address(server)) for _ in range(2)]
        with pytest.raises(psycopg.OperationalError, match="there are 2 connections"):
            psycopg.connect(address(server))
        kept.pop().close()
        kept.pop().close()


def test_a_stop_sends_the_clients_an_error(engine: PgEngine) -> None:
    with PgServer(PgContext(ServerContext(engine)), port=0) as server:
        connection = psycopg.connect(address(server), autocommit=True)
    with pytest.raises(psycopg.OperationalError):
        connection.execute("SELECT 1")
    assert [loop.health().error for loop in engine.loops] == [""]


def test_a_statement_has_a_longest_length(engine: PgEngine) -> None:
    limits = RequestLimits(statement_bytes=100)
    with (
        PgServer(PgContext(ServerContext(engine, limits)), port=0) as server,
        psycopg.connect(address(server), autocommit=True) as connection,
        pytest.raises(psycopg.errors.ProgramLimitExceeded),
    ):
        connection.execute(b"SELECT 1, " + b"1" * 100)


def test_an_idle_client_gets_an_error_and_is_disconnected(engine: PgEngine) -> None:
    limits = RequestLimits(idle_seconds=0.1)
    with (
        PgServer(PgContext(ServerContext(engine, limits)), port=0) as server,
        socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as wire,
    ):
        wire.sendall(STARTUP)
        assert b"C57P05\0" in b"".join(iter(lambda: wire.recv(65536), b""))
