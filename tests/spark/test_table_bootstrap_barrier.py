"""When the barrier is lifted (jvm/TableBootstrapBarrier.scala), by the test's own clock.

live/test_live_table_bootstrap.py has streams.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from pyspark.sql import SparkSession

from millstream.spark import jvm

NOW = 1_000_000
STUCK = 60_000


class Table:
    """A table that a barrier waits for, whose topic is `t`."""

    def __init__(self, spark: SparkSession, barrier: Any, index: int, begins: Mapping[int, int]) -> None:
        self._barrier, self._places = barrier, {p: _place(spark, index, p) for p in begins}
        for partition, offset in begins.items():
            barrier.begin(index, self._places[partition], offset)
        self._input = barrier.input(index)

    def read(self, partition: int, offset: int, sent: bool = True) -> None:
        """A record is read, and is sent to the operator or left out."""
        if sent:
            self._input.sent(partition, offset)
        self._input.partition(partition).read(offset + 1)

    def passed(self, partition: int, offset: int) -> None:
        """Kafka has no more records before an offset."""
        self._barrier.passed(self._places[partition], offset)

    def arrive(self, partition: int, offset: int) -> None:
        self._input.arrived(partition, offset)


def _place(spark: SparkSession, index: int, partition: int) -> Any:
    topic = jvm.module(spark, "KafkaTopic").apply("t", "")
    nothing = getattr(getattr(jvm.machine(spark).scala.collection.immutable, "Map$"), "MODULE$").empty()
    return jvm.module(spark, "KafkaPlace").apply(f"Q/{index}", nothing, topic, partition)


@pytest.fixture
def hold(spark: SparkSession) -> Iterator[Any]:
    """Makes the barrier of a query over tables, of whose topic it says where each partition ends."""

    def make(tables: int, ends: Mapping[int, int]) -> Any:
        offsets = {f"t/{partition}": str(end) for partition, end in ends.items()}
        return barriers.hold("Q", tables, jvm.java_map(spark, offsets))

    barriers = jvm.module(spark, "TableBootstrapBarriers")
    yield make
    barriers.remove("Q")


def test_it_is_lifted_when_every_row_before_the_ends_is_in_its_operator(spark: SparkSession, hold: Any) -> None:
    barrier = hold(1, {0: 2, 1: 11})
    assert not barrier.isReady(NOW), "nobody has begun to read"
    table = Table(spark, barrier, 1, {0: 0, 1: 10})
    table.read(0, 0)
    table.read(0, 1, sent=False)
    table.read(1, 10)
    table.arrive(0, 0)
    assert not barrier.isReady(NOW)
    # Rows after the ends are not waited for, nor do they stand for others.
    table.read(1, 11)
    table.arrive(1, 11)
    assert not barrier.isReady(NOW)
    table.arrive(1, 10)
    assert barrier.isReady(NOW)


def test_empty_partitions_and_such_as_are_read_already_are_not_waited_for(spark: SparkSession, hold: Any) -> None:
    barrier = hold(1, {0: 0, 1: 7})
    Table(spark, barrier, 1, {0: 0, 1: 7})
    assert barrier.isReady(NOW)


def test_all_tables_are_waited_for(spark: SparkSession, hold: Any) -> None:
    barrier = hold(2, {0: 1})
    Table(spark, barrier, 1, {0: 1})
    assert not barrier.isReady(NOW)
    second = Table(spark, barrier, 2, {0: 0})
    assert not barrier.isReady(NOW)
    second.read(0, 0, sent=False)
    assert barrier.isReady(NOW)


def test_offsets_without_records_are_passed(spark: SparkSession, hold: Any) -> None:
    """The markers of transactions at the ends of the partitions, and a partition of aborted records alone."""
    barrier = hold(1, {0: 3, 1: 3})
    table = Table(spark, barrier, 1, {0: 0, 1: 0})
    table.read(0, 1)
    table.passed(0, 3)
    table.passed(1, 2)
    assert not barrier.isReady(NOW), "a row is on its way, and partition 1 is not read to its end"
    table.arrive(0, 1)
    assert not barrier.isReady(NOW)
    table.passed(1, 3)
    assert barrier.isReady(NOW)


def test_a_place_of_another_table_over_the_same_topic_does_not_count(spark: SparkSession, hold: Any) -> None:
    barrier = hold(2, {0: 3})
    first, second = Table(spark, barrier, 1, {0: 0}), Table(spark, barrier, 2, {0: 0})
    first.passed(0, 3)
    assert not barrier.isReady(NOW)
    second.passed(0, 3)
    assert barrier.isReady(NOW)


def test_a_new_batch_goes_on_where_the_last_one_was(spark: SparkSession, hold: Any) -> None:
    barrier = hold(1, {0: 3})
    Table(spark, barrier, 1, {0: 0}).read(0, 1, sent=False)
    table = Table(spark, barrier, 1, {0: 2})
    assert not barrier.isReady(NOW)
    table.read(0, 2, sent=False)
    assert barrier.isReady(NOW)


def test_a_row_that_never_arrives_is_waited_for_a_minute(spark: SparkSession, hold: Any) -> None:
    barrier = hold(1, {0: 1})
    table = Table(spark, barrier, 1, {0: 0})
    table.read(0, 0)
    assert not barrier.isReady(NOW)
    assert not barrier.isReady(NOW + STUCK)
    assert barrier.isReady(NOW + STUCK + 1)
