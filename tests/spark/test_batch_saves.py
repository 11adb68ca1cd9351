"""What a query saves while its batch goes on (jvm/BatchSaves.scala): its position, its states, nothing too early."""

import json
import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from millstream.spark import jvm, sink, source
from millstream.spark.realtime import first_line
from support.kafka import BrokerClient, wait_for
from support.load import SteadyLoad
from support.realtime import Copy, Copying, RealtimeQuery, numbers, put, steady
from support.spark import configured, counting, fold

pytestmark = pytest.mark.live
SOON = source.Pace(interval=100, first=100)


# ---------------------------------------------------------------- queries without state


def test_a_row_does_not_linger_while_its_task_waits(
    kafka: BrokerClient, copying: Copying, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows linger in the producer only while there are more to read: here they would for ten minutes."""
    monkeypatch.setattr(sink, "BUSY_LINGER", "600000")
    topic = kafka.create_topic(partitions=2)
    copy = copying(topic)
    copy.start()
    for number in range(3):
        kafka.produce(topic, None, b"%d" % number, partition=number % 2)
        copy.reach(number + 1)
    copy.finish()


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
        copy.start(pace=SOON)
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


def test_rows_that_kafka_has_not_acknowledged_are_not_saved(kafka: BrokerClient, copying: Copying) -> None:
    topic = kafka.create_topic(partitions=2)
    kafka.produce(topic, None, b"0", partition=0)
    copy = copying(topic)
    lazy = {"linger.ms": "3000", "batch.size": "1000000"}
    copy.start(pace=SOON, **lazy)
    wait_for(lambda: copy.saves.exists(), "the save")
    assert copy.values() == [b"0"], "saved before Kafka had the row"
    copy.abort()
    copy.start()
    kafka.produce(topic, None, b"1", partition=1)
    copy.reach(2)
    assert copy.values() == [b"0", b"1"]


def test_what_is_read_while_a_save_goes_on_is_in_the_next_one(
    spark: SparkSession, kafka: BrokerClient, copying: Copying
) -> None:
    """Also if no record follows, and the save lasts longer than the interval."""
    topic = kafka.create_topic()
    copy = copying(topic)
    put(kafka, topic, numbers(1))
    copy.start(pace=SOON, **{"linger.ms": "3000", "batch.size": "1000000"})
    run = jvm.module(spark, "QueryRuns").of(copy.run.id)
    wait_for(lambda: run.saveRequests() == 1, "the first save")
    put(kafka, topic, numbers(1, 1))
    wait_for(lambda: copy.saved() == 2, "the second save")


def test_a_query_that_is_aborted_again_and_again_goes_on_where_it_saved(kafka: BrokerClient, copying: Copying) -> None:
    """Under load: nothing is lost, and no record before a saved offset is read again."""
    copy = copying(kafka.create_topic())
    saved = [0]
    written = [0]
    with steady(kafka, copy.topic) as load:
        for _ in range(5):
            copy.start(pace=SOON)
            wait_for(lambda: copy.saved() > saved[-1] + 100, "a save")
            copy.abort()
            saved.append(copy.saved())
            written.append(kafka.ends(copy.out))
        copy.start()
    wait_for(lambda: set(copy.values()) == set(numbers(load.written)), "each record's copy")
    copied = [int(value or b"") for value in copy.values()]
    assert all(n >= begin for begin, end in zip(saved, written, strict=True) for n in copied[end:])
    assert copy.batches() == []


def three_saved(topic: str, kafka: BrokerClient, copying: Copying) -> Copy:
    """A running copy of a topic, which has saved that it has read three records there."""
    put(kafka, topic, numbers(3))
    copy = copying(topic)
    copy.start(pace=SOON)
    wait_for(lambda: copy.saved() == 3, "the save")
    return copy


def test_a_save_that_cannot_be_read_lets_records_be_read_again(kafka: BrokerClient, copying: Copying) -> None:
    copy = three_saved(kafka.create_topic(), kafka, copying)
    copy.abort()
    copy.saves.write_text("{")
    copy.start()
    copy.reach(6)
    copy.finish()
    assert copy.values() == numbers(3) * 2


def test_a_save_is_not_used_for_another_topic_of_the_name(kafka: BrokerClient, copying: Copying) -> None:
    copy = three_saved(kafka.create_topic(), kafka, copying)
    copy.abort()
    saved = json.loads(copy.saves.read_text())
    saved["sources"]["0"]["topic id"] = "another"
    copy.saves.write_text(json.dumps(saved))
    copy.start()
    wait_for(copy.ended, "the failure")
    assert "was deleted and created again" in copy.failure()


def test_offsets_of_an_earlier_batch_are_not_used(kafka: BrokerClient, copying: Copying) -> None:
    topic = kafka.create_topic()
    copy = three_saved(topic, kafka, copying)
    put(kafka, topic, numbers(2, 3))
    copy.reach(5)
    copy.finish()
    put(kafka, topic, numbers(2, 5))
    copy.start()
    copy.reach(7)
    copy.finish()
    assert copy.values() == numbers(7)
    assert not copy.saves.exists(), "saves of a batch that is over"


def test_nothing_is_saved_and_no_batch_ends_without_the_lease(
    spark: SparkSession, kafka: BrokerClient, copying: Copying
) -> None:
    """Another server may use the checkpoint. No row is written here, for which the query would wait otherwise."""
    topic = kafka.create_topic()
    put(kafka, topic, numbers(3))
    copy = copying(topic)
    copy.columns = ("key", "explode(array_remove(array(value), value)) as value", "rowtime", "headers")
    sink.guard(spark, copy.out, copy.out)
    copy.start(pace=SOON)
    wait_for(lambda: json.loads(jvm.module(spark, "Counts").json(copy.out))["read"] == 3, "the records are read")
    time.sleep(1)
    copy.run.finish()
    assert not copy.run.await_batch_end(1.0)
    assert (copy.saved(), copy.batches()) == (0, [])
    sink.extend_fence(spark, copy.out, sink.fence_clock(spark), 60)
    copy.finish()
    assert (copy.committed(), copy.batches()) == (3, [0])
    sink.release(spark, copy.out)


def test_a_task_that_begins_when_its_query_has_ended_writes_nothing(
    spark: SparkSession, kafka: BrokerClient, copying: Copying
) -> None:
    """As when a server is thawed, and abandons its queries while a batch begins: the task finds no fence any more."""
    topic = kafka.create_topic()
    put(kafka, topic, numbers(3))
    copy = copying(topic)
    sink.guard(spark, copy.out, copy.out)
    copy.start()
    sink.release(spark, copy.out)
    time.sleep(3)
    assert copy.values() == []


# ---------------------------------------------------------------- queries with state


class Count(RealtimeQuery):
    """Counts the records of each key; a record without a value removes its key's count. `again`: counts the counts."""

    again = False

    def __init__(self, spark: SparkSession, kafka: BrokerClient, folder: Path, partitions: int) -> None:
        super().__init__(spark, kafka, folder)
        self.topic = kafka.create_topic(partitions=partitions)

    def frame(self, run: str) -> DataFrame:
        records = source.stream(self.spark, source.Topic(self.topic, {"bootstrap.servers": self.kafka.bootstrap}), run)
        rows = records.selectExpr("string(key) as k", "value", "rowtime", "partition", "offset")
        update = "if(row.value is null, null, struct(coalesce(state.n, 0) + 1))"
        emit = "array(struct(row.k as k, coalesce(new.n, 0) as n))"
        counts = fold(rows, replace(counting("saves.count"), update=update, emit=emit), live=True)
        if self.again:
            rows = counts.selectExpr("string(length(k)) as k", "0L as rowtime", "0 as partition", "0L as offset")
            counts = fold(rows, counting("saves.again"), live=True)
        return counts.selectExpr(
            "encode(k, 'UTF-8') as key", "encode(string(n), 'UTF-8') as value", "0L as rowtime",
            "cast(null as array<struct<key: string, value: binary>>) as headers",
        )  # fmt: skip

    def send(self, *keys: str, value: str | None = "") -> None:
        for key in keys:
            self.kafka.send(self.topic, key, value)
        self.kafka.flush()

    def read(self) -> int:
        return self.kafka.ends(self.topic)

    def saved_all(self) -> bool:
        """Whether all records of the topic are before the saved position."""
        return self.saved() == self.kafka.ends(self.topic)

    def written(self) -> list[tuple[str, int]]:
        records = self.kafka.consume_all(self.out, self.kafka.ends(self.out))
        return [((record.key or b"").decode(), int(record.value or b"")) for record in records]

    def latest(self) -> Mapping[str, int]:
        return dict(self.written())


@pytest.fixture
def count(spark: SparkSession, kafka: BrokerClient, tmp_path: Path) -> Iterator[Count]:
    """Of three partitions, in three tasks."""
    with configured(spark, {"spark.sql.shuffle.partitions": "3"}):
        counting = Count(spark, kafka, tmp_path / "count", partitions=3)
        yield counting
        counting.abort()


KEYS = [f"k{n}" for n in range(20)]


@pytest.mark.parametrize("compiled", [True, False])
def test_states_are_saved_with_the_position(spark: SparkSession, count: Count, compiled: bool) -> None:
    """Run after run, without a batch: each one begins with the states and behind the records of the one before."""
    with configured(spark, {"spark.sql.codegen.wholeStage": str(compiled).lower()}):
        for run in range(1, 4):
            count.start(pace=SOON)
            count.send(*KEYS)
            count.reach(run * len(KEYS))
            wait_for(count.saved_all, "the save")
            count.abort()
            assert Counter(count.written()) == Counter((key, n) for key in KEYS for n in range(1, run + 1))
    assert count.batches() == []
    assert len(count.saved_batch()["saves"]) >= 3


def test_a_damaged_file_of_states_is_named_with_what_to_do(count: Count) -> None:
    """As after a disk that was full, or a copy that was cut off."""
    count.start(pace=SOON)
    count.send(*KEYS)
    count.reach(len(KEYS))
    wait_for(count.saved_all, "the save")
    count.abort()
    for file in count.saves.parent.glob("*.changelog"):
        file.write_bytes(b"")
    count.start()
    wait_for(count.ended, "the failure")
    shown = first_line(count.failure())
    assert re.search(r"the saved state \S+\.changelog cannot be read: it ends too early; restore .* from a copy", shown)
    assert "or drop the query and create it again" in shown


def test_a_run_that_saves_late_replaces_no_file_of_another_one(count: Count) -> None:
    """A server that was frozen while it saved goes on, when another one has saved from the same position on."""
    count.start(pace=SOON)
    count.send("a")
    wait_for(count.saved_all, "the save")
    count.abort()
    begun = {file: file.read_bytes() for file in count.saves.parent.iterdir()}
    count.send("b")
    count.start(pace=SOON)
    wait_for(count.saved_all, "the frozen server's save")
    count.abort()
    late = {file: file.read_bytes() for file in count.saves.parent.iterdir() if file not in begun}
    for file in late:
        file.unlink()
    count.saves.write_bytes(begun[count.saves])
    count.send("c")
    count.start(pace=SOON)
    wait_for(count.saved_all, "the other server's save")
    count.abort()
    for file, content in late.items():
        file.write_bytes(content)
    count.start()
    count.send("a", "b", "c")
    wait_for(lambda: count.latest() == {"a": 2, "b": 2, "c": 2}, "the counts", seen=count.latest)


def test_states_are_those_of_the_saved_position(kafka: BrokerClient, count: Count) -> None:
    """Killed again and again under load, between several partitions and tasks: each record counts once in the end."""
    sent = Counter[str]()

    def send(number: int) -> None:
        # Partitions of different speed: the rows of one wait for the marks of the others.
        key = f"k{number * number % 97}"
        sent[key] += 1
        kafka.send(count.topic, key, "")

    with SteadyLoad(send, kafka.flush, each=20):
        for _ in range(5):
            saves = len(count.saved_batch().get("saves", ()))
            count.start(pace=SOON)
            wait_for(lambda saves=saves: len(count.saved_batch().get("saves", ())) > saves + 3, "saves")  # type: ignore[misc]
            count.abort()
    assert count.batches() == []
    count.start()
    missing = lambda: f"{sent - Counter(count.latest())}"  # noqa: E731
    wait_for(lambda: count.latest() == sent or count.ended(), "the counts", seen=missing)
    assert not count.ended(), count.failure()
    count.finish()
    assert not count.saves.parent.exists() or count.saved_batch() == {}


def test_states_behind_another_operator_are_saved_too(kafka: BrokerClient, count: Count) -> None:
    count.again = True
    sent = 0
    for run in range(1, 4):
        count.start(pace=SOON)
        count.send(*KEYS)
        sent += len(KEYS)
        count.reach(sent)
        wait_for(count.saved_all, "the save")
        count.abort()
        assert count.latest() == {"2": 10 * run, "3": 10 * run}
    assert len(count.written()) == sent


def test_a_removed_state_is_saved_as_removed(count: Count) -> None:
    count.start(pace=SOON)
    count.send("a", "b", "a")
    count.reach(3)
    wait_for(count.saved_all, "the save")
    count.send("a", value=None)
    count.reach(4)
    wait_for(count.saved_all, "the save")
    count.abort()
    count.start(pace=SOON)
    count.send("a", "b")
    count.reach(6)
    assert count.latest() == {"a": 1, "b": 2}
    count.finish()
    count.start()
    count.send("a", "b")
    count.reach(8)
    assert count.latest() == {"a": 2, "b": 3}


def test_states_that_were_evicted_are_saved_by_the_end_of_the_batch(spark: SparkSession, count: Count) -> None:
    """More states than memory has room for, between two saves: nothing is lost by it."""
    caches, many = jvm.module(spark, "StateCaches"), [f"{n}" for n in range(3_000)]
    memory_limit = caches.memoryLimit()
    for run in (1, 2):
        count.start(pace=SOON)
        count.send("first")
        wait_for(lambda run=run: count.latest().get("first") == run, "the first row")  # type: ignore[misc]
        # A task that begins sets it, so that it would not be this before.
        getattr(caches, "memoryLimit_$eq")(10_000)
        count.send(*many)
        wait_for(lambda run=run: count.latest() == dict.fromkeys([*many, "first"], run), "counts")  # type: ignore[misc]
        wait_for(count.saved_all, "the end of a batch, or a save")
        count.abort()
    assert count.batches(), "everything was saved within the batch"
    assert memory_limit > 10_000
