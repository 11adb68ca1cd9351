"""Loads cases from paths: JSON case files, ksqlDB's SQL test files, and the three files of ksql-test-runner."""

import json
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path

from millstream.tester import cases, sql_cases
from millstream.tester.cases import ConformanceCase, Json, text_of
from millstream.tester.sql_cases import SqlTestCase

AnyCase = ConformanceCase | SqlTestCase
SUFFIXES = (".json", ".sql")


def load(paths: Sequence[Path]) -> Iterator[AnyCase]:
    """Yields the cases of files and folders, in order; SQL files in a folder that have no --@test are skipped.

    Raises ValueError, with the file's path, if a file is not a valid case file.
    """
    for path in paths:
        if not path.is_dir():
            yield from _of_file(path)
            continue
        for file in sorted(file for suffix in SUFFIXES for file in path.rglob(f"*{suffix}")):
            if file.suffix == ".json" or sql_cases.has_cases(file):
                yield from _of_file(file)


def _of_file(path: Path) -> Iterator[AnyCase]:
    return sql_cases.load(path) if path.suffix == ".sql" else cases.load([path])


def runner_case(statements: Path, inputs: Path | None, outputs: Path) -> ConformanceCase:
    """The case of ksqlDB's ksql-test-runner: a file of statements, one of {"inputs": […]}, one of {"outputs": […]}.

    `inputs` may be None: no input records. Raises ValueError, with the file's path, if a file is not valid. Source of
    the format: ksqlDB's documentation, "ksql-test-runner".
    """
    text = text_of(statements)
    case = {
        "name": statements.stem,
        "statements": [text],
        "inputs": _records(inputs, "inputs") if inputs else [],
        "outputs": _records(outputs, "outputs"),
    }
    return cases.case(case, statements.name, 0)


def _records(path: Path, field: str) -> list[Json]:
    text = text_of(path)
    try:
        records = json.loads(text, parse_float=Decimal)[field]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f'{path} has no {field}: {error}\n  hint: the file is {{"{field}": [record, …]}}') from error
    if not isinstance(records, list) or not records:
        raise ValueError(f"{path} has no {field}\n  hint: ksql-test-runner needs at least one record")
    for number, record in enumerate(records):
        if not isinstance(record, dict) or "topic" not in record:
            raise ValueError(
                f'{path}: record {number} of {field} does not name a topic\n  hint: {{"topic": …, "value": …}}'
            )
    return records
