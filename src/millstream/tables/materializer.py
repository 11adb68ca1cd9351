"""Reads the topics of tables into their stores, with one consumer and one thread for all tables of a server.

A SOURCE table is read from its creation on, any other from its first pull query on: no work is done for a table that is
never queried. The store records its position in the topic, so that a restart continues there.
"""

import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka import Consumer, KafkaException, Message, TopicPartition

from millstream.catalog.catalog import TableIndex
from millstream.services.loop import Loop, ReopenResource
from millstream.tables.followed_topic import FollowedTopic, MaterializedTable, Skipped
from millstream.tables.indexing import Prepare
from millstream.tables.store import Store, StoreRemoved, remove
from millstream.tables.store_folder import StoreFolder, identity

LOG = logging.getLogger(__name__)
# The longest wait for a record, in seconds; the most records that are stored together; how long a query waits for a
# table; and after how long a table that failed is tried again.
PULSE = 0.1
BATCH = 5000
PATIENCE = 30.0
RETRY = 1.0
# After a failure to store records the next polls may be empty; within these seconds the records are there again.
SETTLING = 3.0


class TableNotReady(Exception):
    """A table whose store has not read its topic to the end yet, or cannot; the message has its progress."""


@dataclass(frozen=True, slots=True)
class TopicReader:
    """The materializer's access to Kafka: a consumer, a topic's ends by partition, a topic's id; see engine.kafka.

    `recent_identity` is the id as of about a second ago: it is cached, since each query needs it.
    """

    reader: Callable[[], AbstractContextManager[Consumer]]
    ends: Callable[[str], Mapping[int, int]]
    identity: Callable[[str], str]
    recent_identity: Callable[[str], str]


@dataclass(frozen=True, slots=True)
class _Failure:
    """Why a table is not being read, and when to try again (monotonic seconds)."""

    reason: str
    retry_at: float


class Materializer:
    """The stores of a server's tables. `store` is thread-safe; a thread of the materializer reads the topics.

    `set_desired` and `store` only record which tables should be read; each step of the thread changes what is read
    accordingly, so that nothing is lost while Kafka or the disk is not available.
    """

    def __init__(self, folder: Path, topics: TopicReader, skipped: Skipped, prepare: Prepare) -> None:
        """`folder` contains the stores; `skipped` (topic, partition, offset, reason) is called for unusable records.

        `prepare` returns how a table's values are indexed; see indexes.indexed_values.
        """
        self._folder, self._topics, self._skipped, self._prepare = StoreFolder(folder), topics, skipped, prepare
        self._desired: dict[str, MaterializedTable] | None = None
        self._requested: dict[str, MaterializedTable] = {}
        # Tables that were dropped, or whose topics were replaced, since the thread's last step. A table of the same
        # name may exist again.
        self._dropped: set[str] = set()
        self._partitions: dict[str, int] = {}
        self._followed: dict[str, FollowedTopic] = {}
        self._failures: dict[str, _Failure] = {}
        self._changed = threading.Condition()
        # Held while stores change: its holder sees a consistent snapshot of all tables.
        self.moment = threading.Lock()
        self._wake = threading.Event()
        outages = (KafkaException, sqlite3.OperationalError)
        self.loop = Loop("tables", self._step, self._consumer, outages, settling=SETTLING)

    def start(self) -> None:
        """Start the thread that reads the topics."""
        self.loop.start()

    def close(self) -> None:
        """Stop reading; the stores are kept."""
        self.loop.stop()
        for followed in self._followed.values():
            followed.store.close()

    def set_desired(self, tables: Sequence[MaterializedTable]) -> None:
        """From now on these tables may be queried and no others; the stores of others are removed a little later."""
        with self._changed:
            before, desired = self._desired or {}, {table.source.name: table for table in tables}
            self._desired = desired
            self._dropped |= {name for name, table in before.items() if desired.get(name) != table}
            self._requested = {n: t for n, t in self._requested.items() if desired.get(n) == t}
        self._wake.set()

    def store(self, table: MaterializedTable) -> Store:
        """A table's store, once it contains everything that is in its topic now. Raises what `followed` raises."""
        return self.followed(table).store

    def followed(self, table: MaterializedTable) -> FollowedTopic:
        """A table that is being read, once its store contains everything that is in its topic now.

        Raises TableNotReady if that takes too long, KafkaException if Kafka does not answer.
        """
        deadline, topic = time.monotonic() + PATIENCE, table.source.topic
        ends, topic_id = self._topics.ends(topic), self._topics.recent_identity(topic)
        with self._changed:
            replaced = self._of_replaced_topic(table, topic_id)
            self._requested[table.source.name] = table
            self._partitions[topic] = max(ends, default=-1) + 1
            self._wake.set()
            if self._changed.wait_for(lambda: self._caught_up(table, ends, replaced), deadline - time.monotonic()):
                return self._followed[table.source.name]
        raise TableNotReady(self._why(table, ends))

    def _of_replaced_topic(self, table: MaterializedTable, topic_id: str) -> FollowedTopic | None:
        """The followed table if its topic has been replaced by one with this id, which the thread will then read."""
        followed = self._followed.get(table.source.name)
        if followed is None or followed.topic_id == topic_id:
            return None
        self._dropped.add(table.source.name)
        return followed

    def has_index(self, index: TableIndex) -> bool:
        """True if an index has all rows of its table here, so that queries use it."""
        followed = self._followed.get(index.table)
        try:
            return followed is not None and followed.store.has_index(index.name)
        except StoreRemoved:
            return False

    def _caught_up(self, table: MaterializedTable, ends: Mapping[int, int], replaced: FollowedTopic | None) -> bool:
        followed = self._followed.get(table.source.name)
        if followed is None or followed is replaced or followed.table != table:
            return False
        return followed.has_read(ends)

    def _why(self, table: MaterializedTable, ends: Mapping[int, int]) -> str:
        followed, name = self._followed.get(table.source.name), table.source.name
        if followed is None:
            failure = self._failures.get(name)
            reason = failure.reason if failure else self.loop.health().error or "its topic is not followed yet"
            return f"the table {name} cannot be read now: {reason}"
        if error := self.loop.health().error:
            return f"the table {name} is not up to date: {error}"
        read, total = sum(min(followed.positions.get(p, 0), end) for p, end in ends.items()), sum(ends.values())
        return f"the table {name} is still being read from its topic, {read} of {total} records; ask again"

    # ------------------------------------------------------------ the thread

    @contextmanager
    def _consumer(self) -> Iterator[Consumer]:
        """A consumer at the positions recorded in the stores."""
        with self._topics.reader() as consumer:
            topics = {followed.table.source.topic for followed in self._followed.values()}
            for topic in topics:
                self._assign(topic, consumer)
            yield consumer

    def _step(self, consumer: Consumer) -> None:
        self._wake.clear()
        self._discard_damaged()
        self._reconcile(consumer)
        if not self._followed:
            self._wake.wait(PULSE)
            return
        first = consumer.poll(0 if self._build() else PULSE)
        if first is not None:
            self._apply_messages([first, *consumer.consume(BATCH, 0)])

    def _discard_damaged(self) -> None:
        """Remove the stores that have proved corrupt to queries, so that they are read again."""
        for followed in [each for each in self._followed.values() if each.store.is_damaged]:
            with self._discarding(followed):
                followed.store.check()

    def _build(self) -> bool:
        """Index some rows of each table that has a new index; True if there was one."""
        building = [followed for followed in self._followed.values() if followed.indexing.pending]
        for followed in building:
            with self._discarding(followed):
                followed.indexing.build()
        return bool(building)

    def _reconcile(self, consumer: Consumer) -> None:
        """Start and stop reading tables, so that exactly the desired ones are read."""
        with self._changed:
            desired, requested = self._desired, dict(self._requested)
            dropped, self._dropped = self._dropped, set()
        if desired is None:
            desired = {}
        else:
            self._folder.sweep([table.source for table in (*desired.values(), *requested.values())])
        targets = {**{n: t for n, t in desired.items() if t.eager or t.indexes}, **requested}
        for name, followed in list(self._followed.items()):
            if targets.get(name) != followed.table or name in dropped:
                self._forget(name, followed, consumer)
        if dropped & targets.keys():
            # Its topic may be another one, of whose partitions this consumer does not know.
            raise ReopenResource
        for name, table in targets.items():
            failure = self._failures.get(name)
            if failure is None or time.monotonic() > failure.retry_at:
                self._try_to_follow(table, desired.get(name, table).indexes, consumer)

    def _try_to_follow(self, table: MaterializedTable, indexes: tuple[TableIndex, ...], consumer: Consumer) -> None:
        """Start reading a table; an error (no topic, a corrupt store) must not affect other tables."""
        name = table.source.name
        try:
            self._follow(table, consumer)
            with self._discarding(self._followed[name]):
                self._followed[name].indexing.keep(indexes)
            self._failures.pop(name, None)
        except (KafkaException, OSError, sqlite3.Error, StoreRemoved) as failure:
            LOG.warning("the topic of table %s cannot be read: %s; trying again", name, failure)
            self._failures[name] = _Failure(str(failure), time.monotonic() + RETRY)
            if _corrupt(failure):
                remove(self._folder.path(table.source))

    def _forget(self, name: str, followed: FollowedTopic, consumer: Consumer) -> None:
        del self._followed[name]
        topic = followed.table.source.topic
        if topic not in {other.table.source.topic for other in self._followed.values()}:
            consumer.incremental_unassign([TopicPartition(topic, p) for p in followed.positions])
        followed.store.close()

    def _follow(self, table: MaterializedTable, consumer: Consumer) -> None:
        """Start reading a table, or new partitions of its topic."""
        source = table.source
        followed = self._followed.get(source.name)
        count = self._partitions.get(source.topic)
        if followed is not None and len(followed.positions) >= (count or 0):
            return
        if count is None:
            count = self._partitions[source.topic] = max(self._topics.ends(source.topic), default=-1) + 1
        if followed is None:
            topic_id = self._topics.identity(source.topic)
            store = Store(self._folder.path(source), identity(source, topic_id))
            followed = self._followed[source.name] = FollowedTopic(table, store, topic_id, self._prepare)
        for partition in range(count):
            followed.positions.setdefault(partition, 0)
        self._assign(source.topic, consumer)
        self._notify()

    def _assign(self, topic: str, consumer: Consumer) -> None:
        """Read each partition of a topic from the lowest position of all tables over it."""
        lowest: dict[int, int] = {}
        for followed in self._followed.values():
            if followed.table.source.topic == topic:
                for partition, position in followed.positions.items():
                    lowest[partition] = min(position, lowest.get(partition, position))
        assigned = {p.partition for p in consumer.assignment() if p.topic == topic}
        positions = [TopicPartition(topic, partition, position) for partition, position in lowest.items()]
        consumer.incremental_assign([p for p in positions if p.partition not in assigned])
        for p in positions:
            if p.partition in assigned:
                consumer.seek(p)

    def _apply_messages(self, messages: Sequence[Message]) -> None:
        by_topic: dict[str, list[Message]] = {}
        for message in messages:
            by_topic.setdefault(str(message.topic()), []).append(message)
        for followed in list(self._followed.values()):
            messages_of_topic = by_topic.get(followed.table.source.topic)
            if messages_of_topic:
                changes, positions = followed.changes(messages_of_topic, self._skipped)
                entries = followed.indexing.entries(changes)
                with self.moment, self._discarding(followed):
                    followed.apply(changes, positions, entries)
        self._notify()

    @contextmanager
    def _discarding(self, followed: FollowedTopic) -> Iterator[None]:
        """Removes a store that proves corrupt in the block, so that it is read again.

        Raises other sqlite3.Errors, with the table's name.
        """
        name = followed.table.source.name
        try:
            yield
        except sqlite3.Error as failure:
            if not _corrupt(failure):
                raise type(failure)(f"the table {name} cannot be stored: {failure}") from failure
            LOG.error("the store of the table %s is corrupt and is rebuilt from its topic: %s", name, failure)
            del self._followed[name]
            followed.store.remove()

    def _notify(self) -> None:
        with self._changed:
            self._changed.notify_all()


def _corrupt(failure: Exception) -> bool:
    """True if a file is no longer a valid SQLite database; False for a full disk or a locked file."""
    return isinstance(failure, StoreRemoved) or (
        isinstance(failure, sqlite3.DatabaseError) and not isinstance(failure, sqlite3.OperationalError)
    )
