"""Parses the expressions of GROUP BY and PARTITION BY, including `STRUCT<a, b>` of the structured-keys RFC."""

from dataclasses import dataclass

from millstream.model.errors import Span
from millstream.syntax import tree
from millstream.syntax.cursor import Cursor
from millstream.syntax.errors import SqlSyntaxError
from millstream.syntax.expressions import primary, value


@dataclass(frozen=True, slots=True)
class KeyExpressions:
    """The expressions, their names by AS (() if none has one), and True if they are inside STRUCT<…>."""

    expressions: tuple[tree.Expression, ...]
    names: tuple[str | None, ...] = ()
    structured: bool = False


@dataclass(frozen=True, slots=True)
class _Field:
    expression: tree.Expression
    name: str | None


def keys(c: Cursor) -> KeyExpressions:
    """`a, b`, `(a, b)`, `STRUCT<a, b>` or `STRUCT<a, b> AS name`. Raises SqlSyntaxError if a field needs a name.

    The parentheses of `(a)` and `(a) + 1` belong to the expression.
    """
    if c.at("STRUCT", "<"):
        return _structured(c)
    if not _at_row(c):
        return _keys(c.list_of(_key))
    c.expect("(")
    fields = () if c.at(")") else c.list_of(_key)
    c.expect(")")
    return _keys(fields)


def _key(c: Cursor) -> _Field:
    if c.at("STRUCT", "<"):
        at, fields = c.span, _fields(c)
        if not c.at("AS"):
            raise SqlSyntaxError(
                "STRUCT<…> next to other expressions needs a name",
                at,
                "STRUCT<…> AS name, or all of them in one STRUCT<…>",
            )
        return _Field(_struct(fields, at), _alias(c))
    expression = value(c)
    return _Field(expression, _alias(c))


def _alias(c: Cursor) -> str | None:
    return c.name("a column name") if c.accept("AS") else None


def _keys(fields: tuple[_Field, ...]) -> KeyExpressions:
    """A named struct is one field of the key, so that the key is a record."""
    nested = len(fields) == 1 and fields[0].name is not None and isinstance(fields[0].expression, tree.StructOf)
    return _key_expressions(fields, nested)


def _key_expressions(fields: tuple[_Field, ...], structured: bool) -> KeyExpressions:
    names = tuple(f.name for f in fields)
    return KeyExpressions(tuple(f.expression for f in fields), names if any(names) else (), structured)


# ---------------------------------------------------------------- STRUCT<…>


def _structured(c: Cursor) -> KeyExpressions:
    at, fields = c.span, _fields(c)
    if c.accept("AS"):
        fields = (_Field(_struct(fields, at), c.name("a column name")),)
        if c.accept(","):
            return _key_expressions((*fields, *c.list_of(_key)), False)
    elif c.at(","):
        raise SqlSyntaxError(
            "STRUCT<…> next to other expressions needs a name", at, "STRUCT<…> AS name, or all of them in one STRUCT<…>"
        )
    return _key_expressions(fields, True)


def _fields(c: Cursor) -> tuple[_Field, ...]:
    c.expect("STRUCT", "<")
    fields = c.list_of(_field)
    c.expect(">")
    return fields


def _field(c: Cursor) -> _Field:
    """`a`, `expression AS name`, or `name STRUCT<…>`."""
    if c.token.is_name and c.ahead(1).key == "STRUCT" and c.ahead(2).key == "<":
        name, at = c.name(), c.span
        return _Field(_struct(_fields(c), at), name)
    expression = primary(c)
    return _Field(expression, _alias(c))


def _struct(fields: tuple[_Field, ...], at: Span) -> tree.StructOf:
    return tree.StructOf(tuple((_name(f), f.expression) for f in fields), span=at)


def _name(field: _Field) -> str:
    match field:
        case _Field(_, str(name)) | _Field(tree.ColumnRef(name), _) | _Field(tree.Deref(_, name), _):
            return name
    raise SqlSyntaxError("a field of a STRUCT<…> needs a name", field.expression.span, "STRUCT<expression AS name, …>")


def _at_row(c: Cursor) -> bool:
    """True if the next parentheses enclose no expression, or several."""
    if not c.at("(") or c.ahead(1).key == ")":
        return c.at("(")
    depth, distance = 0, 0
    while True:
        key = c.ahead(distance).key
        depth += (key in ("(", "[")) - (key in (")", "]"))
        if depth == 1 and key == ",":
            return True
        if depth == 0 or key == ";" or c.ahead(distance) is c.ahead(distance + 1):
            return False
        distance += 1
