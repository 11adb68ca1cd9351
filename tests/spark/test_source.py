"""The Kafka source against a real broker: what it reads, how a batch is ended on demand, topics that change."""

import json
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import NewPartitions
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from millstream.catalog.catalog import RelationKind
from millstream.spark import jvm, sink, source, table_bootstrap
from support.kafka import BrokerClient, wait_for
from support.load import SteadyLoad

pytestmark = pytest.mark.live
ENOUGH = 30.0


class Copy:
    """A query that copies a topic; a batch lasts a minute unless it is ended. `columns`: what it copies, as SQL."""

    columns = ("key", "value", "rowtime", "headers")

    def __init__(self, spark: SparkSession, kafka: BrokerClient, folder: Path, topic: str, **client: str) -> None:
        self._spark, self._kafka, self.folder, self.topic = spark, kafka, folder, topic
        self.out = kafka.create_topic(partitions=1)
        self._client = {"bootstrap.servers": kafka.bootstrap, **client}
        self.query: StreamingQuery | None = None
        self._starts = 0

    def start(
        self,
        starts: source.Offsets | None = None,
        pace: source.Pace = source.ENDLESS,
        held: str | None = None,
        **producer: str,
    ) -> None:
        """`held` is another topic that it copies, once the barrier of its name is lifted."""
        self._starts += 1
        self.run = source.Run(self._spark, f"{self.out}/{self._starts}", pace)
        frame = source.stream(self._spark, source.Topic(self.topic, self._client, starts or {}), self.run.id)
        if held is not None:
            another = source.Topic(held, {**self._client, "client.id": "held"})
            stream = source.stream(self._spark, another, self.run.id)
            frame = frame.union(table_bootstrap.source(stream, self.out, RelationKind.STREAM, 0))
        servers = {"bootstrap.servers": self._kafka.bootstrap, **producer}
        frame = frame.selectExpr(*self.columns)
        self.query = sink.run_realtime(frame, self.out, servers, str(self.folder), self.out, "1 hour", self.run.id)

    def finish(self) -> None:
        """Stop in an orderly way."""
        assert self.query is not None
        self.run.finish()
        assert self.run.await_batch_end(ENOUGH), self.query.exception()
        self.query.stop()
        self.run.end()

    def abort(self) -> None:
        if self.query is not None:
            self.query.stop()

    def values(self) -> list[bytes | None]:
        return [r.value for r in self._kafka.consume_all(self.out, self._kafka.ends(self.out))]

    def batches(self) -> list[int]:
        """The batches that were committed."""
        commits = self.folder / "commits"
        return sorted(int(file.name) for file in commits.iterdir() if file.name.isdigit()) if commits.is_dir() else []

    def committed(self) -> int:
        """How many records lie before the positions of the last batch that was committed."""
        return sum(self._committed().values())

    def _committed(self) -> dict[str, int]:
        offsets = self.folder / "offsets" / str(max(self.batches(), default=-1))
        if not offsets.exists():
            return {}
        # A version, metadata, and a line for each source.
        sources = map(json.loads, offsets.read_text().splitlines()[2:])
        return {number: n for positions in sources for number, n in positions.get(self.topic, {}).items()}

    @property
    def saves(self) -> Path:
        """The file of the offsets that are saved within a batch."""
        return self.folder / "sources" / "0" / "saved-offsets.json"

    def saved(self) -> int:
        """How many records lie before the positions at which the next run begins."""
        saved = json.loads(self.saves.read_text())["partitions"] if self.saves.exists() else {}
        ends = self._committed()
        valid = {number: to for number, (start, to) in saved.items() if start == ends.get(number, 0)}
        return sum({**ends, **valid}.values())

    def reach(self, count: int) -> None:
        """Wait until so many records have been copied."""
        wait_for(lambda: self._kafka.ends(self.out) >= count or self.ended(), f"{count} records in {self.out}")
        assert not self.ended(), self.failure()

    def ended(self) -> bool:
        return self.query is not None and not self.query.isActive

    def failure(self) -> str:
        assert self.query is not None
        return str(self.query.exception())


Copying = Callable[..., Copy]


@pytest.fixture
def copying(spark: SparkSession, kafka: BrokerClient, tmp_path: Path) -> Iterator[Copying]:
    """Makes copies that end with the test."""
    copies: list[Copy] = []

    def make(topic: str, **client: str) -> Copy:
        copies.append(Copy(spark, kafka, tmp_path / f"{len(copies)}", topic, **client))
        return copies[-1]

    yield make
    for one in copies:
        one.abort()


def numbers(count: int, first: int = 0) -> list[bytes]:
    return [str(n).encode() for n in range(first, first + count)]


def put(kafka: BrokerClient, topic: str, values: list[bytes]) -> None:
    for value in values:
        kafka.send(topic, value, value)
    kafka.flush()


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


def transaction(kafka: BrokerClient, topic: str, values: list[bytes], commit: bool) -> None:
    writer = Producer({"bootstrap.servers": kafka.bootstrap, "transactional.id": kafka.unique("tx")})
    writer.init_transactions()
    writer.begin_transaction()
    for value in values:
        writer.produce(topic, value, value)
    writer.flush()
    (writer.commit_transaction if commit else writer.abort_transaction)()


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
    copy.start({0: 2})
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
    topic, held = kafka.create_topic(), kafka.create_topic()
    copy = copying(topic)
    # Of two topics, so that its offsets are saved at a batch's end only.
    copy.start(pace=source.Pace(interval=100, first=100), held=held)
    for number in range(3):
        put(kafka, topic, numbers(1, number))
        wait_for(lambda number=number: copy.committed() == number + 1, "the commit of a batch")  # type: ignore[misc]
    assert copy.batches() == [0, 1, 2]
    assert not list(copy.folder.rglob(".*.crc")), "files that CheckpointFiles did not write"


# ---------------------------------------------------------------- offsets that are saved within a batch


@pytest.mark.parametrize("compiled", [True, False])
def test_offsets_are_saved_when_all_rows_of_the_records_before_them_are_written(
    spark: SparkSession, kafka: BrokerClient, copying: Copying, compiled: bool
) -> None:
    """Without an end of the batch, and with an idle partition, filtered records and records of three rows."""
    topic = kafka.create_topic(partitions=2)
    copy = copying(topic)
    copy.columns = ("key", "explode(array(value, value, value)) as value", "rowtime", "headers")
    spark.conf.set("spark.sql.codegen.wholeStage", str(compiled).lower())
    try:
        copy.start(pace=source.Pace(interval=100, first=100))
        for number in range(5):
            kafka.produce(topic, None, b"%d" % number, partition=0)
            wait_for(lambda number=number: copy.saved() == number + 1, "the save")  # type: ignore[misc]
            assert copy.values() == [b"%d" % each for each in range(number + 1) for _ in range(3)]
    finally:
        spark.conf.unset("spark.sql.codegen.wholeStage")
    copy.abort()
    assert copy.batches() == []
    kafka.produce(topic, None, b"5", partition=1)
    copy.start()
    copy.reach(18)
    assert copy.values()[-3:] == [b"5"] * 3, "a record before the saved offset was read again"
    copy.finish()
    assert (copy.committed(), copy.saved()) == (6, 6)


def test_offsets_of_rows_that_kafka_has_not_acknowledged_are_not_saved(kafka: BrokerClient, copying: Copying) -> None:
    topic = kafka.create_topic(partitions=2)
    kafka.produce(topic, None, b"0", partition=0)
    copy = copying(topic)
    # The other partition has no rows to wait for: each request of a save writes the file.
    lazy = {"linger.ms": "60000", "delivery.timeout.ms": "120000"}
    copy.start(pace=source.Pace(interval=200, first=200), **lazy)
    wait_for(lambda: copy.saves.exists(), "the save of the other partition")
    first = copy.saves.stat().st_mtime_ns
    kafka.produce(topic, None, b"1", partition=0)
    wait_for(lambda: copy.saves.stat().st_mtime_ns > first, "another save")
    assert set(json.loads(copy.saves.read_text())["partitions"]) == {"1"}
    copy.abort()
    copy.start()
    copy.reach(2)
    assert set(copy.values()) == {b"0", b"1"}


def test_a_query_that_is_aborted_again_and_again_goes_on_where_it_saved(kafka: BrokerClient, copying: Copying) -> None:
    """Under load: nothing is lost, and no record before a saved offset is read again."""
    topic = kafka.create_topic(partitions=1)
    copy = copying(topic)
    saved = [0]
    with steady(kafka, topic) as load:
        for _ in range(5):
            copy.start(pace=source.Pace(interval=100, first=100))
            wait_for(lambda: copy.saved() > saved[-1] + 100, "a save")
            copy.abort()
            saved.append(copy.saved())
        copy.start()
    copy.reach(kafka.ends(copy.out))
    wait_for(lambda: set(copy.values()) == set(numbers(load.written)), "each record's copy")
    copied = [int(value or b"") for value in copy.values()]
    begins = [n for before, n in pairwise(copied) if n <= before]
    assert all(n in saved for n in begins), (begins, saved)
    assert copy.batches() == []


@pytest.mark.parametrize("text", ["", "{", '{"topic id": "of another topic", "partitions": {"0": [0, 3]}}'])
def test_a_file_of_offsets_that_cannot_be_used_lets_records_be_read_again(
    kafka: BrokerClient, copying: Copying, text: str
) -> None:
    topic = kafka.create_topic()
    put(kafka, topic, numbers(3))
    copy = copying(topic)
    copy.start(pace=source.Pace(interval=100, first=100))
    wait_for(lambda: copy.saved() == 3, "the save")
    copy.abort()
    copy.saves.write_text(text)
    copy.start()
    copy.reach(6)
    copy.finish()
    assert copy.values() == numbers(3) * 2


def test_offsets_of_an_earlier_batch_are_not_used(kafka: BrokerClient, copying: Copying) -> None:
    topic = kafka.create_topic()
    put(kafka, topic, numbers(3))
    copy = copying(topic)
    copy.start(pace=source.Pace(interval=100, first=100))
    wait_for(lambda: copy.saved() == 3, "the save")
    put(kafka, topic, numbers(2, 3))
    copy.reach(5)
    copy.finish()
    put(kafka, topic, numbers(2, 5))
    copy.start()
    copy.reach(7)
    copy.finish()
    assert copy.values() == numbers(7)


def test_a_stream_that_waits_for_its_tables_does_not_keep_the_batch_open(
    spark: SparkSession, kafka: BrokerClient, copying: Copying
) -> None:
    """What is read of a table is saved a time after its first record, long before all of it is read."""
    copy, held = copying(kafka.create_topic()), kafka.create_topic()
    put(kafka, held, numbers(1))
    barriers = jvm.module(spark, "TableBootstrapBarriers")
    barriers.hold(copy.out, 1, jvm.java_map(spark, {}))
    copy.start(pace=source.Pace(interval=500, first=500), held=held)
    put(kafka, copy.topic, numbers(2))
    wait_for(lambda: copy.committed() == 2, "the commit of a batch in which a stream waits", ENOUGH)
    assert len(copy.values()) == 2
    barriers.remove(copy.out)
    copy.reach(3)


def steady(kafka: BrokerClient, topic: str) -> SteadyLoad:
    """Numbered records, 500 a second."""
    return SteadyLoad(lambda n: kafka.send(topic, str(n), str(n)), kafka.flush, each=5)


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
