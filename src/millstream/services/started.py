"""The `with` statement for what is started and stopped: `with BrokerProcess(…) as broker:`."""

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self


class StartedInBlock(ABC):
    """A base class with the methods of a context manager: the block begins with `start` and ends with `stop`."""

    @abstractmethod
    def start(self) -> None:
        """Start it; an exception keeps the block from beginning."""

    @abstractmethod
    def stop(self) -> None:
        """Stop what `start` has started; called at the end of the block, also after an exception."""

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()
