"""Case files: inputs that Kafka or a format would not take, and variables."""

from typing import Any

import pytest
from pyspark.sql import SparkSession

from millstream.model.settings import effective
from millstream.spark.bounded import Bounded
from millstream.tester.cases import case
from millstream.tester.runner import verdict

FOO = "CREATE STREAM foo (id STRING KEY, v INT) WITH (kafka_topic='foo', value_format='JSON');"
KEYED = "CREATE STREAM foo (id STRING KEY, v INT) WITH (kafka_topic='foo', format='PROTOBUF_NOSR');"
BAR = "CREATE STREAM bar AS SELECT * FROM foo;"


@pytest.mark.parametrize(
    ("test", "reason"),
    [
        (
            {"statements": [FOO, BAR], "inputs": [{"topic": "foo", "key": "a", "value": {"V": 1}, "timestamp": -1}]},
            "StatementError: an input for topic foo has the time -1\n  hint: Kafka does not accept records with a "
            "negative time",
        ),
        (
            {"statements": [FOO, "INSERT INTO foo (rowtime, id) VALUES (-1, 'a');"]},
            "StatementError: line 1:1: ROWTIME is negative: -1",
        ),
        (
            {"statements": [FOO, f"CREATE STREAM many AS SELECT id, v IN ({'1, ' * 1000}1) AS w FROM foo;"]},
            "StatementError: line 1:34: IN has 1001 items, and may have 1000\n  hint: millstream.statement.max.items "
            "is the limit: larger statements take minutes to plan, or their rows",
        ),
        (
            {
                "statements": ["DEFINE name = 'foo';", "CREATE STREAM bar AS SELECT * FROM ${name};"],
                "rejected": {"because": "FOO does not exist"},
            },
            "",
        ),
        (
            {
                "statements": [FOO, "DEFINE name = 'foo'; CREATE STREAM bar AS SELECT * FROM ${NAME};"],
                "inputs": [{"topic": "foo", "key": "a", "value": {"V": 1}}],
                "outputs": [{"topic": "BAR", "key": "a", "value": {"V": 1}}],
            },
            "",
        ),
        (
            {"statements": [KEYED, BAR], "inputs": [{"topic": "foo", "key": "a", "value": {"V": 1}}]},
            "ValueError: 'a' is not a Protobuf message\n  hint: a Protobuf message is written as an object with its "
            "fields: ID",
        ),
        (
            {
                "statements": [KEYED, BAR],
                "inputs": [{"topic": "foo", "key": {"ID": "a"}, "value": {"V": 1}}],
                "outputs": [{"topic": "BAR", "key": {"ID": "a"}, "value": {"V": 1}}],
            },
            "",
        ),
    ],
    ids=[
        "input of a negative time",
        "row of a negative time",
        "statement too large",
        "refused with a variable",
        "variable",
        "text as a message",
        "message",
    ],
)
def test_the_verdict_on_a_case(test: dict[str, Any], reason: str, spark: SparkSession) -> None:
    assert verdict(case(test, "x.json", 0), Bounded(spark, compiled=False), effective({}, {})).reason == reason
