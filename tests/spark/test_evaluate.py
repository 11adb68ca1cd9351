"""Expressions without a job: guards, failures, filters and generators, from many threads."""

import json
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal as Number
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from millstream.analysis.expressions import type_expression
from millstream.analysis.scope import NameScope, ScopeColumn
from millstream.analysis.typed_expressions import ColumnPlace, ColumnReference
from millstream.model.types import BIGINT, BOOLEAN, BYTES, DOUBLE, INTEGER, STRING, Array, Decimal, Field, Map, Struct
from millstream.spark import lower, sink
from millstream.spark.evaluate import EvaluationFailed, Evaluator, evaluate, leaf
from millstream.syntax.parser import parse_expression

RECORD = (("a", INTEGER), ("partition", INTEGER), ("offset", BIGINT))
TYPES = [t for _, t in RECORD]


@pytest.fixture
def log(spark: SparkSession) -> Any:
    """Drains the processing log of query Q."""
    sink.log_to_memory(spark, "Q")
    yield lambda: [json.loads(entry) for entry in sink.drain_log(spark, "Q")]
    sink.close_log(spark, "Q")


def guarded(spark: SparkSession, text: str) -> DataFrame:
    return leaf(spark, RECORD).selectExpr(f"ms_guard({text}, 'Q.project|x', partition, offset) as x")


def test_constants(spark: SparkSession) -> None:
    struct = Struct((Field("foo", DOUBLE), Field("bar", Array(Decimal(4, 2)))))
    texts = [
        "1 + 1",
        "named_struct('F0', 0.5D, 'F1', array(1.25BD, null))",
        "map('k', X'00FF')",
        "null",
        "double('NaN')",
    ]
    values = evaluate(spark, texts, [INTEGER, struct, Map(STRING, BYTES), STRING, DOUBLE])
    assert values[:4] == (2, {"foo": 0.5, "bar": [Number("1.25"), None]}, {"k": b"\x00\xff"}, None)
    assert values[4] != values[4]


@pytest.mark.parametrize("condition", ["1 = 2", "false", "boolean(null)", "a = 1 and a = 2 and false"])
def test_a_filter_that_is_never_true_keeps_its_leaf(spark: SparkSession, condition: str) -> None:
    never, always = (leaf(spark, RECORD).where(text).select("a") for text in (condition, "true"))
    run = Evaluator(never.union(always), TYPES, [INTEGER])
    assert run([[1, 0, 1], [2, 0, 2]], [0, 1]) == [[], [(2,)]]


def test_a_guard_makes_null_and_an_entry_of_a_failure(spark: SparkSession, log: Any) -> None:
    run = Evaluator(guarded(spark, "10 div ms_need(a)"), TYPES, [BIGINT])
    assert log() == []
    assert run([[5, 0, 1], [None, 2, 7]]) == [[(2,)], [(None,)]]
    (entry,) = log()
    assert entry["level"] == "ERROR"
    assert entry["logger"] == "processing.Q.project"
    assert entry["message"]["type"] == 1
    assert entry["message"]["recordProcessingError"] == {
        "partition": 2,
        "offset": 7,
        "errorMessage": "Error computing x: null operand",
        "record": None,
        "cause": [],
    }


@pytest.mark.parametrize("text", ["ms_fail('no', 'int')", "ms_need(cast(null as int))", "1 + ms_need(int(null))"])
def test_what_fails_for_all_rows_fails_when_they_come_and_not_before(spark: SparkSession, log: Any, text: str) -> None:
    run = Evaluator(guarded(spark, text), TYPES, [INTEGER])
    assert log() == []
    assert run([[1, 0, 1]]) == [[(None,)]]
    assert len(log()) == 1


def test_one_failure_of_two_guards_leaves_the_other(spark: SparkSession, log: Any) -> None:
    """What two guards share is not computed before them, where nothing would catch it."""
    share = "100 div ms_need(a) + 1"
    both = [
        f"ms_guard({share}, 'Q.p|x', partition, offset) as x",
        f"ms_guard(coalesce(if(a is null, 0, {share}), 7), 'Q.p|y', partition, offset) as y",
    ]
    run = Evaluator(leaf(spark, RECORD).selectExpr(*both), TYPES, [BIGINT, BIGINT])
    assert run([[None, 0, 1], [4, 0, 2]]) == [[(None, 0)], [(26, 26)]]
    assert len(log()) == 1


def test_guards_inside_lambdas_and_conditions(spark: SparkSession, log: Any) -> None:
    text = (
        "transform(array(a, 0), v -> ms_guard(if(v = 0, ms_fail('zero', 'int'), v), 'Q.p|v', partition, offset)) as x"
    )
    run = Evaluator(leaf(spark, RECORD).selectExpr(text), TYPES, [Array(INTEGER)])
    assert run([[3, 0, 1]]) == [[([3, None],)]]
    assert log()[0]["message"]["recordProcessingError"]["errorMessage"] == "Error computing v: zero"


@pytest.mark.parametrize("condition", ["CAST(v AS INT) > 5", "CAST(v AS DOUBLE) > 5e0", "CAST(v AS DOUBLE) <> 5e0"])
def test_a_cast_in_a_condition_is_guarded_once(spark: SparkSession, log: Any, condition: str) -> None:
    scope = NameScope((ScopeColumn("V", None, ColumnReference(STRING, ColumnPlace.VALUE, 0, "V")),))
    choice = f"CASE WHEN {condition} THEN 'more' ELSE 'other' END"
    text = lower.guarded(type_expression(parse_expression(choice), scope), "Q.p|v")
    columns = (("value", Struct((Field("v", STRING),))), ("partition", INTEGER), ("offset", BIGINT))
    rows = leaf(spark, columns).selectExpr("named_struct('V0', value.F0) as value", "partition", "offset")
    run = Evaluator(rows.selectExpr(f"{text} as x"), [t for _, t in columns], [STRING])
    assert run([[{"v": "7"}, 0, 1]]) == [[("more",)]]
    assert log() == []
    assert run([[{"v": "x"}, 0, 2]]) == [[("other",)]]
    assert [entry["message"]["recordProcessingError"]["offset"] for entry in log()] == [2]


def test_filters_and_generators(spark: SparkSession, log: Any) -> None:
    rows = leaf(spark, (("n", INTEGER), ("list", Array(STRING))))
    steps = rows.where("coalesce(ms_guard(n > 1, 'Q.f', 0, 0L), false)").selectExpr("n * 2 as n", "explode(list) as s")
    run = Evaluator(steps.selectExpr("upper(s) as s", "n"), [INTEGER, Array(STRING)], [STRING, INTEGER])
    assert run([[1, ["x"]], [2, ["a", None]], [3, []], [4, None]]) == [[], [("A", 4), (None, 4)], [], []]


def test_what_no_guard_catches_is_raised(spark: SparkSession) -> None:
    with pytest.raises(EvaluationFailed, match="boo"):
        evaluate(spark, ["ms_fail('boo', 'int')"], [INTEGER])
    with pytest.raises(AnalysisException):
        evaluate(spark, ["no_such_function(1)"], [INTEGER])


def test_a_frame_that_needs_a_job_is_refused(spark: SparkSession) -> None:
    with pytest.raises(Exception, match="needs a job: Aggregate"):
        Evaluator(leaf(spark, RECORD).groupBy("a").count(), TYPES, [INTEGER, BIGINT])


def test_many_threads_share_one(spark: SparkSession) -> None:
    run = Evaluator(leaf(spark, RECORD).selectExpr("concat('v', a) as s", "a > 5 as b"), TYPES, [STRING, BOOLEAN])
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda i: run([[i, 0, 0], [i + 1, 0, 0]]), range(200)))
    assert results == [[[(f"v{i}", i > 5)], [(f"v{i + 1}", i + 1 > 5)]] for i in range(200)]


def test_the_log_keeps_no_more_than_its_limit(spark: SparkSession) -> None:
    sink.log_to_memory(spark, "Q", limit=3)
    Evaluator(guarded(spark, "ms_need(a)"), TYPES, [INTEGER])([[None, 0, i] for i in range(10)])
    assert len(sink.drain_log(spark, "Q")) == 3
    assert sink.drain_log(spark, "Q") == []
    sink.close_log(spark, "Q")


def test_what_fails_while_it_is_planned_is_a_failure_of_the_evaluation(spark: SparkSession) -> None:
    """Spark computes constants when it plans: INSERT VALUES of such a one was answered with 500."""
    with pytest.raises(EvaluationFailed, match="'x' is not a valid DECIMAL"):
        evaluate(spark, ["ms_decimal_of_text('x', 4, 2)"], [Decimal(4, 2)])
