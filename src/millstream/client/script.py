"""Statements as texts: where one ends in a script, and which of them return rows."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from millstream.client.literals import QUOTED_OR_COMMENT

COMMENTS = r"(?:\s|--[^\n]*(?:\n|\Z)|/\*.*?\*/)*"
ROWS_STATEMENT = re.compile(rf"{COMMENTS}(?:SELECT|WITH)\b", re.IGNORECASE | re.DOTALL)
PUSHES = re.compile(r"\bEMIT\s+(?:CHANGES|FINAL)\b", re.IGNORECASE)
INSERTS = re.compile(rf"{COMMENTS}INSERT\s+INTO\b(?!.*\bSELECT\b)", re.IGNORECASE | re.DOTALL)
TEXTS = re.compile(r"'(?:[^']|'')*'|`(?:[^`]|``)*`|--[^\n]*|/\*.*?\*/", re.DOTALL)
# A semicolon, or text in which a semicolon ends no statement; the body of a Python function is between two `$$`.
ENDS = re.compile(rf"{QUOTED_OR_COMMENT}|\$\$.*?\$\$|;", re.DOTALL)
BLANK = re.compile(rf"{COMMENTS};?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ScriptPart:
    """A statement of a script; `text` ends with a semicolon, and `start` is its position in the script."""

    text: str
    start: int

    @property
    def returns_rows(self) -> bool:
        """True for a query, whose answer is rows; other statements are answered with entities."""
        return bool(ROWS_STATEMENT.match(self.text))

    @property
    def is_push(self) -> bool:
        """True for a query that continues with each change."""
        return self.returns_rows and bool(PUSHES.search(TEXTS.sub(" ", self.text)))


def parts(script: str) -> Iterator[ScriptPart]:
    """The statements of a script in order; the last one needs no semicolon."""
    start = 0
    for mark in ENDS.finditer(script):
        if mark[0] == ";":
            yield from _part(script[start : mark.end()], start)
            start = mark.end()
    yield from _part(script[start:] + ("\n;" if "--" in script[start:] else ";"), start)


def _part(text: str, start: int) -> Iterator[ScriptPart]:
    if not BLANK.fullmatch(text):
        yield ScriptPart(text, start)
