"""Statements played without a broker: bytes into topics, bytes out of them, through the real plans and codecs."""

from collections.abc import Mapping, Sequence

from pyspark.sql import SparkSession

from millstream.model.settings import effective
from millstream.spark.bounded import Bounded, Record
from millstream.tester.cases import ConformanceCase
from millstream.tester.play import PlacedRecord, PlayResult, order_of_input, plan, run

Pair = tuple[bytes | None, bytes | None]


def play(
    spark: SparkSession,
    statements: str,
    inputs: Mapping[str, Sequence[Pair]] | None = None,
    settings: Mapping[str, str] | None = None,
) -> PlayResult:
    """What statements leave behind: the catalog, schemas and records.

    `inputs` has keys and values by topic; those of the first topic come first.
    """
    bounded = Bounded(spark, compiled=False)
    case = ConformanceCase("", "", "", (statements,), {}, (), (), (), {}, None)
    result = plan(case, effective({}, settings or {}), bounded)
    records = [(topic, pair) for topic, pairs in (inputs or {}).items() for pair in pairs]
    for number, (topic, (key, value)) in enumerate(records):
        result.records.setdefault(topic, []).append(PlacedRecord(Record(key, value, 0), order_of_input(number)))
    run(case, result, bounded)
    return result


def pairs(result: PlayResult, topic: str) -> list[Pair]:
    """Keys and values of a topic's records, in order."""
    records = sorted(result.records.get(topic, ()), key=lambda p: p.order)
    return [(p.record.key, p.record.value) for p in records]
