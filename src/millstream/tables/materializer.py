"""Follows the topics of tables into their stores: one consumer and one thread for all tables of a server.

A SOURCE table is followed from when it is made, any other from when it is first asked for: no work is done for a table
that nobody reads. The store remembers its place in the topic, so that a restart goes on from there.
"""

import hashlib
import logging
import queue
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from millstream.catalog.catalog import Source
from millstream.tables.keys import StoreKeys, keys_of
from millstream.tables.store import Change, Headers, Store, remove

LOG = logging.getLogger(__name__)
PULSE = 0.5
BATCH = 5000
PATIENCE = 30.0
# Seconds until a store that could not be written is tried again.
RETRY = 2.0


class TableNotReady(Exception):
    """A table whose store has not read its topic to the end yet, or cannot; the text says how far it is."""


@dataclass(frozen=True, slots=True)
class MaterializedTable:
    """A table that may be asked for.

    `eager`: it is followed even before. `keep_ms` is how long windows are kept, in stream time, None for ever.
    """

    source: Source
    eager: bool = False
    keep_ms: int | None = None


@dataclass(frozen=True, slots=True)
class TopicReader:
    """What the keeper needs of Kafka: a consumer, the ends of a topic's partitions, a topic's id; see engine.kafka."""

    reader: Callable[[], AbstractContextManager[Consumer]]
    ends: Callable[[str], Mapping[int, int]]
    identity: Callable[[str], str]


class _FollowedTopic:
    """A table being followed: its store, and the place of each partition."""

    def __init__(self, kept: MaterializedTable, store: Store) -> None:
        self.kept, self.store = kept, store
        self.keys: StoreKeys = keys_of(kept.source)
        self.places: dict[int, int] = store.places()
        self.headers = bool(kept.source.schema.headers)


class Materializer:
    """The stores of a server's tables. Any thread may ask; one of its own reads the topics."""

    def __init__(self, folder: Path, topics: TopicReader, skipped: Callable[[str, int, int, str], None]) -> None:
        """`folder` is where the stores are; `skipped` is told of records that a table can make nothing of."""
        self._folder, self._topics, self._skipped = folder, topics, skipped
        self._wanted: dict[str, MaterializedTable] = {}
        self._followed: dict[str, _FollowedTopic] = {}
        self._asked: queue.SimpleQueue[Callable[[Consumer], None]] = queue.SimpleQueue()
        self._moved = threading.Condition()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="tables", daemon=True)

    def start(self) -> None:
        """Start the thread; before, nothing is read."""
        self._thread.start()

    def close(self) -> None:
        """Stop reading; the stores stay."""
        self._closing.set()
        self._thread.join()
        for followed in self._followed.values():
            followed.store.close()

    def want(self, tables: Sequence[MaterializedTable]) -> None:
        """From now on these tables may be asked for and no others; stores of others are removed."""
        wanted = {kept.source.name: kept for kept in tables}
        if wanted != self._wanted:
            self._asked.put(lambda consumer: self._want(wanted, consumer))

    def store(self, kept: MaterializedTable) -> Store:
        """A table's store, once it has all that its topic has now.

        Raises TableNotReady where that takes too long, KafkaException where Kafka does not answer.
        """
        ends, deadline = self._topics.ends(kept.source.topic), time.monotonic() + PATIENCE
        self._asked.put(lambda consumer: self._follow(kept, sorted(ends), consumer))
        with self._moved:
            if self._moved.wait_for(lambda: self._there(kept, ends), deadline - time.monotonic()):
                return self._followed[kept.source.name].store
        raise TableNotReady(self._why(kept, ends))

    def _there(self, kept: MaterializedTable, ends: Mapping[int, int]) -> bool:
        followed = self._followed.get(kept.source.name)
        if followed is None or followed.kept != kept:
            return False
        return all(followed.places.get(p, 0) >= end for p, end in ends.items())

    def _why(self, kept: MaterializedTable, ends: Mapping[int, int]) -> str:
        followed, name = self._followed.get(kept.source.name), kept.source.name
        if followed is None or not self._thread.is_alive():
            return f"the table {name} cannot be read now: the server's log says why"
        done = sum(min(followed.places.get(p, 0), end) for p, end in ends.items())
        return f"the table {name} is still being read from its topic, {done} of {sum(ends.values())} records; ask again"

    # ------------------------------------------------------------ the thread

    def _run(self) -> None:
        with self._topics.reader() as consumer:
            while not self._closing.is_set():
                self._obey(consumer)
                if not self._followed:
                    self._wait()
                    continue
                first = consumer.poll(PULSE) if self._asked.empty() else None
                if first is not None:
                    self._take([first, *consumer.consume(BATCH, 0)], consumer)

    def _wait(self) -> None:
        """Sleep until somebody asks for something."""
        try:
            self._asked.put(self._asked.get(timeout=PULSE))
        except queue.Empty:
            return

    def _obey(self, consumer: Consumer) -> None:
        while not self._asked.empty():
            try:
                self._asked.get()(consumer)
            except (KafkaException, OSError, sqlite3.Error) as failure:
                LOG.warning("a table cannot be followed: %s", failure)

    def _want(self, wanted: dict[str, MaterializedTable], consumer: Consumer) -> None:
        self._wanted = wanted
        for name, followed in list(self._followed.items()):
            if name not in wanted or wanted[name] != followed.kept:
                self._forget(name, followed, consumer)
        files = {self._path(kept.source).name for kept in wanted.values()}
        for path in self._folder.glob("*.sqlite"):
            if path.name not in files:
                remove(path)
        for kept in wanted.values():
            if kept.eager and kept.source.name not in self._followed:
                self._follow(kept, sorted(self._topics.ends(kept.source.topic)), consumer)

    def _forget(self, name: str, followed: _FollowedTopic, consumer: Consumer) -> None:
        del self._followed[name]
        topic = followed.kept.source.topic
        if topic not in {other.kept.source.topic for other in self._followed.values()}:
            consumer.incremental_unassign([TopicPartition(topic, p) for p in followed.places])
        followed.store.close()

    def _path(self, source: Source) -> Path:
        """A file for each table over each topic; what is in it is checked by `_identity`."""
        named = hashlib.sha256(f"{source.name}\0{source.topic}".encode()).hexdigest()[:20]
        return self._folder / f"{named}.sqlite"

    def _follow(self, kept: MaterializedTable, partitions: Sequence[int], consumer: Consumer) -> None:
        """Begin to follow a table, or partitions that its topic has got since."""
        source = kept.source
        followed = self._followed.get(source.name)
        if followed is None:
            followed = _FollowedTopic(kept, Store(self._path(source), self._identity(source)))
            self._followed[source.name] = followed
            new = [TopicPartition(source.topic, p, followed.places.setdefault(p, 0)) for p in partitions]
        else:
            followed.kept = kept
            new = [TopicPartition(source.topic, p, 0) for p in partitions if p not in followed.places]
            followed.places |= {at.partition: 0 for at in new}
        if new:
            self._assign(new, consumer)
        self._tell()

    def _assign(self, new: Sequence[TopicPartition], consumer: Consumer) -> None:
        """Read from these places; of a topic that two tables have, from the lower one."""
        known = {(at.topic, at.partition) for at in consumer.assignment()}
        again = [at for at in new if (at.topic, at.partition) in known]
        consumer.incremental_assign([at for at in new if at not in again])
        for at in again:
            consumer.seek(at)

    def _identity(self, source: Source) -> dict[str, str]:
        """What a store is of: another topic of the same name, or keys stored otherwise, make it worthless."""
        return {"topic": self._topics.identity(source.topic), "keys": repr(keys_of(source)), "headers": _named(source)}

    def _take(self, messages: Sequence[Message], consumer: Consumer) -> None:
        by_topic: dict[str, list[Message]] = {}
        for message in messages:
            by_topic.setdefault(str(message.topic()), []).append(message)
        for followed in list(self._followed.values()):
            if own := by_topic.get(followed.kept.source.topic):
                self._store(followed, own, consumer)
        self._tell()

    def _store(self, followed: _FollowedTopic, messages: Sequence[Message], consumer: Consumer) -> None:
        """Store records; where that fails, they are read again: all of the topic if the store is corrupt."""
        name = followed.kept.source.name
        try:
            self._apply(followed, messages)
        except sqlite3.OperationalError as failure:
            LOG.warning("the table %s cannot be stored, and is tried again: %s", name, failure)
            self._seek(followed, consumer)
            self._closing.wait(RETRY)
        except sqlite3.DatabaseError as failure:
            LOG.warning("the store of the table %s is corrupt (%s): its topic is read again", name, failure)
            followed.store.remove()
            followed.store = Store(self._path(followed.kept.source), self._identity(followed.kept.source))
            followed.places = dict.fromkeys(followed.places, 0)
            self._seek(followed, consumer)

    def _seek(self, followed: _FollowedTopic, consumer: Consumer) -> None:
        """Read the topic of a table from the table's places."""
        for partition, offset in followed.places.items():
            consumer.seek(TopicPartition(followed.kept.source.topic, partition, offset))

    def _apply(self, followed: _FollowedTopic, messages: Sequence[Message]) -> None:
        changes: list[Change] = []
        places: dict[int, int] = {}
        for message in messages:
            partition, offset = int(message.partition() or 0), int(message.offset() or 0)
            error = message.error()
            if error is not None:
                if error.code() == KafkaError._PARTITION_EOF:
                    places[partition] = max(offset, places.get(partition, 0), followed.places.get(partition, 0))
                continue
            if offset < max(places.get(partition, 0), followed.places.get(partition, 0)):
                continue
            places[partition] = offset + 1
            change = self._change(followed, message, partition, offset)
            if change is not None:
                changes.append(change)
        followed.store.apply(changes, places, followed.kept.keep_ms)
        followed.places = followed.places | places

    def _change(self, followed: _FollowedTopic, message: Message, partition: int, offset: int) -> Change | None:
        key, topic = message.key(), followed.kept.source.topic
        if key is None:
            self._skipped(topic, partition, offset, f"a record of the table's topic {topic} has no key: it is skipped")
            return None
        try:
            stored, start, end = followed.keys.cut(_bytes(key))
        except ValueError as failure:
            self._skipped(topic, partition, offset, f"a record of topic {topic}: {failure}")
            return None
        value = message.value()
        headers = _headers(message) if followed.headers else ()
        return Change(stored, start, end, None if value is None else _bytes(value), message.timestamp()[1], headers)

    def _tell(self) -> None:
        with self._moved:
            self._moved.notify_all()


def _bytes(data: str | bytes) -> bytes:
    return data if isinstance(data, bytes) else data.encode()


def _headers(message: Message) -> Headers:
    found: Iterable[Any] = message.headers() or ()
    return tuple((str(name), data) for name, data in found)


def _named(source: Source) -> str:
    return "kept" if source.schema.headers else "left out"
