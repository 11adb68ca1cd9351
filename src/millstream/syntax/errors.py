"""Errors in statement text: one exception with position, fact and hint, and hints for common mistakes."""

from collections.abc import Sequence
from difflib import get_close_matches

from millstream.model.errors import Span, StatementError

FEW = 12
_NAME_IT = "CREATE a stream or table AS the inner query and select from that"
SUBQUERY = f"a query in parentheses is allowed in FROM only: {_NAME_IT}"
_BY_KEY = "a row of a table is replaced by INSERT INTO … VALUES with the same key"
# Statements and clauses of other SQL dialects, with the alternative here: by first word, and by clause.
FOREIGN_STATEMENTS = {
    "UPDATE": _BY_KEY,
    "MERGE": _BY_KEY,
    "USE": "there are no databases or schemas: a name is that of one stream or table",
    "BEGIN": "there are no transactions",
    "DESC": "did you mean DESCRIBE?",
}
FOREIGN_CLAUSES = {
    "ORDER": "ORDER BY comes after HAVING, before LIMIT",
    "OFFSET": "OFFSET comes after LIMIT",
    "UNION": "UNION comes between whole selections, before ORDER BY and LIMIT; put others in parentheses",
    "EXCEPT": "there are no set operations",
    "INTERSECT": "there are no set operations",
    "OVER": "there are no analytic functions: aggregate with GROUP BY and WINDOW",
    "CROSS": "there is no CROSS JOIN: sources are joined ON equal columns",
    "OUTER": "an outer join is a LEFT JOIN, RIGHT JOIN or FULL JOIN",
    "USING": "the columns of a join are written out: ON a.id = b.id",
    "TOP": "the number of rows is written at the end: LIMIT 5",
    "ILIKE": "LIKE regards the case: UCASE(a) LIKE 'X%'",
}
# Clauses of the language in a wrong place.
MISPLACED = {
    "WITH": "WITH (…) follows the name, before AS",
    "=": "equality is written =, and comparisons do not chain: a = b AND b = c",
    "WITHIN": "WITHIN is placed between the joined source and ON",
    "WINDOW": "WINDOW follows FROM and its joins, before WHERE",
    "WHERE": (
        "the clauses have this order: "
        "FROM, WINDOW, WHERE, GROUP BY, PARTITION BY, HAVING, ORDER BY, EMIT, LIMIT, OFFSET"
    ),
    "EMIT": "EMIT CHANGES follows HAVING, before LIMIT",
}
# What other systems create and drop, where a stream or table is expected.
_VIEW = "a view is a stream or table: CREATE STREAM|TABLE … AS SELECT …"
_NO_SCHEMA = "there are no databases or schemas: a name is that of one stream or table"
FOREIGN_OBJECTS = {
    "TOPIC": "a topic is created WITH (KAFKA_TOPIC='…', PARTITIONS=…), and deleted by DROP STREAM|TABLE … DELETE TOPIC",
    "QUERY": "a query is started by CREATE STREAM|TABLE … AS SELECT …, and ended by TERMINATE",
    "VIEW": _VIEW,
    "MATERIALIZED": _VIEW,
    "DATABASE": _NO_SCHEMA,
    "SCHEMA": _NO_SCHEMA,
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
