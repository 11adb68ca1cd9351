"""Progress of downloads: a bar on a terminal, two lines elsewhere, or nothing. Other preparations: a line each."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Protocol

from rich import progress as bars
from rich.console import Console


class Progress(Protocol):
    """Shows the progress of a download."""

    def showing(self, files: int, size: int) -> AbstractContextManager[Callable[[int], None]]:
        """A context for one download of `files` files, `size` bytes in all; yields a callback for arrived bytes."""
        ...


@dataclass(frozen=True, slots=True)
class Bar:
    """A progress bar on standard error."""

    title: str

    @contextmanager
    def showing(self, files: int, size: int) -> Iterator[Callable[[int], None]]:
        """Draw while the block runs, and leave the finished bar on the screen."""
        columns = (
            bars.TextColumn("[progress.description]{task.description}"),
            bars.BarColumn(),
            bars.DownloadColumn(),
            bars.TransferSpeedColumn(),
            bars.TimeRemainingColumn(),
        )
        with bars.Progress(*columns, console=Console(stderr=True)) as drawn:
            task = drawn.add_task(f"{self.title}: {_count(files)}", total=size)
            yield lambda arrived: drawn.advance(task, arrived)


@dataclass(frozen=True, slots=True)
class Lines:
    """One line at the start and one at the end, on standard error."""

    title: str

    @contextmanager
    def showing(self, files: int, size: int) -> Iterator[Callable[[int], None]]:
        """Print what is downloaded, and at the end, if it succeeded, how long it took."""
        start = time.monotonic()
        print(f"fetching {self.title}: {_count(files)}, {size / 1e6:.1f} MB", file=sys.stderr, flush=True)
        yield lambda arrived: None
        print(f"fetched {self.title} in {time.monotonic() - start:.1f} s", file=sys.stderr, flush=True)


class Counter:
    """Shows nothing, but counts the bytes, for callers with their own display."""

    def __init__(self) -> None:
        self.arrived = 0
        self._guard = threading.Lock()

    @contextmanager
    def showing(self, files: int, size: int) -> Iterator[Callable[[int], None]]:
        """Yields a callback that adds arrived bytes to `arrived`; nothing is shown."""
        yield self._add

    def _add(self, arrived: int) -> None:
        with self._guard:
            self.arrived += arrived


def default_progress(title: str) -> Progress:
    """A bar if standard error is a terminal, else lines."""
    return Bar(title) if sys.stderr.isatty() else Lines(title)


@contextmanager
def announced(work: str) -> Iterator[None]:
    """Print on standard error that `work`, which is done once on a machine, begins, and how long it took."""
    start = time.monotonic()
    print(f"{work}, once …", file=sys.stderr, flush=True)
    yield
    print(f"{work}: done in {time.monotonic() - start:.1f} s", file=sys.stderr, flush=True)


def _count(files: int) -> str:
    return f"{files} file{'' if files == 1 else 's'}"
