"""The shell's command line and prompt against the real server in front of a fake engine."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from millstream.cli.main import main
from millstream.server.run import Server
from support.engine import FakeEngine


@pytest.fixture
def engine() -> FakeEngine:
    return FakeEngine()


@pytest.fixture
def server(engine: FakeEngine) -> Iterator[Server]:
    with Server(engine, port=0) as running:
        yield running


@dataclass(frozen=True)
class Ran:
    """What a command left behind."""

    code: int
    out: str
    err: str


@pytest.fixture
def run(server: Server, capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """Run the shell's command line against the server; its exit code and what it wrote."""

    def run(*words: str) -> Ran:
        code = main([server.url, *words])
        captured = capsys.readouterr()
        return Ran(code, captured.out, captured.err)

    return run
