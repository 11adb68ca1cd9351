"""Parses statement text to trees: scripts statement by statement, single statements, expressions, types."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

from millstream.model.types import SqlType
from millstream.syntax import tree
from millstream.syntax.cursor import END_OF_STATEMENT, Cursor
from millstream.syntax.errors import SqlSyntaxError, too_deep
from millstream.syntax.expression_tree import NOWHERE, SyntaxNode
from millstream.syntax.expressions import expression
from millstream.syntax.functions import header
from millstream.syntax.statements import columns, statement
from millstream.syntax.tokens import Token, TokenKind, tokens
from millstream.syntax.types import sql_type
from millstream.syntax.variables import substituted

T = TypeVar("T")
# The most levels of a statement's tree: later stages traverse it by recursion.
DEPTH = 200


@dataclass(frozen=True, slots=True)
class Parsed:
    """A statement and its source text, from its first word to its semicolon, with variables replaced."""

    statement: tree.Statement
    text: str


def split(text: str, file: str = "", variables: Callable[[], Mapping[str, str]] = dict) -> Iterator[Parsed]:
    """The statements of `text`, each parsed only when the iterator reaches it.

    `variables` returns those to replace in the next statement, so that an executed DEFINE applies to it. Raises
    SqlSyntaxError at the first statement that the grammar does not accept.
    """
    for piece in _pieces(tokens(text, file)):
        yield _parsed(text, list(substituted(piece, variables())))


def count(text: str) -> int:
    """The number of statements in a text. Raises SqlSyntaxError at an invalid token."""
    return sum(1 for _ in _pieces(tokens(text)))


def parse(text: str, file: str = "") -> list[tree.Statement]:
    """All statements of `text`, each ending with a semicolon. Raises SqlSyntaxError if one is not valid."""
    return [parsed.statement for parsed in split(text, file)]


def parse_one(text: str, file: str = "") -> tree.Statement:
    """The only statement in `text`, with or without its semicolon."""
    return _parse_all(text, _one_statement, file)


def parse_expression(text: str) -> tree.Expression:
    """The expression in `text`, which is nothing else. Raises SqlSyntaxError."""
    return _parse_all(text, expression)


def parse_type(text: str) -> SqlType:
    """The type in `text`; an unknown name becomes a CustomType."""
    return _parse_all(text, sql_type)


def parse_columns(text: str) -> tuple[tree.ColumnDef, ...]:
    """Columns as between the parentheses of CREATE: `ID STRING KEY, V INTEGER`; () for blank text."""
    return _parse_all(text, lambda c: () if c.token.kind is TokenKind.END else columns(c))


def parse_function_header(text: str) -> tree.FunctionHeader:
    """The signature of a function: `(a INT, b STRING) -> STRING`."""
    return _parse_all(text, header)


def _pieces(all_tokens: Iterator[Token]) -> Iterator[list[Token]]:
    """The tokens of each statement, up to its semicolon or the end of the text; additional semicolons are left out."""
    piece: list[Token] = []
    for token in all_tokens:
        piece.append(token)
        if token.key == ";" or token.kind is TokenKind.END:
            if len(piece) > 1:
                yield piece
            piece = []


def _parsed(text: str, piece: list[Token]) -> Parsed:
    cursor = Cursor(piece)
    parsed_statement = _guarded(statement, cursor)
    if cursor.token.kind is TokenKind.END:
        raise SqlSyntaxError("the statement does not end", cursor.span, "a statement ends with ';'")
    if not cursor.at(";"):
        cursor.fail(END_OF_STATEMENT)
    _check_depth(parsed_statement, cursor.index)
    return Parsed(parsed_statement, _source(text, piece))


def _source(text: str, piece: list[Token]) -> str:
    parts, end = [], piece[0].start
    for token in piece:
        parts += [text[end : token.start], token.text]
        end = token.end
    return "".join(parts)


def _one_statement(c: Cursor) -> tree.Statement:
    parsed_statement = statement(c)
    c.accept(";")
    _check_depth(parsed_statement, c.index)
    return parsed_statement


def _parse_all(text: str, read: Callable[[Cursor], T], file: str = "") -> T:
    cursor = Cursor(list(tokens(text, file)))
    result = _guarded(read, cursor)
    if cursor.token.kind is not TokenKind.END:
        cursor.fail(END_OF_STATEMENT)
    return result


def _guarded(read: Callable[[Cursor], T], cursor: Cursor) -> T:
    """The result of `read`; text that is nested too deeply for the stack is a syntax error, not a crash."""
    begin = cursor.span
    try:
        return read(cursor)
    except RecursionError:
        raise too_deep("the statement nests too deeply", begin) from None


def _check_depth(root: SyntaxNode, tokens_read: int) -> None:
    """Raises SqlSyntaxError for a tree of more than DEPTH levels: a chain of operators is as deep as it is long."""
    if tokens_read <= DEPTH:
        return
    level: list[SyntaxNode] = [root]
    for _ in range(DEPTH):
        level = [child for node in level for child in node.children()]
        if not level:
            return
    place = next((node.span for node in level if node.span != NOWHERE), root.span)
    raise too_deep(f"the statement has more than {DEPTH} levels of operators inside each other", place)
