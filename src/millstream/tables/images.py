"""Keeps decoded tables (images) in the JVM's memory for relational pull queries, and takes consistent snapshots.

An image is loaded from the table's store when a query first scans the whole table; from then on each change of the
store is applied to it too. Changes that arrive during the load are buffered and applied at its end. A change may then
be applied twice, which is harmless because a change replaces the whole row.

    query thread                                      materializer thread
    1 register a listener that buffers changes
    2 copy the store to the image                     store: b = 2, buffer: b = 2
    3 lock `moment`; apply the buffer; replace the    waits for `moment`, then store: c = 1, image: c = 1
      listener by one that applies changes; unlock
"""

import struct
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from typing import Any

from millstream.catalog.catalog import Source
from millstream.plan.pull_queries import Access, FullScan
from millstream.spark.bounded import Bounded
from millstream.spark.evaluate import EvaluationFailed
from millstream.spark.relational import TableImage
from millstream.tables.answer import reached, with_complete_indexes
from millstream.tables.followed_topic import FollowedTopic, MaterializedTable
from millstream.tables.keys import StoreKeys
from millstream.tables.materializer import Materializer
from millstream.tables.store import Change

# The number of rows that are copied together into an image.
BATCH = 5000
MB = 2**20
_HEAD = struct.Struct(">qqi")
_LENGTH = struct.Struct(">i")
_NONE = _LENGTH.pack(-1)
_NARROWER = "look rows up by their keys or by an index, or make a table of what is needed: CREATE TABLE … AS"


class TableTooLarge(Exception):
    """A table that does not fit into the memory for images; the message names the size and the setting."""


@dataclass(frozen=True, slots=True)
class TableRead:
    """A table that a query reads, and how: a full scan, key lookups, or a range of keys."""

    table: MaterializedTable
    accesses: tuple[Access, ...]


@dataclass(slots=True)
class _LoadedImage:
    """A table's image: `broken` once a change could not be applied, `used` by a query last at (monotonic seconds)."""

    followed: FollowedTopic
    image: TableImage
    broken: bool = False
    used: float = field(default_factory=time.monotonic)


class TableImages:
    """The cache of a server's table images. It is thread-safe."""

    def __init__(
        self, tables: Materializer, make: Callable[[Source], TableImage], bounded: Bounded, most: Callable[[], int]
    ) -> None:
        """`make` creates an empty image; `most` returns the memory that all images together may take, in bytes."""
        self._tables, self._make, self._bounded, self._most = tables, make, bounded, most
        self._loaded: dict[str, _LoadedImage] = {}
        self._loading = threading.Lock()

    def snapshots(self, reads: Sequence[TableRead]) -> list[Any]:
        """Snapshots of all `reads`, in their order, as of one point in time, for RelationalQueries.answer.

        Raises TableNotReady if a store has not caught up with its topic, TableTooLarge if the rows do not fit into
        memory, EvaluationFailed if the JVM fails, and KafkaException.
        """
        distinct = {read.table.source.name: read.table for read in reads}
        followed = {name: self._tables.followed(table) for name, table in distinct.items()}
        reads = [
            replace(r, accesses=with_complete_indexes(r.accesses, followed[r.table.source.name].store)) for r in reads
        ]
        scanned = {r.table.source.name for r in reads if isinstance(r.accesses[0], FullScan)}
        with self._loading:
            images = {name: self._image(followed[name]) for name in sorted(scanned)}
            self._evict(frozenset(scanned))
        with self._tables.moment:
            results = [self._snapshot_or_rows(read, followed[read.table.source.name], images) for read in reads]
        return [
            self._of_rows(rows, read.table.source, followed[read.table.source.name]) if rows is not None else snapshot
            for read, (snapshot, rows) in zip(reads, results, strict=True)
        ]

    def _snapshot_or_rows(
        self, read: TableRead, followed: FollowedTopic, images: dict[str, _LoadedImage]
    ) -> tuple[Any, Iterator[Change] | None]:
        """A snapshot of the image for a full scan, else the selected rows of the store.

        The first of these rows is read now: this opens SQLite's read transaction, and so fixes the rows that are seen.
        """
        image = images.get(read.table.source.name)
        if image is not None and isinstance(read.accesses[0], FullScan):
            return image.image.snapshot(), None
        rows = reached(read.accesses, read.table.source, followed.store, self._bounded)
        return None, chain(list(islice(rows, 1)), rows)

    def _of_rows(self, rows: Iterator[Change], source: Source, followed: FollowedTopic) -> Any:
        image = self._make(source)
        self._fill(image, rows, followed.keys)
        return image.snapshot()

    # ------------------------------------------------------------ images of whole tables

    def _image(self, followed: FollowedTopic) -> _LoadedImage:
        name = followed.table.source.name
        loaded = self._loaded.get(name)
        if loaded is None or loaded.followed is not followed or loaded.broken:
            loaded = self._loaded[name] = self._load(followed)
        loaded.used = time.monotonic()
        return loaded

    def _load(self, followed: FollowedTopic) -> _LoadedImage:
        loaded = _LoadedImage(followed, self._make(followed.table.source))
        buffered: list[tuple[Sequence[Change], int | None]] = []
        with self._tables.moment:
            followed.listener = lambda changes, before: buffered.append((changes, before))
        with ExitStack() as undo:
            undo.callback(self._forget, followed)
            self._fill(loaded.image, followed.store.between(None, None), followed.keys)
            with self._tables.moment:
                for changes, before in buffered:
                    _apply(loaded.image, followed.keys, changes, before)
                followed.listener = lambda changes, before: _apply_or_break(loaded, changes, before)
            undo.pop_all()
        return loaded

    def _fill(self, image: TableImage, rows: Iterator[Change], keys: StoreKeys) -> None:
        while batch := list(islice(rows, BATCH)):
            image.apply(b"".join(wire(change, keys) for change in batch))
            if image.bytes > (most := self._most()):
                raise TableTooLarge(
                    f"the rows that the query reads of one table take more than {most // MB} MB of memory: "
                    f"millstream.pull.cache.mb is the limit\n  hint: {_NARROWER}"
                )

    def _forget(self, followed: FollowedTopic) -> None:
        with self._tables.moment:
            followed.listener = lambda changes, before: None

    def _evict(self, needed: frozenset[str]) -> None:
        """Drop the least recently used images that are not `needed` until the rest fits. Raises TableTooLarge."""
        most = self._most()
        total = sum(loaded.image.bytes for loaded in self._loaded.values())
        for name, loaded in sorted(self._loaded.items(), key=lambda item: item[1].used):
            if total <= most:
                return
            if name not in needed:
                total -= loaded.image.bytes
                self._forget(loaded.followed)
                del self._loaded[name]
        if total > most:
            raise TableTooLarge(
                f"the tables of the query take {total // MB} MB of memory: millstream.pull.cache.mb allows "
                f"{most // MB}\n  hint: {_NARROWER}"
            )


def _apply_or_break(loaded: _LoadedImage, changes: Sequence[Change], before: int | None) -> None:
    """Apply a change of the store. If that fails the image is marked broken, and the next query loads it again."""
    try:
        if not loaded.broken:
            _apply(loaded.image, loaded.followed.keys, changes, before)
    except EvaluationFailed:
        loaded.broken = True


def _apply(image: TableImage, keys: StoreKeys, changes: Iterable[Change], before: int | None) -> None:
    encoded = b"".join(wire(change, keys) for change in changes)
    if encoded:
        image.apply(encoded)
    if before is not None:
        image.expire(before)


def wire(change: Change, keys: StoreKeys) -> bytes:
    """A change in the binary form that `TableImage.apply` in jvm/TableImage.scala describes."""
    key = keys.joined(change.key, change.start, change.end)
    value = _NONE if change.value is None else _LENGTH.pack(len(change.value)) + change.value
    head = _HEAD.pack(change.start, change.time, len(key))
    if not change.headers:
        return b"".join((head, key, value, b"\0\0\0\0"))
    headers = (_sized(part) for name, data in change.headers for part in (name.encode(), data))
    return b"".join((head, key, value, _LENGTH.pack(len(change.headers)), *headers))


def _sized(data: bytes | None) -> bytes:
    return _NONE if data is None else _LENGTH.pack(len(data)) + data
