"""How wide the columns of a table may be so that it fits the terminal."""

from collections.abc import Sequence
from itertools import accumulate

from rich.cells import cell_len

NARROWEST = 6
COMFORT = 10
# Blanks between two columns.
BETWEEN = 2


def natural(names: Sequence[str], rows: Sequence[Sequence[str]], at_least: Sequence[int] = ()) -> list[int]:
    """As wide as the widest cell of each column, the name included, and no narrower than `at_least`."""
    widths = [max(map(_widest_line, column)) for column in zip(names, *rows, strict=True)]
    return [max(pair) for pair in zip(widths, at_least, strict=True)] if at_least else widths


def fitted(widths: Sequence[int], room: int) -> list[int]:
    """The widths, the widest of them cut to one measure so that their sum is at most `room`.

    No column gets narrower than a few characters: a table of very many columns stays wider than its room.
    """
    measure = next((m for m in range(max(widths, default=0), 0, -1) if sum(min(w, m) for w in widths) <= room), 0)
    return [min(width, max(measure, NARROWEST)) for width in widths]


def comfortable(widths: Sequence[int], room: int) -> int:
    """How many columns fit side by side, each at its width or at one that is still good to read."""
    taken = [min(width, COMFORT) + BETWEEN for width in widths]
    return sum(total - BETWEEN <= room for total in accumulate(taken))


def _widest_line(text: str) -> int:
    return max(map(cell_len, text.splitlines()), default=0)
