"""How large a new statement may be: a larger one takes Spark minutes to plan (docs/reference/statements.md#limits).

    SELECT CASE WHEN … END FROM s      line 1:8: CASE has 501 branches, and may have 500
                                         hint: millstream.statement.max.branches is the limit: …

Statements of the command log are not checked: they were, when they were new.
"""

from collections.abc import Mapping

from millstream.model.errors import Span, StatementError
from millstream.syntax import tree

PREFIX = "millstream.statement.max."


def check(statement: tree.Statement, settings: Mapping[str, str]) -> None:
    """Raises StatementError where the statement is larger than the settings allow."""
    parts = 0
    for node in statement.walk():
        match node:
            case tree.Case():
                _check("CASE", len(node.whens), "branches", node.span, settings)
            case tree.InList():
                _check("IN", len(node.items), "items", node.span, settings)
            case tree.SelectQuery():
                _check("SELECT", len(node.items), "columns", statement.span, settings)
            case tree.CreateSource() | tree.AlterSource():
                _check("the statement", len(node.columns), "columns", statement.span, settings)
        parts += isinstance(node, tree.Expression)
    _check("the statement", parts, "parts", statement.span, settings)


def _check(where: str, count: int, what: str, at: Span, settings: Mapping[str, str]) -> None:
    most = int(settings[PREFIX + what])
    if count > most:
        hint = f"{PREFIX}{what} is the limit: the planning of larger statements takes minutes"
        raise StatementError(f"{where} has {count} {what}, and may have {most}", at, hint)
