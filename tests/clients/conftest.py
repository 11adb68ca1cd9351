"""Clients that others wrote, each in a process of its own, against a real server."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from millstream.services.broker import BrokerProcess
from support import apart
from support.server_process import PATIENCE, ServerProcess

HERE = Path(__file__).parent
PROGRAMS = HERE / "programs"
# Runs a program of PROGRAMS with the server's URL and these arguments; the JSON that it prints.
Program = Callable[..., dict[str, Any]]


@pytest.fixture(scope="session")
def client_server(broker: BrokerProcess, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """`millstream server`, one for the tests of all clients; their topics and sources have names of their own."""
    with ServerProcess(broker.bootstrap, tmp_path_factory.mktemp("server")) as started:
        yield started


@pytest.fixture(scope="session")
def ksqldb_packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the packages for Python that are ksqlDB's clients."""
    folder = tmp_path_factory.mktemp("ksqldb")
    apart.install(folder, HERE / "ksqldb.lock")
    return folder


@pytest.fixture(scope="session")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the packages that are used with millstream's own client."""
    folder = tmp_path_factory.mktemp("packages")
    apart.install(folder)
    return folder


@pytest.fixture(scope="session")
def node_modules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the packages for Node.js that are tested, at the versions and hashes of node/package-lock.json."""
    if not (shutil.which("npm") and shutil.which("node")):
        pytest.skip("npm is not installed, so the client for Node.js is not tested: apt-get install nodejs npm")
    folder = tmp_path_factory.mktemp("node")
    for name in ("package.json", "package-lock.json"):
        shutil.copy(HERE / "node" / name, folder)
    subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"], cwd=folder, check=True)
    return folder


@pytest.fixture
def ksqldb_program(ksqldb_packages: Path, client_server: ServerProcess) -> Program:
    """Runs a program in Python that finds ksqlDB's clients."""
    return partial(_python, ksqldb_packages, client_server.url)


@pytest.fixture
def python_program(packages: Path, client_server: ServerProcess) -> Program:
    """Runs a program in Python that finds millstream's client, pandas and IPython."""
    return partial(_python, packages, client_server.url)


@pytest.fixture
def node_program(node_modules: Path, client_server: ServerProcess) -> Program:
    """Runs a program for Node.js that finds the packages."""

    def run(name: str, *arguments: str) -> dict[str, Any]:
        environment = {**os.environ, "NODE_PATH": str(node_modules / "node_modules")}
        return _printed(["node", str(PROGRAMS / name), client_server.url, *arguments], environment)

    return run


def _python(folder: Path, *words: str) -> dict[str, Any]:
    url, name, *arguments = words
    return _printed([sys.executable, str(PROGRAMS / name), url, *arguments], apart.environment(folder))


def _printed(command: list[str], environment: dict[str, str]) -> dict[str, Any]:
    """The JSON in the last line that a program prints."""
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    printed: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return printed
