"""Which ports are chosen for servers that listen a moment later."""

import os

import pytest

from millstream.services.ports import UNUSED, free_port


def test_processes_that_choose_at_the_same_time_choose_other_ports(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = []
    for process in range(9_000, 9_030):
        monkeypatch.setattr(os, "getpid", lambda process=process: process)
        chosen += [free_port() for _ in range(10)]
    assert len(set(chosen)) == len(chosen)
    assert set(chosen) <= set(UNUSED)
