"""Collects case files and SQL test files as pytest tests. They share one Spark session, which the first one starts."""

import json
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from millstream.model.settings import effective
from millstream.spark.bounded import Bounded
from millstream.spark.session import create
from millstream.spark.session_settings import SessionOptions
from millstream.tester import sql_cases
from millstream.tester.files import AnyCase, load
from millstream.tester.runner import Verdict, verdict
from millstream.tester.sql_cases import SqlTestCase


class CaseFailed(Exception):
    """A case failed; `verdict` has the reason."""

    def __init__(self, verdict: Verdict) -> None:
        super().__init__(verdict.reason)
        self.verdict = verdict


class CasePlayer:
    """Plays cases in one Spark session, which the first case starts. `exact`: see sql_play.play."""

    def __init__(self, exact: bool) -> None:
        self._exact = exact
        self._bounded: Bounded | None = None
        self._folder = TemporaryDirectory(prefix="millstream-")
        self._session: Any = None

    def play(self, case: AnyCase) -> Verdict:
        """Play a case and return its verdict; an error of the engine is a failed verdict, never an exception."""
        if self._bounded is None:
            self._session = create(SessionOptions(Path(self._folder.name), slots=4, brief=True))
            self._bounded = Bounded(self._session, compiled=False)
        return verdict(case, self._bounded, effective({}, {}), self._exact)

    def close(self) -> None:
        """Stop Spark, if it was started, and delete its files."""
        if self._session is not None:
            self._session.stop()
        self._folder.cleanup()


PLAYER = pytest.StashKey[CasePlayer]()


def pytest_sessionstart(session: pytest.Session) -> None:
    """Create the player. Spark is started by the first case."""
    session.config.stash[PLAYER] = CasePlayer(bool(session.config.getoption("--millstream-exact-messages")))


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Stop Spark."""
    session.config.stash[PLAYER].close()


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> "CaseFile | None":
    """The collector of a case file; None for any other file."""
    return CaseFile.from_parent(parent, path=file_path) if _has_cases(file_path) else None


def _has_cases(path: Path) -> bool:
    """Whether a file has cases; a file without cases, or one that cannot be read, belongs to another tool."""
    try:
        if path.suffix != ".json":
            return path.suffix == ".sql" and sql_cases.has_cases(path)
        content = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, OSError):
        return False
    tests = content.get("tests") if isinstance(content, dict) else None
    return isinstance(tests, list) and bool(tests) and all(isinstance(t, dict) and "statements" in t for t in tests)


class CaseFile(pytest.File):
    """A case file or a SQL test file."""

    def collect(self) -> Iterator["CaseItem"]:
        """Yields an item for each case, in order; equal names get a number. Raises CollectError if it is not valid."""
        try:
            cases = list(load([self.path]))
        except ValueError as error:
            raise self.CollectError(str(error)) from error
        names = [case.name for case in cases]
        for number, case in enumerate(cases):
            name = case.name if names.count(case.name) == 1 else f"{case.name} [{number}]"
            yield CaseItem.from_parent(self, name=name, case=case)


class CaseItem(pytest.Item):
    """One case as a pytest item."""

    def __init__(self, *, case: AnyCase, **rest: Any) -> None:
        super().__init__(**rest)
        self.case = case

    def runtest(self) -> None:
        """Play the case. Raises CaseFailed if it fails."""
        outcome = self.config.stash[PLAYER].play(self.case)
        if outcome.remark:
            self.add_report_section("call", "millstream", outcome.remark)
        if not outcome.passed:
            raise CaseFailed(outcome)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The reason of the failure without a Python stack trace, which would not help with an error in SQL."""
        if isinstance(excinfo.value, CaseFailed):
            return "\n".join([*self.case.shown, excinfo.value.verdict.reason])
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """The case's file, line (from 0; None for JSON) and title."""
        return self.path, self.case.line - 1 if isinstance(self.case, SqlTestCase) else None, self.case.title
