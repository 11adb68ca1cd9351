"""Functions in Python as Spark computes them: values of all types, errors, limits, aggregates; without a broker."""

import json
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from millstream.catalog.functions import UserFunction
from millstream.functions.python import declared
from millstream.model.settings import effective
from millstream.model.types import BIGINT, INTEGER, SqlType
from millstream.spark import jvm, sink
from millstream.spark.bounded import Bounded
from millstream.spark.evaluate import Evaluator, leaf
from millstream.tester.cases import load
from millstream.tester.runner import run_cases

CASES = Path(__file__).parent / "python_functions.json"
ROW = (("a", INTEGER), ("partition", INTEGER), ("offset", BIGINT))
Computed = Callable[[str], Callable[..., list[object]]]


def test_the_cases(spark: SparkSession) -> None:
    verdicts = list(run_cases(list(load([CASES])), Bounded(spark), effective({}, {}), 2))
    assert [(v.case.name, v.reason) for v in verdicts if not v.passed] == []
    assert len(verdicts) > 10


@pytest.fixture
def errors(spark: SparkSession) -> Iterator[Callable[[], list[str]]]:
    """The messages in the processing log of query Q since the last call."""
    sink.log_to_memory(spark, "Q")

    def messages() -> list[str]:
        entries = [json.loads(entry) for entry in sink.drain_log(spark, "Q")]
        return [entry["message"]["recordProcessingError"]["errorMessage"] for entry in entries]

    yield messages
    sink.close_log(spark, "Q")


@pytest.fixture
def computed(spark: SparkSession) -> Computed:
    """From a function of an INT `a` to what it gives for some of them."""

    def make(text: str) -> Callable[..., list[object]]:
        types: list[SqlType] = [type for _, type in ROW]
        signature = declared(UserFunction("F", (("A", INTEGER),), INTEGER, text)).signatures[0]
        assert callable(signature.spark)
        call = signature.spark(["a"], [INTEGER], INTEGER)
        frame = leaf(spark, ROW).selectExpr(f"ms_guard({call}, 'Q.project|x', partition, offset) as x")
        evaluator = Evaluator(frame, types, [INTEGER])
        return lambda *values: [rows[0][0] for rows in evaluator([(v, 0, i) for i, v in enumerate(values)])]

    return make


def test_an_error_is_null_and_a_line(computed: Computed, errors: Callable[[], list[str]]) -> None:
    assert computed("b = 12 // a\nb")(3, 0, 4) == [4, None, 3]
    why = "line 1 (b = 12 // a): ZeroDivisionError: integer division or modulo by zero"
    assert errors() == [f"Error computing x: function F: {why}"]


def test_a_crash_costs_one_row(computed: Computed, errors: Callable[[], list[str]]) -> None:
    assert computed("import os\nif a == 0: os._exit(3)\na")(1, 0, 2) == [1, None, 2]
    assert errors() == ["Error computing x: function F: its process ended by itself (exit code 3)"]
    assert computed("import ctypes\nif a == 0: ctypes.string_at(0)\na")(1, 0, 2) == [1, None, 2]
    assert len(errors()) == 1


def test_an_endless_call_costs_one_row(computed: Computed, errors: Callable[[], list[str]]) -> None:
    assert computed("while a == 0: pass\na")(1, 0, 2) == [1, None, 2]
    # By its own clock or by the wall's, as the machine has time for it.
    (why,) = errors()
    assert why.startswith("Error computing x: function F: line 1 (while a == 0: pass): it took ")


def test_a_call_that_ignores_its_alarm_is_killed(computed: Computed, errors: Callable[[], list[str]]) -> None:
    text = (
        "import signal\nif a == 0:\n    signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 32))\n    while True: pass\na"
    )
    assert computed(text)(1, 0, 2) == [1, None, 2]
    assert errors() == ["Error computing x: function F: it took longer than 5.0 s, and its process was killed"]


def test_a_text_that_cannot_be_loaded_costs_no_process_a_row(
    computed: Computed, errors: Callable[[], list[str]]
) -> None:
    assert computed("import nowhere_to_be_found\ndef f(a): return a")(1, 2, 3) == [None, None, None]
    (why, *_) = set(errors())
    assert "line 1 (import nowhere_to_be_found): ModuleNotFoundError" in why


def test_a_process_that_was_killed_from_outside_is_replaced(computed: Computed) -> None:
    call = computed("import os\nos.getpid() + 0 * a")
    (pid,) = call(1)
    assert isinstance(pid, int)
    assert call(1) == [pid]
    os.kill(pid, signal.SIGKILL)
    (other,) = [n for n in call(1, 1) if n is not None][-1:]
    assert other != pid


def test_nothing_of_the_server_is_in_the_environment(computed: Computed) -> None:
    assert computed("import os\nlen([n for n in os.environ if n in ('HOME', 'PATH', 'PYTHONPATH')])")(1) == [0]


def test_a_function_without_calls_has_no_pool(spark: SparkSession, computed: Computed) -> None:
    call = computed("a + 77")
    assert call(1) == [78]
    pools, now = jvm.module(spark, "PythonFunctions"), jvm.machine(spark).java.lang.System.nanoTime()
    pools.check(now)
    assert pools.size() > 0, "it was called a moment ago"
    pools.check(now + 10**11)
    assert pools.size() == 0
    assert call(2) == [79]


@pytest.mark.parametrize(
    "rubbish", [b"\x70\0\0\0", b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff", b"\0\0\0\0", b"\0\0\0\2\0"]
)
def test_rubbish_among_the_answers_costs_one_row(
    computed: Computed, errors: Callable[[], list[str]], rubbish: bytes
) -> None:
    """The pipe of the answers is open in the function's process; an answer begins with its length."""
    text = f"""import os
if a == 0:
    for n in range(3, 20):
        try: os.write(n, {rubbish!r})
        except OSError: pass
a"""
    assert computed(text)(1, 0, 2) == [1, None, 2], errors()
    assert len(errors()) == 1
