"""The `with` statement for what is closed at the end of its block, blocking and for asyncio."""

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self


class ClosedByBlock(ABC):
    """A base class with the methods of a context manager: the block ends with `close`."""

    @abstractmethod
    def close(self) -> None:
        """Close it; may be called more than once."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


class ClosedByAsyncBlock(ABC):
    """A base class with the methods of an asynchronous context manager: the block ends with `close`."""

    @abstractmethod
    async def close(self) -> None:
        """Close it; may be called more than once."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.close()
