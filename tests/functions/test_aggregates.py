"""Every line of aggregates.txt: an aggregate over a few rows, its type, and what it gives."""

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from functions.aggregating import Aggregated
from functions.calling import cases_in, computed

PATH = Path(__file__).parent / "aggregates.txt"


@pytest.mark.parametrize(
    ("how", "takes"),
    [
        (Aggregated.added, lambda one: True),
        (Aggregated.merged, lambda one: one.how.merge is not None),
        (Aggregated.undone, lambda one: one.how.undo is not None),
    ],
    ids=["row by row", "merged", "taken back"],
)
def test_what_aggregates_give(
    how: Callable[[Aggregated], str], takes: Callable[[Aggregated], bool], spark: SparkSession
) -> None:
    lines = [(text, one, expected) for text, expected in cases_in(PATH) if takes(one := Aggregated(text))]
    answers = computed([(one.type, how(one)) for _, one, _ in lines], spark)
    wrong = [
        f"{text} => {a}, not {expected}"
        for (text, _, expected), a in zip(lines, answers, strict=True)
        if str(a) != expected
    ]
    assert wrong == []
