"""Keeps the indexes of one table that is being read, and builds new ones from its rows, some at a time."""

import logging
import time
from collections.abc import Callable, Sequence

from millstream.catalog.catalog import Source, TableIndex
from millstream.plan.indexes import has_columns
from millstream.spark.evaluate import EvaluationFailed
from millstream.tables.indexes import IndexedTable, IndexedValues, identity
from millstream.tables.store import Change, Entries, Store
from millstream.tables.store_indexes import StoredKey

LOG = logging.getLogger(__name__)
# Rows that are indexed at a time, so that the topics of other tables are read in between.
SLICE = 2000
RETRY = 1.0
Prepare = Callable[[IndexedTable], IndexedValues]


class TableIndexing:
    """The indexes of one table. Only the thread that writes its store uses it."""

    def __init__(self, source: Source, store: Store, prepare: Prepare) -> None:
        self._source, self._store, self._prepare = source, store, prepare
        self._indexes: tuple[TableIndex, ...] | None = None
        self._values: IndexedValues | None = None
        # The last row that was visited for incomplete indexes, and when to go on after a failure (monotonic seconds).
        self._last_key: StoredKey | None = None
        self._retry_at = 0.0

    def keep(self, indexes: Sequence[TableIndex]) -> None:
        """From now on the table has exactly these indexes. Raises sqlite3.Error."""
        if self._indexes == tuple(indexes):
            return
        valid = tuple(index for index in indexes if has_columns(self._source, index))
        self._store.keep_indexes({index.name: identity(index, self._source) for index in valid})
        self._values = self._prepare(IndexedTable(self._source, valid)) if valid else None
        self._indexes, self._last_key = tuple(indexes), None

    @property
    def pending(self) -> bool:
        """True if there are rows to index."""
        return self._values is not None and bool(self._store.incomplete()) and time.monotonic() >= self._retry_at

    def entries(self, changes: Sequence[Change]) -> Entries | None:
        """The entries of changes that are to be stored; None if they cannot be computed."""
        try:
            return None if self._values is None else self._values(changes)
        except EvaluationFailed as failure:
            self._failed(failure)
            return None

    def build(self) -> None:
        """Index the next rows of the store. Raises sqlite3.Error."""
        names = self._store.incomplete()
        rows = self._store.after(self._last_key, SLICE)
        entries = self.entries(rows)
        if entries is None:
            return
        incomplete_values = [{name: values[name] for name in names} for values in entries]
        self._store.build(rows, incomplete_values, names if len(rows) < SLICE else ())
        if rows:
            last = rows[-1]
            self._last_key = last.key, last.start, last.end

    def _failed(self, failure: EvaluationFailed) -> None:
        LOG.warning("the indexes of the table %s are built again: a row cannot be read: %s", self._source.name, failure)
        self._last_key, self._retry_at = None, time.monotonic() + RETRY
