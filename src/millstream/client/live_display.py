"""A push query's rows on display while they arrive, until a limit, a time, an interrupt, or the query's end.

A thread reads the rows, so that the display is updated, and a time limit kept, while no row comes.
"""

import queue
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from millstream.client.errors import MillstreamError
from millstream.client.pull import PushRows
from millstream.client.rows import Row
from millstream.client.tables import SHOWN, ResultTable

# Seconds between two updates of a display.
PAUSE = 0.1
# The note of a table whose query was ended by the user.
INTERRUPTED = "interrupted"


class RowDisplay(Protocol):
    """Shows a table that grows: a notebook replaces it, a terminal prints its new rows."""

    def update(self, table: ResultTable, new: Sequence[Row]) -> None:
        """Show the rows up to now; `new` are those since the last call, `table.rows` at least the last ones."""

    def end(self, table: ResultTable) -> None:
        """Show the rows of a query that has ended."""


@dataclass(frozen=True, slots=True)
class DisplayLimits:
    """The most rows of a query, and the most seconds that a push query runs; None = no limit."""

    rows: int | None = None
    seconds: float | None = None


class DisplayedQuery:
    """A push query and those of its rows that have arrived; without `keep` only as many as a table shows."""

    def __init__(self, answer: PushRows, limits: DisplayLimits, keep: bool) -> None:
        self._answer, self._limits = answer, limits
        self._rows: deque[Row] = deque(maxlen=None if keep else SHOWN)
        self._new: list[Row] = []
        self._total = 0
        self._arrivals: queue.Queue[Row | MillstreamError | None] = queue.Queue()

    def follow(self, display: RowDisplay) -> ResultTable:
        """Show rows until the query ends, then return them. Raises MillstreamError if it fails."""
        threading.Thread(target=self._read, daemon=True, name="millstream-push-rows").start()
        note = ""
        try:
            with self._answer:
                note = self._shown_until_the_end(display)
        except KeyboardInterrupt:
            note = INTERRUPTED
        table = self._table(note)
        self._update(display, table)
        display.end(table)
        return table

    def _shown_until_the_end(self, display: RowDisplay) -> str:
        """Show rows as they arrive; the reason why there are no more."""
        started = time.monotonic()
        shown_at, shown = started, -1
        while True:
            now = time.monotonic()
            if self._limits.seconds is not None and now - started >= self._limits.seconds:
                return f"ended after {self._limits.seconds:g} s"
            if self._total != shown and now - shown_at >= PAUSE:
                self._update(display, self._table("the query runs"))
                shown_at, shown = now, self._total
            for arrival in self._arrived():
                if arrival is None:
                    return ""
                if isinstance(arrival, MillstreamError):
                    self._update(display, self._table("the query failed"))
                    raise arrival
                self._rows.append(arrival)
                self._new.append(arrival)
                self._total += 1
                if self._total == self._limits.rows:
                    return ""

    def _arrived(self) -> Iterator[Row | MillstreamError | None]:
        """Yields what the reading thread has put into the queue; waits PAUSE seconds at most for the first item.

        An item is a row, the query's error, or None at the end.
        """
        try:
            yield self._arrivals.get(timeout=PAUSE)
            for _ in range(self._arrivals.qsize()):
                yield self._arrivals.get_nowait()
        except queue.Empty:
            return

    def _read(self) -> None:
        """Put the rows, the query's error if there is one, and at last None into the queue."""
        try:
            for row in self._answer:
                self._arrivals.put(row)
        except MillstreamError as error:
            self._arrivals.put(error)
        finally:
            self._arrivals.put(None)

    def _update(self, display: RowDisplay, table: ResultTable) -> None:
        new, self._new = self._new, []
        display.update(table, new)

    def _table(self, note: str) -> ResultTable:
        return ResultTable(self._answer.columns, self._answer.types, list(self._rows), note, self._total)
