"""Every documented example, computed."""

from pyspark.sql import SparkSession

from functions.aggregating import Aggregated
from functions.calling import computed, lowered_call, shown
from millstream.functions.declare import Function, FunctionKind
from millstream.functions.document import ALL
from millstream.model.types import SqlType


def lowered(function: Function) -> tuple[SqlType, str]:
    if function.kind is FunctionKind.AGGREGATE:
        one = Aggregated(function.example)
        return one.type, one.added()
    type, text = lowered_call(function.example)
    return type, shown(type, text)


def test_each_example_gives_its_answer(spark: SparkSession) -> None:
    answers = computed(list(map(lowered, ALL)), spark)
    pairs = zip(ALL, answers, strict=True)
    assert {f.example: (a.text, f.answer) for f, a in pairs if a.text != f.answer} == {}


def test_each_function_is_documented() -> None:
    texts = {f.name: (f.description, f.category, f.example) for f in ALL}
    assert [name for name, entry in texts.items() if not all(entry)] == []
    assert {f.name: f.example for f in ALL if f.name not in f.example} == {}


def test_each_parameter_has_a_name_of_its_own() -> None:
    named = {f.name: [p.name for p in s.parameters] for f in ALL for s in f.signatures}
    assert {name: own for name, own in named.items() if not all(own) or len(set(own)) < len(own)} == {}
