"""Limits of the size of a new statement: larger ones take Spark minutes to plan (docs/reference/statements.md#limits).

    SELECT CASE WHEN … END FROM s      line 1:8: CASE has 501 branches, and may have 500
                                         hint: millstream.statement.max.branches is the limit: …

Statements of the command log are not checked again: they were checked when they were accepted.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from millstream.model.errors import Span, StatementError
from millstream.model.types import CustomType, SqlType
from millstream.model.units import LONGEST
from millstream.syntax import tree
from millstream.syntax.cursor import NESTING

PREFIX = "millstream.statement.max."


def check(statement: tree.Statement, settings: Mapping[str, str], types: Mapping[str, SqlType]) -> None:
    """Raises StatementError if the statement, with custom `types` replaced, is larger than the settings allow."""
    parts, extents = 0, dict[str, TypeExtent]()
    for node in statement.walk():
        match node:
            case tree.Case():
                _check("CASE", len(node.whens), "branches", node.span, settings)
            case tree.InList():
                _check("IN", len(node.items), "items", node.span, settings)
            case tree.WindowClause(advance=tree.Duration() as advance):
                windows = -(-node.size.milliseconds // max(1, advance.milliseconds))
                _check("a row", windows, "windows", statement.span, settings)
            case tree.Duration() if node.milliseconds > LONGEST:
                raise StatementError(f"{node.count} {node.unit} are more than {LONGEST} milliseconds", statement.span)
            case tree.SelectQuery():
                _check("SELECT", len(node.items), "columns", statement.span, settings)
            case tree.CreateSource() | tree.AlterSource():
                _check("the statement", len(node.columns), "columns", statement.span, settings)
            case tree.ColumnDef(type=type) | tree.Cast(type=type) | tree.CreateType(type=type):
                parts += _inner_types(type, types, extents, statement.span)
            case tree.FunctionParameter(type=type) | tree.CreateFunction(returns=type):
                parts += _inner_types(type, types, extents, statement.span)
        parts += isinstance(node, tree.Expression)
    _check("the statement", parts, "parts", statement.span, settings)


def _inner_types(type: SqlType, types: Mapping[str, SqlType], extents: dict[str, "TypeExtent"], at: Span | None) -> int:
    """The number of types within a type. Raises StatementError if they are nested too deeply."""
    extent = _extent(type, types, extents)
    if extent.levels > NESTING:
        raise StatementError(f"the type nests {extent.levels} levels deep, and may nest {NESTING}", at)
    return extent.parts - 1


@dataclass(frozen=True, slots=True)
class TypeExtent:
    """The number of types within a type, and the depth of their nesting."""

    parts: int
    levels: int


def _extent(type: SqlType, types: Mapping[str, SqlType], extents: dict[str, TypeExtent]) -> TypeExtent:
    """The extent of a type with custom types replaced, computed without replacing them.

    Replacing could need any amount of memory: each of several types may contain the previous one twice. `extents` has
    the extents of custom types by name.
    """
    if not isinstance(type, CustomType):
        inner = [_extent(child, types, extents) for child in type.children()]
        return TypeExtent(1 + sum(e.parts for e in inner), 1 + max((e.levels for e in inner), default=0))
    if type.name not in types:
        return TypeExtent(1, 1)  # an unknown type: the error is raised where it is resolved
    if type.name not in extents:
        extents[type.name] = _extent(types[type.name], types, extents)
    return extents[type.name]


def _check(where: str, count: int, items: str, at: Span, settings: Mapping[str, str]) -> None:
    most = int(settings[PREFIX + items])
    if count > most:
        hint = f"{PREFIX}{items} is the limit: larger statements take minutes to plan, or their rows"
        raise StatementError(f"{where} has {count} {items}, and may have {most}", at, hint)
