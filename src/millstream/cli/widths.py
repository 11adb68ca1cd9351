"""The widths of a table's columns, computed so that it fits the terminal."""

from collections.abc import Sequence
from itertools import accumulate

from rich.cells import cell_len

# The least width of a column, and that at which a cut one is still readable, in characters.
NARROWEST = 6
COMFORT = 10
# Blanks between two columns.
BETWEEN = 2


def natural(names: Sequence[str], rows: Sequence[Sequence[str]], at_least: Sequence[int] = ()) -> list[int]:
    """The width of the widest cell of each column, including its name, but at least `at_least`."""
    widths = [max(map(_widest_line, column)) for column in zip(names, *rows, strict=True)]
    return [max(pair) for pair in zip(widths, at_least, strict=True)] if at_least else widths


def fitted(widths: Sequence[int], available: int, least: Sequence[int] = ()) -> list[int]:
    """The widths, the widest ones reduced to a common width, so that their sum is at most `available`.

    No column gets narrower than its `least`, or than a few characters: a table with very many columns stays wider than
    `available`.
    """
    bounds = least or [NARROWEST] * len(widths)

    def cut(measure: int) -> list[int]:
        return [min(width, max(measure, bound)) for width, bound in zip(widths, bounds, strict=True)]

    return next((cut(m) for m in range(max(widths, default=0), 0, -1) if sum(cut(m)) <= available), cut(0))


def comfortable(widths: Sequence[int], available: int, least: Sequence[int] = ()) -> int:
    """The number of columns that fit side by side, each at its width or at one that is still readable."""
    bounds = least or [0] * len(widths)
    spaces = [min(width, max(COMFORT, bound)) + BETWEEN for width, bound in zip(widths, bounds, strict=True)]
    return sum(total - BETWEEN <= available for total in accumulate(spaces))


def unbroken_widths(names: Sequence[str]) -> list[int]:
    """The smallest widths of columns with these names, so that no word of a name is broken."""
    return [max(NARROWEST, *(cell_len(word) for word in name.split() or [""])) for name in names]


def _widest_line(text: str) -> int:
    return max(map(cell_len, text.splitlines()), default=0)
