"""When the barrier is lifted (jvm/TableBootstrapBarrier.scala), by the test's own clock.

live/test_live_table_bootstrap.py has streams.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from pyspark.sql import SparkSession

from millstream.spark import jvm

NOW = 1_000_000
STUCK = 600_000


class Table:
    """A table that a barrier waits for, whose topic is `t`."""

    def __init__(self, barrier: Any, index: int, begins: Mapping[int, int]) -> None:
        for partition, offset in begins.items():
            barrier.begin(index, "t", partition, offset)
        self._input = barrier.input(index)

    def read(self, partition: int, offset: int, sent: bool = True) -> None:
        """A record is read, is sent to the operator or left out, and Kafka is polled for the next one."""
        if sent:
            self._input.sent(partition, offset)
        self._input.partition(partition).reach(offset + 1)

    def arrive(self, partition: int, offset: int) -> None:
        self._input.arrived(partition, offset)


@pytest.fixture
def create_barrier(spark: SparkSession) -> Iterator[Any]:
    """Makes the barrier of a query over tables, of whose topic it says where each partition ends."""

    def make(tables: int, ends: Mapping[int, int]) -> Any:
        offsets = {f"t/{partition}": str(end) for partition, end in ends.items()}
        return barriers.create("Q", tables, jvm.java_map(spark, offsets))

    barriers = jvm.module(spark, "TableBootstrapBarriers")
    yield make
    barriers.remove("Q")


def test_it_is_lifted_when_every_row_before_the_ends_is_in_its_operator(create_barrier: Any) -> None:
    barrier = create_barrier(1, {0: 2, 1: 11})
    assert not barrier.isReady(NOW), "nobody has begun to read"
    table = Table(barrier, 1, {0: 0, 1: 10})
    table.read(0, 0)
    table.read(0, 1, sent=False)
    table.read(1, 10)
    table.arrive(0, 0)
    assert not barrier.isReady(NOW)
    # Rows after the ends are not waited for, and do not count.
    table.read(1, 11)
    table.arrive(1, 11)
    assert not barrier.isReady(NOW)
    table.arrive(1, 10)
    assert barrier.isReady(NOW)


def test_empty_partitions_and_such_as_are_read_already_are_not_waited_for(create_barrier: Any) -> None:
    barrier = create_barrier(1, {0: 0, 1: 7})
    Table(barrier, 1, {0: 0, 1: 7})
    assert barrier.isReady(NOW)


def test_all_tables_are_waited_for(create_barrier: Any) -> None:
    barrier = create_barrier(2, {0: 1})
    Table(barrier, 1, {0: 1})
    assert not barrier.isReady(NOW)
    second = Table(barrier, 2, {0: 0})
    assert not barrier.isReady(NOW)
    second.read(0, 0, sent=False)
    assert barrier.isReady(NOW)


def test_a_partition_without_reports_holds_the_barrier(create_barrier: Any) -> None:
    barrier = create_barrier(1, {0: 3, 1: 3})
    table = Table(barrier, 1, {0: 0, 1: 0})
    table.read(0, 2)
    table.arrive(0, 2)
    assert not barrier.isReady(NOW)
    table.read(1, 2, sent=False)
    assert barrier.isReady(NOW)


def test_a_new_batch_goes_on_where_the_last_one_was(create_barrier: Any) -> None:
    barrier = create_barrier(1, {0: 3})
    Table(barrier, 1, {0: 0}).read(0, 1, sent=False)
    table = Table(barrier, 1, {0: 2})
    assert not barrier.isReady(NOW)
    table.read(0, 2, sent=False)
    assert barrier.isReady(NOW)


@pytest.mark.parametrize("order", [("A", "B"), ("B", "A")])
def test_mirrors_in_executors_add_up(create_barrier: Any, spark: SparkSession, order: tuple[str, str]) -> None:
    """One reads all three rows and folds one of them, the other folds two; in any order of reports, the sums decide."""
    barrier = create_barrier(1, {0: 3})
    Table(barrier, 1, {0: 0})
    reports = {"A": ([1, 0, 7, 3, 1], [1, 3, 1]), "B": ([], [1, 0, 2])}
    barriers = jvm.module(spark, "TableBootstrapBarriers")

    def report(name: str, read: list[int], counts: list[int]) -> bool:
        return bool(barriers.report(barrier.id(), name, longs(spark, read), longs(spark, counts)))

    assert list(barriers.ends(barrier.id())) == [1, 0, 3]
    assert not report("A", [1, 0, 7, 2, 0], [1, 2, 1])
    assert not report(order[0], *reports[order[0]])
    assert report(order[1], *reports[order[1]])
    assert barriers.ends(barrier.id()) is None, "who comes later does not wait"


def test_a_report_of_a_batch_that_is_over_changes_nothing(create_barrier: Any, spark: SparkSession) -> None:
    barrier = create_barrier(1, {0: 3})
    Table(barrier, 1, {0: 0})
    barriers = jvm.module(spark, "TableBootstrapBarriers")
    for task, reached in ((8, 2), (7, 3)):
        assert not barriers.report(barrier.id(), "A", longs(spark, [1, 0, task, reached, 0]), longs(spark, []))
    assert barriers.report("an earlier run", "A", longs(spark, []), longs(spark, [])), "its tasks wait for nothing"


def longs(spark: SparkSession, values: list[int]) -> Any:
    """A Java array of them."""
    machine = jvm.machine(spark)
    array = spark.sparkContext._gateway.new_array(machine.long, len(values))  # type: ignore[union-attr]
    for place, value in enumerate(values):
        array[place] = value
    return array


def test_a_row_that_never_arrives_is_waited_for_ten_minutes(create_barrier: Any) -> None:
    barrier = create_barrier(1, {0: 1})
    table = Table(barrier, 1, {0: 0})
    table.read(0, 0)
    assert not barrier.isReady(NOW)
    assert not barrier.isReady(NOW + STUCK)
    assert barrier.isReady(NOW + STUCK + 1)
