"""When the barrier is lifted (jvm/TableBootstrapBarrier.scala), by the test's own clock.

live/test_live_table_bootstrap.py has streams.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from pyspark.sql import SparkSession

from millstream.spark import jvm

NOW = 1_000_000
FIRST, MORE, STUCK = 20_000, 5_000, 60_000


class Table:
    """A table that a barrier waits for, whose topic is `t`."""

    def __init__(self, barrier: Any, index: int, begins: Mapping[int, int]) -> None:
        for partition, offset in begins.items():
            barrier.begin(index, "t", partition, offset)
        self._input = barrier.input(index)

    def read(self, partition: int, offset: int, sent: bool = True) -> None:
        """A record is read, is sent to the operator or left out, and Kafka is polled for the next one."""
        self._input.partition(partition).received()
        if sent:
            self._input.sent(partition, offset)
        self.poll(partition, offset + 1)

    def poll(self, partition: int, offset: int, now: int = NOW) -> None:
        self._input.partition(partition).poll(now, offset)

    def arrive(self, partition: int, offset: int) -> None:
        self._input.arrived(partition, offset)


@pytest.fixture
def hold(spark: SparkSession) -> Iterator[Any]:
    """Makes the barrier of a query over tables, of whose topic it says where each partition ends."""

    def make(tables: int, ends: Mapping[int, int]) -> Any:
        offsets = {f"t/{partition}": str(end) for partition, end in ends.items()}
        return barriers.hold("Q", tables, jvm.java_map(spark, offsets))

    barriers = jvm.module(spark, "TableBootstrapBarriers")
    yield make
    barriers.remove("Q")


def test_it_is_lifted_when_every_row_before_the_ends_is_in_its_operator(hold: Any) -> None:
    barrier = hold(1, {0: 2, 1: 11})
    assert not barrier.isReady(NOW), "nobody has begun to read"
    table = Table(barrier, 1, {0: 0, 1: 10})
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


def test_empty_partitions_and_such_as_are_read_already_are_not_waited_for(hold: Any) -> None:
    barrier = hold(1, {0: 0, 1: 7})
    Table(barrier, 1, {0: 0, 1: 7})
    assert barrier.isReady(NOW)


def test_all_tables_are_waited_for(hold: Any) -> None:
    barrier = hold(2, {0: 1})
    Table(barrier, 1, {0: 1})
    assert not barrier.isReady(NOW)
    second = Table(barrier, 2, {0: 0})
    assert not barrier.isReady(NOW)
    second.read(0, 0, sent=False)
    assert barrier.isReady(NOW)


def test_offsets_without_records_are_waited_for_as_long_as_kafka_may_take(hold: Any) -> None:
    barrier = hold(1, {0: 3, 1: 3})
    table = Table(barrier, 1, {0: 0, 1: 0})
    table.read(0, 1)
    table.arrive(0, 1)
    assert not barrier.isReady(NOW + MORE + 1), "of partition 1 nothing is known yet"
    table.poll(1, 0)
    assert not barrier.isReady(NOW + FIRST)
    assert barrier.isReady(NOW + FIRST + 1)


def test_a_new_batch_goes_on_where_the_last_one_was(hold: Any) -> None:
    barrier = hold(1, {0: 3})
    table = Table(barrier, 1, {0: 0})
    table.poll(0, 0)
    table = Table(barrier, 1, {0: 0})
    table.poll(0, 0, NOW + FIRST)
    assert barrier.isReady(NOW + FIRST + 1), "both batches have waited in vain"


def test_a_row_that_never_arrives_is_waited_for_a_minute(hold: Any) -> None:
    barrier = hold(1, {0: 1})
    table = Table(barrier, 1, {0: 0})
    table.read(0, 0)
    assert not barrier.isReady(NOW)
    assert not barrier.isReady(NOW + STUCK)
    assert barrier.isReady(NOW + STUCK + 1)
