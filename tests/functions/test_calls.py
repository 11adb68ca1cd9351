"""Every line of calls/*.txt: a call, its type, and what it gives."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from functions.calling import answers, cases_in
from support.spark import configured

FOLDING = ",".join(
    f"org.apache.spark.sql.catalyst.optimizer.{rule}"
    for rule in ("ConstantFolding", "NullPropagation", "ConvertToLocalRelation")
)
FILES = sorted((Path(__file__).parent / "calls").glob("*.txt"))


@pytest.fixture(params=["in tasks", "while planning"])
def session(request: pytest.FixtureRequest, spark: SparkSession) -> Iterator[SparkSession]:
    """The session, with and without the rules by which the optimizer computes constants itself."""
    rules = {"spark.sql.optimizer.excludedRules": FOLDING} if request.param == "in tasks" else {}
    with configured(spark, rules):
        yield spark


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_what_calls_give(path: Path, session: SparkSession) -> None:
    lines = cases_in(path)
    results = answers([call for call, _ in lines], session)
    wrong = [
        f"{call} => {result}, not {expected}"
        for (call, expected), result in zip(lines, results, strict=True)
        if str(result) != expected
    ]
    assert wrong == []
