"""Splits statement text into tokens with their positions, lazily; comments and blanks are left out."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from millstream.model.errors import Span
from millstream.model.names import RESERVED
from millstream.syntax.errors import FOREIGN_CHARACTERS, SqlSyntaxError


class TokenKind(Enum):
    """The kind of a token; `value` is its name in messages."""

    WORD = "a word"
    NAME = "a name"
    STRING = "a string"
    INTEGER = "a whole number"
    DECIMAL = "a decimal number"
    FLOAT = "a number"
    VARIABLE = "a variable"
    BLOCK = "a block between $$ and $$"
    SYMBOL = "a symbol"
    END = "end of statement"


@dataclass(frozen=True, slots=True)
class Token:
    """A token: `key` is what the grammar matches (an upper-cased word, or a symbol; "" for other tokens).

    `value` is its meaning: the unquoted text of a string or quoted name, or the word in upper case.
    `text` is its spelling; `start` and `end` delimit its source text.
    """

    kind: TokenKind
    key: str
    value: str
    text: str
    span: Span
    start: int
    end: int

    @property
    def is_name(self) -> bool:
        """True if it can be an identifier."""
        return self.kind is TokenKind.NAME or (self.kind is TokenKind.WORD and self.value not in RESERVED)

    def __str__(self) -> str:
        if self.kind is TokenKind.END:
            return "end of statement"
        if self.kind is TokenKind.SYMBOL:
            return f"'{self.text}'"
        return self.text if len(self.text) <= 40 else self.text[:37] + "..."


NUMBERS = frozenset({TokenKind.INTEGER, TokenKind.DECIMAL, TokenKind.FLOAT})
CONSTANTS = frozenset({"TRUE", "FALSE", "NULL"})
# Keywords of the grammar that may also be names.
_SOFT = """
    ADD ALTER ANALYZE ARRAY ASSERT CHANGES COLUMN COLUMNS DATE DAY DEFINE EMIT ESCAPE EXPLAIN FINAL FUNCTION
    FUNCTIONS GRACE HEADER HEADERS HOUR ID IF INDEX INDEXES INTEGER INTERVAL KEY MAP MINUTE MONTH PARTITION
    PARTITIONS PAUSE PERIOD PLUGINS PRIMARY REPLACE RESET RESUME SCHEMA SECOND SESSION SET SHOW SINK SOURCE STRING
    STRUCT SUBJECT SYSTEM TABLES TIME TIMEOUT TIMESTAMP TYPE TYPES UNDEFINE VARIABLES VIEW VIEWS YEAR ZONE
"""
SOFT = frozenset(_SOFT.split())

# The order matters: a longer token comes before a shorter one that is its prefix.
_TOKEN = re.compile(
    r"""
      (?P<blank> [\s]+ | --[^\r\n]* | /\*.*?\*/ )
    | (?P<WORD> [A-Za-z_][A-Za-z0-9_@]* )
    | (?P<FLOAT> (?: \d+\.\d* | \.\d+ ) [eE][+-]?\d+ | \d+[eE][+-]\d+ | \d+[eE]\d+(?![A-Za-z0-9_@]) )
    | (?P<DECIMAL> \d+\.\d* | \.\d+ )
    | (?P<digits> \d+[A-Za-z_@][A-Za-z0-9_@]* )
    | (?P<INTEGER> \d+ )
    | (?P<STRING> '(?:[^']|'')*' )
    | (?P<NAME> `(?:[^`]|``)*` | "(?:[^"]|"")*" )
    | (?P<BLOCK> \$\$.*?\$\$ )
    | (?P<VARIABLE> \$\{[A-Za-z_][A-Za-z0-9_@]*\} )
    | (?P<SYMBOL> <> | != | <= | >= | \|\| | := | -> | => | [-+*%=<>()\[\],.;] | /(?!\*) )
    """,
    re.VERBOSE | re.DOTALL | re.ASCII,
)
_UNCLOSED = {
    "'": ("this string has no closing quote", "a quote inside a string is doubled: 'it''s'"),
    '"': ("this name has no closing quote", 'a quote inside a quoted name is doubled: "a""b"'),
    "`": ("this name has no closing backtick", "a backtick inside a quoted name is doubled: `a``b`"),
    "$$": ("this block has no closing $$", "a block is enclosed in $$ and $$"),
    "/*": ("this comment is not closed", "a comment that begins with /* ends with */"),
}


def tokens(text: str, file: str = "") -> Iterator[Token]:
    """The tokens of `text`, the last one of kind END. Raises SqlSyntaxError when it reaches an invalid one."""
    position, line, line_start = 0, 1, 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        span = Span(line, position - line_start + 1, file)
        if match is None:
            raise _unreadable(text, position, span)
        group, lexeme = match.lastgroup or "", match.group()
        if group != "blank":
            yield _token(group, lexeme, span, position)
        position = match.end()
        if "\n" in lexeme:
            line, line_start = line + lexeme.count("\n"), match.start() + lexeme.rindex("\n") + 1
    yield Token(TokenKind.END, "", "", "", Span(line, position - line_start + 1, file), position, position)


def _token(group: str, text: str, span: Span, start: int) -> Token:
    end = start + len(text)
    if group == "WORD":
        word = text.upper()
        return Token(TokenKind.WORD, word, word, text, span, start, end)
    if group == "SYMBOL":
        return Token(TokenKind.SYMBOL, text, text, text, span, start, end)
    if group == "digits":
        return Token(TokenKind.NAME, "", text.upper(), text, span, start, end)
    if group in ("STRING", "NAME"):
        return Token(TokenKind[group], "", unquoted(text), text, span, start, end)
    inner = {"VARIABLE": text[2:-1], "BLOCK": text[2:-2]}
    return Token(TokenKind[group], "", inner.get(group, text), text, span, start, end)


def unquoted(text: str) -> str:
    """The meaning of a quoted token: without its quotes, and with doubled quotes inside undoubled."""
    quote = text[0]
    return text[1:-1].replace(quote * 2, quote)


def _unreadable(text: str, position: int, span: Span) -> SqlSyntaxError:
    for opening, (fact, hint) in _UNCLOSED.items():
        if text.startswith(opening, position):
            return SqlSyntaxError(fact, span, hint)
    if text.startswith("${", position):
        return SqlSyntaxError("this is not a variable", span, "a variable is written ${name}")
    character = text[position]
    hint = FOREIGN_CHARACTERS.get(character, "")
    if character.isalpha():
        hint = "a name with letters other than A to Z is put in backticks"
    return SqlSyntaxError(f"the character {character!r} means nothing here", span, hint)
