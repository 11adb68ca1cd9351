"""What is shown of the long messages with which Spark ends queries."""

import pytest

from millstream.spark.realtime import first_line


@pytest.mark.parametrize(
    "appendix",
    [
        "\n=== Streaming Query ===\nIdentifier: CSAS_OUT_0 [id = 1, runId = 2]\nCurrent Committed Offsets: {}",
        "\n\nJVM stacktrace:\norg.apache.spark.SparkException",
        "\n== DataFrame ==\nselectExpr was called from",
        "\n    at org.apache.spark.Query.run(Query.scala:1)",
    ],
)
def test_only_what_says_why_is_shown(appendix: str) -> None:
    assert first_line("topic orders is not there" + appendix) == "topic orders is not there"


@pytest.mark.parametrize(
    "around",
    [
        "Job aborted due to stage failure: Task 0 in stage 0.0 failed 1 times, most recent failure: Lost task 0.0 in "
        "stage 0.0 (TID 0) (192.0.2.2 executor driver): {}\nDriver stacktrace:",
        "An error occurred while calling z:org.apache.spark.sql.millstream.Transactions.begin.\n: {}",
        "{}",
    ],
)
def test_what_spark_writes_around_a_failure_is_left_out(around: str) -> None:
    denied = "org.apache.kafka.common.errors.TopicAuthorizationException: Not authorized to access topics: [orders]"
    assert first_line(around.format(denied)) == denied
