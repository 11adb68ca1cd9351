"""surprises.txt: what surprises of expressions, each under the rule that says it."""

from pathlib import Path

from pyspark.sql import SparkSession

from functions.calling import FAILED, cases_in, computed, lowered_call, shown
from millstream.analysis.scope import NameScope
from millstream.model.errors import StatementError
from millstream.model.types import SqlType

PATH = Path(__file__).parent / "surprises.txt"
REFUSED = "refused: "


def lowered(call: str) -> tuple[SqlType, str] | StatementError:
    """Type and Spark SQL text, guarded as in a projection; or why there are none."""
    try:
        type, text = lowered_call(call, label="test")
    except StatementError as error:
        return error
    return type, shown(type, text)


def test_each_surprise(spark: SparkSession) -> None:
    lines = [(call, expected, lowered(call)) for call, expected in cases_in(PATH)]
    run = {call: result for call, _, result in lines if not isinstance(result, StatementError)}
    answers = dict(zip(run, map(str, computed(list(run.values()), spark)), strict=True))
    wrong = []
    for call, expected, result in lines:
        answer = answers.get(call, f"{REFUSED}{result}")
        refused = call not in answers and expected.startswith(REFUSED)
        right = expected.removeprefix(REFUSED) in answer if refused else answer == expected
        wrong += [] if right else [f"{call} => {answer}, not {expected}"]
    assert wrong == []


def test_each_is_under_a_rule() -> None:
    lines = [line for line in PATH.read_text(encoding="utf-8").splitlines() if line]
    first = next(i for i, line in enumerate(lines) if not line.startswith("#"))
    sections = [line for line in lines if line.startswith("# rule: ")]
    assert lines[first - 1].startswith("# rule: ")
    assert len(sections) > 40


def test_a_whole_constructor_may_fail_with_its_element(spark: SparkSession) -> None:
    """The rule: "Errors inside nested constructors null just the element when `ksql.nested.error.set.null` is true"."""
    scope = NameScope(settings={"ksql.nested.error.set.null": "false", "ksql.cast.strings.preserve.nulls": "true"})
    calls = ("ARRAY[1, 1 / 0]", "STRUCT(a := 1 / 0)", "MAP('a' := ARRAY[1 / 0])", "ARRAY[1, CAST(NULL AS INT)]")
    lowered_calls = [lowered_call(call, scope, "test") for call in calls]
    answers = [a.text for a in computed([(t, shown(t, text)) for t, text in lowered_calls], spark)]
    assert answers == [FAILED, FAILED, FAILED, "[1, null]"]


def test_null_as_text(spark: SparkSession) -> None:
    """The rule: "`ksql.cast.strings.preserve.nulls=true` (false yields the text "null")"."""
    scope = NameScope(settings={"ksql.cast.strings.preserve.nulls": "false"})
    type, text = lowered_call("CONCAT('a', CAST(CAST(NULL AS INT) AS STRING))", scope)
    assert computed([(type, shown(type, text))], spark)[0].text == "anull"
