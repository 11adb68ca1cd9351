"""`launch`: the JVM of a session is started before the session is created, once, and its failure is `create`'s."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
PROGRAM = """
import sys
from pathlib import Path
from millstream.services.errors import SetupError
from millstream.spark.session import SessionOptions, create, launch

options = SessionOptions(Path(sys.argv[1]), slots=4, brief=True)
launch(options)
try:
    session = create(options)
except SetupError as error:
    sys.exit(f"SetupError: {error}")
children = [Path(f"/proc/{pid}/comm").read_text() for pid in Path("/proc/self/task").glob("*/children") for pid in
            pid.read_text().split()]
print(session.range(3).count(), children)
session.stop()
"""


def run(folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Launch and create a session in a process of its own."""
    command = [sys.executable, "-c", PROGRAM, str(folder)]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment})


def test_a_session_takes_the_jvm_that_was_launched(tmp_path: Path) -> None:
    assert run(tmp_path).stdout == "3 ['java\\n']\n"


def test_what_keeps_the_jvm_from_starting_is_reported_once(tmp_path: Path) -> None:
    ended = run(tmp_path, JAVA_HOME=str(tmp_path), PATH=str(tmp_path))
    assert ended.stderr.count("SetupError") == 1, ended.stderr
    assert "Java" in ended.stderr
