"""Reads ksqlDB's SQL test files: cases of SQL statements, with directives in comments.

    --@test: late departures                         begins a case, which ends at the next such line
    --@expected.error: …KsqlException                the Java class of the error that one of its statements must raise
    --@expected.message: does not exist              a text that the error's message must contain
    CREATE STREAM flights …; CREATE STREAM late AS SELECT …;
    INSERT INTO flights (id, delay) VALUES ('a', 70);
    ASSERT VALUES late (id, delay) VALUES ('a', 70);

Source of the format: ksqlDB's documentation, "How to test an application" (run-ksql-test), and KLIP-32.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from millstream.model.names import did_you_mean
from millstream.tester.cases import text_of

_DIRECTIVE = re.compile(r"^[ \t]*--@[ \t]*([A-Za-z.]+)[ \t]*:[ \t]*(.*?)[ \t\r]*$", re.MULTILINE)
TEST, ERROR, MESSAGE = "test", "expected.error", "expected.message"


@dataclass(frozen=True, slots=True)
class SqlTestCase:
    """One case of a SQL test file.

    `text` has its statements, after as many line breaks as precede them in `path`, so that errors have the right line.
    `line` is the line of the --@test directive. `error` (the name of a Java class) and `message` (a part of the error's
    message) are the expected error; both are "" if all statements must succeed.
    """

    id: str
    name: str
    path: Path
    line: int
    text: str
    error: str = ""
    message: str = ""

    @property
    def file(self) -> str:
        """The name of its file, without the folder."""
        return self.path.name

    @property
    def title(self) -> str:
        """The case's file and name."""
        return f"{self.file} :: {self.name}"

    @property
    def shown(self) -> tuple[str, ...]:
        """The statements that a report shows for a failed case: none, since the failure itself shows the statement."""
        return ()

    @property
    def must_fail(self) -> bool:
        """Whether the case expects an error."""
        return bool(self.error or self.message)


@dataclass(frozen=True, slots=True)
class _Directive:
    name: str
    content: str
    line: int
    end: int


def has_cases(path: Path) -> bool:
    """Whether a SQL file has --@test directives. Raises ValueError, with the path, if it cannot be read."""
    return any(match[1].lower() == TEST for match in _DIRECTIVE.finditer(text_of(path)))


def load(path: Path) -> Iterator[SqlTestCase]:
    """Yields the cases of a file in order; cases without statements are skipped.

    Raises ValueError, with file and line, if the file cannot be read or a directive is not valid.
    """
    text = text_of(path)
    directives = [_directive(match, text, path) for match in _DIRECTIVE.finditer(text)]
    starts = [number for number, directive in enumerate(directives) if directive.name == TEST]
    if not starts:
        raise ValueError(f"{path}:1: the file has no test\n  hint: a test begins with a line --@test: its name")
    if starts[0] > 0 or _has_statements(text[: directives[0].end]):
        raise ValueError(f"{path}:1: there are statements before the first test\n  hint: --@test: name begins a test")
    for start, stop in zip(starts, [*starts[1:], len(directives)], strict=True):
        end = len(text) if stop == len(directives) else text.rindex("\n", 0, directives[stop].end) + 1
        case = _case(directives[start:stop], text, end, path)
        if _has_statements(case.text):
            yield case


def _directive(match: re.Match[str], text: str, path: Path) -> _Directive:
    name, line = match[1].lower(), text.count("\n", 0, match.start()) + 1
    if name not in (TEST, ERROR, MESSAGE):
        hint = did_you_mean(name, (TEST, ERROR, MESSAGE)) or f"there are {TEST}, {ERROR} and {MESSAGE}"
        raise ValueError(f"{path}:{line}: there is no directive --@{match[1]}\n  hint: {hint}")
    if not match[2]:
        raise ValueError(f"{path}:{line}: --@{name} has no value\n  hint: write --@{name}: and its value")
    return _Directive(name, match[2], line, match.end())


def _case(directives: list[_Directive], text: str, end: int, path: Path) -> SqlTestCase:
    first, expected = directives[0], {}
    for directive in directives[1:]:
        if directive.name in expected:
            raise ValueError(f"{path}:{directive.line}: --@{directive.name} is given twice for one test")
        expected[directive.name] = directive.content
    statements = "\n" * (first.line - 1) + text[first.end : end]
    name = f"{path.name}:{first.line}"
    return SqlTestCase(
        name, first.content, path, first.line, statements, expected.get(ERROR, ""), expected.get(MESSAGE, "")
    )


def _has_statements(text: str) -> bool:
    """Whether a text has anything but comments and white space."""
    return bool(re.sub(r"--[^\n]*|/\*.*?\*/|\s", "", text, flags=re.DOTALL))
