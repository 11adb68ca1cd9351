"""What the broker and the registry have in common: a child that listens on a port and keeps its data in a folder."""

from abc import ABC, abstractmethod
from pathlib import Path
from types import TracebackType
from typing import Self

from millstream.parts.child import Child
from millstream.parts.ports import free_port
from millstream.parts.progress import Progress


class Service(ABC):
    """A part with data under `data`/`name`, a log under `data`/logs, and an address; also a context manager.

    `port` 0 takes a free one; `heap` is Java's -Xmx.
    """

    name: str

    def __init__(self, data: Path, port: int, host: str = "127.0.0.1", heap: str = "1g") -> None:
        self.data, self.port, self.host, self.heap = data.resolve(), port or free_port(), host, heap
        self._child: Child | None = None

    @abstractmethod
    def start(self, progress: Progress | None = None) -> None:
        """Fetch and start what is not yet, and return when clients are answered.

        Raises SetupError: busy port, no Java, no network, or a process that does not come up.
        """

    @property
    def address(self) -> str:
        """host:port."""
        return f"{self.host}:{self.port}"

    @property
    def home(self) -> Path:
        """The folder of this part's own files."""
        return self.data / self.name

    @property
    def log(self) -> Path:
        """The file that the process's output is appended to."""
        return self.data / "logs" / f"{self.name}.log"

    @property
    def running(self) -> bool:
        """Whether the process is alive."""
        return self._child is not None and self._child.running

    def stop(self) -> None:
        """Stop the process cleanly; nothing happens if it does not run."""
        if self._child:
            self._child.stop()

    def kill(self) -> None:
        """End the process as a crash would."""
        if self._child:
            self._child.kill()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()
