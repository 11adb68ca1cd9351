"""A child process ends with its parent, however that ends, and reports why if it ends by itself."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from millstream.services.child import Child, error_lines
from millstream.services.errors import SetupError
from support.kafka import wait_for

# Prints its process id, and on TERM that it was received.
OBEDIENT = ["/bin/sh", "-c", "trap 'echo asked; exit 0' TERM; echo $$; while :; do sleep 0.05; done"]
PARENT = """
import sys, time
from pathlib import Path
from millstream.services.child import Child
Child("it", sys.argv[2:], Path(sys.argv[1])).start()
time.sleep(60)
"""


def alive(number: int) -> bool:
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    return True


def started(log: Path) -> int:
    wait_for(lambda: log.exists() and "\n" in log.read_text(), "the child's first line")
    return int(log.read_text().split()[0])


def test_stop_terminates_and_waits(tmp_path: Path) -> None:
    child = Child("it", OBEDIENT, tmp_path / "log")
    child.start()
    number = started(child.log)
    assert child.running
    child.stop()
    assert not child.running
    assert not alive(number)
    assert child.output().split() == [str(number), "asked"]


def test_a_child_does_not_outlive_a_killed_parent(tmp_path: Path) -> None:
    log = tmp_path / "log"
    parent = subprocess.Popen([sys.executable, "-c", PARENT, str(log), *OBEDIENT])
    number = started(log)
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    wait_for(lambda: not alive(number), "the child's end")


def test_kill_ends_at_once(tmp_path: Path) -> None:
    child = Child("it", OBEDIENT, tmp_path / "log")
    child.start()
    number = started(child.log)
    child.kill()
    wait_for(lambda: not alive(number), "the child's end")
    assert "asked" not in child.output()


def test_a_child_that_ends_early_is_quoted(tmp_path: Path) -> None:
    child = Child("the thing", ["/bin/sh", "-c", "echo ERROR no such disk; exit 3"], tmp_path / "log")
    child.start()
    with pytest.raises(SetupError, match=r"(?s)the thing ended while starting; its output:.*no such disk"):
        child.wait_until(lambda: False)


def test_a_child_that_is_never_ready_is_stopped(tmp_path: Path) -> None:
    child = Child("the thing", OBEDIENT, tmp_path / "log")
    child.start()
    number = started(child.log)
    with pytest.raises(SetupError, match="the thing was not ready after"):
        child.wait_until(lambda: False, patience=0.1)
    assert not alive(number)


def test_a_processes_errors_are_quoted_rather_than_its_last_lines() -> None:
    log = ["INFO up", "ERROR no disk", "\tat a.b.C", "java.io.IOException: gone", "INFO bye"]
    assert error_lines(log) == ["ERROR no disk", "java.io.IOException: gone"]
    assert error_lines(["one", "two"]) == ["one", "two"]
