"""The real server on a free port, in front of a fake engine, and connections to it."""

import tomllib
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from sqlalchemy.dialects import registry

import millstream
from millstream.client import Connection
from millstream.server.run import Server
from support import apart
from support.client_engine import ClientEngine
from support.patience import PATIENCE

collect_ignore = [] if find_spec("pandas") else apart.FILES
# The entry point as the project declares it, whether or not the package was installed since.
PROJECT = Path(__file__).parents[2] / "pyproject.toml"
ENTRY = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]["entry-points"]["sqlalchemy.dialects"]
registry.register("millstream", *ENTRY["millstream"].split(":"))


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
