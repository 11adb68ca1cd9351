"""The indexes of a table's store: one SQLite table each, from a row's key to its value in the index.

    rows      (key, since, until)  value …        the rows
    indexes   number, name, identity, complete    the indexes that are kept
    index_3   (key, since, until)  value          the entries of number 3, sorted by value in SQLite's own index

An entry is written in the transaction that writes its row. An index is complete, and only then used, once all rows of
the store have been visited.
"""

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

SCHEMA = """
CREATE TABLE IF NOT EXISTS indexes (number INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE, identity TEXT,
    complete INTEGER);
"""
# The primary key of a row: its key in its stored form, window start and end.
StoredKey = tuple[bytes, int, int]


@dataclass(frozen=True, slots=True)
class StoredIndex:
    """An index as it is stored: the number of its table, and whether it has all rows."""

    number: int
    complete: bool

    @property
    def table(self) -> str:
        """The name of the SQLite table of its entries."""
        return f"index_{self.number}"


def stored(reader: sqlite3.Connection, name: str) -> StoredIndex | None:
    """The index of a name; None if there is none."""
    row = reader.execute("SELECT number, complete FROM indexes WHERE name = ?", (name,)).fetchone()
    return None if row is None else StoredIndex(row[0], bool(row[1]))


def read_indexes(reader: sqlite3.Connection) -> dict[str, StoredIndex]:
    """The indexes in a store's file, by name, complete or not."""
    rows = reader.execute("SELECT name, number, complete FROM indexes")
    return {name: StoredIndex(number, bool(complete)) for name, number, complete in rows}


def keep(writer: sqlite3.Connection, identities: Mapping[str, str]) -> None:
    """Keep exactly the indexes with these identities, by name: others are removed, new ones are empty."""
    for name, identity in writer.execute("SELECT name, identity FROM indexes").fetchall():
        if identities.get(name) != identity:
            remove(writer, name)
    for name, identity in identities.items():
        if stored(writer, name) is None:
            _create(writer, name, identity)


def _create(writer: sqlite3.Connection, name: str, identity: str) -> None:
    cursor = writer.execute("INSERT INTO indexes (name, identity, complete) VALUES (?, ?, 0)", (name, identity))
    table = StoredIndex(int(cursor.lastrowid or 0), complete=False).table
    columns = "key BLOB, since INTEGER, until INTEGER, value BLOB, PRIMARY KEY (key, since, until)"
    writer.execute(f"CREATE TABLE {table} ({columns}) WITHOUT ROWID")
    writer.execute(f"CREATE INDEX {table}_values ON {table} (value)")


def remove(writer: sqlite3.Connection, name: str) -> None:
    """Remove an index and its entries."""
    index = stored(writer, name)
    if index is not None:
        writer.execute(f"DROP TABLE {index.table}")
        writer.execute("DELETE FROM indexes WHERE name = ?", (name,))


def remove_all(writer: sqlite3.Connection) -> None:
    """Remove all indexes with their entries, as for a store that is emptied."""
    for (name,) in writer.execute("SELECT name FROM indexes").fetchall():
        remove(writer, name)


def mark(writer: sqlite3.Connection, names: Sequence[str], complete: bool) -> None:
    """Record that indexes have all rows, or that they do not."""
    writer.executemany("UPDATE indexes SET complete = ? WHERE name = ?", [(complete, name) for name in names])


def put(writer: sqlite3.Connection, index: StoredIndex, key: StoredKey, value: bytes | None) -> None:
    """Write the entry of a row; None removes it."""
    if value is None:
        writer.execute(f"DELETE FROM {index.table} WHERE key = ? AND since = ? AND until = ?", key)
    else:
        writer.execute(f"INSERT OR REPLACE INTO {index.table} VALUES (?, ?, ?, ?)", (*key, value))


def expire(writer: sqlite3.Connection, before: int) -> None:
    """Remove the entries of windows that start before a time, in epoch ms."""
    for (number,) in writer.execute("SELECT number FROM indexes").fetchall():
        writer.execute(f"DELETE FROM {StoredIndex(number, complete=True).table} WHERE since < ?", (before,))


@dataclass(frozen=True, slots=True)
class IndexRange:
    """What to look up in the index `name`: entries with one of `values`; if None, those from `low` to `high`.

    Both bounds are inclusive; None = no bound.
    """

    name: str
    values: Sequence[bytes] | None = None
    low: bytes | None = None
    high: bytes | None = None

    def condition(self) -> tuple[list[str], list[bytes]]:
        """The SQL conditions on an entry `i`, and their parameters."""
        if self.values is not None:
            return [f"i.value IN ({', '.join('?' * len(self.values))})"], list(self.values)
        limits = ((">=", self.low), ("<=", self.high))
        set_limits = [(sign, limit) for sign, limit in limits if limit is not None]
        return [f"i.value {sign} ?" for sign, _ in set_limits], [limit for _, limit in set_limits]
