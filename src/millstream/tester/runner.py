"""Runs cases, with one verdict for each; a failing case never fails the run."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
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
from millstream.tester.sql_cases import SqlTestCase


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of a case; `reason` is "" if it passed. `remark`: a note on a case that passed."""

    case: AnyCase
    reason: str
    seconds: float
    remark: str = ""

    @property
    def passed(self) -> bool:
        """True if the case passed."""
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
    """Play the cases, `jobs` at a time; verdicts are in the cases' order. `exact`: see sql_play.play."""
    with ThreadPoolExecutor(max_workers=max(1, jobs)) as pool:
        yield from pool.map(lambda case: verdict(case, bounded, defaults, exact), cases)


def verdict(case: AnyCase, bounded: Bounded, defaults: Mapping[str, str], exact: bool = False) -> Verdict:
    """Play one case and return its verdict."""
    if isinstance(case, SqlTestCase):
        return judged(case, lambda: sql_play.play(case, defaults, bounded, exact))
    return judged(case, lambda: (_reason(case, bounded, defaults), ""))


def judged(case: AnyCase, play: Callable[[], tuple[str, str]]) -> Verdict:
    """The verdict of a case; `play` returns its differences, "" for none, and a remark."""
    began = perf_counter()
    remark = ""
    try:
        reason, remark = play()
    except Exception as error:  # noqa: BLE001  the boundary of one case: its error is its verdict
        reason = f"{type(error).__name__}: {error}"
    return Verdict(case, reason, perf_counter() - began, remark)


def _reason(case: ConformanceCase, bounded: Bounded, defaults: Mapping[str, str]) -> str:
    if case.rejected is None:
        result = plan(case, defaults, bounded)
        run(case, result, bounded)
        return "\n".join(differences(case, result))
    return _refusal(case, bounded, defaults)


def _refusal(case: ConformanceCase, bounded: Bounded, defaults: Mapping[str, str]) -> str:
    because = (case.rejected or {}).get("because", "")
    try:
        result: PlayResult = plan(case, defaults, bounded)
    except StatementError as error:
        return "" if refused(error, case) else f"refused for another reason: {error}\n  expected: {because}"
    if _failed_at_run_time(case, result, bounded):
        return ""
    return f"should be refused or fail, but did neither: {because}"


def _failed_at_run_time(case: ConformanceCase, result: PlayResult, bounded: Bounded) -> bool:
    """True if the inputs make a query fail, as some settings require."""
    try:
        run(case, result, bounded)
    except EvaluationFailed:
        return True
    return False
