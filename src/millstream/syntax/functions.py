"""Parses CREATE FUNCTION: the declaration in SQL, and the block with text in another language."""

from millstream.model.errors import Span
from millstream.syntax import tree
from millstream.syntax.cursor import Cursor
from millstream.syntax.tokens import TokenKind
from millstream.syntax.types import sql_type

_BLOCK = "the function's text between $$ and $$"


def create_function(c: Cursor, or_replace: bool, at: Span) -> tree.CreateFunction:
    """[AGGREGATE] FUNCTION … AS $$ … $$. Raises SqlSyntaxError."""
    aggregate = c.accept("AGGREGATE")
    c.expect("FUNCTION")
    if_not_exists = c.accept("IF", "NOT", "EXISTS")
    name = c.name("the name of the function")
    declared = parameters(c)
    c.expect("RETURNS")
    returns = sql_type(c)
    strict = _strict(c)
    c.expect("LANGUAGE", "PYTHON")
    strict = _strict(c) or strict
    c.expect("AS")
    block = c.expect_kind(TokenKind.BLOCK, _BLOCK)
    body = tree.Block(block.value, span=block.span)
    return tree.CreateFunction(name, declared, returns, body, aggregate, strict, or_replace, if_not_exists, span=at)


def parameters(c: Cursor) -> tuple[tree.FunctionParameter, ...]:
    """The parameters of a function: `(name type, …)`, or `()`. Raises SqlSyntaxError."""
    if c.accept("(", ")"):
        return ()
    return c.in_parentheses(_parameter)


def _parameter(c: Cursor) -> tree.FunctionParameter:
    at = c.span
    return tree.FunctionParameter(c.name("the name of a parameter"), sql_type(c), span=at)


def _strict(c: Cursor) -> bool:
    """True if nulls are not passed to the function; the clause may come before or after LANGUAGE."""
    if c.accept("RETURNS", "NULL", "ON", "NULL", "INPUT"):
        return True
    c.accept("CALLED", "ON", "NULL", "INPUT")
    return False


def header(c: Cursor) -> tree.FunctionHeader:
    """`(name type, …) -> type`, as in the decorators of a Python file."""
    declared = parameters(c)
    c.expect("->")
    return tree.FunctionHeader(declared, sql_type(c))
