"""COPY (query) TO STDOUT: rows as lines of text or CSV, or in Postgres's binary form.

COPY (SELECT id, name FROM orders) TO STDOUT WITH (FORMAT csv, HEADER)   →   id,name\\n1,"a, b"\\n
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from millstream.pg.failures import NOT_SUPPORTED, SYNTAX, PgError
from millstream.pg.messages import sized
from millstream.pg.results import StatementAnswer
from millstream.pg.script import ClientStatement, Lexeme, statements

BINARY_HEAD = b"PGCOPY\n\xff\r\n\0" + bytes(8)
BINARY_END = b"\xff\xff"
_ESCAPES = {b"\\": b"\\\\", b"\n": b"\\n", b"\r": b"\\r", b"\t": b"\\t", b"\b": b"\\b", b"\f": b"\\f", b"\v": b"\\v"}
_ESCAPED = re.compile(rb"[\\\n\r\t\b\f\v]")
TO_STDOUT = ("TO", "STDOUT")
TRUE = ("true", "on", "1")
BOOLEANS = (*TRUE, "false", "off", "0")


@dataclass(frozen=True, slots=True)
class CopyFormat:
    """The format in which COPY writes a row: `name` is text, csv or binary."""

    name: str = "text"
    delimiter: bytes = b"\t"
    null: bytes = b"\\N"
    header: bool = False

    def head(self, names: Sequence[str]) -> bytes:
        """The bytes before the first row: a CSV header, or the binary signature."""
        if self.name == "binary":
            return BINARY_HEAD
        return self.line([name.encode() for name in names]) if self.header else b""

    def line(self, values: Sequence[bytes | None]) -> bytes:
        """The bytes of a row from its encoded values (None = NULL)."""
        if self.name == "binary":
            return len(values).to_bytes(2) + b"".join(map(sized, values))
        write = self._csv if self.name == "csv" else self._text
        return self.delimiter.join(self.null if value is None else write(value) for value in values) + b"\n"

    @property
    def end(self) -> bytes:
        """The bytes after the last row."""
        return BINARY_END if self.name == "binary" else b""

    def _text(self, value: bytes) -> bytes:
        escaped = _ESCAPED.sub(lambda match: _ESCAPES[match[0]], value)
        plain = self.delimiter == b"\t"
        return escaped if plain else escaped.replace(self.delimiter, b"\\" + self.delimiter)

    def _csv(self, value: bytes) -> bytes:
        special = (self.delimiter, b'"', b"\n", b"\r")
        if value != self.null and not any(mark in value for mark in special):
            return value
        return b'"' + value.replace(b'"', b'""') + b'"'


@dataclass(frozen=True, slots=True)
class CopyQuery:
    """A COPY … TO STDOUT: the query, and the format of its rows."""

    statement: ClientStatement
    format: CopyFormat = field(default_factory=CopyFormat)

    def answer(self, rows: StatementAnswer) -> StatementAnswer:
        """The answer to the COPY statement, made from the answer to its query."""
        return replace(rows, tag="COPY ", copied=self.format)


def copy_query(statement: ClientStatement) -> CopyQuery | None:
    """The query and format of a COPY; None for another statement. Raises PgError 42601, 0A000."""
    words = statement.words
    if words[0].word != "COPY":
        return None
    at = _end_of_query(words)
    if tuple(lexeme.word for lexeme in words[at : at + 2]) != TO_STDOUT:
        raise PgError(NOT_SUPPORTED, "only COPY (query) TO STDOUT is supported", "INSERT INTO … VALUES adds a row")
    begin, end = words[1], words[at].at
    text = "".join(lexeme.text for lexeme in statement.lexemes if begin.at <= lexeme.at < end).strip()
    query = text[1:-1] if text.startswith("(") else _selection(words[1:at])
    inner = statements(query)
    if len(inner) != 1:
        raise PgError(SYNTAX, "COPY copies one query")
    return CopyQuery(_moved(inner[0], begin.at + 1), _format(words[at + 2 :]))


def _moved(statement: ClientStatement, by: int) -> ClientStatement:
    """A statement whose lexemes have their places in the whole text: `by` characters are before it."""
    lexemes = tuple(replace(lexeme, at=lexeme.at + by) for lexeme in statement.lexemes)
    return ClientStatement(lexemes, statement.text, statement.at + by)


def _end_of_query(words: Sequence[Lexeme]) -> int:
    depth = 0
    for index, lexeme in enumerate(words):
        depth += {"(": 1, ")": -1}.get(lexeme.word, 0)
        if depth == 0 and lexeme.word in ("TO", "FROM"):
            return index
    return len(words)


def _selection(words: Sequence[Lexeme]) -> str:
    """The query of `COPY name (columns) TO …`."""
    at = next((i for i, lexeme in enumerate(words) if lexeme.word == "("), len(words))
    name = "".join(lexeme.text for lexeme in words[:at])
    columns = "".join(lexeme.text for lexeme in words[at + 1 : -1])
    return f"SELECT {columns or '*'} FROM {name}"


def _format(words: Sequence[Lexeme]) -> CopyFormat:
    """The options, in parentheses or in the older form without. Raises PgError 42601."""
    options = [lexeme for lexeme in words if lexeme.word not in ("WITH", "(", ")", ",", "AS")]
    read: dict[str, str] = {}
    index = 0
    while index < len(options):
        name = options[index].word.lower()
        follows = options[index + 1] if index + 1 < len(options) else None
        if name in ("csv", "binary"):
            read["format"] = name
        elif name == "header":
            argument = follows.text.strip("'").lower() if follows else ""
            has_argument = argument in BOOLEANS
            read["header"] = argument if has_argument else "true"
            index += has_argument
        elif name in ("format", "delimiter", "null", "encoding") and follows is not None:
            read[name] = _option(follows)
            index += 1
        else:
            raise PgError(SYNTAX, f"COPY has no option {options[index].text}", "FORMAT, HEADER, DELIMITER, NULL")
        index += 1
    return _copy_format(read)


def _option(lexeme: Lexeme) -> str:
    if lexeme.kind == "escape":
        return lexeme.text[2:-1].replace("\\t", "\t")
    return lexeme.text[1:-1].replace("''", "'") if lexeme.kind == "string" else lexeme.text


def _copy_format(options: dict[str, str]) -> CopyFormat:
    name = options.get("format", "text").lower()
    if name not in ("text", "csv", "binary"):
        raise PgError(SYNTAX, f"there is no format {name}", "text, csv, binary")
    delimiter = options.get("delimiter", "," if name == "csv" else "\t").encode()
    if len(delimiter) != 1:
        raise PgError(SYNTAX, "a delimiter is one character of ASCII")
    null = options.get("null", "" if name == "csv" else "\\N").encode()
    return CopyFormat(name, delimiter, null, options.get("header", "false") in TRUE)
