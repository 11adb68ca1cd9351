"""The real server on a free port, in front of a fake engine."""

from collections.abc import Iterator

import httpx
import pytest

from millstream.server.run import Server
from support.engine import FakeEngine
from support.patience import PATIENCE


@pytest.fixture
def engine() -> FakeEngine:
    return FakeEngine()


@pytest.fixture
def server(engine: FakeEngine) -> Iterator[Server]:
    with Server(engine, port=0) as running:
        yield running


@pytest.fixture(params=["http1", "http2"])
def client(server: Server, request: pytest.FixtureRequest) -> Iterator[httpx.Client]:
    """A client that speaks HTTP/1.1, and one that speaks HTTP/2 with prior knowledge."""
    http2 = request.param == "http2"
    with httpx.Client(base_url=server.url, http1=not http2, http2=http2, timeout=PATIENCE) as client:
        yield client
