"""Tables followed from a real broker: what is in the topic is in the store, after restarts and new topics too."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from confluent_kafka import KafkaException

from millstream.catalog.catalog import RelationKind, Serde, Source
from millstream.engine.kafka import BrokerClientClient as Client
from millstream.model.schema import Column, RecordPart, Schema
from millstream.model.types import INTEGER, STRING
from millstream.tables.materializer import MaterializedTable, Materializer, TopicReader
from millstream.tables.store import Store
from support.kafka import BrokerClient, wait_for

SCHEMA = Schema((Column("ID", STRING, RecordPart.KEY), Column("V", INTEGER)))
Open = Callable[[], Materializer]


@pytest.fixture
def told() -> list[tuple[str, int, int, str]]:
    return []


@pytest.fixture
def opened(kafka: BrokerClient, tmp_path: Path, told: list[tuple[str, int, int, str]]) -> Iterator[Open]:
    """Opens keepers over one folder, as one server after the other would; the last is closed at the end."""
    client, made = Client({"bootstrap.servers": kafka.bootstrap}), list[Materializer]()
    topics = TopicReader(lambda: client.reader(enable_partition_eof=True), client.ends_now, client.identity)

    def start() -> Materializer:
        if made:
            made.pop().close()
        made.append(Materializer(tmp_path, topics, lambda *what: told.append(what)))
        made[0].start()
        return made[0]

    yield start
    made[0].close()


def kept(topic: str, eager: bool = False) -> MaterializedTable:
    key, value = Serde("KAFKA"), Serde("JSON")
    return MaterializedTable(
        Source(f"T_{topic}", RelationKind.TABLE, SCHEMA, topic, key, value, created_by="CTAS_T_0"), eager
    )


def values(store: Store) -> dict[bytes, bytes | None]:
    return {c.key: c.value for c in store.between(None, None)}


def test_what_the_topic_has_when_asked_is_there(opened: Open, kafka: BrokerClient) -> None:
    table = kept(kafka.create_topic(partitions=2))
    keeper = opened()
    keeper.want([table])
    assert values(keeper.store(table)) == {}
    for n in range(20):
        kafka.produce(table.source.topic, str(n % 5), str(n))
        assert values(keeper.store(table))[str(n % 5).encode()] == str(n).encode()
    kafka.produce(table.source.topic, "3", None)
    assert b"3" not in values(keeper.store(table))


def test_a_restart_reads_only_what_is_new(opened: Open, kafka: BrokerClient) -> None:
    table = kept(kafka.create_topic())
    keeper = opened()
    keeper.want([table])
    kafka.produce(table.source.topic, "a", "1")
    keeper.store(table)
    keeper = opened()
    kafka.produce(table.source.topic, "b", "2")
    keeper.want([table])
    store = keeper.store(table)
    assert values(store) == {b"a": b"1", b"b": b"2"}
    assert store.places() == {0: 2}


def test_a_topic_made_anew_is_another_table(opened: Open, kafka: BrokerClient) -> None:
    topic = kafka.create_topic()
    table = kept(topic)
    keeper = opened()
    keeper.want([table])
    for n in range(3):
        kafka.produce(topic, str(n), "old")
    assert len(values(keeper.store(table))) == 3
    keeper.want([])
    kafka.delete_topic(topic)
    wait_for(lambda: topic not in kafka.topics(), "the topic's end")
    kafka.create_topic(topic)
    for n in range(4):
        kafka.produce(topic, "new", str(n))
    keeper.want([table])
    assert values(keeper.store(table)) == {b"new": b"3"}


def test_an_eager_table_is_read_before_it_is_asked_for(opened: Open, kafka: BrokerClient, tmp_path: Path) -> None:
    table = kept(kafka.create_topic(), eager=True)
    kafka.produce(table.source.topic, "a", "1")
    opened().want([table])
    wait_for(lambda: [*tmp_path.glob("*.sqlite")], "the store")


def test_stores_of_tables_that_are_gone_are_removed(opened: Open, kafka: BrokerClient, tmp_path: Path) -> None:
    table, other = kept(kafka.create_topic()), kept(kafka.create_topic())
    keeper = opened()
    keeper.want([table, other])
    keeper.store(table)
    keeper.store(other)
    assert len([*tmp_path.glob("*.sqlite")]) == 2
    keeper.want([other])
    wait_for(lambda: len([*tmp_path.glob("*.sqlite")]) == 1, "the end of a store")


def test_two_tables_over_one_topic(opened: Open, kafka: BrokerClient) -> None:
    table = kept(kafka.create_topic())
    twin = replace(table, source=replace(table.source, name="TWIN"))
    keeper = opened()
    keeper.want([table, twin])
    for n in range(5):
        kafka.produce(table.source.topic, str(n), "v")
    assert len(values(keeper.store(table))) == 5
    assert values(keeper.store(twin)) == values(keeper.store(table))


def test_a_record_without_key_is_told_and_left_out(
    opened: Open, kafka: BrokerClient, told: list[tuple[str, int, int, str]]
) -> None:
    table = kept(kafka.create_topic())
    kafka.produce(table.source.topic, None, "1")
    kafka.produce(table.source.topic, "a", "2")
    keeper = opened()
    keeper.want([table])
    assert values(keeper.store(table)) == {b"a": b"2"}
    assert [(topic, offset) for topic, _, offset, _ in told] == [(table.source.topic, 0)]


def test_a_topic_that_is_not_there(opened: Open, kafka: BrokerClient) -> None:
    keeper = opened()
    with pytest.raises(KafkaException):
        keeper.store(kept(kafka.unique()))
