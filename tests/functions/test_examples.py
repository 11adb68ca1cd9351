"""Every documented example, computed."""

from pyspark.sql import SparkSession

from functions.calling import answers
from millstream.functions import FUNCTIONS
from millstream.functions.declare import FunctionKind


def test_each_example_gives_its_answer(spark: SparkSession) -> None:
    documented = [f for f in FUNCTIONS.values() if f.kind is not FunctionKind.AGGREGATE]
    given = answers([f.example for f in documented], spark)
    wrong = {f.example: (a.text, f.answer) for f, a in zip(documented, given, strict=True) if a.text != f.answer}
    assert wrong == {}


def test_each_function_is_documented() -> None:
    assert [f.name for f in FUNCTIONS.values() if not f.description or not f.category] == []
