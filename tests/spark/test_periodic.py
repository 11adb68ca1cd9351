"""Work that a thread of the JVM repeats."""

from typing import ClassVar

from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import SparkSession

from millstream.spark import jvm
from support.kafka import wait_for


class FailingWork:
    """A java.lang.Runnable that fails each time; `calls` counts them."""

    calls = 0

    def run(self) -> None:
        self.calls += 1
        raise ValueError("it fails")

    class Java:
        implements: ClassVar = ["java.lang.Runnable"]


def test_work_that_fails_is_done_again(spark: SparkSession) -> None:
    """Java's scheduler drops work that has failed once, without a word."""
    ensure_callback_server_started(spark.sparkContext._gateway)
    work = FailingWork()
    timer = jvm.module(spark, "Periodic").start("failing work", 10, work)
    wait_for(lambda: work.calls > 3, "three failures", 30)
    timer.cancel(True)
