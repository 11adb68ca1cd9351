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
