"""Splits input into statements and commands: where each begins, if the last is complete, and how each is executed."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from millstream.cli.commands import find
from millstream.syntax.errors import SqlSyntaxError
from millstream.syntax.tokens import Token, TokenKind, tokens


@dataclass(frozen=True, slots=True)
class ScriptStatement:
    """One statement with its semicolon, the line it begins in, and its tokens."""

    text: str
    line: int
    words: tuple[Token, ...]

    def starts(self, *keys: str) -> bool:
        """True if its first words are these."""
        return tuple(word.key for word in self.words[: len(keys)]) == keys

    @property
    def is_query(self) -> bool:
        """True if its answer is rows."""
        return self.starts("SELECT") or self.starts("WITH")

    @property
    def is_push(self) -> bool:
        """True if its answer continues until it is stopped."""
        keys = [word.key for word in self.words]
        return self.is_query and "EMIT" in keys

    @property
    def is_print(self) -> bool:
        """True if its answer is a topic's records."""
        return self.starts("PRINT")

    @property
    def has_limit(self) -> bool:
        """True if it has a LIMIT."""
        return any(word.key == "LIMIT" for word in self.words)

    def limited(self, rows: int) -> str:
        """The text with a LIMIT of at most `rows` at its end."""
        limit = next((i for i, word in enumerate(self.words) if word.key == "LIMIT"), None)
        if limit is None:
            return f"{self.text.removesuffix(';')} LIMIT {rows};"
        start, number = self.words[limit].start - self.words[0].start, self.words[limit + 1 :][:1]
        least = min(rows, int(number[0].text)) if number and number[0].text.isdecimal() else None
        return self.text if least is None else f"{self.text[:start]}LIMIT {least};"


# A command: up to the end of its line, a semicolon or a comment. Its words, such as a URL, need not be tokens.
_COMMAND = re.compile(r"(?:'(?:[^'\n]|'')*'|(?!\s(?:--|/\*))[^;\n])*;?")


def split(text: str) -> list[ScriptStatement]:
    """The statements of a text; a missing semicolon is added to the last one. A command ends with its line.

    Text without valid tokens is sent to the server unchanged, because the server has the better error message.
    """
    statements, lines = list[ScriptStatement](), 0
    while text:
        first, end = _until_command(text)
        statements += (replace(statement, line=statement.line + lines) for statement in first)
        lines, text = lines + text.count("\n", 0, end), text[end:]
    return [statement for statement in statements if statement.text != ";"]


def _until_command(text: str) -> tuple[list[ScriptStatement], int]:
    """The statements up to the first command, this included, and where it ends; all of them if there is none."""
    statements, piece = list[ScriptStatement](), list[Token]()
    try:
        for token in takewhile(lambda token: token.kind is not TokenKind.END, tokens(text)):
            if not piece and (end := _end_of_command(text, token.start)):
                return [*statements, ScriptStatement(text[token.start : end], token.span.line, ())], end
            piece.append(token)
            if token.key == ";":
                statements.append(_statement(text, piece, token.end))
                piece = []
    except SqlSyntaxError as error:
        return [*statements, _last_statement(text, piece, error)], len(text)
    return statements + ([_last_statement(text, piece, None)] if piece else []), len(text)


def _end_of_command(text: str, start: int) -> int | None:
    """Where the command of the shell that begins at `start` ends; None if none does."""
    match = _COMMAND.match(text, start)
    return match.end() if match and find(match[0])[0] is not None else None


def is_complete(text: str) -> bool:
    """True if a text ends with a semicolon that is not in a string, name or comment."""
    read, error = _read(text)
    if error is not None:
        return text.rstrip().endswith(";") and "no closing" not in error.fact and "not closed" not in error.fact
    return bool(read) and read[-1].key == ";"


def _read(text: str) -> tuple[list[Token], SqlSyntaxError | None]:
    read: list[Token] = []
    try:
        for token in tokens(text):
            if token.kind is not TokenKind.END:
                read.append(token)
    except SqlSyntaxError as error:
        return read, error
    return read, None


def _statement(text: str, piece: Sequence[Token], end: int) -> ScriptStatement:
    return ScriptStatement(text[piece[0].start : end], piece[0].span.line, tuple(piece))


def _last_statement(text: str, piece: Sequence[Token], error: SqlSyntaxError | None) -> ScriptStatement:
    """The last statement: without semicolon, or with an invalid token."""
    if error is None:
        statement = _statement(text, piece, piece[-1].end)
        return ScriptStatement(statement.text + ";", statement.line, statement.words)
    start = piece[0].start if piece else _offset(text, error)
    return ScriptStatement(text[start:].rstrip(), text.count("\n", 0, start) + 1, tuple(piece))


def _offset(text: str, error: SqlSyntaxError) -> int:
    assert error.at is not None
    before = text.splitlines(keepends=True)[: error.at.line - 1]
    return sum(map(len, before)) + error.at.column - 1
