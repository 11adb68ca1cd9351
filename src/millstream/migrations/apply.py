"""Applies migrations statement by statement; the state of each version is recorded before and after.

SET, UNSET, DEFINE and UNDEFINE apply to the rest of their file. The files of applied versions must not have changed. A
version that ended in an error is applied again by the next run, beginning with its first statement.
"""

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from millstream.client import Connection, MillstreamError
from millstream.migrations.errors import MigrationError
from millstream.migrations.metadata import NONE, MigrationMetadata, MigrationState, VersionRecord
from millstream.migrations.project import MigrationConfig, MigrationFile, files
from millstream.model.errors import Span, StatementError
from millstream.syntax import tree
from millstream.syntax.parser import Parsed, split

# Statements that are not allowed in a migration, because they do not change anything.
_NO_MIGRATION = (
    tree.QueryStatement,
    tree.Print,
    tree.Show,
    tree.Describe,
    tree.DescribeAll,
    tree.DescribeFunction,
    tree.DescribeConnector,
    tree.Explain,
    tree.RunScript,
    tree.AssertValues,
    tree.AssertNullValues,
    tree.AssertSource,
)


@dataclass(frozen=True, slots=True)
class MigrationTarget:
    """The versions to apply: those after the last applied one, up to `until` (None: all); or only the `next`; or
    exactly `version`."""

    until: int | None = None
    next: bool = False
    version: int | None = None


def pending(config: MigrationConfig, target: MigrationTarget, last: str) -> list[MigrationFile]:
    """The files to apply, in order of version; `last` is the version that was applied last, NONE if there is none.

    Raises MigrationError if there is no file of the version that the target names.
    """
    existing = files(config)
    if target.version is not None:
        return [_file(existing, target.version)]
    after = 0 if last == NONE else int(last)
    waiting = [f for f in existing if f.version > after and (target.until is None or f.version <= target.until)]
    if target.until is not None and target.until > after:
        _file(existing, target.until)
    return waiting[:1] if target.next else waiting


def _file(existing: Sequence[MigrationFile], version: int) -> MigrationFile:
    file = next((f for f in existing if f.version == version), None)
    if file is None:
        versions = ", ".join(str(f.version) for f in existing) or "none"
        raise MigrationError(f"there is no file of version {version}", f"there are files of versions {versions}")
    return file


def validate(config: MigrationConfig, metadata: MigrationMetadata) -> list[int]:
    """The applied versions, the last one first. Raises MigrationError if the file of one is missing or has changed."""
    existing = {str(file.version): file for file in files(config)}
    version, valid = metadata.last_migrated(), list[int]()
    while version != NONE:
        record = metadata.record(version)
        if record is None or record.state is not MigrationState.MIGRATED:
            state = "it is not recorded" if record is None else f"its state is {record.state.value}"
            raise MigrationError(f"version {version} should be applied, but {state}", "millstream migrations info")
        file = existing.get(version)
        if file is None:
            raise MigrationError(f"version {version} was applied, and its file is gone", "put it back")
        if file.checksum() != record.checksum:
            raise MigrationError(
                f"{file.path} is not what was applied: its MD5 is {file.checksum()}, not {record.checksum}",
                "restore it, and make the change in a new migration",
            )
        valid.append(file.version)
        version = record.previous
    return valid


def statements(file: MigrationFile, variables: Mapping[str, str]) -> list[Parsed]:
    """The statements of a file with variables substituted; DEFINE and UNDEFINE are evaluated here.

    Raises MigrationError, with file and line, if one cannot be parsed or is not allowed in a migration.
    """
    defined, parsed = {name.upper(): value for name, value in variables.items()}, list[Parsed]()
    try:
        for each in split(file.text(), str(file.path), lambda: defined):
            match each.statement:
                case tree.Define(name, value):
                    defined[name.upper()] = value
                case tree.Undefine(name):
                    defined.pop(name.upper(), None)
                case statement if isinstance(statement, _NO_MIGRATION):
                    raise StatementError(
                        f"{each.text.split()[0].upper()} cannot be in a migration",
                        statement.span,
                        "a migration has statements that change something",
                    )
                case _:
                    parsed.append(each)
    except StatementError as error:
        raise MigrationError(str(error)) from error
    return parsed


def apply(
    file: MigrationFile,
    connection: Connection,
    metadata: MigrationMetadata,
    variables: Mapping[str, str],
    report: Callable[[str], None],
) -> None:
    """Execute the statements of a file, and record the version's state in the metadata.

    `report` is called with the text of each statement before it is executed. Raises MigrationError if a statement
    fails; the state of the version is then ERROR, with the reason.
    """
    parsed = statements(file, variables)
    record = VersionRecord(
        str(file.version),
        file.name,
        MigrationState.RUNNING,
        file.checksum(),
        _now(),
        "",
        metadata.last_migrated(),
    )
    metadata.write(record)
    try:
        _carry_out(parsed, connection, report)
    except MigrationError as error:
        failed = replace(record, state=MigrationState.ERROR, completed_on=_now(), error_reason=str(error))
        metadata.write(failed)
        raise
    metadata.write(replace(record, state=MigrationState.MIGRATED, completed_on=_now()))


def _carry_out(parsed: Sequence[Parsed], connection: Connection, report: Callable[[str], None]) -> None:
    settings: dict[str, str] = {}
    for each in parsed:
        match each.statement:
            case tree.SetProperty(name, value):
                settings[name] = value
            case tree.UnsetProperty(name):
                settings.pop(name, None)
            case statement:
                report(each.text)
                try:
                    connection.execute(each.text, properties=settings)
                except MillstreamError as error:
                    raise MigrationError(f"{in_file(str(error), statement.span)}\n  in: {each.text}") from error


def in_file(message: str, statement: Span) -> str:
    """An error of the server with its place in the file of the statement, which is at `statement`.

    a place in the statement      line 2:5: SELECT column 'X' cannot be resolved.
    the statement's place         V000001__a.sql:10:1
    the error's                   V000001__a.sql:11:5: SELECT column 'X' cannot be resolved.
    """
    match = _PLACE.match(message)
    line, column = (int(match[1]), int(match[2])) if match else (1, 1)
    before = statement.column - 1 if line == 1 else 0
    return (
        f"{Span(statement.line + line - 1, before + column, statement.file)}: {message[match.end() if match else 0 :]}"
    )


_PLACE = re.compile(r"line (\d+):(\d+): ")


def _now() -> str:
    return str(int(time.time() * 1000))
