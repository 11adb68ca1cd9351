"""What an executor reports of a query's counters, and when."""

from typing import Any

from pyspark.sql import SparkSession

from millstream.spark import jvm


def counts_report(spark: SparkSession, written: int, positions: dict[str, tuple[int, int]]) -> Any:
    """A report of `written` records; `positions` has the next offset and the records read by partition."""
    machine = jvm.machine(spark)
    gateway = spark.sparkContext._gateway
    assert gateway is not None

    def longs(values: list[int]) -> Any:
        array = gateway.new_array(machine.long, len(values))
        for i, value in enumerate(values):
            array[i] = value
        return array

    names = gateway.new_array(machine.String, len(positions))
    for i, name in enumerate(positions):
        names[i] = name
    nexts, reads = ([pair[i] for pair in positions.values()] for i in (0, 1))
    sums = longs([written, 0, 0, 0])
    return machine.org.apache.spark.sql.millstream.CountsReport(sums, longs([]), names, longs(nexts), longs(reads))


def test_a_partition_that_has_begun_without_records_is_news(spark: SparkSession) -> None:
    """So that an idle query on a cluster has its lag at once, and not with the executor's next empty report."""
    nothing, begun = counts_report(spark, 0, {}), counts_report(spark, 0, {"orders/0": (7, 0)})
    assert begun.hasNewsSince(nothing)
    assert not begun.hasNewsSince(begun)
    assert counts_report(spark, 0, {"orders/0": (7, 0), "orders/1": (0, 0)}).hasNewsSince(begun)


def test_records_read_and_written_are_news(spark: SparkSession) -> None:
    begun = counts_report(spark, 0, {"orders/0": (7, 0)})
    assert counts_report(spark, 0, {"orders/0": (8, 1)}).hasNewsSince(begun)
    assert counts_report(spark, 1, {"orders/0": (7, 0)}).hasNewsSince(begun)
