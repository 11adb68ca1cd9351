"""A table that is read from its topic: from Kafka's messages to changes in its store.

    topic of t, position 7      changes of t                    position    the store of t
    7: key a, {"N": 1}          a = {"N": 1}                    8           a = {"N": 1}
    8: no key                   none: reported as skipped       9
    9: key a, no value          a is deleted                    10          no a

Messages before the position, which another table over the same topic has yet to read, are passed over.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from confluent_kafka import KafkaError, Message

from millstream.catalog.catalog import Source, TableIndex
from millstream.services.kafka_headers import headers_of
from millstream.tables.indexing import Prepare, TableIndexing
from millstream.tables.keys import StoreKeys, keys_of
from millstream.tables.store import Change, Entries, Headers, Store

# Called for a record that is not a row of a table: its topic, partition and offset, and why.
Skipped = Callable[[str, int, int, str], None]


@dataclass(frozen=True, slots=True)
class MaterializedTable:
    """A table that may be queried.

    `eager`: it is read before its first query. `retention_ms` is how long windows are kept, in stream time; None: for
    ever. A table with `indexes` is read before its first query too; if they change it is still the same table.
    """

    source: Source
    eager: bool = False
    retention_ms: int | None = None
    indexes: tuple[TableIndex, ...] = field(default=(), compare=False)


class FollowedTopic:
    """A table that is being read: its store and indexes, the position in each partition, the listener to its changes.

    `topic_id` is the id of the topic that it is read from. `listener` is called with each batch of changes, and with
    the time in epoch ms before which windows were removed (None: none were). It is set and called while the
    materializer's lock `moment` is held.
    """

    def __init__(self, table: MaterializedTable, store: Store, topic_id: str, prepare: Prepare) -> None:
        self.table, self.store, self.topic_id = table, store, topic_id
        self.indexing = TableIndexing(table.source, store, prepare)
        self.keys: StoreKeys = keys_of(table.source)
        self.positions: dict[int, int] = store.positions()
        self.headers = bool(table.source.schema.headers)
        self.listener: Callable[[Sequence[Change], int | None], None] = lambda changes, before: None

    def has_read(self, ends: Mapping[int, int]) -> bool:
        """True if every partition has been read up to its offset in `ends`."""
        return all(self.positions.get(p, 0) >= end for p, end in ends.items())

    def changes(self, messages: Sequence[Message], skipped: Skipped) -> tuple[list[Change], dict[int, int]]:
        """The changes that messages of the topic are to the table, and the position after them in each partition.

        Messages before the present positions are passed over. `skipped` is called for those that are not a row.
        """
        changes: list[Change] = []
        positions: dict[int, int] = {}
        for message in messages:
            partition, offset = int(message.partition() or 0), int(message.offset() or 0)
            error = message.error()
            if error is not None:
                if error.code() == KafkaError._PARTITION_EOF:
                    positions[partition] = max(offset, positions.get(partition, 0), self.positions.get(partition, 0))
                continue
            if offset < max(positions.get(partition, 0), self.positions.get(partition, 0)):
                continue
            positions[partition] = offset + 1
            change = self._change(message, partition, offset, skipped)
            if change is not None:
                changes.append(change)
        return changes, positions

    def apply(self, changes: Sequence[Change], positions: Mapping[int, int], entries: Entries | None) -> None:
        """Store changes with their `entries` in indexes, pass them to the listener, and move to the positions.

        The caller holds the materializer's lock `moment`. Raises sqlite3.Error; then the positions stay as they were.
        """
        self.listener(changes, self.store.apply(changes, positions, self.table.retention_ms, entries))
        self.positions = {**self.positions, **positions}

    def _change(self, message: Message, partition: int, offset: int, skipped: Skipped) -> Change | None:
        """The change of one message; None for one without a key, or whose key is not a key of the table."""
        key, topic = message.key(), self.table.source.topic
        if key is None:
            skipped(topic, partition, offset, f"a record of the table's topic {topic} has no key: it is skipped")
            return None
        try:
            stored, start, end = self.keys.cut(_bytes(key))
        except ValueError as failure:
            skipped(topic, partition, offset, f"a record of topic {topic}: {failure}")
            return None
        value = message.value()
        headers: Headers = headers_of(message) if self.headers else ()
        return Change(stored, start, end, None if value is None else _bytes(value), message.timestamp()[1], headers)


def _bytes(data: str | bytes) -> bytes:
    return data if isinstance(data, bytes) else data.encode()
