"""The exchange between tasks of one JVM (jvm/LocalShuffle.scala): all rows arrive, also large, many and slow ones."""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from millstream.spark import jvm, source
from millstream.spark.fold import Fold
from support.kafka import BrokerClient, wait_for
from support.realtime import RealtimeQuery, numbers, put
from support.spark import fold

pytestmark = pytest.mark.live

SENT = Fold(
    by=("k",),
    state="struct<n: bigint>",
    update="struct(coalesce(state.n, 0) + 1)",
    emit="array(struct(row.value as value))",
    out="struct<value: binary>",
    label="shuffle.sent",
)
SLEEP = "reflect('java.lang.Thread', 'sleep', {ms}L)"


class Sent(RealtimeQuery):
    """Copies a topic's values through an exchange. `before`, `after`: SQL over `value` that is computed there too."""

    before = after = "null"

    def __init__(self, spark: SparkSession, kafka: BrokerClient, folder: Path) -> None:
        super().__init__(spark, kafka, folder)
        self.topic = kafka.create_topic(partitions=2)

    def frame(self, run: str) -> DataFrame:
        records = source.stream(self.spark, source.Topic(self.topic, {"bootstrap.servers": self.kafka.bootstrap}), run)
        # A column that the exchange needs is computed before it, in the task of the source.
        columns = ("value", "rowtime", "partition", "offset")
        rows = records.selectExpr(f"concat(string(key), coalesce({self.before}, '')) as k", *columns)
        return fold(rows, SENT, live=True).selectExpr(
            f"encode(coalesce({self.after}, ''), 'UTF-8') as key", "value", "0L as rowtime",
            "cast(null as array<struct<key: string, value: binary>>) as headers",
        )  # fmt: skip


@pytest.fixture
def sent(spark: SparkSession, kafka: BrokerClient, tmp_path: Path) -> Iterator[Sent]:
    query = Sent(spark, kafka, tmp_path / "sent")
    yield query
    query.abort()


@pytest.fixture
def shuffles(spark: SparkSession) -> Any:
    """The JVM's package of the exchange."""
    return jvm.machine(spark).org.apache.spark.shuffle.streaming


def test_rows_that_are_larger_than_a_chunk_and_more_than_fit_into_a_channel_arrive(
    kafka: BrokerClient, sent: Sent
) -> None:
    """Channels hold half a megabyte, chunks 32 KB."""
    values = numbers(20_000) + [b"%d" % n * 20_000 for n in range(60)] + numbers(5_000, 20_000)
    put(kafka, sent.topic, values)
    sent.start()
    sent.reach(len(values))
    assert Counter(sent.values()) == Counter(values)
    sent.finish()


def test_a_query_whose_source_waits_for_room_is_stopped_at_once(kafka: BrokerClient, sent: Sent, shuffles: Any) -> None:
    """And its channels are forgotten."""
    put(kafka, sent.topic, [b"%d" % n * 100_000 for n in range(40)])
    sent.after = SLEEP.format(ms=300)
    open_before = shuffles.LocalExchanges.open()
    sent.start()
    sent.reach(2)
    assert shuffles.LocalExchanges.open() == open_before + 1
    begun = time.monotonic()
    sent.abort()
    assert sent.ended()
    assert time.monotonic() - begun < 20
    wait_for(lambda: shuffles.LocalExchanges.open() == open_before, "the end of the tasks")


def test_rows_do_not_wait_for_a_slow_one_behind_them(kafka: BrokerClient, sent: Sent, shuffles: Any) -> None:
    """A task that computes for long does not come to announce its rows; a timer does, which is called by hand here."""
    put(kafka, sent.topic, [b"first"])
    sent.before = f"if(string(value) = 'slow', {SLEEP.format(ms=20_000)}, null)"
    sent.start()
    sent.reach(1)
    begun = time.monotonic()
    for value in (b"quick", b"slow"):
        kafka.send(sent.topic, "k", value, partition=0)
    kafka.flush()
    wait_for(_waking(shuffles, lambda: b"quick" in sent.values()), "the row before the slow one")
    assert time.monotonic() - begun < 20, "it came with the slow one"


def _waking(shuffles: Any, condition: Callable[[], bool]) -> Callable[[], bool]:
    """The condition, after the readers of all slow tasks were woken."""

    def woken() -> bool:
        shuffles.SlowTasks.wake()
        return condition()

    return woken


def test_rows_that_were_read_take_no_memory(spark: SparkSession, kafka: BrokerClient, sent: Sent) -> None:
    """A batch may last an hour: everything that goes through the exchange meanwhile must not stay there."""
    values = [b"%07d" % n + b"x" * 100_000 for n in range(1000)]
    sent.start()
    used = []
    for written in (1000, 2000, 3000):
        put(kafka, sent.topic, values)
        sent.reach(written)
        used.append(used_memory(spark))
    # What clients of Kafka keep for such records they have after the first round.
    assert used[-1] - used[0] < 50_000_000


def test_a_chunk_that_was_read_refers_to_no_other(spark: SparkSession, shuffles: Any) -> None:
    """Until all garbage is collected, an old chunk keeps what it refers to: all that follow would be copied to it."""
    channel = shuffles.RowChannel(shuffles.Waiter())
    row = jvm.machine(spark).org.apache.spark.sql.catalyst.expressions.UnsafeRow(1)
    row.pointTo(bytes(40_000), 40_000)
    for _ in range(3):
        channel.write(row)
    head, following = _getter(spark, "RowChannel", "head"), _getter(spark, "RowChannel$Chunk", "next")
    read = []
    while channel.isReadable():
        read.append(jvm.machine(spark).java.util.List.of(channel).stream().map(head).toList())
        assert channel.next() == 40_000
        channel.skip()
    assert [chunk.stream().map(following).toList().get(0) for chunk in read] == [None, None, None]


def _getter(spark: SparkSession, owner: str, name: str) -> Any:
    """Java's function that returns a private field. A chunk is a Number, which py4j would turn into an int."""
    java = jvm.machine(spark).java.lang
    loader = java.Thread.currentThread().getContextClassLoader()
    field = loader.loadClass(f"org.apache.spark.shuffle.streaming.{owner}").getDeclaredField(name)
    field.setAccessible(True)
    handle = java.invoke.MethodHandles.publicLookup().unreflectGetter(field)
    return java.invoke.MethodHandleProxies.asInterfaceInstance(loader.loadClass("java.util.function.Function"), handle)


def used_memory(spark: SparkSession) -> int:
    """The bytes of objects in the heap that are still referenced."""
    java = jvm.machine(spark).java.lang
    java.System.gc()
    runtime = java.Runtime.getRuntime()
    return int(runtime.totalMemory() - runtime.freeMemory())
