"""Live rows on a terminal: a fixed header, the last rows under it, and a count below."""

import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from millstream.cli.display import cell, printable
from millstream.cli.widths import natural

# Updates of the screen in a second.
FRAMES = 8
# Lines besides rows: the header, its rule, the footer with a blank line above, and a line for the prompt.
AROUND = 6
Draw = Callable[[Sequence[Sequence[str]], Sequence[int]], RenderableType]


class LiveRows:
    """The rows of a watched query: the last `keep` of them, and their total number."""

    def __init__(self, names: Sequence[str], keep: int, screen: int) -> None:
        self.count = 0
        self.last_rows: deque[list[str]] = deque(maxlen=keep)
        self._names, self._screen, self._start = names, screen, time.monotonic()
        self._widths = natural(names, ())

    def add(self, row: Sequence[Any]) -> None:
        """Add a row that has arrived."""
        self.last_rows.append([printable(cell(value)) for value in row])
        self.count += 1

    def widths(self) -> list[int]:
        """The widths of the columns; they only grow, so that the table does not jump."""
        self._widths = natural(self._names, self.recent(), self._widths)
        return self._widths

    def recent(self) -> list[list[str]]:
        """The rows that fit the screen; rows may be added meanwhile by another thread."""
        return list(self.last_rows.copy())[-self._screen :]

    def footer(self) -> Text:
        """The line below the rows: their total number, how many come in a second, and how to stop."""
        if not self.count:
            return Text("waiting for rows · Ctrl-C to stop", "dim")
        rate = round(self.count / max(time.monotonic() - self._start, 0.001))
        speed = f" · {rate:,}/s" if rate else ""
        return Text(f"{self.count:,} row{'' if self.count == 1 else 's'}{speed} · Ctrl-C to stop", "dim")


def watch(console: Console, watched: LiveRows, rows: Iterable[Sequence[Any]], draw: Draw) -> None:
    """Show rows until they end, or an exception such as KeyboardInterrupt is raised; then the screen is cleared."""

    def frame() -> RenderableType:
        return Group(draw(watched.recent(), watched.widths()), watched.footer())

    with Live(get_renderable=frame, console=console, refresh_per_second=FRAMES, transient=True):
        for row in rows:
            watched.add(row)


def screen_rows(console: Console) -> int:
    """The number of rows that fit under the header."""
    return max(console.height - AROUND, 3)
