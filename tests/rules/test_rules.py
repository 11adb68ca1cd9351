"""Rules of the language as case files (docs/testing.md says their form), played bounded."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from millstream.model.settings import effective
from millstream.spark.bounded import Bounded
from millstream.tester.cases import load
from millstream.tester.runner import run_cases

FILES = sorted(Path(__file__).parent.glob("*.json"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_rules(path: Path, spark: SparkSession) -> None:
    verdicts = run_cases(list(load([path])), Bounded(spark, compiled=False), effective({}, {}), jobs=2)
    assert [f"{v.case.name}\n  {v.reason}" for v in verdicts if not v.passed] == []
