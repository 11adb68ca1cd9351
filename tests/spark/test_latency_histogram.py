"""The histogram of latencies: where a record is counted, and the same bounds wherever they are written."""

import re
from pathlib import Path

from pyspark.sql import SparkSession

from millstream.server.metrics import LATENCY_BOUNDS
from millstream.spark import jvm

ROOT = Path(__file__).parents[2]


def numbers(path: str, pattern: str) -> list[int]:
    (list_text,) = re.findall(pattern, (ROOT / path).read_text(encoding="utf-8"))
    return [int(number) for number in re.findall(r"\d+", list_text)]


def test_the_bounds_are_the_same_in_all_three_languages() -> None:
    bounds = list(LATENCY_BOUNDS)
    assert numbers("jvm/LatencyHistogram.scala", r"Array\((1L, .*)\)") == bounds
    assert numbers("src/millstream/server/page_files/model.js", r"const BOUNDS = \[(.*)\]") == bounds


def test_a_record_is_counted_below_its_bound(spark: SparkSession) -> None:
    package = jvm.machine(spark).org.apache.spark.sql.millstream
    histogram, other = package.LatencyHistogram(), package.LatencyHistogram()
    for ms in (-5, 0, 1, 2, 3, 600_000, 600_001):
        histogram.add(ms)
    counts = list(histogram.snapshot())
    assert counts[:3] == [3, 1, 1]
    assert counts[-3:] == [1, 1, 1 + 2 + 3 + 600_000 + 600_001]
    other.add(1)
    other.merge(histogram.snapshot())
    assert list(other.snapshot())[:3] == [4, 1, 1]
    assert sum(list(other.snapshot())[:-1]) == 8
