"""Want of memory in one task."""

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession


def test_a_task_that_runs_out_of_memory_fails_alone(spark: SparkSession) -> None:
    """The session has a heap of 2 GB. Spark's own way is to end the process, with all queries of the server."""
    greedy = spark.range(1).selectExpr("octet_length(repeat(cast(id as string), 2000000000))")
    with pytest.raises(Py4JJavaError, match="OutOfMemoryError"):
        greedy.collect()
    assert spark.range(3).count() == 3
