"""What is shown of the long messages with which Spark ends queries."""

import pytest

from millstream.spark.realtime import first_line, why


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


class Caused(Exception):
    """An exception with a cause, as pyspark has it."""

    def __init__(self, text: str, cause: "Caused | None" = None) -> None:
        super().__init__(text)
        self._cause = cause


READ_ONLY = Caused("/data/1.changelog: Read-only file system")


@pytest.mark.parametrize(
    ("failure", "shown"),
    [
        (READ_ONLY, str(READ_ONLY)),
        (Caused("[CANNOT_COMMIT] Error", READ_ONLY), f"[CANNOT_COMMIT] Error: {READ_ONLY}"),
        (Caused("[A] Error", Caused("[B] Error", READ_ONLY)), f"[A] Error: {READ_ONLY}"),
        (Caused(f"aborted: {READ_ONLY}", READ_ONLY), f"aborted: {READ_ONLY}"),
        (Caused("Not there", Caused("org.acme.GoneException: Not there")), "Not there"),
        (Caused("[A] Error", Caused("")), "[A] Error"),
        (Caused("x" * 1000, Caused("y" * 1000)), f"{'x' * 300}: {'y' * 300}"),
    ],
    ids=["itself", "cause", "innermost", "said already", "said without its class", "says nothing", "long"],
)
def test_the_innermost_cause_is_shown(failure: Caused, shown: str) -> None:
    assert why(failure) == shown
