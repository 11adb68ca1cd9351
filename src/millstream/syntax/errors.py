"""Errors in statement text: one exception with position, fact and hint, and hints for common mistakes."""

from collections.abc import Sequence
from difflib import get_close_matches

from millstream.model.errors import Span, StatementError

# With more alternatives than this, an error does not list them.
FEW = 12
_NAME_IT = "CREATE a stream or table AS the inner query and select from that"
SUBQUERY = f"a query in parentheses is allowed in FROM only: {_NAME_IT}"
# Clauses of the language in a wrong place.
MISPLACED = {
    "WITH": "WITH (…) follows the name, before AS",
    "=": "equality is written =, and comparisons do not chain: a = b AND b = c",
    "WITHIN": "WITHIN is placed between the joined source and ON",
    "WINDOW": "WINDOW TUMBLING (SIZE 10 MINUTES) follows FROM and its joins, before WHERE",
    "WHERE": (
        "the clauses have this order: "
        "FROM, WINDOW, WHERE, GROUP BY, PARTITION BY, HAVING, ORDER BY, EMIT, LIMIT, OFFSET"
    ),
    "EMIT": "EMIT CHANGES follows HAVING, before LIMIT",
}
# Words that begin a statement and cannot be names.
BEGINNINGS = frozenset({"CREATE", "DESCRIBE", "DROP", "INSERT", "LIST", "PRINT", "SELECT", "TERMINATE", "UNSET"})
_STRAIGHT = "text is put in straight single quotes: 'text'"
_INVISIBLE = "it is not a plain blank, and was copied with the text: write a blank instead"
# What is meant by characters that have no meaning: those of other languages, and of word processors.
FOREIGN_CHARACTERS = {
    "&": "the operator is AND",
    "|": "the operator is OR; || joins text",
    "!": "the operators are NOT, and <> or != without blanks",
    ":": "a type is changed by CAST(a AS INTEGER); fields of STRUCT and MAP are written name := value",
    "~": "a regular expression is matched by REGEXP_EXTRACT('^a', t) IS NOT NULL",
    "^": "a power is POWER(a, 2)",
    "@": "a value is written out, or is a variable, ${name}",
    "$": "a value is written out, or is a variable, ${name}",
    "{": "a STRUCT is written STRUCT(name := value), a MAP MAP('key' := value)",
    "#": "a comment begins with --",
    "?": "a value is written out, or is a variable, ${name}",
    "≤": "write <=",
    "≥": "write >=",
    "≠": "write <>",
    **dict.fromkeys("–—−", "a minus is -, a comment begins with --"),
    **dict.fromkeys("‘’“”´", _STRAIGHT),
    **dict.fromkeys("\u00a0\u2007\u202f\u200b\ufeff", _INVISIBLE),
}


class SqlSyntaxError(StatementError):
    """Text that the grammar does not accept, or that has no valid tokens."""


def too_deep(fact: str, at: Span) -> SqlSyntaxError:
    """The error for a statement with too many levels."""
    return SqlSyntaxError(fact, at, "split it: CREATE a stream for an inner part")


def alternatives(expected: Sequence[str]) -> str:
    """The alternatives as `a, b or c`; "" for none, or for too many."""
    distinct = list(dict.fromkeys(expected))
    if not distinct or len(distinct) > FEW:
        return ""
    *most, last = distinct
    return f"{', '.join(most)} or {last}" if most else last


def misspelled_keyword(word: str, expected: Sequence[str]) -> str:
    """The keyword among `expected` that `word` is a misspelling of, or ""."""
    keywords = [w for phrase in expected for w in phrase.split() if w.isalpha() and w.isupper()]
    similar = get_close_matches(word.upper(), keywords, 1, 0.7)
    return similar[0] if similar and similar[0] != word.upper() else ""
