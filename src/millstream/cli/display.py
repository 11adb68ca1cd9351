"""What the shell shows, before it is known how: grids of text, pieces of text, SQL."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from millstream.server.text import dumps

NUMBERS = ("INT", "BIGINT", "DOUBLE", "DECIMAL")


@dataclass(frozen=True, slots=True)
class Grid:
    """Rows of cells under column names; the columns named in `right` hold numbers."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    right: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Text:
    """A piece of text; `style` is "", "title", "good", "warning" or "dim"."""

    text: str
    style: str = ""


@dataclass(frozen=True, slots=True)
class Sql:
    """A statement to be shown with its words coloured."""

    text: str


Part = Grid | Text | Sql


def cell(value: Any) -> str:
    """A value of a row as text: strings as they are, structures as JSON."""
    if value is None:
        return "null"
    if isinstance(value, str):
        return value
    return dumps(value)


def numeric(types: Sequence[str]) -> frozenset[int]:
    """Which columns hold numbers, by the SQL text of their types."""
    return frozenset(at for at, text in enumerate(types) if text.upper().startswith(NUMBERS))


def printable(text: str) -> str:
    """Text that leaves the terminal as it is: control characters are shown, not obeyed."""
    return "".join(c if c.isprintable() or c == "\n" else _visible(c) for c in text)


def _visible(character: str) -> str:
    return "    " if character == "\t" else character.encode("unicode_escape").decode()
