"""The common part of broker and registry: a child process with a port and a data folder."""

import fcntl
import sys
import time
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from signal import Signals

from millstream.services import class_data
from millstream.services.child import GRACE, Child
from millstream.services.errors import SetupError
from millstream.services.ports import check_free, free_port
from millstream.services.progress import Progress
from millstream.services.started import StartedInBlock

# The children of a killed server end a moment later; a new server waits for them this long.
LEAVING = 5.0


class Service(StartedInBlock):
    """A service with data under `data`/`name`, a log under `data`/logs, and an address; also a context manager.

    `port` 0 means any free one; `heap` is Java's -Xmx; `archive`: its JVM writes an archive of its classes there when
    it ends, and uses none itself (class_data.py).
    """

    name: str
    title: str
    port_setting: str

    def __init__(self, data: Path, port: int, host: str, heap: str, archive: Path | None = None) -> None:
        self.data, self.port, self.host, self.heap = data.resolve(), port or free_port(), host, heap
        self._archive = archive
        self._child: Child | None = None

    def start(self, progress: Progress | None = None) -> None:
        """Download what is missing, start the process, and return when it answers clients.

        Raises SetupError: port or folder in use, no Java, no network, or a process that does not start.
        """
        with claimed(self.home) as lock:
            check_free(self.host, self.port, self.title, self.port_setting)
            self._child = Child(self.title, self.command(progress), self.log)
            # The child holds the lock of its folder until it has ended, even if this process dies before it.
            self._child.start(descriptors=[lock])
        self._child.wait_until(self.answers)

    @abstractmethod
    def command(self, progress: Progress | None) -> list[str | Path]:
        """Prepare what the process needs, and return its command line; errors as in `start`."""

    @abstractmethod
    def answers(self) -> bool:
        """True if the service answers a client."""

    def class_options(self, files: Sequence[Path]) -> list[str]:
        """Java's options for the archive of the classes of this program, whose jars are `files`."""
        if self._archive is not None:
            return class_data.writing(self._archive)
        run = [sys.executable, "-m", "millstream.services.class_data_run", self.name]
        return class_data.options(self.name, files, lambda archive: [*run, str(archive)])

    @property
    def address(self) -> str:
        """The service's address, host:port."""
        return f"{self.host}:{self.port}"

    @property
    def home(self) -> Path:
        """The folder of this service's files."""
        return self.data / self.name

    @property
    def log(self) -> Path:
        """The file that the process's output is appended to."""
        return self.data / "logs" / f"{self.name}.log"

    @property
    def running(self) -> bool:
        """True if the process is running."""
        return self._child is not None and self._child.running

    @property
    def ending(self) -> str:
        """How the process ended by itself, and its log; "" while it runs, and after `stop`."""
        ending = self._child.ending if self._child else ""
        return ending and f"{ending} (its log is {self.log})"

    def stop(self, patience: float = GRACE) -> None:
        """Stop the process cleanly, or kill it after `patience` seconds; no effect if it is not running."""
        if self._child:
            self._child.stop(patience)

    def kill(self) -> None:
        """End the process as a crash would."""
        if self._child:
            self._child.kill()

    def signal(self, number: Signals) -> None:
        """Send a signal to the process, for example SIGSTOP to freeze it and SIGCONT to resume it."""
        if self._child:
            self._child.signal(number)


@contextmanager
def claimed(folder: Path) -> Iterator[int]:
    """The folder's lock as a file descriptor. Raises SetupError if another process keeps it."""
    folder.mkdir(parents=True, exist_ok=True)
    deadline = time.monotonic() + LEAVING
    with open(folder / ".lock", "w") as handle:
        while not _locked(handle.fileno()):
            if time.monotonic() > deadline:
                raise SetupError(
                    f"{folder} is in use by another millstream", "stop that one, or choose another folder with --data"
                )
            time.sleep(0.05)
        yield handle.fileno()


def _locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
