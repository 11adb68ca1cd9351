"""From a client's text to statements, and from Postgres's spelling of names and parameters to the engine's.

SELECT "id" FROM public.orders WHERE region = $1  →  SELECT `ID` FROM orders WHERE region = 'north'

Postgres folds names to lower case, the engine to upper case. So a plain lower-case name in double quotes is the name
that no quotes would give, and a plain upper-case name of the engine is shown in lower case (docs/postgres.md).
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import dropwhile, pairwise

from millstream.model.names import PLAIN, quoted
from millstream.pg.failures import SYNTAX, PgError

_LEXEME = re.compile(
    r"""
      (?P<blank> \s+ | --[^\r\n]* | /\*.*?\*/ )
    | (?P<escape> [eE]'(?:[^'\\]|''|\\.)*' )
    | (?P<string> '(?:[^']|'')*' )
    | (?P<quoted> "(?:[^"]|"")*" )
    | (?P<tick> `(?:[^`]|``)*` )
    | (?P<parameter> \$\d+ )
    | (?P<block> \$\$.*?\$\$ )
    | (?P<word> [A-Za-z_\u0080-\uffff][\w@$]* )
    | (?P<number> \d+(?:\.\d*)?(?:[eE][+-]?\d+)? )
    | (?P<cast> :: )
    | (?P<symbol> . )
    """,
    re.VERBOSE | re.DOTALL,
)
LOWER = re.compile(r"[a-z_][a-z0-9_@]*\Z")
# The most parameters of a statement: the protocol counts them in two bytes.
MOST_PARAMETERS = 65_535
SCHEMA, DATABASE = "public", "millstream"


@dataclass(frozen=True, slots=True)
class Lexeme:
    """A token of a text: `kind` is the name of its group in the pattern, `at` the 0-based place of its beginning."""

    kind: str
    text: str
    at: int

    @property
    def word(self) -> str:
        """A word in upper case; a symbol as it is; "" for anything else."""
        return self.text.upper() if self.kind == "word" else self.text if self.kind in ("symbol", "cast") else ""

    @property
    def number(self) -> int:
        """The number of a parameter, 1 for $1; only for a lexeme of that kind."""
        return int(self.text[1:])


@dataclass(frozen=True, slots=True)
class ClientStatement:
    """A statement of a client's text, without its semicolon; `at` is where it begins in that text."""

    lexemes: tuple[Lexeme, ...]
    text: str
    at: int

    @property
    def words(self) -> list[Lexeme]:
        """Its lexemes without blanks and comments."""
        return [lexeme for lexeme in self.lexemes if lexeme.kind != "blank"]

    @property
    def parameters(self) -> int:
        """The number of its parameters: the highest one in it. Raises PgError 42P02 for $0 or one above 65535."""
        numbers = [lexeme.number for lexeme in self.lexemes if lexeme.kind == "parameter" and len(lexeme.text) < 8]
        bad = [lexeme for lexeme in self.lexemes if lexeme.kind == "parameter" and len(lexeme.text) >= 8]
        if bad or any(not 1 <= number <= MOST_PARAMETERS for number in numbers):
            raise PgError("42P02", "there is no such parameter", f"they are $1 to ${MOST_PARAMETERS}")
        return max(numbers, default=0)

    def first_words(self, count: int = 2) -> tuple[str, ...]:
        """Its first words in upper case."""
        return tuple(lexeme.word for lexeme in self.words[:count])


def statements(text: str) -> list[ClientStatement]:
    """The statements of a text; those without a word are left out. Raises PgError 42601: something is not closed."""
    parts: list[list[Lexeme]] = [[]]
    for lexeme in _lexemes(text):
        if lexeme.text == ";":
            parts.append([])
        else:
            parts[-1].append(lexeme)
    return [statement for part in parts if (statement := _statement(part)).words]


def _statement(lexemes: list[Lexeme]) -> ClientStatement:
    lexemes = list(dropwhile(lambda lexeme: lexeme.kind == "blank", lexemes))
    return ClientStatement(tuple(lexemes), "".join(lexeme.text for lexeme in lexemes), lexemes[0].at if lexemes else 0)


def _lexemes(text: str) -> Iterator[Lexeme]:
    for match in _LEXEME.finditer(text):
        lexeme = Lexeme(match.lastgroup or "symbol", match[0], match.start())
        if lexeme.text in ("'", '"', "`") or (text.startswith(("/*", "$$"), match.start()) and len(lexeme.text) == 1):
            error = PgError(SYNTAX, f"what {lexeme.text} opens is never closed")
            error.position = lexeme.at + 1
            raise error
        yield lexeme


# ---------------------------------------------------------------- for the engine


@dataclass(frozen=True, slots=True)
class EngineText:
    """A statement as the engine reads it, with its semicolon; `origins` has (place in it, place in the client's text)
    for each piece."""

    text: str
    origins: tuple[tuple[int, int], ...]

    def position(self, offset: int) -> int:
        """The 1-based character in the client's text for a 0-based one in this text."""
        start, origin = next(pair for pair in reversed(self.origins) if pair[0] <= offset or pair[0] == 0)
        return origin + offset - start + 1


def for_engine(statement: ClientStatement, literal: Callable[[int], str]) -> EngineText:
    """A client's statement in the engine's spelling; `literal` gives the SQL text of a parameter by its number."""
    text, origins = [], []
    length = 0
    for lexeme, written in _written(statement.lexemes, literal):
        origins.append((length, lexeme.at))
        text.append(written)
        length += len(written)
    return EngineText("".join(text).rstrip() + ";", tuple(origins) or ((0, statement.at),))


def _written(lexemes: Sequence[Lexeme], literal: Callable[[int], str]) -> Iterator[tuple[Lexeme, str]]:
    """Yields each lexeme of the engine's statement: the lexeme that it comes from, and its text for the engine.

    `literal` gives the SQL text of a parameter by its number. Names of schemas are left out; casts and `= ANY(…)` are
    written as the engine's CAST and IN.
    """
    inserted = frozenset(_inserted_values(lexemes))
    index = 0
    while index < len(lexemes):
        lexeme = lexemes[index]
        if (skipped := _schema_length(lexemes, index)) > 0:
            index += skipped
            continue
        if (end := _any_array(lexemes, index)) is not None:
            parameter = next(following for following in lexemes[index:] if following.kind == "parameter")
            yield lexeme, f"IN ({_elements(literal(parameter.number))})"
            index = end
            continue
        if _is_cast(lexemes, index):
            after = next((following.text for following in lexemes[index + 3 :] if following.kind != "blank"), "")
            if index in inserted and after in (",", ")"):
                # In INSERT … VALUES the client's cast is left out: the engine converts a value to its column's type.
                yield lexeme, _replacement(lexeme, literal)
                index += 3
                continue
            yield lexeme, f"CAST({_replacement(lexeme, literal)} AS {_type_name(lexemes[index + 2].text)})"
            index += 3
            continue
        yield lexeme, _replacement(lexeme, literal)
        index += 1


def _replacement(lexeme: Lexeme, literal: Callable[[int], str]) -> str:
    match lexeme.kind:
        case "parameter":
            return literal(lexeme.number)
        case "quoted":
            return quoted(engine_name(lexeme.text[1:-1].replace('""', '"')))
        case "escape":
            return "'" + _unescaped(lexeme.text[2:-1]).replace("'", "''") + "'"
    return lexeme.text


def _schema_length(lexemes: Sequence[Lexeme], index: int) -> int:
    """How many lexemes `public.`, `millstream.` or `millstream.public.` before a name has at `index`; else 0."""
    if index and lexemes[index - 1].text == ".":
        return 0
    first = _qualifier(lexemes, index)
    if first == DATABASE and _qualifier(lexemes, index + 2) == SCHEMA:
        return 4
    return 2 if first in (SCHEMA, DATABASE) else 0


def _qualifier(lexemes: Sequence[Lexeme], index: int) -> str:
    """The name at `index` in lower case, if a dot and another name follow it; else ""."""
    names = ("word", "quoted", "tick")
    if index + 2 >= len(lexemes) or lexemes[index + 1].text != ".":
        return ""
    is_name = lexemes[index].kind in names[:2] and lexemes[index + 2].kind in names
    return lexemes[index].text.strip('"').lower() if is_name else ""


# `= ANY($1)`, after which the type of the array may be said: the kinds or texts of the lexemes, blanks left out.
_ANY = ("=", "ANY", "(", "parameter")
_ARRAY_CAST = ("::", "word", "[", "]")


def _any_array(lexemes: Sequence[Lexeme], index: int) -> int | None:
    """The index after `= ANY($1)` or `= ANY($1::text[])` if that begins at `index`, else None."""
    if lexemes[index].text != "=":
        return None
    places = [place for place in range(index, min(index + 24, len(lexemes))) if lexemes[place].kind != "blank"][:9]
    for pattern in ((*_ANY, ")"), (*_ANY, *_ARRAY_CAST, ")")):
        parts = [lexemes[place] for place in places[: len(pattern)]]
        if len(parts) == len(pattern) and all(_is_part(*pair) for pair in zip(parts, pattern, strict=True)):
            return places[len(pattern) - 1] + 1
    return None


def _is_part(lexeme: Lexeme, pattern: str) -> bool:
    return pattern == lexeme.kind or (pattern == lexeme.word and pattern not in ("", "word"))


def any_parameters(statement: ClientStatement) -> dict[int, str]:
    """The parameters in `= ANY($1)`, with the name of the elements' type in `= ANY($1::text[])`, else ""."""
    lexemes = statement.words
    arrays = {}
    for index in range(len(lexemes)):
        if (end := _any_array(lexemes, index)) is not None:
            arrays[lexemes[index + 3].number] = lexemes[index + 5].text if end - index > len(_ANY) + 1 else ""
    return arrays


def _elements(array: str) -> str:
    """The elements of an array's literal, for IN; NULL, with which nothing is equal, for none."""
    return array.removeprefix("ARRAY[").removesuffix("]") or "NULL" if array.startswith("ARRAY[") else array


def _inserted_values(lexemes: Sequence[Lexeme]) -> Iterator[int]:
    """The indexes of the lexemes that begin a value of INSERT … VALUES."""
    words = [index for index, lexeme in enumerate(lexemes) if lexeme.kind != "blank"]
    if not words or lexemes[words[0]].word != "INSERT":
        return
    values = next((place for place, index in enumerate(words) if lexemes[index].word == "VALUES"), len(words))
    depth = 0
    for before, index in pairwise(words[values:]):
        symbol = lexemes[before].word
        depth += (symbol in ("(", "[")) - (symbol in (")", "]"))
        if depth == 1 and symbol in ("(", ","):
            yield index


def _is_cast(lexemes: Sequence[Lexeme], index: int) -> bool:
    """True if the lexeme is a text or a parameter that `::type` follows."""
    if lexemes[index].kind not in ("parameter", "string", "escape") or index + 2 >= len(lexemes):
        return False
    return lexemes[index + 1].kind == "cast" and lexemes[index + 2].kind == "word"


# Names of Postgres's types that the engine does not have.
TYPE_NAMES = {
    **dict.fromkeys(("int2", "int4", "smallint", "integer", "int"), "INTEGER"),
    **dict.fromkeys(("int8", "bigint"), "BIGINT"),
    **dict.fromkeys(("float4", "float8", "real", "double"), "DOUBLE"),
    **dict.fromkeys(("text", "varchar", "name", "bpchar", "uuid"), "STRING"),
    **dict.fromkeys(("timestamptz", "timestamp"), "TIMESTAMP"),
    "bool": "BOOLEAN",
    "bytea": "BYTES",
}


def _type_name(text: str) -> str:
    return TYPE_NAMES.get(text.lower(), text)


def _unescaped(text: str) -> str:
    named = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
    return re.sub(r"\\(.)|''", lambda match: named.get(match[1], match[1]) if match[1] else "'", text, flags=re.DOTALL)


def engine_name(name: str) -> str:
    """The engine's name for one that a client wrote in double quotes."""
    return name.upper() if LOWER.match(name) else name


def client_name(name: str) -> str:
    """A name of the engine as clients see it: in lower case if it is a plain upper-case name."""
    return name.lower() if PLAIN.match(name) else name
