"""The conformance cases, bounded; gaps.toml lists those that are known to fail, and may only shrink."""

import tomllib
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from millstream.model.settings import effective
from millstream.spark.bounded import Bounded
from millstream.tester.cases import load
from millstream.tester.runner import Verdict, run_cases
from support.shared import shared

GAPS = tomllib.loads((Path(__file__).parent / "gaps.toml").read_text())
LISTED = {id: reason for reason, ids in GAPS.items() for id in ids}


@pytest.fixture(scope="module")
def verdicts(spark: SparkSession) -> list[Verdict]:
    """Every fourth case runs compiled, as queries do in Spark's tasks; the others are interpreted, which is faster."""
    cases, settings = list(load([shared("conformance", "query")])), effective({}, {})
    parts = ((cases[::4], True), ([c for n, c in enumerate(cases) if n % 4], False))
    return [v for part, compiled in parts for v in run_cases(part, Bounded(spark, compiled), settings, jobs=4)]


def test_every_case_passes_except_known_gaps(verdicts: list[Verdict]) -> None:
    broken = [f"{v.case.id} {v.case.title}\n  {v.reason}" for v in verdicts if not v.passed and v.case.id not in LISTED]
    assert not broken, "\n".join(broken)


def test_every_known_gap_still_fails(verdicts: list[Verdict]) -> None:
    closed = [f"{v.case.id} {v.case.title}" for v in verdicts if v.passed and v.case.id in LISTED]
    assert not closed, "these pass: take them out of gaps.toml\n" + "\n".join(closed)


def test_every_known_gap_is_a_case(verdicts: list[Verdict]) -> None:
    assert not LISTED.keys() - {v.case.id for v in verdicts}
