"""What can be wrong with statement text: one error type, with a place, a fact and a hint."""

from collections.abc import Sequence
from difflib import get_close_matches

from millstream.model.errors import StatementError

FEW = 8


class SqlSyntaxError(StatementError):
    """Text that the grammar does not accept, or that cannot be cut into tokens."""


def alternatives(expected: Sequence[str]) -> str:
    """`a, b or c` for people; "" where there is nothing to say or too much to read."""
    distinct = list(dict.fromkeys(expected))
    if not distinct or len(distinct) > FEW:
        return ""
    *most, last = distinct
    return f"{', '.join(most)} or {last}" if most else last


def meant(word: str, expected: Sequence[str]) -> str:
    """The keyword among `expected` that `word` is a misspelling of, or ""."""
    keywords = [w for phrase in expected for w in phrase.split() if w.isalpha() and w.isupper()]
    near = get_close_matches(word.upper(), keywords, 1, 0.7)
    return near[0] if near and near[0] != word.upper() else ""
