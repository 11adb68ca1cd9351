"""What can be wrong with statement text: one error type, with a place, a fact and a hint."""

from collections.abc import Sequence
from difflib import get_close_matches

from millstream.model.errors import Span, StatementError

FEW = 9
_NAME_IT = "CREATE a stream or table AS the inner query and select from that"
SUBQUERY = f"a query in parentheses stands in FROM alone: {_NAME_IT}"
_BY_KEY = "a row of a table is replaced by INSERT INTO … VALUES with the same key"
# What people bring along from other dialects of SQL, and what to do instead: first words, and clauses.
FOREIGN_STATEMENTS = {
    "UPDATE": _BY_KEY,
    "MERGE": _BY_KEY,
    "DELETE": "a row of a table is deleted by a record of its topic whose value is null",
    "USE": "there are no databases or schemas: a name stands for one stream or table",
    "BEGIN": "there are no transactions",
}
FOREIGN_CLAUSES = {
    "ORDER": "ORDER BY stands behind HAVING, before LIMIT",
    "OFFSET": "OFFSET stands behind LIMIT",
    "UNION": "UNION stands between whole selections, before ORDER BY and LIMIT; others go in parentheses",
    "EXCEPT": "there are no set operations",
    "INTERSECT": "there are no set operations",
    "OVER": "there are no analytic functions: aggregate with GROUP BY and WINDOW",
    "CROSS": "there is no CROSS JOIN: sources are joined ON equal columns",
}
# What the language has, met at a wrong place.
MISPLACED = {
    "WITH": "WITH (…) stands behind the name, before AS",
    "=": "equality is written =, and comparisons do not chain: a = b AND b = c",
    "WITHIN": "WITHIN stands between the joined source and ON",
    "WINDOW": "WINDOW stands behind FROM and its joins, before WHERE",
    "WHERE": (
        "the clauses stand in this order: "
        "FROM, WINDOW, WHERE, GROUP BY, PARTITION BY, HAVING, ORDER BY, EMIT, LIMIT, OFFSET"
    ),
    "EMIT": "EMIT CHANGES stands behind HAVING, before LIMIT",
}


class SqlSyntaxError(StatementError):
    """Text that the grammar does not accept, or that cannot be cut into tokens."""


def too_deep(fact: str, at: Span) -> SqlSyntaxError:
    """The error of a statement that has more levels than can be handled."""
    return SqlSyntaxError(fact, at, "split it: CREATE a stream for an inner part")


def alternatives(expected: Sequence[str]) -> str:
    """The alternatives as `a, b or c`; "" for none, or for more than a reader wants."""
    distinct = list(dict.fromkeys(expected))
    if not distinct or len(distinct) > FEW:
        return ""
    *most, last = distinct
    return f"{', '.join(most)} or {last}" if most else last


def misspelled_keyword(word: str, expected: Sequence[str]) -> str:
    """The keyword among `expected` that `word` is a misspelling of, or ""."""
    keywords = [w for phrase in expected for w in phrase.split() if w.isalpha() and w.isupper()]
    near = get_close_matches(word.upper(), keywords, 1, 0.7)
    return near[0] if near and near[0] != word.upper() else ""
