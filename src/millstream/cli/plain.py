"""Grids as plain text, for files and pipes: without cutting and without colours."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.cells import cell_len

from millstream.cli.display import Grid, cell

WIDTHS = {"BOOLEAN": 7, "INTEGER": 11, "INT": 11, "BIGINT": 20, "DATE": 10, "TIME": 12, "TIMESTAMP": 23}
# The width of a column of a type that is not in WIDTHS, in characters.
WIDTH = 20


@dataclass(frozen=True, slots=True)
class Columns:
    """The widths of a grid's columns, and which of them contain numbers."""

    widths: Sequence[int]
    right: frozenset[int]

    def line(self, cells: Iterable[str]) -> str:
        """One row; a cell that is too long pushes the others to the right."""
        padded = (_padded(text, self.widths[at], at in self.right) for at, text in enumerate(cells))
        return " | ".join(padded).rstrip()

    def rule(self) -> str:
        """The line under the column names."""
        return "-+-".join("-" * width for width in self.widths)


def grid_text(grid: Grid) -> str:
    """The text of a grid with all its rows."""
    rows = [[_one_line(cell(value)) for value in row] for row in grid.rows]
    widths = [max(map(cell_len, column)) for column in zip(grid.columns, *rows, strict=True)]
    columns = Columns(widths, grid.right)
    head = [columns.line(grid.columns), columns.rule()] if any(grid.columns) else []
    return "\n".join([*head, *map(columns.line, rows)])


def columns_for(names: Sequence[str], types: Sequence[str], right: frozenset[int]) -> Columns:
    """The columns for rows that have not arrived yet: with the usual widths of their types."""
    usual = (WIDTHS.get(text.upper(), WIDTH) for text in types)
    return Columns([max(cell_len(name), width) for name, width in zip(names, usual, strict=True)], right)


def row_line(columns: Columns, row: Sequence[object]) -> str:
    """A row as a line of text; line breaks in values are escaped."""
    return columns.line(_one_line(cell(value)) for value in row)


def _one_line(text: str) -> str:
    return text.replace("\r", "\\r").replace("\n", "\\n")


def _padded(text: str, width: int, right: bool) -> str:
    blank = " " * (width - cell_len(text))
    return blank + text if right else text + blank
