"""Tables followed from a real broker: what is in the topic is in the store, after restarts and new topics too."""

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from confluent_kafka import KafkaException

from millstream.catalog.catalog import RelationKind, Serde, Source
from millstream.engine.kafka import KafkaClient
from millstream.model.schema import Column, RecordPart, Schema
from millstream.model.types import HEADERS_TYPE, INTEGER, STRING
from millstream.services.kafka_headers import UNREADABLE
from millstream.tables.followed_topic import MaterializedTable
from millstream.tables.indexes import IndexedTable, IndexedValues
from millstream.tables.materializer import Materializer, TableNotReady, TopicReader
from millstream.tables.store import Store, StoreRemoved
from support import raw_headers
from support.disk import LimitedDisk
from support.kafka import BrokerClient, wait_for

SCHEMA = Schema((Column("ID", STRING, RecordPart.KEY), Column("V", INTEGER)))
Open = Callable[[], Materializer]
Skipped = list[tuple[str, int, int, str]]


def no_values(table: IndexedTable) -> IndexedValues:
    """These tables have no indexes."""
    raise NotImplementedError(table.source.name)


@pytest.fixture
def skipped() -> Skipped:
    """What the materializer reports of records that it leaves out."""
    return []


@pytest.fixture
def opened(kafka: BrokerClient, tmp_path: Path, skipped: Skipped) -> Iterator[Open]:
    """Opens materializers over one folder, as one server after the other would; the last is closed at the end."""
    client, running = KafkaClient({"bootstrap.servers": kafka.bootstrap}), list[Materializer]()
    topics = TopicReader(
        lambda: client.reader(enable_partition_eof=True), client.ends, client.identity, client.identity
    )

    def start() -> Materializer:
        if running:
            running.pop().close()
        running.append(Materializer(tmp_path, topics, lambda *record: skipped.append(record), no_values))
        running[0].start()
        return running[0]

    yield start
    running[0].close()


def kept(topic: str, eager: bool = False) -> MaterializedTable:
    key, value = Serde("KAFKA"), Serde("JSON")
    return MaterializedTable(
        Source(f"T_{topic}", RelationKind.TABLE, SCHEMA, topic, key, value, created_by="CTAS_T_0"), eager
    )


def values(store: Store) -> dict[bytes, bytes | None]:
    return {c.key: c.value for c in store.between(None, None)}


def test_a_store_has_everything_that_was_in_the_topic_at_the_request(opened: Open, kafka: BrokerClient) -> None:
    table = kept(kafka.create_topic(partitions=2))
    materializer = opened()
    materializer.set_desired([table])
    assert values(materializer.store(table)) == {}
    for n in range(20):
        kafka.produce(table.source.topic, str(n % 5), str(n))
        assert values(materializer.store(table))[str(n % 5).encode()] == str(n).encode()
    kafka.produce(table.source.topic, "3", None)
    assert b"3" not in values(materializer.store(table))


def test_a_restart_reads_only_what_is_new(opened: Open, kafka: BrokerClient) -> None:
    table = kept(kafka.create_topic())
    materializer = opened()
    materializer.set_desired([table])
    kafka.produce(table.source.topic, "a", "1")
    materializer.store(table)
    materializer = opened()
    kafka.produce(table.source.topic, "b", "2")
    materializer.set_desired([table])
    store = materializer.store(table)
    assert values(store) == {b"a": b"1", b"b": b"2"}
    assert store.positions() == {0: 2}


def test_the_table_of_a_recreated_topic_is_read_anew(opened: Open, kafka: BrokerClient) -> None:
    topic = kafka.create_topic()
    table = kept(topic)
    materializer = opened()
    materializer.set_desired([table])
    for n in range(3):
        kafka.produce(topic, str(n), "old")
    assert len(values(materializer.store(table))) == 3
    materializer.set_desired([])
    kafka.recreate_topic(topic)
    for n in range(4):
        kafka.produce(topic, "new", str(n))
    materializer.set_desired([table])
    assert values(materializer.store(table)) == {b"new": b"3"}


@pytest.mark.parametrize("partitions", [1, 3])
def test_the_table_of_a_topic_that_is_replaced_while_it_is_read_is_read_anew(
    opened: Open, kafka: BrokerClient, partitions: int
) -> None:
    topic = kafka.create_topic()
    table, other = kept(topic), kept(kafka.create_topic())
    materializer = opened()
    materializer.set_desired([table, other])
    kafka.produce(other.source.topic, "other", "1")
    for n in range(3):
        kafka.produce(topic, str(n), "old")
    assert len(values(materializer.store(table))) == 3
    assert len(values(materializer.store(other))) == 1
    kafka.recreate_topic(topic, partitions)
    wait_for(lambda: kafka.topics().get(topic) == partitions, "the new topic is known")
    assert values(materializer.store(table)) == {}
    replaced = BrokerClient(kafka.bootstrap)
    for n in range(partitions):
        replaced.produce(topic, f"new {n}", "1")
    assert len(values(materializer.store(table))) == partitions
    kafka.produce(other.source.topic, "other", "2")
    assert values(materializer.store(other)) == {b"other": b"2"}


def test_a_table_that_is_dropped_and_created_again_at_once_is_another_table(opened: Open, kafka: BrokerClient) -> None:
    """Both happen between two steps of the thread, which waits here for the lock."""
    topic = kafka.create_topic()
    table = kept(topic)
    materializer = opened()
    materializer.set_desired([table])
    kafka.produce(topic, "a", "old")
    assert len(values(materializer.store(table))) == 1
    with materializer._changed:
        materializer.set_desired([])
        kafka.recreate_topic(topic)
        for n in range(3):
            kafka.produce(topic, "new", str(n))
        materializer.set_desired([table])
        # It waits for the rows, and gives the lock to the thread.
        assert values(materializer.store(table)) == {b"new": b"2"}


def test_an_eager_table_is_read_before_its_first_query(opened: Open, kafka: BrokerClient, tmp_path: Path) -> None:
    table = kept(kafka.create_topic(), eager=True)
    kafka.produce(table.source.topic, "a", "1")
    opened().set_desired([table])
    wait_for(lambda: [*tmp_path.glob("*.sqlite")], "the store")


def test_stores_of_tables_that_are_gone_are_removed_when_no_query_opens_them_any_more(
    opened: Open, kafka: BrokerClient, tmp_path: Path
) -> None:
    """A pull query that has found a table's store when the table is cut over, or dropped, still has its rows."""
    table, other = kept(kafka.create_topic()), kept(kafka.create_topic())
    kafka.produce(table.source.topic, "a", "1")
    materializer = opened()
    materializer.set_desired([table, other])
    store = materializer.store(table)
    materializer.store(other)
    assert len([*tmp_path.glob("*.sqlite")]) == 2
    materializer.set_desired([other])
    time.sleep(2)  # the thread has forgotten the table
    assert values(store) == {b"a": b"1"}
    wait_for(lambda: len([*tmp_path.glob("*.sqlite")]) == 1, "the end of a store")


def test_two_tables_over_one_topic(opened: Open, kafka: BrokerClient) -> None:
    table = kept(kafka.create_topic())
    twin = replace(table, source=replace(table.source, name="TWIN"))
    materializer = opened()
    materializer.set_desired([table, twin])
    for n in range(5):
        kafka.produce(table.source.topic, str(n), "v")
    assert len(values(materializer.store(table))) == 5
    assert values(materializer.store(twin)) == values(materializer.store(table))


def test_a_record_without_key_is_reported_and_left_out(opened: Open, kafka: BrokerClient, skipped: Skipped) -> None:
    table = kept(kafka.create_topic())
    kafka.produce(table.source.topic, None, "1")
    kafka.produce(table.source.topic, "a", "2")
    materializer = opened()
    materializer.set_desired([table])
    assert values(materializer.store(table)) == {b"a": b"2"}
    assert [(topic, offset) for topic, _, offset, _ in skipped] == [(table.source.topic, 0)]


def test_a_header_whose_name_is_no_utf8_is_stored(opened: Open, kafka: BrokerClient) -> None:
    table = kept(kafka.create_topic())
    schema = Schema((*SCHEMA, Column("H", HEADERS_TYPE, RecordPart.HEADER)))
    table = replace(table, source=replace(table.source, schema=schema))
    raw_headers.produce(kafka.bootstrap, table.source.topic, b"k", b"1", [(b"\xff", b"x"), (b"a", b"y")])
    materializer = opened()
    materializer.set_desired([table])
    assert [c.headers for c in materializer.store(table).between(None, None)] == [((UNREADABLE, b"x"), ("a", b"y"))]


def test_a_corrupt_file_is_read_from_its_topic_again(
    opened: Open, kafka: BrokerClient, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    table = kept(kafka.create_topic())
    kafka.produce(table.source.topic, "a", "1")
    materializer = opened()
    materializer.set_desired([table])
    materializer.store(table)
    materializer.close()
    (path,) = tmp_path.glob("*.sqlite")
    path.write_bytes(b"this is no database" * 1000)
    materializer = opened()
    materializer.set_desired([table])
    assert values(materializer.store(table)) == {b"a": b"1"}
    assert f"{path} is corrupt" in caplog.text


def test_a_file_that_becomes_corrupt_is_read_from_its_topic_again(
    opened: Open, kafka: BrokerClient, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    table, other = kept(kafka.create_topic(partitions=2)), kept(kafka.create_topic())
    materializer = opened()
    materializer.set_desired([table, other])
    for n in range(6000):
        kafka.send(table.source.topic, str(n), "v" * 1000)
    kafka.flush()
    materializer.store(table)
    (path,) = tmp_path.glob("*.sqlite")
    with closing(sqlite3.connect(path)) as checkpoint:
        checkpoint.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * (path.stat().st_size - 4096))
    for n in range(6000):
        kafka.send(table.source.topic, str(n), "w" * 1000)
    kafka.flush()
    assert values(materializer.store(table)) == {str(n).encode(): b"w" * 1000 for n in range(6000)}
    assert f"the store of the table {table.source.name} is corrupt" in caplog.text
    assert values(materializer.store(other)) == {}


def test_a_file_that_proves_corrupt_to_a_query_is_read_from_its_topic_again(
    opened: Open, kafka: BrokerClient, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing is written to the table meanwhile: each query failed with an internal error."""
    table = kept(kafka.create_topic())
    for n in range(2000):
        kafka.send(table.source.topic, str(n), "v" * 100)
    kafka.flush()
    materializer = opened()
    materializer.set_desired([table])
    materializer.store(table)
    materializer.close()
    (path,) = tmp_path.glob("*.sqlite")
    with path.open("r+b") as file:
        file.seek(path.stat().st_size // 2)
        file.write(b"\xff" * 4096 * 5)
    materializer = opened()
    materializer.set_desired([table])
    with pytest.raises(StoreRemoved, match="the table's store is damaged, and is read from its topic again: ask again"):
        values(materializer.store(table))
    wait_for(lambda: "is corrupt and is rebuilt from its topic" in caplog.text, "the end of the damaged store")
    assert values(materializer.store(table)) == {str(n).encode(): b"v" * 100 for n in range(2000)}


def test_a_full_disk_holds_a_table_up_until_there_is_room(
    opened: Open, kafka: BrokerClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    disk = LimitedDisk(monkeypatch)
    table = kept(kafka.create_topic())
    materializer = opened()
    materializer.set_desired([table])
    kafka.produce(table.source.topic, "a", "1")
    store = materializer.store(table)
    disk.limit(1)
    for n in range(100):
        kafka.send(table.source.topic, str(n), "v" * 5000)
    kafka.flush()
    wait_for(lambda: "cannot be stored" in caplog.text, "the full disk")
    assert values(store) == {b"a": b"1"}
    full = f"the table {table.source.name} cannot be stored: database or disk is full"
    for _ in range(30):
        assert materializer.loop.health().error == full
        time.sleep(0.05)
    assert caplog.text.count(full) == 1
    with monkeypatch.context() as impatient:
        impatient.setattr("millstream.tables.materializer.PATIENCE", 0.1)
        with pytest.raises(TableNotReady, match=f"is not up to date: {full}"):
            materializer.store(table)
    disk.limit(LimitedDisk.NONE)
    assert len(values(materializer.store(table))) == 101
    wait_for(lambda: not materializer.loop.health().error, "the end of the outage", timeout=20)


def test_a_topic_that_is_not_there(opened: Open, kafka: BrokerClient) -> None:
    materializer = opened()
    with pytest.raises(KafkaException):
        materializer.store(kept(kafka.unique()))
