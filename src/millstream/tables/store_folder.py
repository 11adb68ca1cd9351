"""The folder with the stores of a server's tables: their files, and when those of dropped tables are removed."""

import hashlib
import time
from pathlib import Path

from millstream.catalog.catalog import Source
from millstream.tables.keys import keys_of
from millstream.tables.store import remove

# The seconds for which the store of a dropped table stays: a query that has looked it up may not have opened it yet.
STORE_GRACE = 10.0


class StoreFolder:
    """The files of stores in a folder. Only the thread that writes the stores uses it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._swept: list[Source] | None = None
        # The stores of tables that are gone, and when that was seen (monotonic seconds).
        self._gone: dict[Path, float] = {}

    def path(self, source: Source) -> Path:
        """The file for a table over a topic; `identity` says whether its contents are still valid."""
        # A rebuild keeps its store when it takes the name of the table that it has rebuilt.
        digest = hashlib.sha256(f"{source.created_by or source.name}\0{source.topic}".encode()).hexdigest()[:20]
        return self._folder / f"{digest}.sqlite"

    def sweep(self, sources: list[Source]) -> None:
        """Remove the stores of all other sources when these have been gone for `STORE_GRACE` seconds.

        It is called again and again; the folder is only read if the sources have changed, or a store is to be removed.
        """
        if sources != self._swept or self._gone:
            files, now = {self.path(source).name for source in sources}, time.monotonic()
            gone = [path for path in self._folder.glob("*.sqlite") if path.name not in files]
            self._gone = {path: self._gone.get(path, now) for path in gone}
            for path in gone:
                if now >= self._gone[path] + STORE_GRACE:
                    remove(path)
                    del self._gone[path]
            self._swept = sources


def identity(source: Source, topic_id: str) -> dict[str, str]:
    """What a store depends on: after a change of the topic's id or of the keys' form it must be rebuilt."""
    return {"topic": topic_id, "keys": repr(keys_of(source)), "headers": _named(source)}


def _named(source: Source) -> str:
    return "kept" if source.schema.headers else "left out"
