"""A position in a statement's tokens: look ahead, take expected tokens, and report what was expected instead."""

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn, TypeVar

from millstream.model.errors import Span
from millstream.model.names import RESERVED, quoted
from millstream.syntax.dialects import hint_at, hint_before
from millstream.syntax.errors import (
    BEGINNINGS,
    MISPLACED,
    SUBQUERY,
    SqlSyntaxError,
    alternatives,
    misspelled_keyword,
    too_deep,
)
from millstream.syntax.query_tree import SelectQuery
from millstream.syntax.tokens import Token, TokenKind

T = TypeVar("T")

END_OF_STATEMENT = "the end of the statement"
# Reserved words that begin or end a clause: in the wrong place they are not taken for an unquoted column name.
_CLAUSES = "SELECT FROM WHERE GROUP HAVING WINDOW LIMIT ON WITH VALUES AS BY WHEN THEN ELSE END AND OR"
_CLAUSE = frozenset(_CLAUSES.split())
# After these words the name of a source comes, which is not a misspelled keyword.
_BEFORE_SOURCES = frozenset({"FROM", "JOIN", "INTO", "STREAM", "TABLE"})
_TEXTS = frozenset({TokenKind.WORD, TokenKind.NAME, TokenKind.INTEGER, TokenKind.DECIMAL, TokenKind.FLOAT})
# The deepest nesting of parentheses, calls and constructors, and of types.
NESTING = 64


@dataclass(frozen=True, slots=True)
class WithQuery:
    """A query named by WITH. `copies` is the number of query copies that a reference to it adds, itself included."""

    query: SelectQuery
    copies: int


class Cursor:
    """The tokens of one statement and the position in them; it records what was expected at the current token."""

    __slots__ = ("_index", "_nesting", "_tokens", "_tried", "with_queries")

    def __init__(self, tokens: Sequence[Token]) -> None:
        self._tokens, self._index, self._nesting = tokens, 0, 0
        self._tried: list[str] = []
        # The queries that WITH has named and that are in scope at the current position, by name.
        self.with_queries: Mapping[str, WithQuery] = {}

    @property
    def token(self) -> Token:
        """The token at the current position; the last one (of kind END) at the end."""
        return self._tokens[self._index]

    @property
    def span(self) -> Span:
        """The position of the current token in the text."""
        return self._tokens[self._index].span

    @property
    def index(self) -> int:
        """The number of tokens that were taken."""
        return self._index

    def back(self, index: int) -> None:
        """Return to an earlier position: an `index` that this cursor has had."""
        self._index = index
        self._tried.clear()

    def ahead(self, distance: int) -> Token:
        """The token `distance` after the current one; the last token (of kind END) beyond the end."""
        at = self._index + distance
        return self._tokens[at] if at < len(self._tokens) else self._tokens[-1]

    def take(self) -> Token:
        """Return the current token, and move to the next one."""
        token = self._tokens[self._index]
        if token.kind is not TokenKind.END:
            self._index += 1
        self._tried.clear()
        return token

    def at(self, *keys: str) -> bool:
        """True if these words or symbols come next."""
        if self.ahead(0).key != keys[0]:
            return False
        return len(keys) == 1 or all(self.ahead(i).key == key for i, key in enumerate(keys))

    def at_any(self, keys: Container[str]) -> bool:
        """True if one of `keys` comes next."""
        return self._tokens[self._index].key in keys

    def accept(self, *keys: str) -> bool:
        """Take these words or symbols and return True if all of them come next; else record that they were possible."""
        if not self.at(*keys):
            self._tried.append(_shown(keys))
            return False
        self._index += len(keys)
        self._tried.clear()
        return True

    def possible(self, *keys: str) -> bool:
        """True if these words or symbols come next; otherwise record that they were possible."""
        if self.at(*keys):
            return True
        self._tried.append(_shown(keys))
        return False

    def expect(self, *keys: str) -> Token:
        """Take these words or symbols; returns the first token. Raises SqlSyntaxError if another one comes."""
        first = self.token
        for key in keys:
            if self.token.key != key:
                self.fail(_shown((key,)))
            self.take()
        return first

    def expect_kind(self, kind: TokenKind, description: str = "") -> Token:
        """Take a token of that kind; `description` names it in the error."""
        if self.token.kind is not kind:
            self.fail(description or kind.value)
        return self.take()

    def string(self, description: str = "") -> str:
        """Take a string literal and return its text. Raises SqlSyntaxError with `description` if none comes."""
        return self.expect_kind(TokenKind.STRING, description).value

    def name(self, description: str = "a name") -> str:
        """Take an identifier; its name is upper-cased unless quoted. Raises SqlSyntaxError with `description`."""
        token = self.token
        if not token.is_name:
            self.fail(description)
        return self.take().value

    def list_of(self, item: Callable[["Cursor"], T]) -> tuple[T, ...]:
        """One or more items separated by commas, each parsed by `item`."""
        items = [item(self)]
        while self.accept(","):
            items.append(item(self))
        return tuple(items)

    def nested(self, item: Callable[["Cursor"], T]) -> T:
        """An item, one nesting level deeper. Raises SqlSyntaxError beyond NESTING levels."""
        self._nesting += 1
        if self._nesting > NESTING:
            raise too_deep(f"this nests more than {NESTING} levels deep", self.span)
        read = item(self)
        self._nesting -= 1
        return read

    def in_parentheses(self, item: Callable[["Cursor"], T]) -> tuple[T, ...]:
        """One or more items separated by commas in parentheses, each parsed by `item`. Raises SqlSyntaxError."""
        self.expect("(")
        items = self.list_of(item)
        self.expect(")")
        return items

    def fail(self, *expected: str) -> NoReturn:
        """Raise SqlSyntaxError with the current token and what was expected instead."""
        token, alternatives_tried = self.token, [*self._tried, *expected]
        if token.kind is TokenKind.VARIABLE:
            hint = f"DEFINE {token.value} = '…'; makes it known"
            raise SqlSyntaxError(f"there is no variable {token.value}", token.span, hint)
        list_of_expected = alternatives(alternatives_tried) or alternatives(expected)
        fact = f"unexpected {token}" + (f"; expected {list_of_expected}" if list_of_expected else "")
        raise SqlSyntaxError(fact, token.span, self._hint(alternatives_tried))

    def _hint(self, expected: Sequence[str]) -> str:
        """The hint of a syntax error at the current token; "" if nothing is known about it. `expected` was possible
        instead.

        Words of other dialects come first, then misspelled keywords, punctuation, and reserved words as names.
        """
        token, before = self.token, self._tokens[max(self._index - 1, 0)]
        if self.at("(", "SELECT"):
            return SUBQUERY
        words, source = [t.key for t in self._tokens], "STREAM" in expected
        foreign = hint_at(words, self._index, source)
        if foreign or (token.key in MISPLACED and self._index):
            return foreign or MISPLACED[token.key]
        names_source = self._index > 1 and self._tokens[self._index - 2].key in _BEFORE_SOURCES
        for word in (token, before):
            keyword = misspelled_keyword(word.value, expected) if word.kind is TokenKind.WORD else ""
            if word is before and (foreign := hint_before(words, self._index, source)):
                return foreign
            if keyword and not (word is before and (before.value in RESERVED or names_source)):
                return f"did you mean {keyword}?" if word is token else f"did you mean {keyword} instead of {before}?"
        written = _punctuation(before, token, expected) if self._index else ""
        return written or self._hyphen(before) or _unquoted(token, expected)

    def _hyphen(self, before: Token) -> str:
        """The hint for a name with a hyphen, which is read as a minus."""
        token, after = self.token, self.ahead(1)
        together = before.end == token.start and token.end == after.start
        if token.key != "-" or not (before.is_name and after.kind is TokenKind.WORD and together):
            return ""
        whole = quoted(f"{before.text}-{after.text}")
        return f"a name with other characters than letters, digits and _ is quoted: {whole}"


def _punctuation(before: Token, token: Token, expected: Sequence[str]) -> str:
    """The hint for a comma, a semicolon, quotes or a part of an operator that is missing or superfluous."""
    ends = END_OF_STATEMENT in expected
    if before.key == "," and token.key in ("FROM", ")", ";"):
        return "no comma comes after the last one of a list"
    if token.key == "," and "JOIN" in expected:
        return "sources are joined: FROM a JOIN b ON a.id = b.id"
    if token.key == "=>" or (before.key, token.key) == ("=", "<"):
        return f"did you mean {'>=' if token.key == '=>' else '<='}?"
    if before.key == "PARTITION" and ends:
        return "did you mean PARTITION BY?"
    if token.key == "SELECT" and before.key == "(":
        return SUBQUERY
    if before.key == "AS" and token.kind is TokenKind.STRING:
        return "a name is written without quotes, or in backticks"
    if before.key == "DROP" and token.is_name:
        return f"say what it is: DROP STREAM {token.text}, or DROP TABLE"
    if token.key == ";" and "FROM" in expected:
        return "a query reads a stream or table: SELECT … FROM a"
    if token.key == "SELECT" and "AS" in expected:
        return "AS comes before SELECT"
    if token.key in BEGINNINGS and ends:
        return "a statement ends with ';', also before the next one"
    if token.kind in _TEXTS and any("a string" in e for e in expected):
        return "text is put in single quotes"
    return ""


def _unquoted(token: Token, expected: Sequence[str]) -> str:
    """The hint for a reserved word where a name is expected."""
    expects_name = any("name" in w for w in expected)
    expects_expression = "an expression" in expected and token.key not in _CLAUSE
    if token.key not in RESERVED or not (expects_name or expects_expression):
        return ""
    return f"{token.key} is a reserved word; as a name it is written {quoted(token.key)}"


def _shown(keys: Sequence[str]) -> str:
    return " ".join(key if key.isalpha() else f"'{key}'" for key in keys)
