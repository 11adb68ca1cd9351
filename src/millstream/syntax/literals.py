"""Parses constants: numbers, whose type depends on their spelling, strings, booleans, NULL, and durations."""

import decimal
import math

from millstream.model import types
from millstream.model.errors import Span
from millstream.model.units import MILLISECONDS, UNITS
from millstream.syntax import tree
from millstream.syntax.cursor import Cursor
from millstream.syntax.errors import SqlSyntaxError
from millstream.syntax.tokens import NUMBERS, TokenKind

_WORDS = {"NULL": (None, None), "TRUE": (True, types.BOOLEAN), "FALSE": (False, types.BOOLEAN)}
# The greatest BIGINT.
MOST = 2**63 - 1
LITERALS = "NULL, TRUE, FALSE, a number or a string"


def at_number(c: Cursor) -> bool:
    """True if a number comes next; a minus before it is part of it."""
    if c.token.kind in NUMBERS:
        return True
    return c.at("-") and c.ahead(1).kind in NUMBERS and not c.ahead(1).text.startswith("-")


def number(c: Cursor) -> tree.Literal:
    """The number that comes next (`at_number`), with the type by its spelling."""
    at = c.span
    sign = "-" if c.accept("-") else ""
    token = c.take()
    if token.kind is TokenKind.INTEGER:
        return _integer(sign + token.text, at)
    return _double(sign + token.text, at) if token.kind is TokenKind.FLOAT else _decimal(sign + token.text, at)


def literal(c: Cursor) -> tree.Literal:
    """A constant, as in WITH (name = constant)."""
    constant = optional_literal(c)
    return constant if constant is not None else c.fail(LITERALS)


def optional_literal(c: Cursor) -> tree.Literal | None:
    """The constant that comes next, if any."""
    if at_number(c):
        return number(c)
    token = c.token
    if token.kind is TokenKind.STRING:
        return tree.Literal(c.take().value, types.STRING, span=token.span)
    if token.key in _WORDS:
        c.take()
        value, sql_type = _WORDS[token.key]
        return tree.Literal(value, sql_type, span=token.span)
    return None


def integer_value(text: str) -> int:
    """The value of an integer's text; of one with more than 40 digits, some value that is too large for any use.

    Python itself refuses to read more than 4,300 digits.
    """
    value = int((text.lstrip("-0") or "0")[:40])
    return -value if text.startswith("-") else value


def whole_number(c: Cursor, description: str, most: int = 2**31 - 1) -> int:
    """Take an integer from 0 to `most`, as after LIMIT. Raises SqlSyntaxError if none comes."""
    token = c.expect_kind(TokenKind.INTEGER, description)
    value = integer_value(token.text)
    if value > most:
        raise SqlSyntaxError(f"{token} is too large here", token.span, f"the most is {most}")
    return value


def duration(c: Cursor) -> tree.Duration:
    """Take a duration such as `10 SECONDS`. Raises SqlSyntaxError."""
    at = c.span
    count = whole_number(c, "a duration such as 10 SECONDS", MOST)
    unit = UNITS.get(c.token.key)
    if unit is None:
        c.fail(*MILLISECONDS)
    c.take()
    return tree.Duration(count, unit, span=at)


def _integer(text: str, at: Span) -> tree.Literal:
    value = integer_value(text)
    if -(2**31) <= value < 2**31:
        return tree.Literal(value, types.INTEGER, span=at)
    if -(2**63) <= value < 2**63:
        return tree.Literal(value, types.BIGINT, span=at)
    raise SqlSyntaxError(f"{text} is too large for BIGINT", at, f"write {text}.0 for a DECIMAL")


def _decimal(text: str, at: Span) -> tree.Literal:
    value = decimal.Decimal(text)
    value = value if value else value.copy_abs()
    _, digits, exponent = value.as_tuple()
    scale = -int(exponent)
    return tree.Literal(value, types.constant_decimal(len(digits), scale), span=at)


def _double(text: str, at: Span) -> tree.Literal:
    value = float(text)
    if math.isinf(value):
        raise SqlSyntaxError(f"{text} is too large for DOUBLE", at)
    return tree.Literal(value, types.DOUBLE, span=at)
