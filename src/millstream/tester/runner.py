"""Runs cases, one verdict each; a case can fail, never the run."""

import json
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from time import perf_counter

from millstream.model.errors import StatementError
from millstream.spark.bounded import Bounded
from millstream.spark.evaluate import EvaluationFailed
from millstream.tester import sql_play
from millstream.tester.cases import ConformanceCase
from millstream.tester.check import differences
from millstream.tester.files import AnyCase
from millstream.tester.play import PlayResult, plan, refused, run
from millstream.tester.sql_cases import SqlCase


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a case went; `reason` is "" where it passed. `remark`: what is to be said of one that did."""

    case: AnyCase
    reason: str
    seconds: float
    remark: str = ""

    @property
    def passed(self) -> bool:
        """Whether there is no reason against the case."""
        return not self.reason

    def line(self) -> str:
        """The verdict as a line of JSON: id, file, name, passed, reason."""
        case = self.case
        return json.dumps(
            {"id": case.id, "file": case.file, "name": case.name, "passed": self.passed, "reason": self.reason}
        )


def run_cases(
    cases: Sequence[AnyCase], bounded: Bounded, defaults: Mapping[str, str], jobs: int = 1, exact: bool = False
) -> Iterator[Verdict]:
    """Play the cases, `jobs` at a time; verdicts come in the cases' order. `exact`: see sql_play.play."""
    with ThreadPoolExecutor(max_workers=max(1, jobs)) as pool:
        yield from pool.map(lambda case: verdict(case, bounded, defaults, exact), cases)


def verdict(case: AnyCase, bounded: Bounded, defaults: Mapping[str, str], exact: bool = False) -> Verdict:
    """Play one case and say how it went."""
    began = perf_counter()
    remark = ""
    try:
        if isinstance(case, SqlCase):
            reason, remark = sql_play.play(case, defaults, bounded, exact)
        else:
            reason = _reason(case, bounded, defaults)
    except Exception as error:  # noqa: BLE001 - the edge of a case: whatever it is, it is this case's verdict
        reason = f"{type(error).__name__}: {error}"
    return Verdict(case, reason, perf_counter() - began, remark)


def _reason(case: ConformanceCase, bounded: Bounded, defaults: Mapping[str, str]) -> str:
    if case.rejected is None:
        played = plan(case, defaults, bounded)
        run(case, played, bounded)
        return "\n".join(differences(case, played))
    return _refusal(case, bounded, defaults)


def _refusal(case: ConformanceCase, bounded: Bounded, defaults: Mapping[str, str]) -> str:
    because = (case.rejected or {}).get("because", "")
    try:
        played: PlayResult = plan(case, defaults, bounded)
    except StatementError as error:
        return "" if refused(error, case) else f"refused for another reason: {error}\n  expected: {because}"
    if _failed_at_run_time(case, played, bounded):
        return ""
    return f"neither refused nor failed, and should be: {because}"


def _failed_at_run_time(case: ConformanceCase, played: PlayResult, bounded: Bounded) -> bool:
    """Whether a query dies of the inputs, as some settings ask for."""
    try:
        run(case, played, bounded)
    except EvaluationFailed:
        return True
    return False
