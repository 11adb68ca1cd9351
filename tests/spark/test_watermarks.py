"""What a task makes of the watermarks of the tasks that write to it (jvm/Watermarks.scala)."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import pytest
from pyspark.sql import SparkSession

from millstream.spark import jvm

NONE, ANY = -(2**63), 2**63 - 1
# The time of a watermark, the position of its source, and if that is idle.
Sent = tuple[int, int, bool]
# The number of the second stream's source that reads partition 0.
OTHER = 1 << 16
BUSY_0, BUSY_8, IDLE_9, BUSY_9 = (0, 0, False), (8, 3, False), (9, 4, True), (9, 4, False)


class Task:
    """A task that reads the channels of two others."""

    def __init__(self, spark: SparkSession, sources: Sequence[int], by_clock: Sequence[int] = ()) -> None:
        self.package = jvm.machine(spark).org.apache.spark.sql.millstream
        self.watermarks = self.package.TaskWatermarks(1)
        converters = jvm.machine(spark).scala.jdk.javaapi.CollectionConverters
        numbers = (converters.asScala(jvm.java_list(spark, each)).toSeq() for each in (sources, by_clock))
        getattr(self.watermarks, "expected_$eq")(self.package.SourceNumbers(*numbers))

    def limit(self, channel: int, sent: Sent, source: int = 0, direct: bool = False, by_clock: bool = False) -> Any:
        """The limit of stream time after a watermark has come."""
        self.watermarks.received(channel, 2, self.package.Watermark(source, *sent, direct, by_clock))
        return self.watermarks.limit()


# The channel of each watermark, what is sent, and the limit after it.
TWO_TASKS = [
    (0, BUSY_0, NONE),
    (1, BUSY_0, 0),
    (0, BUSY_8, 0),
    (0, IDLE_9, 0),
    (1, BUSY_8, 8),
    (1, IDLE_9, ANY),
    # The first rows of the next burst follow in channel 1; channel 0 may have some of them still.
    (1, BUSY_9, 9),
    (1, (20, 9, True), 9),
    (0, BUSY_9, 9),
    (0, (20, 9, True), ANY),
]


def test_rows_of_a_burst_are_on_their_way_until_all_tasks_have_passed_it(spark: SparkSession) -> None:
    task = Task(spark, [0])
    assert [task.limit(channel, sent) for channel, sent, _ in TWO_TASKS] == [limit for *_, limit in TWO_TASKS]


def test_a_sources_own_task_sends_to_one_channel_of_each_reader(spark: SparkSession) -> None:
    task = Task(spark, [0])
    assert [task.limit(0, sent, direct=True) for sent in (BUSY_0, BUSY_8, IDLE_9)] == [0, 8, ANY]


def test_the_least_of_the_busy_sources_counts_when_all_have_sent_something(spark: SparkSession) -> None:
    task = Task(spark, [0, 1])
    sent = [(0, BUSY_8), (1, BUSY_0), (1, IDLE_9), (0, IDLE_9)]
    assert [task.limit(0, watermark, source, direct=True) for source, watermark in sent] == [NONE, 0, 8, ANY]


def test_a_partition_of_joined_streams_is_limited_by_its_own_sources(spark: SparkSession) -> None:
    """Two streams of two partitions: 0 and 1 are the sources of the first, `OTHER` and one more of the second."""
    task = Task(spark, [0, 1, OTHER, OTHER + 1])
    sent = [(0, BUSY_8), (OTHER, BUSY_0), (1, IDLE_9), (OTHER + 1, IDLE_9), (OTHER, BUSY_9)]
    limits = []
    for source, watermark in sent:
        task.limit(0, watermark, source, direct=True)
        limits.append((task.watermarks.limitOf(0), task.watermarks.limitOf(1)))
    assert limits == [(NONE, NONE), (0, NONE), (0, NONE), (0, ANY), (8, ANY)]


# The channel and the source of each watermark, what is sent, if that is by the clock, and stream time by it.
SILENT = [
    (0, 0, IDLE_9, False, NONE),
    (1, 0, IDLE_9, False, NONE),
    (0, 0, (60, 4, True), True, NONE),
    # Both tasks below have passed on that source 0 is at 60; source 1 has records still.
    (1, 0, (60, 4, True), True, NONE),
    (0, 1, (70, 1, True), True, NONE),
    (1, 1, (70, 1, True), True, 60),
    (0, 0, (80, 4, True), True, 60),
    (1, 0, (80, 4, True), True, 70),
    (0, 1, (75, 2, False), False, NONE),
]


def test_the_clock_moves_stream_time_when_all_sources_are_silent(spark: SparkSession) -> None:
    task = Task(spark, [0, 1, OTHER], [0, 1])
    times = []
    for channel, source, sent, by_clock, _ in SILENT:
        task.limit(channel, sent, source, by_clock=by_clock)
        times.append(task.watermarks.clock())
    assert times == [time for *_, time in SILENT]


@pytest.mark.parametrize("sent", [BUSY_8, IDLE_9])
def test_what_is_known_changes_nothing(spark: SparkSession, sent: Sent) -> None:
    task = Task(spark, [0])
    watermark = task.package.Watermark(0, *sent, True, False)
    assert [task.watermarks.received(0, 2, watermark) for _ in range(2)] == [True, False]


@pytest.fixture
def task(spark: SparkSession) -> Iterator[Any]:
    """The Java package of the engine, in a thread that runs a task."""
    java = jvm.machine(spark)
    contexts = getattr(java.org.apache.spark, "TaskContext$").__getattr__("MODULE$")
    context = contexts.empty()
    contexts.setTaskContext(context)
    yield java.org.apache.spark.sql.millstream
    context.markTaskCompleted(java.scala.Option.empty())
    contexts.unset()


def test_a_row_above_an_operator_does_not_carry_the_time_that_another_task_has_reached(task: Any) -> None:
    def stream_time(id: str) -> list[int]:
        """What two tasks make of stream time, which the first has moved to 9 before the second has a row of time 3."""
        return [task.StreamTime(id).advance(0, time) for time in (9, 3)]

    assert stream_time("over a source") == [9, 9]
    task.Watermarks.current()
    assert stream_time("over an operator") == [9, 3]


def test_punctuations_of_a_fast_stream_time_are_limited(spark: SparkSession) -> None:
    """Beyond a thousand a second, one is sent for each 256 rows that move stream time; busy watermarks wait for it."""
    clock = jvm.machine(spark).org.apache.spark.sql.millstream.PunctuationClock(10, 10)
    sent = [time for time in range(10, 50_000, 10) if clock.advance(time)]
    assert sent[:1000] == list(range(10, 10_010, 10))
    assert max(later - time for time, later in pairwise(sent)) <= 2560
    assert clock.isBehind() == (sent[-1] < 49_990)
