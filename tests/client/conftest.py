"""The real server on a free port, in front of a fake engine, and connections to it."""

from collections.abc import Iterator

import pytest

import millstream
from millstream.client import Connection
from millstream.server.run import Server
from support.client_engine import ClientEngine
from support.patience import PATIENCE


@pytest.fixture
def engine() -> ClientEngine:
    return ClientEngine()


@pytest.fixture
def server(engine: ClientEngine) -> Iterator[Server]:
    with Server(engine, port=0) as running:
        yield running


@pytest.fixture(params=[False, True], ids=["http1", "http2"])
def connection(server: Server, request: pytest.FixtureRequest) -> Iterator[Connection]:
    """A connection that speaks HTTP/1.1, and one that speaks HTTP/2 with prior knowledge."""
    with millstream.connect(server.url, timeout=PATIENCE, http2=request.param) as opened:
        yield opened
