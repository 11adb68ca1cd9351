"""One table's rows as bytes in an SQLite file, with the positions in its topic that they reflect (design/010)."""

import json
import logging
import sqlite3
import threading
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from math import copysign, inf
from pathlib import Path

from millstream.tables import store_indexes
from millstream.tables.store_indexes import IndexRange, StoredKey

LOG = logging.getLogger(__name__)
Headers = tuple[tuple[str, bytes | None], ...]
# The windows of one key are stored next to each other, in order of time.
_SCHEMA = """
CREATE TABLE IF NOT EXISTS rows (key BLOB, since INTEGER, until INTEGER, value BLOB, time INTEGER, headers TEXT,
    PRIMARY KEY (key, since, until)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS places (partition INTEGER PRIMARY KEY, offset INTEGER, time INTEGER);
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, fact TEXT);
"""
_PUT = "INSERT OR REPLACE INTO rows VALUES (?, ?, ?, ?, ?, ?)"
_DELETE = "DELETE FROM rows WHERE key = ? AND since = ? AND until = ?"
_COLUMNS = "r.key, r.since, r.until, r.value, r.time, r.headers"
# Connections for reading that are kept open between queries: opening one costs more than a look-up.
MOST_IDLE = 32


class StoreRemoved(Exception):
    """The store was deleted while a query read it: its table was dropped, or it is damaged and is built again."""


@dataclass(frozen=True, slots=True)
class Change:
    """A record of the changelog: `key` in its stored form, the window's bounds (0 without); a None value is a
    deletion."""

    key: bytes
    start: int
    end: int
    value: bytes | None
    time: int
    headers: Headers = ()


@dataclass(frozen=True, slots=True)
class WindowBounds:
    """Bounds of windows' starts and ends, inclusive, in epoch ms; None = no bound."""

    start: tuple[int | None, int | None] = (None, None)
    end: tuple[int | None, int | None] = (None, None)


ALL = WindowBounds()


@dataclass(frozen=True, slots=True)
class KeyOrder:
    """The order of rows by their stored keys: from `start` on, then those before it, which may be `inverted`."""

    start: bytes | None = None
    inverted: bool = False

    def sql(self) -> str:
        """The terms of ORDER BY for rows `r`; rows of one key are in the order of their windows."""
        if self.start is None:
            return "r.key, r.since, r.until"
        start = f"x'{self.start.hex()}'"
        before = f"CASE WHEN r.key < {start} THEN r.key END DESC, " if self.inverted else ""
        return f"r.key < {start}, {before}r.key, r.since, r.until"


BY_KEY = KeyOrder()
# For each change of a batch, its value in each of some indexes, by name; None: no entry.
Entries = Sequence[Mapping[str, bytes | None]]


class Store:
    """The rows of one table. One thread writes, any number read, each from a consistent snapshot."""

    def __init__(self, path: Path, identity: Mapping[str, str]) -> None:
        """Open the store at `path`; one with another `identity`, or a corrupt one, is emptied first.

        Raises sqlite3.OperationalError if the file cannot be opened or written.
        """
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path, self._expired = path, 0
        self._readers = _Readers(path)
        try:
            self._writer, stored = self._connect()
        except sqlite3.OperationalError:
            raise
        except (sqlite3.DatabaseError, UnicodeDecodeError) as failure:
            LOG.warning("%s is corrupt (%s): the table is read from its topic again", path, failure)
            remove(path)
            self._writer, stored = self._connect()
        if stored != dict(identity):
            self._reset(identity)
        self._indexes = store_indexes.read_indexes(self._writer)

    def _connect(self) -> tuple[sqlite3.Connection, dict[str, str]]:
        """A connection for writing, and the identity in the file. Raises sqlite3.DatabaseError, UnicodeDecodeError."""
        writer = sqlite3.connect(self._path, check_same_thread=False, isolation_level=None)
        try:
            # Write-ahead log: readers never wait. What is lost in a crash is read again from the topic.
            writer.execute("PRAGMA journal_mode = WAL")
            writer.execute("PRAGMA synchronous = NORMAL")
            writer.executescript(_SCHEMA + store_indexes.SCHEMA)
            return writer, dict(writer.execute("SELECT name, fact FROM facts"))
        except (sqlite3.DatabaseError, UnicodeDecodeError):
            writer.close()
            raise

    def _reset(self, identity: Mapping[str, str]) -> None:
        self._writer.execute("BEGIN")
        for table in ("rows", "places", "facts"):
            self._writer.execute(f"DELETE FROM {table}")
        store_indexes.remove_all(self._writer)
        self._writer.executemany("INSERT INTO facts VALUES (?, ?)", identity.items())
        self._writer.execute("COMMIT")

    def close(self) -> None:
        """Close the connections to the file."""
        self._readers.close()
        self._writer.close()

    def remove(self) -> None:
        """Close the file and delete it."""
        self.close()
        remove(self._path)

    @property
    def is_damaged(self) -> bool:
        """True if the file has proved corrupt to a query."""
        return self._readers.damage is not None

    def check(self) -> None:
        """Raises sqlite3.DatabaseError if the file has proved corrupt to a query."""
        if self._readers.damage is not None:
            raise self._readers.damage

    def positions(self) -> dict[int, int]:
        """The offset of the next record of each partition that was read."""
        with self._readers.connection() as reader:
            return dict(reader.execute("SELECT partition, offset FROM places"))

    def apply(
        self,
        changes: Sequence[Change],
        positions: Mapping[int, int],
        retention_ms: int | None = None,
        entries: Entries | None = None,
    ) -> int | None:
        """Write changes in order, their `entries` in indexes, and the positions after them, atomically.

        Without entries, the indexes are incomplete from then on. From time to time, windows that began more than
        `retention_ms` before the newest row are deleted: then the result is the time in epoch ms before which they
        began, else None. Raises sqlite3.OperationalError if the file cannot be written (the disk is full),
        sqlite3.DatabaseError if it is corrupt.
        """
        writer, last = self._writer, max((c.time for c in changes), default=-1)
        outdated = [*self._indexes] if entries is None and changes else []
        with self._transaction():
            for change in changes:
                at = (change.key, change.start, change.end)
                if change.value is None:
                    writer.execute(_DELETE, at)
                else:
                    writer.execute(_PUT, (*at, change.value, change.time, _text(change.headers)))
            if entries is not None:
                self._put(changes, entries)
            store_indexes.mark(writer, outdated, complete=False)
            stored = [(partition, offset, last) for partition, offset in positions.items()]
            writer.executemany("INSERT OR REPLACE INTO places VALUES (?, ?, ?)", stored)
            expired = None if retention_ms is None else self._expire(last, retention_ms)
        if outdated:
            self._indexes = store_indexes.read_indexes(writer)
        return expired

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        writer = self._writer
        writer.execute("BEGIN")
        try:
            yield
            writer.execute("COMMIT")
        finally:
            # After a failure SQLite may have rolled back by itself, as it does if the disk is full.
            if writer.in_transaction:
                writer.execute("ROLLBACK")

    def _expire(self, now: int, retention_ms: int) -> int | None:
        """Remove the windows that start more than `retention_ms` before `now`, the time of the newest row in epoch ms.

        Returns the time before which they were removed, None if nothing was done: all rows are scanned, so it is done
        once a tenth of the retention. If `now` is earlier than at the last removal by more than the retention, that
        removal was by a row of the far future in another partition, and this one is done.
        """
        if now < 0 or -retention_ms <= now - self._expired <= retention_ms // 10:
            return None
        self._writer.execute("DELETE FROM rows WHERE since < ?", (now - retention_ms,))
        store_indexes.expire(self._writer, now - retention_ms)
        self._expired = now
        return now - retention_ms

    # ------------------------------------------------------------ indexes

    def keep_indexes(self, identities: Mapping[str, str]) -> None:
        """Keep exactly the indexes with these identities, by name; a new one is empty, and not complete."""
        with self._transaction():
            store_indexes.keep(self._writer, identities)
        self._indexes = store_indexes.read_indexes(self._writer)

    def incomplete(self) -> list[str]:
        """The names of the indexes that do not have all rows yet."""
        return [name for name, index in self._indexes.items() if not index.complete]

    def after(self, last_key: StoredKey | None, rows: int) -> list[Change]:
        """The next rows after a key, in the order of their keys, for the thread that writes; None = from the first."""
        where = [] if last_key is None else ["(r.key, r.since, r.until) > (?, ?, ?)"]
        return [*_changes(self._writer, where, last_key or (), limit=rows)]

    def build(self, rows: Sequence[Change], entries: Entries, completed: Sequence[str]) -> None:
        """Write the entries of rows that are stored already, atomically; `completed` names indexes that have all."""
        with self._transaction():
            self._put(rows, entries)
            store_indexes.mark(self._writer, completed, complete=True)
        self._indexes = store_indexes.read_indexes(self._writer)

    def _put(self, changes: Sequence[Change], entries: Entries) -> None:
        for change, values in zip(changes, entries, strict=True):
            for name, value in values.items():
                store_indexes.put(self._writer, self._indexes[name], (change.key, change.start, change.end), value)

    def has_index(self, name: str) -> bool:
        """True if an index has all rows."""
        with self._readers.connection() as reader:
            index = store_indexes.stored(reader, name)
            return index is not None and index.complete

    def indexed(self, range: IndexRange, bounds: WindowBounds = ALL, order: KeyOrder = BY_KEY) -> Iterator[Change]:
        """The rows that an index finds; all rows if it is not complete."""
        where, values = _conditions(bounds)
        with self._readers.connection() as reader:
            # One snapshot, so that the entries are those of the rows, and the index is not removed meanwhile.
            reader.execute("BEGIN")
            index, tables = store_indexes.stored(reader, range.name), "rows r"
            if index is not None and index.complete:
                conditions, constants = range.condition()
                tables = f"{index.table} i CROSS JOIN rows r"
                where += [*conditions, *(f"r.{c} = i.{c}" for c in ("key", "since", "until"))]
                values = [*values, *constants]
            yield from _changes(reader, where, values, order.sql(), tables=tables)

    # ------------------------------------------------------------ reading

    def count(self) -> int:
        """The number of rows; SQLite counts them by reading all."""
        with self._readers.connection() as reader:
            return int(reader.execute("SELECT count(*) FROM rows").fetchone()[0])

    def has_more_than(self, rows: int) -> bool:
        """True if the store has more than `rows` rows; it counts no further than that."""
        counted = f"SELECT count(*) FROM (SELECT 1 FROM rows LIMIT {rows + 1})"
        with self._readers.connection() as reader:
            return int(reader.execute(counted).fetchone()[0]) > rows

    def of(self, keys: Sequence[bytes], bounds: WindowBounds = ALL) -> Iterator[Change]:
        """The rows of keys, in the order of the given keys."""
        where, values = _conditions(bounds)
        with self._readers.connection() as reader:
            if len(keys) > 1:
                reader.execute("BEGIN")
            for key in keys:
                yield from _changes(reader, ["r.key = ?", *where], [key, *values])

    def between(
        self,
        low: tuple[bytes, bool] | None,
        high: tuple[bytes, bool] | None,
        bounds: WindowBounds = ALL,
        downwards: bool = False,
    ) -> Iterator[Change]:
        """The rows whose keys are between two keys, each with a flag if it is included; None = no bound.

        Ordered by key, the greatest first if `downwards`, then by window.
        """
        where, values = _conditions(bounds)
        values_of_limits: list[bytes] = []
        for limit, sign in ((low, ">"), (high, "<")):
            if limit is not None:
                where.append(f"r.key {sign}{'=' if limit[1] else ''} ?")
                values_of_limits.append(limit[0])
        with self._readers.connection() as reader:
            order = f"r.key{' DESC' * downwards}, r.since, r.until"
            yield from _changes(reader, where, [*values, *values_of_limits], order)


class _Readers:
    """Connections for reading a store's file, used by one query at a time and then kept for the next; thread-safe."""

    def __init__(self, path: Path) -> None:
        self._path, self._idle, self._closed = path, list[sqlite3.Connection](), False
        self._lock = threading.Lock()
        # Why the file cannot be read, if it has proved corrupt.
        self.damage: sqlite3.DatabaseError | None = None

    @contextmanager
    def connection(self) -> Iterator[sqlite3.Connection]:
        """A connection without a transaction; it does not create the file again. Raises StoreRemoved if there is none,
        or if it is corrupt.

        Its cursors must be closed when the block ends: an open one would keep its snapshot for the next query.
        """
        reader = None
        try:
            reader = self._idle_reader() or self._opened()
            yield reader
        except sqlite3.OperationalError as failure:
            if self._path.exists():
                raise
            raise StoreRemoved("the table was dropped while it was read") from failure
        except sqlite3.DatabaseError as failure:
            self.damage = failure
            raise StoreRemoved("the table's store is damaged, and is read from its topic again: ask again") from failure
        finally:
            if reader is not None:
                self._give_back(reader)

    def _idle_reader(self) -> sqlite3.Connection | None:
        with self._lock:
            return self._idle.pop() if self._idle else None

    def _opened(self) -> sqlite3.Connection:
        uri = f"{self._path.absolute().as_uri()}?mode=rw"
        return sqlite3.connect(uri, uri=True, check_same_thread=False, isolation_level=None)

    def _give_back(self, reader: sqlite3.Connection) -> None:
        if reader.in_transaction:
            reader.execute("ROLLBACK")
        with self._lock:
            keep = not self._closed and len(self._idle) < MOST_IDLE
            if keep:
                self._idle.append(reader)
        if not keep:
            reader.close()

    def close(self) -> None:
        """Close the idle connections, and keep none from now on: the file may be deleted."""
        with self._lock:
            self._closed, idle = True, list(self._idle)
            self._idle.clear()
        for reader in idle:
            reader.close()


def remove(path: Path) -> None:
    """Delete the files of the store at `path`, as far as they exist."""
    for suffix in ("", "-wal", "-shm"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)


def _conditions(bounds: WindowBounds) -> tuple[list[str], list[bytes | int | float]]:
    where: list[str] = []
    values: list[bytes | int | float] = []
    for column, (low, high) in (("r.since", bounds.start), ("r.until", bounds.end)):
        for limit, sign in ((low, ">="), (high, "<=")):
            if limit is not None:
                where.append(f"{column} {sign} ?")
                # SQLite has no integer beyond 64 bits; infinity is beyond all of them, too.
                values.append(limit if -(2**63) <= limit < 2**63 else copysign(inf, limit))
    return where, values


def _changes(
    reader: sqlite3.Connection,
    where: Iterable[str],
    values: Sequence[bytes | int | float],
    order: str = "r.key, r.since, r.until",
    limit: int = -1,
    tables: str = "rows r",
) -> Iterator[Change]:
    condition = " AND ".join(where)
    rows = f"SELECT {_COLUMNS} FROM {tables}{' WHERE ' if condition else ''}{condition} ORDER BY {order} LIMIT {limit}"
    with closing(reader.execute(rows, values)) as cursor:
        for key, start, end, value, time, headers in cursor:
            yield Change(key, start, end, value, time, _headers(headers))


def _text(headers: Headers) -> str | None:
    if not headers:
        return None
    return json.dumps([[name, None if data is None else b64encode(data).decode()] for name, data in headers])


def _headers(text: str | None) -> Headers:
    if text is None:
        return ()
    return tuple((name, None if data is None else b64decode(data)) for name, data in json.loads(text))
