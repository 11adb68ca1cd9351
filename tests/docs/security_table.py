"""The table of roles and statements in docs/security.md."""

from pathlib import Path

from millstream.catalog.catalog import Catalog
from millstream.security.roles import ROLES, Principal
from millstream.syntax.parser import parse_one

STATEMENTS = (Path(__file__).parents[1] / "security" / "statements.sql").read_text().splitlines()


def is_allowed(role: str, statement: str) -> bool:
    """Whether a user of a role may carry out a statement."""
    return not Principal("u", (ROLES[role],)).missing(parse_one(statement), Catalog())


def rows() -> list[tuple[str, ...]]:
    """The head, and a row for each statement."""
    marks = [(f"`{text}`", *("yes" if is_allowed(role, text) else "403" for role in ROLES)) for text in STATEMENTS]
    return [("Statement", *ROLES), *marks]
