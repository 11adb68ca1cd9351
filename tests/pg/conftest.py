"""The real server for Postgres's clients on a free port, in front of a fake engine."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from millstream.pg.context import PgContext
from millstream.pg.server import PgServer
from millstream.server.context import ServerContext
from support.pg_engine import PgEngine, address


@pytest.fixture
def engine() -> PgEngine:
    return PgEngine()


@pytest.fixture
def server(engine: PgEngine) -> Iterator[PgServer]:
    with PgServer(PgContext(ServerContext(engine)), port=0) as running:
        yield running


@pytest.fixture
def connection(server: PgServer) -> Iterator["psycopg.Connection[Any]"]:
    """A connection of psycopg, with a transaction for each statement only if one is begun."""
    with psycopg.connect(address(server), autocommit=True) as opened:
        yield opened
