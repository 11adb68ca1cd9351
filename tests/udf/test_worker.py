"""Worker processes as Spark starts them: what they compute, how they fail, and what they may not do."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from support.kafka import wait_for
from support.patience import PATIENCE
from support.udf_worker import Worker

Start = Callable[..., Worker]


@pytest.fixture
def start() -> Iterator[Start]:
    workers: list[Worker] = []

    def make(*arguments: Any, **more: Any) -> Worker:
        workers.append(Worker(*arguments, **more))
        return workers[-1]

    yield make
    for worker in workers:
        worker.end()


@pytest.mark.parametrize(
    "text",
    [
        "str(a + 1)",
        "b = a + 1\nstr(b)",
        "if a > 5:\n    return str(a + 1)\nreturn None",
        "import math\nONE = 1\ndef f(x):\n    return str(x + ONE)",
        "def F(x, more=1):\n    return str(x + more)",
        "def f(*args):\n    return str(args[0] + 1)",
        "return (lambda x: str(x + 1))(a)",
    ],
)
def test_forms_of_a_function(start: Start, text: str) -> None:
    worker = start(text)
    assert worker.started == ("ok", "")
    assert worker.call(6) == ("ok", '"7"')
    assert worker.call(41) == ("ok", '"42"')


def test_nulls(start: Start) -> None:
    assert start("str(a)").call(None) == ("ok", '"None"')
    assert start("str(a)", strict=True).call(None) == ("ok", "null")
    assert start("None").call(1) == ("ok", "null")


def test_an_error_names_the_line_and_the_process_goes_on(start: Start) -> None:
    worker = start("b = 10 // a\nstr(b)")
    assert worker.call(0) == ("error", "line 1 (b = 10 // a): ZeroDivisionError: integer division or modulo by zero")
    assert worker.call(5) == ("ok", '"2"')
    why = "the result has another type: STRING was declared, and the result is 1 (int)"
    assert start("a").call(1) == ("error", why)
    assert start("raise SystemExit(3)\nreturn 1").call(1)[1] == "line 1 (raise SystemExit(3)): SystemExit: 3"


def test_a_text_that_fails_when_it_is_loaded(start: Start) -> None:
    worker = start("X = 1 / 0\ndef f(a):\n    return a")
    assert worker.started == ("gone", "line 1 (X = 1 / 0): ZeroDivisionError: division by zero")
    assert worker.process.wait(PATIENCE) == 0


@pytest.mark.parametrize(
    "text",
    [
        "while True: pass\nreturn ''",
        "try:\n    while True: pass\nexcept Exception:\n    pass\nreturn ''",
        "try:\n    while True: pass\nexcept BaseException:\n    pass\nwhile True: pass\nreturn ''",
    ],
)
def test_an_endless_call_is_cut_short(start: Start, text: str) -> None:
    worker = start(text)
    kind, why = worker.call(1)
    assert (kind, why.endswith("it took 0.3 s of processor time")) == ("gone", True), why
    assert worker.process.wait(PATIENCE) == 0


def test_a_call_that_waits_is_cut_short_by_the_clock(start: Start) -> None:
    worker = start("import time\ntime.sleep(100)\nreturn ''", clock=2)
    assert worker.call(1) == ("gone", "line 2 (time.sleep(100)): it took longer than 2 s")


ENDLESS = """
import signal
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM, signal.SIGPROF})
while True: pass
return ''
"""
PARENT = f"""
from support.udf_worker import Worker
worker = Worker({ENDLESS!r})
print(worker.process.pid, flush=True)
worker.call(1)
"""


def test_a_worker_ends_with_the_process_that_has_started_it() -> None:
    """As when the server is killed: the function goes on by itself, and blocks the signals that would end its call."""
    tests = Path(__file__).parents[1]
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True, cwd=tests) as parent:
        assert parent.stdout is not None
        worker = psutil.Process(int(parent.stdout.readline()))
        status = Path(f"/proc/{worker.pid}/status")
        wait_for(lambda: "ShdPnd:\t0000000000000000" not in status.read_text(), "the signal that its time is over")
        parent.kill()
    wait_for(lambda: not worker.is_running() or worker.status() == psutil.STATUS_ZOMBIE, "the worker's end")


def test_two_alarms_at_once_are_one(start: Start) -> None:
    """As on a machine that stands still for a moment; the second alarm hid the line, or ended the process."""
    text = """
import signal, time
both = {signal.SIGALRM, signal.SIGPROF}
signal.pthread_sigmask(signal.SIG_BLOCK, both)
until = time.monotonic() + 1
while not both <= signal.sigpending() or time.monotonic() < until: pass
signal.pthread_sigmask(signal.SIG_UNBLOCK, both)
while True: pass
return ''
"""
    worker = start(text, clock=0.5)
    kind, why = worker.call(1)
    assert (kind, why.startswith("line "), "it took longer than 0.5 s" in why) == ("gone", True, True), why
    assert worker.process.wait(PATIENCE) == 0


def test_memory(start: Start) -> None:
    worker = start("str(len('x' * (a << 20)))", memory=200)
    assert worker.call(1)[0] == "ok"
    assert worker.call(500) == ("gone", "line 1 (str(len('x' * (a << 20)))): MemoryError")


def test_a_process_that_ends_itself(start: Start) -> None:
    assert start("import os\nos._exit(7)\nreturn ''").call(1) == ("died", "7")


@pytest.mark.parametrize(
    "text",
    [
        "import socket\nsocket.create_connection(('127.0.0.1', 1))\nreturn ''",
        "import subprocess\nsubprocess.run(['true'])\nreturn ''",
        "import os\nos.system('true')\nreturn ''",
        "import os\nos.fork()\nreturn ''",
        "import os\nos.kill(os.getppid(), 9)\nreturn ''",
    ],
)
def test_functions_cannot_do_what_they_are_not_allowed(start: Start, text: str) -> None:
    kind, why = start(text).call(1)
    assert (kind, "PermissionError: a function may not do" in why) == ("error", True), why


def test_printing_does_not_disturb(start: Start) -> None:
    worker = start("print('noise')\nimport sys\nsys.stdout.flush()\nstr(input.__name__)")
    assert worker.call(1) == ("ok", '"input"')


AGGREGATE = """
class F:
    def initial(self): return {"seen": []}
    def add(self, state, x):
        if x is not None: state["seen"].append(x)
    def undo(self, state, x): state["seen"].remove(x)
    def merge(self, one, other): return {"seen": one["seen"] + other["seen"]}
    def result(self, state): return ",".join(map(str, state["seen"]))
"""


def test_an_aggregate(start: Start) -> None:
    worker = start(AGGREGATE, aggregate=True)
    one = json.loads(worker.call(None, 1, what="a")[1])
    two = json.loads(worker.call(one, 2, what="a")[1])
    assert json.loads(two) == {"seen": [1, 2]}
    assert worker.call(two, None, what="a") == ("ok", json.dumps(two))
    assert worker.call(two, 1, what="u") == ("ok", json.dumps('{"seen": [2]}'))
    assert worker.call(one, two, what="m") == ("ok", json.dumps('{"seen": [1, 1, 2]}'))
    assert worker.call(two, what="r") == ("ok", '"1,2"')
    assert worker.call(None, what="r") == ("ok", '""')
    assert worker.call(two, 5, what="u")[1].startswith("line 6 ")


def test_a_state_is_what_json_can_hold(start: Start) -> None:
    worker = start(AGGREGATE.replace('state["seen"].append(x)', "return {x}"), aggregate=True)
    assert worker.call(None, 1, what="a")[1].startswith("TypeError: the state has to be what JSON can hold")
    worker = start(AGGREGATE.replace('{"seen": []}', "0"), aggregate=True)
    assert worker.call(None, None, what="a") == ("error", "TypeError: add has to return the state")
