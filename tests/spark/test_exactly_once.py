"""Queries that write in Kafka transactions, against a real broker: what readers of committed records get of them."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions
from py4j.protocol import Py4JError
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from millstream.model.settings import effective
from millstream.spark import jvm, sink, source, transactions
from millstream.spark.checkpoint import CheckpointBehind
from support.kafka import BrokerClient, wait_for
from support.load import SteadyLoad

pytestmark = pytest.mark.live
ENOUGH = 60.0
SETTINGS = effective({"processing.guarantee": "exactly_once_v2", "commit.interval.ms": "500"})


class Copy:
    """A query that copies a topic and commits every half second."""

    def __init__(self, spark: SparkSession, kafka: BrokerClient, folder: Path, topic: str) -> None:
        self._spark, self._kafka, self.folder, self.topic = spark, kafka, folder, topic
        self.out, self.group = kafka.create_topic(partitions=2), kafka.unique("group")
        self._client = {"bootstrap.servers": kafka.bootstrap}
        self.query: StreamingQuery | None = None
        self._starts = 0

    def start(self, interval: int = 500) -> None:
        self._starts += 1
        settings = {**SETTINGS, "commit.interval.ms": str(interval)}
        self.run = source.Run(self._spark, f"{self.out}/{self._starts}", source.Pace(interval, interval))
        transactions.begin(self._spark, self.run.id, self.group, str(self.folder), settings, self._client)
        frame = source.stream(self._spark, source.Topic(self.topic, self._client), self.run.id)
        name = f"{self.out}-{self._starts}"
        self.query = sink.run_realtime(
            frame, sink.TopicOutput(name, self.out, self._client, str(self.folder), run=self.run.id)
        )

    def finish(self) -> None:
        """Stop in an orderly way."""
        self.run.finish()
        assert self.run.await_batch_end(ENOUGH), self.failure()
        self.crash()

    def crash(self) -> None:
        """Stop in the middle of whatever it does."""
        if self.query is not None:
            self.query.stop()
            transactions.end(self._spark, self.run.id)
            self.run.end()

    def values(self) -> list[int]:
        """What readers of committed records get, in order."""
        return sorted(int(r.value or b"") for r in self._kafka.committed(self.out))

    def reach(self, count: int) -> None:
        """Wait until so many records are committed."""
        wait_for(lambda: len(self._kafka.committed(self.out)) >= count or self.failure(), f"{count} records", ENOUGH)
        assert not self.failure()

    def has_begun_batch(self) -> bool:
        """True if Spark has planned a batch of this start."""
        assert self.query is not None
        return self.query._jsq.streamingQuery().lastExecution() is not None  # type: ignore[attr-defined]

    def failure(self) -> str:
        assert self.query is not None
        return "" if self.query.isActive else str(self.query.exception())

    def marker(self) -> str:
        """What Kafka says was committed last."""
        offsets = self._kafka.admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(self.group)])
        places = offsets[self.group].result().topic_partitions or ()
        return max((p.metadata or "" for p in places), key=lambda m: int(m.split("-")[0]))

    def batches(self, log: str) -> list[int]:
        return sorted(int(f.name) for f in (self.folder / log).iterdir() if f.name.isdigit())


Copying = Callable[[str], Copy]


@pytest.fixture
def copying(spark: SparkSession, kafka: BrokerClient, tmp_path: Path) -> Iterator[Copying]:
    """Makes copies that end with the test."""
    copies: list[Copy] = []

    def make(topic: str) -> Copy:
        copies.append(Copy(spark, kafka, tmp_path / f"{len(copies)}", topic))
        return copies[-1]

    yield make
    for one in copies:
        one.crash()


def put(kafka: BrokerClient, topic: str, count: int, first: int = 0) -> None:
    for n in range(first, first + count):
        kafka.send(topic, str(n), str(n))
    kafka.flush()


def copied(kafka: BrokerClient, copying: Copying, count: int, first: int = 0) -> Copy:
    """A copy of a topic with so many numbers, which has committed them all and stopped."""
    topic = kafka.create_topic()
    copy = copying(topic)
    put(kafka, topic, count, first)
    copy.start()
    copy.reach(count)
    copy.finish()
    return copy


def steady(kafka: BrokerClient, topic: str) -> SteadyLoad:
    """Numbered records, 300 a second."""
    return SteadyLoad(lambda n: kafka.send(topic, str(n), str(n)), kafka.flush, each=3)


def test_each_input_has_one_output_through_crashes_and_orderly_stops(kafka: BrokerClient, copying: Copying) -> None:
    topic = kafka.create_topic(partitions=2)
    copy = copying(topic)
    with steady(kafka, topic) as load:
        for turn in range(6):
            copy.start()
            copy.reach(len(kafka.committed(copy.out)) + 150 * (1 + turn % 3))
            (copy.crash if turn % 3 else copy.finish)()
        copy.start()
    copy.reach(load.written)
    copy.finish()
    assert copy.values() == list(range(load.written))


def test_what_a_crashed_batch_wrote_is_never_seen(kafka: BrokerClient, copying: Copying) -> None:
    """The batch lasts for a minute, so that the crash is in the middle of it; the next run writes the rows again."""
    topic = kafka.create_topic()
    copy = copying(topic)
    put(kafka, topic, 10)
    copy.start(interval=60_000)
    wait_for(lambda: kafka.ends(copy.out) >= 0 and written(kafka, copy.out) >= 10, "the rows", ENOUGH)
    assert copy.values() == []
    copy.crash()
    assert copy.values() == []
    copy.start()
    copy.reach(10)
    copy.finish()
    assert copy.values() == list(range(10))
    assert written(kafka, copy.out) > 20, "this test is about rows that were written twice"


def written(kafka: BrokerClient, topic: str) -> int:
    """The number of records and markers in a topic, committed or not."""
    return sum(kafka.high_watermarks(topic))


def test_a_batch_that_kafka_committed_and_the_checkpoint_did_not_is_not_run_again(
    kafka: BrokerClient, copying: Copying
) -> None:
    topic = kafka.create_topic(partitions=2)
    copy = copying(topic)
    put(kafka, topic, 10)
    copy.start()
    copy.reach(10)
    copy.finish()
    # What a kill leaves between the commit in Kafka and the commit log's file.
    marker = copy.marker()
    last = int(marker.split("-")[0])
    for batch in copy.batches("commits"):
        if batch >= last:
            (copy.folder / "commits" / f"{batch}").rename(copy.folder / f"prepared-{marker}")
            (copy.folder / "commits" / f".{batch}.crc").unlink(missing_ok=True)
    put(kafka, topic, 10, first=10)
    copy.start()
    copy.reach(20)
    copy.finish()
    assert copy.values() == list(range(20))


def test_a_checkpoint_without_the_batch_that_kafka_committed_is_refused(kafka: BrokerClient, copying: Copying) -> None:
    copy = copied(kafka, copying, 10)
    copy.folder.rename(copy.folder.with_name("elsewhere"))
    with pytest.raises(CheckpointBehind, match=r"Kafka has committed batch \d+ of the query"):
        copy.start()


def test_a_writer_that_was_replaced_commits_nothing_more(
    spark: SparkSession, kafka: BrokerClient, copying: Copying
) -> None:
    topic = kafka.create_topic()
    copy = copying(topic)
    copy.start(interval=5_000)
    put(kafka, topic, 10)
    wait_for(lambda: written(kafka, copy.out) >= 10, "the rows", ENOUGH)
    run = f"{copy.out}/another"
    client = {"bootstrap.servers": kafka.bootstrap}
    transactions.begin(spark, run, copy.group, str(copy.folder.with_name("another")), SETTINGS, client)
    wait_for(copy.failure, "the failure", ENOUGH)
    assert "transactionalId" in copy.failure() or "newer producer" in copy.failure()
    transactions.end(spark, run)
    assert copy.values() == []


def test_the_positions_of_the_query_are_a_consumer_groups(kafka: BrokerClient, copying: Copying) -> None:
    copy = copied(kafka, copying, 10)
    offsets = kafka.admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(copy.group)])
    (place,) = offsets[copy.group].result().topic_partitions or ()
    assert (place.topic, place.partition, place.offset) == (copy.topic, 0, 10)


def test_a_batch_without_records_is_long_and_takes_no_transaction(kafka: BrokerClient, copying: Copying) -> None:
    """It ends half a second after its first record, or when the query is stopped; also the first one of a run."""
    copy = copied(kafka, copying, 1)
    for _ in range(2):
        copy.start()
        wait_for(copy.has_begun_batch, "a batch begins", ENOUGH)
        copy.finish()
    assert max(copy.batches("commits")) <= 6, "empty batches were ended early"
    assert int(copy.marker().split("-")[0]) <= max(copy.batches("commits")) - 2
    assert copy.values() == [0]


def test_a_run_that_was_replaced_removes_no_batch_from_the_checkpoint(
    spark: SparkSession, kafka: BrokerClient, copying: Copying
) -> None:
    """A server that was frozen in a start would remove the offsets of the batch that the next run commits."""
    copy = copied(kafka, copying, 10)
    module = jvm.module(spark, "Transactions")
    producer = jvm.java_map(spark, {**sink.PRODUCER, "bootstrap.servers": kafka.bootstrap})
    offsets = {run: spark._jvm.org.apache.hadoop.fs.Path(f"/{copy.group}/{run}/offsets/999") for run in ("old", "new")}  # type: ignore[union-attr]
    for run in offsets:
        assert module.begin(run, f"/{copy.group}/{run}", copy.group, producer) == copy.marker()
    module.removing(offsets["new"])
    assert module.of("new").lastMarker() == copy.marker()
    with pytest.raises(Py4JError, match=r"newer producer|old epoch"):
        module.removing(offsets["old"])
    for run in offsets:
        module.end(run)
    copy.start()
    put(kafka, copy.topic, 5, 10)
    copy.reach(15)
    copy.finish()
    assert copy.values() == list(range(15))


def executor_rows(spark: SparkSession, kafka: BrokerClient, copy: Copy, count: int) -> str:
    """Rows that an executor's producer has written for a batch and not committed: the driver's note of it."""
    module, settings = jvm.module(spark, "Transactions"), {**sink.PRODUCER, "bootstrap.servers": kafka.bootstrap}
    producer = module.producer(jvm.java_map(spark, settings), f"{copy.group}-0")
    producer.initTransactions()
    producer.beginTransaction()
    for n in range(count):
        record = spark._jvm.org.apache.kafka.clients.producer.ProducerRecord(copy.out, b"", str(n).encode())  # type: ignore[union-attr]
        producer.send(record)
    producer.flush()
    identity = jvm.module(spark, "ResumedProducer").identity(producer)
    return f"{copy.group}-0 {identity._1()} {identity._2()}"


@pytest.mark.parametrize("noted", [True, False])
def test_what_executors_wrote_of_a_committed_batch_is_committed_by_the_next_start(
    spark: SparkSession, kafka: BrokerClient, copying: Copying, noted: bool
) -> None:
    """And what they wrote of a batch that is not, is not."""
    copy = copied(kafka, copying, 1, 100)
    line = executor_rows(spark, kafka, copy, 10)
    note = copy.folder / f"transactions-{copy.marker()}"
    if noted:
        note.write_text(line)
    assert copy.values() == [100]
    copy.start()
    assert copy.values() == [*range(10 if noted else 0), 100]
    assert not note.exists()
    copy.finish()
    if not noted:
        (copy.folder / f"transactions-{copy.marker()}").write_text(line)
        with pytest.raises(Py4JError, match="Kafka has aborted what executors wrote"):
            copy.start()


def test_a_task_that_begins_when_its_run_has_ended_writes_nothing(
    spark: SparkSession, kafka: BrokerClient, copying: Copying
) -> None:
    """As when a server is thawed, and abandons its queries while a batch begins: without a transaction to write in."""
    topic = kafka.create_topic()
    put(kafka, topic, 5)
    copy = copying(topic)
    copy.start()
    transactions.end(spark, copy.run.id)
    wait_for(copy.failure, "the failure", ENOUGH)
    assert copy.values() == []
