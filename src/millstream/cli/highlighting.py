"""Syntax highlighting: a lexer for the prompt and for statements that are shown."""

import re
from typing import Any, ClassVar

from prompt_toolkit.styles import Style
from pygments.lexer import RegexLexer, words
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Text, _TokenType

from millstream.model.names import RESERVED
from millstream.syntax.tokens import SOFT

_TYPES = "BOOLEAN INT INTEGER BIGINT DOUBLE DECIMAL STRING VARCHAR BYTES DATE TIME TIMESTAMP ARRAY MAP STRUCT"
TYPES = tuple(_TYPES.split())
KEYWORDS = tuple(sorted((RESERVED | SOFT) - set(TYPES)))


class SqlLexer(RegexLexer):
    """Statements of the language, for pygments."""

    name = "millstream"
    flags = re.IGNORECASE
    tokens: ClassVar[dict[str, list[Any]]] = {
        "root": [
            (r"\s+", Text),
            (r"--[^\n]*", Comment.Single),
            (r"/\*", Comment.Multiline, "comment"),
            (r"'(?:[^']|'')*'?", String.Single),
            (r'`(?:[^`]|``)*`?|"(?:[^"]|"")*"?', Name),
            (r"\$\{\w*\}?", Name.Variable),
            (r"\$\$", Punctuation, "block"),
            (words(TYPES, suffix=r"\b"), Keyword.Type),
            (words(KEYWORDS, suffix=r"\b"), Keyword),
            (r"[a-z_]\w*(?=\s*\()", Name.Function),
            (r"[a-z_][\w@]*", Name),
            (r"\d+(?:\.\d*)?(?:e[+-]?\d+)?", Number),
            (r"[-+*/%=<>!|:]+", Operator),
            (r"[()\[\],.;]", Punctuation),
            (r".", Text),
        ],
        "block": [(r"\$\$", Punctuation, "#pop"), (r"[^$]+|\$", String.Other)],
        "comment": [(r"\*/", Comment.Multiline, "#pop"), (r"[^*]+|\*", Comment.Multiline)],
    }


COLOURS: dict[_TokenType, str] = {
    Keyword: "bold ansiblue",
    Keyword.Type: "ansicyan",
    Name.Function: "ansimagenta",
    Name.Variable: "ansiyellow",
    String: "ansigreen",
    Number: "ansicyan",
    Comment: "italic ansibrightblack",
}

STYLE = Style.from_dict(
    {
        **{"pygments." + str(token).removeprefix("Token.").lower(): look for token, look in COLOURS.items()},
        "prompt": "bold ansigreen",
        "continuation": "ansibrightblack",
        "auto-suggestion": "ansibrightblack",
    }
)
