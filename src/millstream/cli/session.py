"""A session with a server: its settings and variables, and the execution of statements."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

from millstream.cli.client import AlreadyReported, ClientError, OutOfTime, RestClient, ServerRefused
from millstream.cli.commands import run_command
from millstream.cli.error_report import error_report
from millstream.cli.output import Output
from millstream.cli.statements import ScriptStatement, split
from millstream.client.exchange import SessionSettings
from millstream.model.setting_table import SETTINGS
from millstream.model.settings import SettingRefused, canonical, check
from millstream.syntax.tokens import TokenKind
from millstream.syntax.variables import never_defined

READING = ("SHOW", "LIST", "DESCRIBE", "EXPLAIN", "SELECT", "WITH", "PRINT", "ASSERT")


@dataclass(frozen=True, slots=True)
class QueryLimits:
    """The most rows that a query may show, and the most seconds it may run; None = no limit."""

    rows: int | None = None
    seconds: float | None = None


@dataclass
class ShellSession:
    """Sends statements to `client` with the session's SETs and DEFINEs, and writes answers to `output`.

    `on_change` is called when sources may have changed. An `interactive` session continues after Ctrl-C. `typed`
    returns its earlier input, `files` are those whose statements are being executed, each run by the one before.
    """

    client: RestClient
    output: Output
    limits: QueryLimits = QueryLimits()
    properties: dict[str, Any] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)
    on_change: Callable[[], None] = lambda: None
    interactive: bool = False
    typed: Callable[[], Sequence[str]] = tuple
    files: tuple[Path, ...] = ()

    @property
    def context(self) -> SessionSettings:
        """The settings and variables that are sent with each statement."""
        return SessionSettings(dict(self.properties), dict(self.variables))

    def run(self, text: str, file: str = "") -> bool:
        """Execute the statements of a text until one fails; True if none failed. `file` is the file of the text."""
        running = self.files
        self.files = (*running, Path(file).resolve()) if file else running
        try:
            return all(self._run(statement, file) for statement in split(text))
        finally:
            self.files = running

    def _run(self, statement: ScriptStatement, file: str) -> bool:
        try:
            self._carry_out(statement)
        except AlreadyReported:
            return False
        except ClientError as error:
            if isinstance(error, ServerRefused):
                self.output.entities(error.entities)
            self.output.error(error_report(error, statement, file))
            return False
        if not statement.words or statement.words[0].key not in READING:
            self.on_change()
        return True

    def _carry_out(self, statement: ScriptStatement) -> None:
        if run_command(statement.text, self):
            return
        local = next((act for key, act in LOCAL.items() if statement.starts(key)), None)
        if local is not None:
            local(self, statement)
        elif statement.is_query:
            self._query(statement)
        elif statement.is_print:
            self._print(statement)
        else:
            self.output.entities(self.client.execute(statement.text, self.context))

    def _query(self, statement: ScriptStatement) -> None:
        rows = self.client.query(statement.text, self.context, self.limits.seconds)
        with self._in_time(statement.is_push), rows as answer:
            limited = replace(answer, rows=self._limited(answer.rows))
            keeps_all = statement.has_limit or self.limits.rows is not None
            with self._interruptible():
                self.output.rows(limited, statement.is_push, keeps_all)

    @contextmanager
    def _in_time(self, push: bool) -> Iterator[None]:
        """Ends a push query at the session's time limit; a pull query at its limit is reported as incomplete."""
        try:
            yield
        except OutOfTime:
            if not push:
                self.output.note(f"ended after {self.limits.seconds:g} s (--query-timeout): there may be more rows")

    @contextmanager
    def _interruptible(self) -> Iterator[None]:
        """Ctrl-C ends the block; in a session that is not interactive it ends the session too."""
        try:
            yield
        except KeyboardInterrupt:
            if not self.interactive:
                raise

    def _limited(self, rows: Iterator[Any]) -> Iterator[Any]:
        """The rows up to the limits of the session."""
        return self._in_seconds(islice(rows, self.limits.rows))

    def _in_seconds(self, rows: Iterator[Any]) -> Iterator[Any]:
        """The rows up to the time limit of the session."""
        end = None if self.limits.seconds is None else time.monotonic() + self.limits.seconds
        for row in rows:
            yield row
            if end is not None and time.monotonic() > end:
                return

    def _print(self, statement: ScriptStatement) -> None:
        text = statement.text if self.limits.rows is None else statement.limited(self.limits.rows)
        printed = self.client.print_topic(text, self.context, self.limits.seconds)
        with suppress(OutOfTime), printed as lines, self._interruptible():
            for line in self._in_seconds(lines):
                self.output.line(line)

    def set(self, name: str, value: str) -> None:
        """Set a property, by any of its names, for the following statements.

        Raises ServerRefused if a session cannot set it, ClientError if the value is not valid.
        """
        self.client.is_valid_property(name)
        _check_value(name, value)
        self.properties[canonical(name)] = value
        self.output.note(f"{name} is now '{value}' for this session")

    def unset(self, name: str) -> None:
        """Remove a session property. Raises ClientError if it was not set."""
        if canonical(name) not in self.properties:
            raise ClientError(f"{name} was not set in this session")
        self.output.note(f"{name} is no longer '{self.properties.pop(canonical(name))}'")

    def define(self, name: str, value: str) -> None:
        """Define a variable for the following statements."""
        self.variables = {key: text for key, text in self.variables.items() if key.lower() != name.lower()}
        self.variables[name] = value

    def undefine(self, name: str) -> None:
        """Remove a variable; if there is none, show a warning, as a server would answer."""
        variable = next((variable for variable in self.variables if variable.lower() == name.lower()), None)
        if variable is not None:
            del self.variables[variable]
            return
        text, message = f"UNDEFINE {name};", never_defined(name)
        self.output.entities([{"@type": "warning_entity", "statementText": text, "message": message, "warnings": []}])


def _check_value(name: str, value: str) -> None:
    """Raises ClientError if the value is not valid; a property that only the server knows is checked there."""
    if canonical(name) not in SETTINGS:
        return
    try:
        check(name, value)
    except SettingRefused as refused:
        raise ClientError(str(refused)) from refused


Act = Callable[[ShellSession, ScriptStatement], None]


def _set(session: ShellSession, statement: ScriptStatement) -> None:
    name, value = _operands(statement, "SET 'property' = 'value';", TokenKind.STRING, "=", TokenKind.STRING)
    session.set(name, value)


def _unset(session: ShellSession, statement: ScriptStatement) -> None:
    (name,) = _operands(statement, "UNSET 'property';", TokenKind.STRING)
    session.unset(name)


def _define(session: ShellSession, statement: ScriptStatement) -> None:
    name, value = _operands(statement, "DEFINE name = 'value';", TokenKind.WORD, "=", TokenKind.STRING)
    session.define(name, value)


def _undefine(session: ShellSession, statement: ScriptStatement) -> None:
    (name,) = _operands(statement, "UNDEFINE name;", TokenKind.WORD)
    session.undefine(name)


def _operands(statement: ScriptStatement, form: str, *expected: TokenKind | str) -> Sequence[str]:
    """The texts of the words after the first, which must be of these kinds. Raises ClientError with the syntax."""
    operands = [word for word in statement.words[1:] if word.key != ";"]
    is_valid = len(operands) == len(expected) and all(
        word.key == kind if isinstance(kind, str) else word.kind is kind
        for word, kind in zip(operands, expected, strict=True)
    )
    if not is_valid:
        raise ClientError(f"this is not a {statement.words[0].key} statement", f"it is written {form}")
    return [word.text if word.kind is TokenKind.WORD else word.value for word in operands if word.key != "="]


LOCAL: dict[str, Act] = {"SET": _set, "UNSET": _unset, "DEFINE": _define, "UNDEFINE": _undefine}
