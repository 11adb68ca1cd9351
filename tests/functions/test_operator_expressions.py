"""The tree that operators are written in: its Spark SQL, what a let evaluates, and that names do not get mixed up."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from millstream.functions.operator_expressions import (
    OperatorExpression,
    SqlVariable,
    StructLayout,
    array,
    bigint,
    bound,
    call,
    case,
    column,
    function,
    if_,
    integer,
    let,
    null,
    quoted,
    struct,
    text_constant,
)
from millstream.functions.operator_sql import spark_sql
from millstream.spark.session import beside
from millstream.spark.session_settings import SessionOptions, settings

ID = column("id")
A, B = SqlVariable("a"), SqlVariable("b")
SQUARED = let("x", ID + 1, lambda x: x * x)


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (ID.field("a").field("b") + 1, "(id.a.b + 1L)"),
        (call("slice", ID, 1, -1), "slice(id, 1, -1)"),
        (
            if_(ID.is_null() & ~ID.equals(2), 0.5, null("double")),
            "if(((id is null) and (not (id = 2L))), 0.5D, cast(null as double))",
        ),
        (case((ID < 1, integer(0)), otherwise=integer(1)), "(case when (id < 1L) then 0 else 1 end)"),
        (struct(a=1, b=True), "named_struct('a', 1L, 'b', true)"),
        (array(ID).item(0).cast("int"), "cast(array(id)[0] as int)"),
        (text_constant("a'b"), "'a\\u0027b'"),
        (call("filter", ID, function(("x", "i"), lambda x, i: x > i)), "filter(id, (x, i) -> (x > i))"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_text_of_a_node(expression: OperatorExpression, text: str) -> None:
    assert spark_sql(expression) == text


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (SQUARED, "ms_let((id + 1L), x -> (x * x))"),
        (let("x", ID + 1, lambda x: x * 2), "((id + 1L) * 2L)"),
        (let("x", ID.field("a"), lambda x: x * x), "(id.a * id.a)"),
        (let("x", ID + 1, lambda x: let("y", x, lambda y: y * y)), "ms_let((id + 1L), y -> (y * y))"),
        (let("x", ID + 1, lambda x: ID.map_each("y", lambda y: x)), "ms_let((id + 1L), x -> transform(id, y -> x))"),
    ],
    ids=["read twice", "read once", "a field", "another name for it", "read by each element"],
)
def test_a_let_binds_what_is_read_more_than_once(expression: OperatorExpression, text: str) -> None:
    assert spark_sql(expression) == text


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        (let("x", ID + 1, lambda x: let("x", x * x, lambda y: y * y + x)), 84),
        (let("id", ID + 1, lambda x: x * x + ID), 11),
        (let("x", SQUARED, lambda x: x * x), 81),
        (
            bound(
                {SqlVariable("a"): ID * 2, SqlVariable("b"): ID * 3},
                let("c", SqlVariable("a") + SqlVariable("b"), lambda c: c * c),
            ),
            100,
        ),
        (
            bound(
                {SqlVariable("a"): ID + 1},
                bound({SqlVariable("a"): SqlVariable("a") * SqlVariable("a")}, SqlVariable("a") * SqlVariable("a")),
            ),
            81,
        ),
        (array(ID, ID + 1).map_each("x", lambda x: array(x).map_each("x", lambda y: x * 10 + y).item(0)).item(1), 33),
        (let("x", call("nullif", ID, ID), lambda x: if_(x.is_null(), 7, x + x)), 7),
        (let("x", call("rand"), lambda x: (x - x).cast("bigint")), 0),
        (
            let(
                "x",
                struct(a=ID),
                lambda x: array(bigint(1)).map_each("y", lambda y: x.field("a") + y).item(0) + x.field("a"),
            ),
            5,
        ),
    ],
    ids=[
        "the same name inside",
        "a column's name",
        "a let in a let's value",
        "two at once",
        "a parameter again",
        "lambdas in lambdas",
        "null",
        "evaluated once",
        "a struct read in a lambda",
    ],
)
@pytest.mark.parametrize("mode", ["CODEGEN_ONLY", "NO_CODEGEN"])
def test_what_an_expression_gives(spark: SparkSession, expression: OperatorExpression, value: int, mode: str) -> None:
    session = beside(spark)
    session.conf.set("spark.sql.codegen.factoryMode", mode)
    session.conf.set("spark.sql.codegen.wholeStage", str(mode == "CODEGEN_ONLY").lower())
    (row,) = session.range(2, 3).selectExpr(f"{spark_sql(expression)} as value").collect()
    assert row.value == value


def test_a_variable_that_nothing_binds_has_no_text() -> None:
    with pytest.raises(KeyError, match="nowhere"):
        spark_sql(SqlVariable("nowhere") + 1)


def test_a_struct_has_the_fields_of_its_layout_in_their_order() -> None:
    layout = StructLayout({"a": "bigint", "b": "string"})
    assert spark_sql(layout.new({"b": text_constant("x"), "a": 1})) == "named_struct('a', 1L, 'b', 'x')"
    assert spark_sql(layout.null()) == "cast(null as struct<a: bigint, b: string>)"
    with pytest.raises(ValueError, match="a, b"):
        layout.new({"a": 1})


def test_a_text_is_itself_in_spark(spark: SparkSession, tmp_path: Path) -> None:
    """Whatever Spark's own default is: the sessions pin how texts are read."""
    assert settings(SessionOptions(tmp_path))["spark.sql.parser.escapedStringLiterals"] == "false"
    text = 'it\'s "${x}" \\ \\u0041 \n\t\0 \N{GRINNING FACE} %'
    assert spark.range(1).selectExpr(f"{quoted(text)} as value").collect()[0].value == text
