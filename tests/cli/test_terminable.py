"""SIGTERM while a shell or a demo runs: it ends the process, though Ctrl-C would only end an answer or a line."""

import os
import signal
from contextlib import suppress

import pytest

from millstream.cli.service import terminable


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
