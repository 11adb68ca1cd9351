"""Runs a short storm, and tests that a storm detects lost, wrong and repeated rows."""

from pathlib import Path

import pytest

from chaos.__main__ import report
from chaos.faults import FAULTS
from chaos.outputs import Sink, Verdict
from chaos.shapes import SHAPES
from chaos.storm import Plan, Round, run

COPY, TOTAL, CHAINED = (next(s for s in SHAPES if s.name == name) for name in ("COPY", "TOTAL", "COPY_COUNT"))


@pytest.mark.live
@pytest.mark.crash
@pytest.mark.parametrize(("guarantee", "fault"), [("at_least_once", "pause"), ("exactly_once_v2", "crash")])
def test_a_short_storm(guarantee: str, fault: str, tmp_path: Path) -> None:
    (only,) = run(Plan(1, 1, guarantee, [fault], rate=50, patience=600), tmp_path, lambda _number, _round: None)
    assert not only.failed, only.line()


def test_a_lost_wrong_or_repeated_row_is_reported() -> None:
    sink = Sink(COPY)
    for v in (1, 2, 2, 3):
        sink.add(f'"k{v}"'.encode(), {"V": v})
    # Of 0 to 4 there must be 1, 2 and 4; 3 should have been left out.
    assert sink.verdict(5, exact=False) == Verdict(lost=1, wrong=1, repeated=1)


@pytest.mark.parametrize(
    ("n", "exact", "verdict"),
    [
        (2, True, Verdict()),
        (3, True, Verdict(lost=1)),
        (1, True, Verdict(wrong=1)),
    ],
)
def test_a_table_is_compared_by_its_last_rows(n: int, exact: bool, verdict: Verdict) -> None:
    sink = Sink(TOTAL)
    for v in range(2):
        sink.add(f'"k{v}"'.encode(), {"N": 1, "S": v})
    assert sink.verdict(n, exact) == verdict


def test_a_count_of_another_querys_rows_may_be_too_high_where_rows_may_be_repeated() -> None:
    sink = Sink(CHAINED)
    sink.add(b'"k1"', {"N": 2, "S": 2})
    assert sink.verdict(2, exact=False) == Verdict()
    assert sink.verdict(2, exact=True) == Verdict(wrong=1)


def test_the_report_has_a_line_for_each_fault() -> None:
    rounds = [Round(FAULTS["crash"], "at_least_once", "local", 50, 900, Verdict(repeated=n), "", n) for n in (1, 3)]
    assert report(rounds).splitlines()[-1] == (
        "| at_least_once | local | 50 | kill -9 of the server | 2 | 0 | 0 | 4 | 2.0 s | 3.0 s |"
    )
