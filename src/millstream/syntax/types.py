"""Parses types: `INT`, `DECIMAL(4, 2)`, `ARRAY<STRUCT<a INT>>`, names of custom types."""

from collections.abc import Callable

from millstream.model.types import ALIASES, Array, CustomType, Decimal, Field, Map, SqlType, Struct
from millstream.syntax.cursor import NESTING, Cursor
from millstream.syntax.errors import SqlSyntaxError, too_deep
from millstream.syntax.literals import integer_value
from millstream.syntax.tokens import TokenKind


def sql_type(c: Cursor, inner: Callable[[Cursor], SqlType] | None = None) -> SqlType:
    """The type that comes next; INT and VARCHAR become INTEGER and STRING, an unknown name becomes a CustomType.

    `inner` parses the types inside an ARRAY, MAP or STRUCT; by default this function does. Raises SqlSyntaxError if no
    type comes next.
    """
    read_type = c.nested(lambda c: _simple(c, inner or sql_type))
    levels, at = 0, c.span
    while c.accept("ARRAY"):
        levels, read_type = levels + 1, Array(read_type)
        if levels > NESTING:
            raise too_deep(f"this nests more than {NESTING} levels deep", at)
    return read_type


def _simple(c: Cursor, inner: Callable[[Cursor], SqlType]) -> SqlType:
    if c.at("DECIMAL"):
        return _decimal(c)
    for word, read in _NESTED.items():
        if c.at(word, "<") or (word == "STRUCT" and c.at(word, "<>")):
            c.take()
            return read(c, inner)
    name = c.name("a type")
    if c.at("("):
        c.in_parentheses(_ignored_parameter)
    return ALIASES.get(name) or CustomType(name)


def _ignored_parameter(c: Cursor) -> None:
    """Skips the length in VARCHAR(20), which other dialects have; it has no meaning here."""
    if not c.accept("STRING"):
        c.expect_kind(TokenKind.INTEGER)


def _decimal(c: Cursor) -> SqlType:
    at = c.take().span
    if not c.accept("("):
        raise SqlSyntaxError("DECIMAL needs a precision and a scale", at, "write DECIMAL(10, 2)")
    precision = integer_value(c.expect_kind(TokenKind.INTEGER, "a precision").text)
    c.expect(",")
    scale = integer_value(c.expect_kind(TokenKind.INTEGER, "a scale").text)
    c.expect(")")
    if precision < 1:
        raise SqlSyntaxError(f"a DECIMAL has at least one digit, not {precision}", at)
    if scale > precision:
        hint = "the scale counts digits behind the point, the precision all digits"
        raise SqlSyntaxError(f"the scale of DECIMAL({precision}, {scale}) exceeds its precision", at, hint)
    return Decimal(precision, scale)


def _array(c: Cursor, inner: Callable[[Cursor], SqlType]) -> SqlType:
    c.expect("<")
    element = inner(c)
    c.expect(">")
    return Array(element)


def _map(c: Cursor, inner: Callable[[Cursor], SqlType]) -> SqlType:
    c.expect("<")
    key = inner(c)
    c.expect(",")
    value = inner(c)
    c.expect(">")
    return Map(key, value)


def _struct(c: Cursor, inner: Callable[[Cursor], SqlType]) -> SqlType:
    if c.accept("<>"):
        return Struct(())
    c.expect("<")
    fields = () if c.at(">") else c.list_of(lambda c: Field(c.name("a field name"), inner(c)))
    c.expect(">")
    return Struct(fields)


_NESTED = {"ARRAY": _array, "MAP": _map, "STRUCT": _struct}
