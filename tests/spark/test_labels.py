"""What the processing log calls an expression that fails: the query, the operator, and the expression."""

import json

import pytest
from pyspark.sql import SparkSession

from millstream.model.settings import effective
from millstream.spark import sink
from millstream.spark.bounded import Bounded
from millstream.tester.cases import CaseRecord, ConformanceCase
from millstream.tester.play import plan, run

SOURCE = "CREATE STREAM s (id INT KEY, a INT, l ARRAY<INT>) WITH (kafka_topic='s', value_format='JSON', partitions=1);"
FIRST = """
CREATE AGGREGATE FUNCTION total(x INT) RETURNS INT LANGUAGE PYTHON AS $$
  class Total:
      def initial(self): return 0
      def add(self, state, x): return state // x
      def result(self, state): return state
$$;
"""


@pytest.mark.parametrize(
    ("statement", "logger", "what"),
    [
        ("CREATE STREAM o AS SELECT id, 1 / a AS b FROM s;", "CSAS_O_0.project", "B: division by zero"),
        ("CREATE STREAM o AS SELECT id, a FROM s WHERE 1 / a = 1;", "CSAS_O_0.filter", "1 / A = 1: division by zero"),
        (
            "CREATE STREAM o AS SELECT * FROM s PARTITION BY 1 / a;",
            "CSAS_O_0.partitionby",
            "KSQL_COL_0: division by zero",
        ),
        (
            "CREATE TABLE o AS SELECT id, SUM(1 / a) FROM s GROUP BY id;",
            "CTAS_O_0.aggregate",
            "SUM(1 / A): division by zero",
        ),
        (
            "CREATE TABLE o AS SELECT id, total(a) FROM s GROUP BY id;",
            "CTAS_O_0.aggregate",
            "TOTAL(A): function TOTAL: line 3 (def add(self, state, x): return state // x): ZeroDivisionError: "
            "integer division or modulo by zero",
        ),
    ],
)
def test_labels(spark: SparkSession, statement: str, logger: str, what: str) -> None:
    query = logger.partition(".")[0]
    sink.log_to_memory(spark, query)
    inputs = (CaseRecord("s", 1, {"A": 0}, 0),)
    case = ConformanceCase("", "", "", (SOURCE, FIRST, statement), {}, (), inputs, (), {}, None)
    run(case, plan(case, effective({}, {}), Bounded(spark)), Bounded(spark))
    entries = [json.loads(entry) for entry in sink.drain_log(spark, query)]
    sink.close_log(spark, query)
    assert entries[0]["logger"] == f"processing.{logger}"
    assert entries[0]["message"]["recordProcessingError"]["errorMessage"] == f"Error computing {what}"
