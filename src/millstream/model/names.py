"""Identifiers: their SQL text, which is parsed back to the same name (docs/reference/statements.md)."""

import re
from collections.abc import Callable, Iterable
from difflib import get_close_matches

PLAIN = re.compile(r"[A-Z_][A-Z0-9_@]*\Z")
# Words that the grammar refuses as unquoted identifiers; all other keywords can be names.
_RESERVED = """
    ADVANCE ALL AND AS AT BEGINNING BETWEEN BY CASE CAST CATALOG CONNECTOR CONNECTORS CREATE DAYS DECIMAL DELETE
    DESCRIBE DISTINCT DROP ELSE END EXISTS EXPORT EXTENDED FALSE FROM FULL GROUP HAVING HOPPING HOURS IN INNER
    INSERT INTO IS JOIN LEFT LIKE LIMIT LIST LOAD MATERIALIZED MILLISECOND MILLISECONDS MINUTES MONTHS NAMESPACE
    NOT NULL ON OR OUTER PRINT PROPERTIES QUERIES QUERY RENAME RETENTION RIGHT RUN SAMPLE SCRIPT SECONDS SELECT
    SIZE STREAM STREAMS TABLE TERMINATE THEN TO TOPIC TOPICS TRUE TUMBLING UNSET VALUES VIEW WHEN WHERE WINDOW
    WITH WITHIN YEARS
"""
RESERVED = frozenset(_RESERVED.split())


def quoted(name: str) -> str:
    """`name` in backticks, with backticks inside it doubled."""
    return "`" + name.replace("`", "``") + "`"


def identifier(name: str) -> str:
    """`name` as SQL text: unquoted if upper-case, plain and not reserved, else in backticks."""
    return name if PLAIN.match(name) and name not in RESERVED else quoted(name)


def literal(text: str) -> str:
    """`text` as a SQL string literal."""
    return "'" + text.replace("'", "''") + "'"


def did_you_mean(name: str, known: Iterable[str], shown: Callable[[str], str] = identifier) -> str:
    """A hint with the most similar of `known`, as `shown` writes it; "" if none is similar."""
    known = list(known)
    by_case = [k for k in known if k.upper() == name.upper()]
    similar = by_case or get_close_matches(name, known, 1, 0.6)
    return f"did you mean {shown(similar[0])}?" if similar else ""
