"""A disk that is full for SQLite."""

import sqlite3
from typing import Any

import pytest


class LimitedDisk:
    """Limits the files of all connections opened from now on; `limit` changes how many pages they may have.

    A file may keep the pages that it has.
    """

    NONE = 2**30

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._connections: list[sqlite3.Connection] = []
        self._pages, self._connect = self.NONE, sqlite3.connect
        monkeypatch.setattr(sqlite3, "connect", self._limited)

    def limit(self, pages: int) -> None:
        """Let each file have so many pages at most, 4 KiB each."""
        self._pages = pages
        for connection in self._connections:
            self._apply(connection)

    def _limited(self, *args: Any, **options: Any) -> sqlite3.Connection:
        connection = self._connect(*args, **options)
        # Readers are many and short-lived, and need no page.
        if "isolation_level" in options:
            self._connections.append(connection)
            self._apply(connection)
        return connection

    def _apply(self, connection: sqlite3.Connection) -> None:
        # SQLite does not set a limit below 1, but returns the present one.
        connection.execute(f"PRAGMA max_page_count = {max(self._pages, 1)}")
