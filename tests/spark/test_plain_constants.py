"""Constants that Python knows are not sent to Spark, and are what Spark would compute."""

import pytest
from pyspark.sql import SparkSession

from millstream.analysis.typed_expressions import Constant
from millstream.model.types import BIGINT, BOOLEAN, BYTES, DOUBLE, INTEGER, STRING, SqlType
from millstream.spark.bounded import Bounded
from millstream.spark.evaluate import evaluate
from millstream.spark.lower import to_sql


@pytest.mark.parametrize(
    ("type", "value"),
    [
        (BOOLEAN, True),
        (INTEGER, -(2**31)),
        (BIGINT, 2**63 - 1),
        (STRING, "it's a \\ \n ☃ \U0001f600"),
        (STRING, ""),
        (BYTES, None),
        (DOUBLE, 1.5),
    ],
)
def test_a_constant_is_what_spark_computes(spark: SparkSession, type: SqlType, value: object) -> None:
    constant = Constant(type, value)
    assert Bounded(spark).values([constant, constant]) == evaluate(spark, [to_sql(constant)] * 2, [type, type])
