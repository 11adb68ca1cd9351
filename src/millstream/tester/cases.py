"""Case files: expected behaviour as data (the conformance suite's README documents their form).

A file is `{"tests": [case, …]}`; a case has statements, records in, and records out or a refusal.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from millstream.services.named_files import why_unreadable

Json = Any


@dataclass(frozen=True, slots=True)
class CaseRecord:
    """A record in a case: JSON views of key and value. `timestamp` None means that any time is correct."""

    topic: str
    key: Json = None
    value: Json = None
    timestamp: int | None = None
    window: Json = None
    headers: tuple[tuple[str, str | None], ...] = ()


@dataclass(frozen=True, slots=True)
class CaseTopic:
    """A topic that exists before the statements run."""

    name: str
    partitions: int = 4
    replicas: int = 1
    raw: Json = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class ConformanceCase:
    """One case. `rejected` describes the expected refusal; None if the statements must be accepted.

    In REST cases `responses` are the statements' answers, in order; `waits`: inputs follow the start of the push query.
    """

    id: str
    name: str
    file: str
    statements: tuple[str, ...]
    properties: dict[str, str]
    topics: tuple[CaseTopic, ...]
    inputs: tuple[CaseRecord, ...]
    outputs: tuple[CaseRecord, ...]
    expect: dict[str, Json]
    rejected: dict[str, Json] | None
    responses: tuple[dict[str, Json], ...] = ()
    waits: bool = False

    @property
    def title(self) -> str:
        """The case's file and name, as in reports and ledgers."""
        return f"{self.file} :: {self.name}"

    @property
    def shown(self) -> tuple[str, ...]:
        """What a report shows of a case that failed."""
        return self.statements


def load(paths: Sequence[Path]) -> Iterator[ConformanceCase]:
    """The cases of files and folders, in order. Raises ValueError with the name of an invalid file."""
    for path in paths:
        for file in sorted(path.rglob("*.json")) if path.is_dir() else [path]:
            yield from _file(file)


def text_of(path: Path) -> str:
    """The text of a file of cases. Raises ValueError with the path and what to do."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise ValueError(f"there is no file or folder {path}\n  hint: {CASE_FILE_HINT}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} cannot be read: {why_unreadable(error)}\n  hint: {CASE_FILE_HINT}") from error


CASE_FILE_HINT = "name a case file (JSON, or SQL with --@test: lines) or a folder of them"


def _file(path: Path) -> Iterator[ConformanceCase]:
    try:
        tests = json.loads(text_of(path), parse_float=Decimal)["tests"]
    except json.JSONDecodeError as error:
        raise ValueError(f"{path} is not a case file: it is not valid JSON: {error}") from error
    except (KeyError, TypeError) as error:
        raise ValueError(f"{path} is not a case file: {error}") from error
    for number, test in enumerate(tests):
        yield _of_file(test, path, number)


def _of_file(test: Json, path: Path, number: int) -> ConformanceCase:
    try:
        if isinstance(test["statements"], str):
            raise TypeError("its statements are not a list")
        return case(test, path.name, number)
    except KeyError as error:
        raise ValueError(f"{path} is not a case file: case {number} lacks {error}") from error
    except (TypeError, AttributeError, ValueError) as error:
        raise ValueError(f"{path} is not a case file: case {number}: {error}") from error


def case(test: dict[str, Json], file: str, number: int) -> ConformanceCase:
    """The case that an object of a file is, the `number`th of that file. Raises KeyError for one without statements."""
    return ConformanceCase(
        str(test.get("id", number)),
        test.get("name", f"case {number}"),
        file,
        tuple(test["statements"]),
        {name: str(value) for name, value in (test.get("properties") or {}).items()},
        tuple(_topic(t) for t in test.get("topics") or ()),
        tuple(_record(r) for r in test.get("inputs") or ()),
        tuple(_record(r) for r in test.get("outputs") or ()),
        test.get("expect") or {},
        test.get("rejected"),
        tuple(test.get("responses") or ()),
        bool((test.get("inputConditions") or {}).get("waitForActivePushQuery")),
    )


def _topic(topic: dict[str, Json]) -> CaseTopic:
    return CaseTopic(topic["name"], topic.get("partitions", 4), topic.get("replicas", 1), topic)


def _record(record: dict[str, Json]) -> CaseRecord:
    headers = tuple((h["KEY"], h.get("VALUE")) for h in record.get("headers") or ())
    return CaseRecord(
        record["topic"],
        record.get("key"),
        record.get("value"),
        record.get("timestamp"),
        record.get("window"),
        headers,
    )
