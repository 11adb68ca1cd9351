"""PREPARE and EXECUTE as SQL: prepared statements by name, without a driver.

    PREPARE p (int) AS SELECT * FROM totals WHERE id = $1;     the statement p, whose parameter is an int4
    EXECUTE p (7);                                             its rows for 7

They are the same statements as those that drivers prepare: DEALLOCATE drops either kind.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from millstream.pg.failures import SYNTAX, PgError
from millstream.pg.script import ClientStatement, Lexeme
from millstream.pg.types import COLUMN_TYPES, FLOAT8, INT4, MOMENT, NUMERIC, SQL_NAMES, TEXT

PREPARE_FORM, EXECUTE_FORM = "PREPARE name [(type, …)] AS statement", "EXECUTE name [(value, …)]"
# Types that no column has, with the type that a parameter gets instead, and further names of types.
SUBSTITUTES = {"int2": INT4, "varchar": TEXT, "timestamp": MOMENT, "float4": FLOAT8}
SHORT_NAMES = {"int": INT4, "float": FLOAT8, "decimal": NUMERIC}
BY_PG_NAME = {**{type.name: type for type in COLUMN_TYPES}, **SUBSTITUTES}
BY_SQL_NAME = {SQL_NAMES.get(name, name): type for name, type in BY_PG_NAME.items()}
OIDS = {"unknown": 0} | {name: type.oid for name, type in (BY_PG_NAME | BY_SQL_NAME | SHORT_NAMES).items()}


@dataclass(frozen=True, slots=True)
class PrepareCommand:
    """A PREPARE: the name, the OIDs of the types that it names, and the statement."""

    name: str
    types: tuple[int, ...]
    statement: ClientStatement


@dataclass(frozen=True, slots=True)
class ExecuteCommand:
    """An EXECUTE: the name, and the values in text form; None is NULL."""

    name: str
    values: tuple[bytes | None, ...]


def prepare_command(statement: ClientStatement) -> PrepareCommand | None:
    """The parts of a PREPARE; None for another statement. Raises PgError 42601, 42704."""
    words = statement.words
    if words[0].word != "PREPARE":
        return None
    at = next((i for i, lexeme in enumerate(words) if lexeme.word == "AS"), 0)
    if at < 2 or at + 1 >= len(words):
        raise PgError(SYNTAX, "PREPARE is not complete", PREPARE_FORM)
    lexemes = statement.lexemes[statement.lexemes.index(words[at + 1]) :]
    inner = ClientStatement(lexemes, "".join(lexeme.text for lexeme in lexemes), lexemes[0].at)
    return PrepareCommand(_name(words[1]), tuple(map(_type, _arguments(words[2:at], PREPARE_FORM))), inner)


def execute_command(statement: ClientStatement) -> ExecuteCommand | None:
    """The parts of an EXECUTE; None for another statement. Raises PgError 42601."""
    words = statement.words
    if words[0].word != "EXECUTE":
        return None
    if len(words) < 2:
        raise PgError(SYNTAX, "the name of the statement is missing", EXECUTE_FORM)
    return ExecuteCommand(_name(words[1]), tuple(map(_value, _arguments(words[2:], EXECUTE_FORM))))


def _arguments(words: Sequence[Lexeme], form: str) -> list[list[Lexeme]]:
    """The lexemes between the commas of a list in parentheses; none if there is no list."""
    if not words:
        return []
    if words[0].text != "(" or words[-1].text != ")":
        raise PgError(SYNTAX, f"unexpected {words[0].text} after the statement's name", form)
    parts: list[list[Lexeme]] = [[]]
    for lexeme in words[1:-1]:
        if lexeme.text == "," and not _is_open(parts[-1]):
            parts.append([])
        else:
            parts[-1].append(lexeme)
    if not all(parts):
        raise PgError(SYNTAX, "an argument is missing", form)
    return parts


def _is_open(lexemes: Sequence[Lexeme]) -> bool:
    texts = [lexeme.text for lexeme in lexemes]
    return texts.count("(") > texts.count(")")


def _type(lexemes: list[Lexeme]) -> int:
    """The OID of a type, whose precision is left out: `numeric(10, 2)` is numeric."""
    words = [lexeme.text.lower() for lexeme in lexemes]
    name = " ".join(words[: words.index("(")] if "(" in words else words)
    if name not in OIDS:
        raise PgError("42704", f"there is no type {name} for a parameter", "leave the types out: they are inferred")
    return OIDS[name]


def _value(lexemes: list[Lexeme]) -> bytes | None:
    """The text form of a literal. Raises PgError 0A000 for any other expression."""
    match [lexeme.kind for lexeme in lexemes]:
        case ["string"]:
            return lexemes[0].text[1:-1].replace("''", "'").encode()
        case ["number"]:
            return lexemes[0].text.encode()
        case ["symbol", "number"] if lexemes[0].text in "+-":
            return f"{lexemes[0].text}{lexemes[1].text}".removeprefix("+").encode()
        case ["word"] if lexemes[0].word == "NULL":
            return None
        case ["word"] if lexemes[0].word in ("TRUE", "FALSE"):
            return lexemes[0].word.lower().encode()
    text = " ".join(lexeme.text for lexeme in lexemes)
    raise PgError("0A000", f"a value of EXECUTE is a literal, not {text}", "'text', 12.5, TRUE or NULL")


def _name(lexeme: Lexeme) -> str:
    return lexeme.text[1:-1].replace('""', '"') if lexeme.kind == "quoted" else lexeme.text.lower()
