"""Signals that end a shell or a demo, where Ctrl-C ends an answer or a line, and a server, also while it starts."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, suppress

import pytest

from millstream.cli.service import signals_delayed, stop_requested, terminable
from support.patience import PATIENCE


@pytest.fixture(autouse=True)
def hangup() -> Iterator[None]:
    """Under `nohup` tests inherit that SIGHUP is ignored: two of these would fail, and one would never end."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


def _terminated() -> None:
    """What a shell does: it goes on after Ctrl-C."""
    with terminable(), suppress(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGTERM)
        signal.pause()


def test_sigterm_ends_what_goes_on_after_ctrl_c() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(SystemExit) as ended:
        _terminated()
    assert ended.value.code == 130
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_during_the_start_is_obeyed_after_it(number: int, capfd: pytest.CaptureFixture[str]) -> None:
    done: list[str] = []

    def start() -> None:
        with signals_delayed():
            os.kill(os.getpid(), number)
            done.append("the start")

    with pytest.raises(KeyboardInterrupt):
        start()
    assert done == ["the start"]
    assert "stopping when the start is complete" in capfd.readouterr().err


def test_a_second_signal_during_the_start_ends_it_at_once() -> None:
    program = (
        "import os, signal, time; from millstream.cli.service import signals_delayed\n"
        "with signals_delayed():\n"
        "    os.kill(os.getpid(), signal.SIGTERM); os.kill(os.getpid(), signal.SIGTERM); time.sleep(600)"
    )
    assert subprocess.run([sys.executable, "-c", program], timeout=PATIENCE).returncode == 130


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_asks_a_server_to_stop(number: int) -> None:
    with stop_requested() as stop:
        os.kill(os.getpid(), number)
        assert stop.wait(PATIENCE)


def test_nohup_is_respected() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with terminable(), stop_requested() as stop:
            os.kill(os.getpid(), signal.SIGHUP)
            assert not stop.wait(0.1)
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_second_signal_does_not_cut_a_stop_short(number: int) -> None:
    stopped: list[str] = []

    def run() -> None:
        with terminable(), ExitStack() as started:
            started.callback(lambda: stopped.append("in order"))
            started.callback(lambda: os.kill(os.getpid(), number))
            os.kill(os.getpid(), number)
            signal.pause()

    with pytest.raises(SystemExit):
        run()
    assert stopped == ["in order"]


def test_a_stop_that_was_asked_for_otherwise_is_not_cut_short() -> None:
    with terminable() as termination:
        with stop_requested() as stop:
            os.kill(os.getpid(), signal.SIGTERM)
            assert stop.wait(PATIENCE)
            termination.begun = True
        os.kill(os.getpid(), signal.SIGTERM)
