"""The Kafka source against a real broker: what it reads, how a batch is ended on demand, topics that change."""

from typing import Any

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import NewPartitions
from pyspark.sql import DataFrame, SparkSession

from millstream.spark import jvm, source
from support.kafka import BrokerClient, wait_for
from support.realtime import ENOUGH, Copying, numbers, put, steady, transaction

pytestmark = pytest.mark.live


# ---------------------------------------------------------------- what is read


def collected(frame: DataFrame) -> list[tuple[Any, ...]]:
    rows = [tuple(row) for row in frame.collect()]
    return sorted(rows, key=lambda row: row[4:])


def test_a_bounded_read_gives_the_columns_of_each_record_before_the_ends(
    spark: SparkSession, kafka: BrokerClient
) -> None:
    topic = kafka.create_topic(partitions=2)
    kafka.produce(topic, b"k", b"v", 1000, [("h", b"1"), ("h", None)], partition=0)
    kafka.produce(topic, None, None, 1001, partition=0)
    kafka.produce(topic, b"k2", b"after the end", 1002, partition=0)
    kafka.produce(topic, b"", b"", 1003, partition=1)
    read = source.bounded(spark, source.Topic(topic, {"bootstrap.servers": kafka.bootstrap}), {0: 2, 1: 1})
    assert collected(read) == [
        (b"k", b"v", 1000, [("h", b"1"), ("h", None)], 0, 0),
        (None, None, 1001, None, 0, 1),
        (b"", b"", 1003, None, 1, 0),
    ]
    narrow = source.Topic(topic, {"bootstrap.servers": kafka.bootstrap}, {0: 1, 1: 1})
    assert [row[5] for row in collected(source.bounded(spark, narrow, {0: 2, 1: 1}))] == [1]
    assert read.selectExpr("offset", "partition + 1").where("key is null").collect() == [(1, 1)]


def test_offsets_without_records_do_not_hold_up_a_bounded_read(spark: SparkSession, kafka: BrokerClient) -> None:
    """Markers of transactions are not returned, and records of an aborted one only if they are requested."""
    topic = kafka.create_topic(partitions=1)
    transaction(kafka, topic, [b"kept"], commit=True)
    transaction(kafka, topic, [b"aborted"], commit=False)
    ends = {0: 4}
    # The broker writes the marker of an aborted transaction after it has answered.
    wait_for(lambda: kafka.ends(topic) == 4, "the markers of both transactions", seen=lambda: str(kafka.ends(topic)))
    both: list[tuple[str, list[bytes]]] = [
        ("read_uncommitted", [b"kept", b"aborted"]),
        ("read_committed", [b"kept"]),
    ]
    for level, expected in both:
        client = {"bootstrap.servers": kafka.bootstrap, "isolation.level": level}
        assert [row[1] for row in collected(source.bounded(spark, source.Topic(topic, client), ends))] == expected


def test_a_stream_of_committed_records_alone(kafka: BrokerClient, copying: Copying) -> None:
    topic = kafka.create_topic(partitions=1)
    copy = copying(topic, **{"isolation.level": "read_committed"})
    copy.start()
    transaction(kafka, topic, [b"aborted"], commit=False)
    transaction(kafka, topic, [b"kept"], commit=True)
    copy.reach(1)
    copy.finish()
    assert copy.values() == [b"kept"]


def test_a_start_is_awaited_until_a_task_reads_or_the_query_has_ended(
    spark: SparkSession, kafka: BrokerClient, copying: Copying
) -> None:
    never = source.Run(spark, "never/1", source.ENDLESS)
    assert not never.await_start(0.1)
    never.end()
    assert never.await_start(0)
    copy = copying(kafka.create_topic(partitions=1))
    copy.start()
    assert copy.run.await_start(ENOUGH)
    copy.finish()


def test_a_stream_begins_at_its_start_offsets_or_with_the_first_record(kafka: BrokerClient, copying: Copying) -> None:
    topic = kafka.create_topic(partitions=2)
    for partition in (0, 1):
        for n in range(3):
            kafka.produce(topic, None, f"{partition}/{n}", partition=partition)
    copy = copying(topic)
    copy.starts = {0: 2}
    copy.start()
    copy.reach(4)
    copy.finish()
    assert sorted(copy.values(), key=str) == [b"0/2", b"1/0", b"1/1", b"1/2"]


# ---------------------------------------------------------------- a batch ended on demand


def test_a_query_goes_on_from_exactly_where_it_was_stopped(kafka: BrokerClient, copying: Copying) -> None:
    topic = kafka.create_topic(partitions=2)
    copy = copying(topic)
    for run in range(3):
        copy.start()
        put(kafka, topic, numbers(10, 10 * run))
        copy.reach(10 * run + 10)
        copy.finish()
    assert sorted(copy.values()) == sorted(numbers(30))


def test_a_query_that_is_aborted_repeats_records(kafka: BrokerClient, copying: Copying) -> None:
    """The test above can fail: this is what a query does that is stopped by Spark alone, in the middle of a batch."""
    topic = kafka.create_topic(partitions=2)
    copy = copying(topic)
    # On a machine that is slow enough the first batch, of three seconds, ends before it is aborted.
    for run in range(20):
        put(kafka, topic, numbers(10, first=10 * run))
        copy.start()
        wait_for(lambda run=run: set(copy.values()) == set(numbers(10 * run + 10)), "each record's copy")  # type: ignore[misc]
        copy.abort()
        if len(copy.values()) > len(set(copy.values())):
            break
    assert len(copy.values()) > len(set(copy.values()))


def test_a_query_that_crashes_soon_after_each_start_makes_progress(kafka: BrokerClient, copying: Copying) -> None:
    """Offsets are first saved long before the configured duration: no record before them is read again."""
    topic = kafka.create_topic(partitions=2)
    copy = copying(topic)
    for run in range(3):
        copy.start(pace=source.Pace(interval=600_000, first=3_000))
        put(kafka, topic, numbers(10, 10 * run))
        copy.reach(10 * run + 10)
        wait_for(lambda run=run: copy.saved() == 10 * run + 10, "the save")  # type: ignore[misc]
        copy.abort()
    assert sorted(copy.values(), key=lambda v: int(v or b"")) == numbers(30)


def test_a_query_that_reads_nothing_has_one_batch(kafka: BrokerClient, copying: Copying) -> None:
    """Batches end a time after their first record: one without records goes on, however long it lasts."""
    topic = kafka.create_topic()
    copy = copying(topic)
    # Its rows are sent on to tasks without an operator, so that it is saved at a batch's end only.
    copy.tasks = 2
    copy.start(pace=source.Pace(interval=100, first=100))
    for number in range(3):
        put(kafka, topic, numbers(1, number))
        wait_for(lambda number=number: copy.committed() == number + 1, "the commit of a batch")  # type: ignore[misc]
    assert copy.batches() == [0, 1, 2]
    assert not list(copy.folder.rglob(".*.crc")), "files that CheckpointFiles did not write"


def test_a_stream_that_waits_for_its_tables_does_not_keep_the_batch_open(
    spark: SparkSession, kafka: BrokerClient, copying: Copying
) -> None:
    """What is read of a table is saved a time after its first record, long before all of it is read."""
    copy, other = copying(kafka.create_topic()), kafka.create_topic()
    put(kafka, other, numbers(1))
    barriers = jvm.module(spark, "TableBootstrapBarriers")
    barriers.create(copy.out, 1, jvm.java_map(spark, {}))
    copy.blocked = other
    copy.start(pace=source.Pace(interval=500, first=500))
    put(kafka, copy.topic, numbers(2))
    wait_for(lambda: copy.committed() == 2, "the commit of a batch in which a stream waits", ENOUGH)
    assert len(copy.values()) == 2
    barriers.remove(copy.out)
    copy.reach(3)


def test_a_query_that_is_stopped_again_and_again_under_load_repeats_nothing(
    kafka: BrokerClient, copying: Copying
) -> None:
    topic = kafka.create_topic(partitions=2)
    copy = copying(topic)
    with steady(kafka, topic) as load:
        for _ in range(5):
            copy.start()
            copy.reach(kafka.ends(copy.out) + 300)
            copy.finish()
        copy.start()
    copy.reach(load.written)
    copy.finish()
    assert sorted(copy.values(), key=lambda v: int(v or b"")) == numbers(load.written)


def test_a_stop_does_not_wait_for_records_nor_for_the_batch(kafka: BrokerClient, copying: Copying) -> None:
    """Nothing flows, and the broker holds an empty fetch for longer than the test would wait."""
    copy = copying(kafka.create_topic(), **{"fetch.max.wait.ms": "25000"})
    for _ in range(2):
        copy.start()
        copy.finish()


def test_a_query_that_is_stopped_before_its_first_batch_reads_nothing(kafka: BrokerClient, copying: Copying) -> None:
    topic = kafka.create_topic()
    put(kafka, topic, numbers(3))
    copy = copying(topic)
    copy.start()
    copy.finish()
    copy.start()
    copy.reach(3)
    copy.finish()
    assert copy.values() == numbers(3)


# ---------------------------------------------------------------- topics that change


def partition_to(kafka: BrokerClient, topic: str, count: int) -> None:
    kafka.admin.create_partitions([NewPartitions(topic, count)])[topic].result()
    wait_for(lambda: kafka.topics()[topic] == count, "the new partitions")


def test_new_partitions_are_read_from_their_first_record(kafka: BrokerClient, copying: Copying) -> None:
    """Their appearance ends the batch, which would last an hour."""
    topic = kafka.create_topic(partitions=1)
    copy = copying(topic)
    copy.start()
    kafka.produce(topic, None, b"0", partition=0)
    copy.reach(1)
    partition_to(kafka, topic, 3)
    for partition in range(3):
        # A producer that knew the topic before does not know of its new partitions.
        BrokerClient(kafka.bootstrap).produce(topic, None, f"{partition + 1}", partition=partition)
    copy.reach(4)
    copy.finish()
    assert sorted(copy.values(), key=str) == [b"0", b"1", b"2", b"3"]


def test_records_that_retention_took_are_left_out(kafka: BrokerClient, copying: Copying) -> None:
    topic = kafka.create_topic(partitions=1)
    copy = copying(topic)
    copy.start()
    put(kafka, topic, numbers(3))
    copy.reach(3)
    copy.finish()
    put(kafka, topic, numbers(5, 3))
    kafka.admin.delete_records([TopicPartition(topic, 0, 6)])[TopicPartition(topic, 0, 6)].result()
    copy.start()
    copy.reach(5)
    copy.finish()
    assert copy.values() == [*numbers(3), b"6", b"7"]


def test_a_query_over_a_topic_that_was_recreated_fails_with_that_reason(kafka: BrokerClient, copying: Copying) -> None:
    """While it runs, and at its next start, though the new topic has the offsets that the old one had."""
    topic = kafka.create_topic(partitions=1)
    copy = copying(topic)
    copy.start()
    put(kafka, topic, numbers(3))
    copy.reach(3)
    copy.finish()
    for start in range(2):
        copy.start()
        kafka.recreate_topic(topic)
        put(kafka, topic, numbers(9, 100))
        wait_for(copy.ended, f"the failure of start {start}")
        assert "was deleted and created again" in copy.failure()
    # Rows of the new topic may be written before it is noticed; a start afterwards reads none of them.
    assert copy.values()[:3] == numbers(3)


def test_a_query_over_a_topic_that_was_deleted_commits_what_it_read_and_fails(
    kafka: BrokerClient, copying: Copying
) -> None:
    topic = kafka.create_topic(partitions=1)
    copy = copying(topic)
    copy.start()
    put(kafka, topic, numbers(3))
    copy.reach(3)
    kafka.delete_topic(topic)
    wait_for(copy.ended, "the failure")
    assert f"topic {topic}, which the query reads, is not there" in copy.failure()
    assert '"0":3' in (copy.folder / "offsets" / "0").read_text()


def test_a_query_resumes_from_a_checkpoint_of_sparks_own_source(kafka: BrokerClient, copying: Copying) -> None:
    topic = kafka.create_topic(partitions=1)
    copy = copying(topic)
    copy.start()
    put(kafka, topic, numbers(3))
    copy.reach(3)
    copy.finish()
    offsets = copy.folder / "offsets" / "0"
    (copy.folder / "offsets" / ".0.crc").unlink(missing_ok=True)
    head, _ = offsets.read_text().rsplit("\n", 1)
    offsets.write_text(f'{head}\n{{"{topic}":{{"0":2}}}}')
    copy.start()
    copy.reach(4)
    copy.finish()
    assert copy.values() == [*numbers(3), b"2"]
