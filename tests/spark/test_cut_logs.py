"""Where a query goes on in a partition whose log no longer has its offset."""

import pytest
from pyspark.sql import SparkSession

from millstream.spark import jvm

# Offset 8 is to be read next; the partition has the offsets from `first` to `end`.
AT = 8


@pytest.mark.parametrize(
    ("first", "end", "replaced_from", "expected"),
    [
        pytest.param(10, 20, None, 10, id="retention has removed it"),
        pytest.param(0, 5, None, 5, id="the log is shorter now"),
        pytest.param(0, 5, 5, 5, id="the log was cut back"),
        pytest.param(0, 20, 5, 5, id="the log was cut back and has grown since"),
        pytest.param(6, 20, 5, 6, id="and retention has removed some of its new records"),
    ],
)
def test_where_reading_continues(
    spark: SparkSession, first: int, end: int, replaced_from: int | None, expected: int
) -> None:
    """After an unclean election the records from offset 5 to 8 were left out if there were enough new ones."""
    machine = jvm.machine(spark)
    consumers = machine.org.apache.kafka.clients.consumer
    partition = machine.org.apache.kafka.common.TopicPartition("t", 0)
    asked = machine.java.util.Collections.singletonMap(partition, AT)
    if replaced_from is None:
        lost = consumers.OffsetOutOfRangeException(asked)
    else:
        diverged = machine.java.util.Collections.singletonMap(partition, consumers.OffsetAndMetadata(replaced_from))
        lost = consumers.LogTruncationException(asked, diverged)
    assert jvm.module(spark, "PartitionConsumer").offsetAfter(lost, partition, AT, first, end) == expected
