"""Plays a case of a SQL test file without a broker: each inserted record passes through all queries at once.

A query reads the records that are inserted after it was created, as in ksqlDB's own tool. A query that replaces
another keeps that query's state (plan/replacing.py); if it has joins, its state is rebuilt from all records instead.
"""

import re
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from millstream.model.errors import StatementError
from millstream.plan.nodes import joins, leaves
from millstream.plan.steps import StartQuery
from millstream.services.named_files import why_unreadable
from millstream.spark.bounded import Bounded, BoundedQuery, Record
from millstream.spark.evaluate import EvaluationFailed
from millstream.syntax import tree
from millstream.syntax.parser import Parsed
from millstream.tester.play import PlayResult, apply, check_size, is_about, parsed_statements, written
from millstream.tester.sql_assertions import AssertionMismatch, check_next, check_source
from millstream.tester.sql_cases import SqlTestCase

# The classes that ksqlDB's tool raises if a record differs from an assertion; all other errors are Exceptions.
ASSERTION_ERRORS = ("AssertionError", "Error")


@dataclass(slots=True)
class _RunningQuery:
    """A running query and the step that started it."""

    step: StartQuery
    read: BoundedQuery

    @property
    def sink(self) -> str:
        """The name of the topic that it writes."""
        return self.step.plan.sink.topic

    def leaves_of(self, topic: str) -> list[int]:
        """The input indexes at which the query reads a topic."""
        return [i for i, leaf in enumerate(leaves(self.step.plan)) if leaf.origin.topic == topic]


@dataclass(slots=True)
class SqlPlay:
    """The state of a case while it is played.

    `result` has the catalog and the settings, `folder` is that of the test file, `running` are the queries by id,
    `records` are those of each topic in order, `compared` counts those that assertions have consumed.
    """

    result: PlayResult
    bounded: Bounded
    folder: Path
    running: dict[str, _RunningQuery] = field(default_factory=dict)
    records: dict[str, list[Record]] = field(default_factory=dict)
    compared: Counter[str] = field(default_factory=Counter)

    def carry_out(self, parsed: Parsed) -> None:
        """Execute one statement. Raises StatementError if it is refused or fails, EvaluationFailed if a query fails."""
        check_size(parsed.statement, self.result)
        match parsed.statement:
            case tree.InsertValues() | tree.DeleteFrom():
                topic, records = written(parsed.statement, self.result, self.bounded, now=int(time.time() * 1000))
                for record in records:
                    self._append(topic, record, (topic,))
            case tree.AssertValues() | tree.AssertNullValues():
                self._assert_record(parsed.statement)
            case tree.AssertSource():
                check_source(parsed.statement, self.result)
            case tree.RunScript():
                self._run_script(parsed.statement)
            case _:
                apply(parsed.statement, parsed.text, self.result)
                self._start_queries()

    def _append(self, topic: str, record: Record, path: tuple[str, ...]) -> None:
        """Append a record to a topic and pass it through all queries that read it, recursively.

        `path` are the topics that led to it; a topic that occurs twice is a cycle, which raises StatementError.
        """
        records = self.records.setdefault(topic, [])
        placed = record.at(0, len(records))
        records.append(placed)
        for query in list(self.running.values()):
            for leaf in query.leaves_of(topic):
                for output in query.read([(leaf, placed)])[0]:
                    if query.sink in path:
                        raise StatementError(f"Detected illegal cycle in topology: {'->'.join((*path, query.sink))}")
                    self._append(query.sink, output, (*path, query.sink))

    def _assert_record(self, statement: tree.AssertValues | tree.AssertNullValues) -> None:
        source = self.result.catalog.sources.get(statement.source)
        topic = source.topic if source else ""
        position = self.compared[topic]
        check_next(statement, self.records.get(topic, ()), position, self.result, self.bounded)
        self.compared[topic] += 1

    def _run_script(self, statement: tree.RunScript) -> None:
        """Execute the statements of a file; its path is as written, else relative to the test file."""
        paths = (Path(statement.path), self.folder / statement.path.lstrip("/"))
        path = next((p for p in paths if p.is_file()), None)
        if path is None:
            hint = f"paths start at the folder of the test file, {self.folder}"
            raise StatementError(f"there is no file {statement.path}", statement.span, hint)
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise StatementError(f"{path} cannot be read: {why_unreadable(error)}", statement.span) from error
        for parsed in parsed_statements(text, self.result, str(path)):
            self.carry_out(parsed)

    def _start_queries(self) -> None:
        """Start and stop queries until exactly those of the catalog run."""
        steps = self.result.queries
        for id in [id for id in self.running if id not in steps]:
            del self.running[id]
        for id, step in steps.items():
            before = self.running.get(id)
            if before is None or before.step is not step:
                self.running[id] = _RunningQuery(step, self._started(step, before))

    def _started(self, step: StartQuery, before: _RunningQuery | None) -> BoundedQuery:
        if before is None:
            return self.bounded.start(step)
        if not any(joins(step.plan)):
            return self.bounded.start(step, before.read)
        query = self.bounded.start(step)
        query(
            [
                (input_index, record)
                for input_index, leaf in enumerate(leaves(step.plan))
                for record in self.records.get(leaf.origin.topic, ())
            ]
        )
        return query


def play(case: SqlTestCase, defaults: Mapping[str, str], bounded: Bounded, exact: bool) -> tuple[str, str]:
    """Play a case. Returns the reason of its failure, "" if it passes, and a remark on a case that passes.

    `defaults` are the session's settings. If `exact`, an expected message must occur literally in the error. Otherwise
    an error of the engine that is about the same thing passes too, since its wording differs from ksqlDB's; the remark
    then has both texts.
    """
    settings = {**defaults, "auto.offset.reset": "earliest"}
    result = PlayResult(settings=settings, defaults=settings, partitions=1)
    run = SqlPlay(result, bounded, case.path.parent)
    text = ""
    try:
        for parsed in parsed_statements(case.text, result, str(case.path)):
            text = parsed.text
            run.carry_out(parsed)
    except StatementError as error:
        return _judged(case, error, text, exact)
    except EvaluationFailed as error:
        return _judged(case, StatementError(f"a query ended: {error}"), text, exact)
    if case.must_fail:
        return f"{case.path}:{case.line}: no statement failed\n  expected  {_expected(case)}", ""
    return "", ""


def _judged(case: SqlTestCase, error: StatementError, text: str, exact: bool) -> tuple[str, str]:
    """Compare an error with the one that the case expects; returns the same as `play`."""
    failure = f"{error}\n  in: {text}" if text else str(error)
    if not case.must_fail:
        return failure, ""
    expectation = f"\n  expected  {_expected(case)}"
    if not _is_of_class(error, case.error):
        return failure + expectation, ""
    if _plain(case.message) in _plain(str(error)):
        return "", ""
    if exact or isinstance(error, AssertionMismatch) or not is_about(error, case.message):
        return failure + expectation, ""
    return "", f"refused in other words: {error.fact}\n  expected  {case.message}"


def _is_of_class(error: StatementError, name: str) -> bool:
    """Whether ksqlDB would raise the Java class `name` for an error; "" accepts any."""
    simple = name.rpartition(".")[2]
    if not simple or simple == "Throwable":
        return True
    return isinstance(error, AssertionMismatch) == (simple in ASSERTION_ERRORS)


def _expected(case: SqlTestCase) -> str:
    return ": ".join(part for part in (case.error, case.message) if part)


def _plain(text: str) -> str:
    """A text normalised for comparison: without quotes, with single spaces, case-folded."""
    return re.sub(r"\s+", " ", re.sub("[`'\"]", "", text)).strip().casefold()
