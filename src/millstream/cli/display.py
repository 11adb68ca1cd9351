"""The parts of what the shell shows, independent of the output format: grids, texts, SQL."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from millstream.server.text import dumps

NUMBERS = ("INT", "BIGINT", "DOUBLE", "DECIMAL")


@dataclass(frozen=True, slots=True)
class Grid:
    """Rows of cells under column names; the columns in `right` contain numbers."""

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
    """A statement to be shown with syntax highlighting."""

    text: str


Part = Grid | Text | Sql


def cell(value: Any) -> str:
    """A value of a row as text: strings unchanged, structures as JSON."""
    if value is None:
        return "null"
    if isinstance(value, str):
        return value
    return dumps(value)


def numeric(types: Sequence[str]) -> frozenset[int]:
    """The columns that contain numbers, by the SQL text of their types."""
    return frozenset(at for at, text in enumerate(types) if text.upper().startswith(NUMBERS))


def printable(text: str) -> str:
    """Text with escaped control characters, so that it cannot change the terminal's state."""
    return "".join(c if c.isprintable() or c == "\n" else _visible(c) for c in text)


def _visible(character: str) -> str:
    return "    " if character == "\t" else character.encode("unicode_escape").decode()
