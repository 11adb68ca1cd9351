"""What queries store, and what a checkpoint that holds something else does to a start.

A line of state_layouts.txt that changes means that queries of earlier versions end at their start
(spark/state_layout.py) until their users rebuild them: that needs a reason, and a line in CHANGELOG.md that says so.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from millstream.model.settings import effective
from millstream.plan.nodes import Read
from millstream.spark import jvm, pipeline, source
from millstream.spark.checkpoint import location
from millstream.spark.lazy_frame import LazyFrame
from millstream.spark.state_layout import FILE, OtherStates, check
from millstream.syntax.parser import split
from millstream.tester.play import PlayResult, apply
from support import golden
from support import spark as frames

COLUMNS = (
    "g STRING, i INT, b BIGINT, d DOUBLE, m DECIMAL(10, 2), ts TIMESTAMP, ai ARRAY<INT>, st STRUCT<a INT, z STRING>"
)
DECLARED = "".join(
    f"CREATE {kind} {name} (id INT {key}, {COLUMNS}) WITH (kafka_topic='{name}', format='JSON', partitions=1);"
    for kind, key, names in (("STREAM", "KEY", "sr"), ("TABLE", "PRIMARY KEY", "tu"))
    for name in names
)
COUNT = "1: string -> struct<bigint>"


def stream(spark: SparkSession, topic: str) -> DataFrame:
    """A topic's stream that is planned, and never read."""
    return source.stream(spark, source.Topic(topic, {"bootstrap.servers": "localhost:1", "client.id": topic}))


def counting(spark: SparkSession) -> DataFrame:
    """A count of a topic's keys."""
    rows = stream(spark, "counted").selectExpr("string(key) as k", "rowtime", "partition", "offset")
    return frames.fold(rows, frames.counting("layout.count"), live=True)


def layouts(spark: SparkSession, statement: str) -> Iterator[str]:
    """What the operators of a statement's query store."""
    played = PlayResult(settings=effective({}))
    for parsed in split(DECLARED + statement):
        apply(parsed.statement, parsed.text, played)
    *_, query = played.queries.values()

    def records(read: Read) -> LazyFrame:
        return LazyFrame.of(stream(spark, read.origin.topic))

    rows = pipeline.written(query.plan, records, "Q", live=True).frame()
    yield from jvm.module(spark, "StatefulOperator").layouts(jvm.java_frame(rows))


def test_what_queries_store(spark: SparkSession) -> None:
    file = Path(__file__).with_name("state_layouts.txt")
    golden.check(file, lambda statement: "\n".join(layouts(spark, statement)) or "nothing")


@pytest.fixture
def url(tmp_path: Path) -> str:
    """A checkpoint with a batch, and without a note of its states."""
    (tmp_path / "commits").mkdir()
    (tmp_path / "commits" / "0").write_text("v1")
    return location(str(tmp_path))


@pytest.mark.parametrize("before", [None, "", "[", "{}", json.dumps([COUNT])])
def test_a_checkpoint_without_a_note_gets_one(
    spark: SparkSession, tmp_path: Path, url: str, before: str | None
) -> None:
    """As of an earlier version, or after a loss of power."""
    if before is not None:
        (tmp_path / FILE).write_text(before)
    check(spark, counting(spark), url)
    check(spark, counting(spark), url)
    assert json.loads((tmp_path / FILE).read_text()) == [COUNT]
    assert sorted(file.name for file in tmp_path.iterdir()) == ["commits", FILE]


@pytest.mark.parametrize(
    ("held", "difference"),
    [
        (["1: string -> struct<double>"], "operator 0 has stored 1: string -> struct<double>, and would store 1"),
        (["0: string -> struct<bigint>"], "operator 0 has stored 0: string"),
        ([COUNT, COUNT], f"operator 1 has stored {COUNT}, and would store nothing"),
        ([], f"operator 0 has stored nothing, and would store {COUNT}"),
    ],
)
def test_other_states_are_not_read(
    spark: SparkSession, tmp_path: Path, url: str, held: list[str], difference: str
) -> None:
    (tmp_path / FILE).write_text(json.dumps(held))
    with pytest.raises(OtherStates, match="rebuild the query by CREATE OR REPLACE") as refusal:
        check(spark, counting(spark), url)
    assert difference in str(refusal.value)
    assert json.loads((tmp_path / FILE).read_text()) == held


def test_a_checkpoint_that_does_not_exist_is_created(spark: SparkSession, tmp_path: Path) -> None:
    check(spark, counting(spark), location(str(tmp_path / "checkpoints" / "new")))
    assert json.loads((tmp_path / "checkpoints" / "new" / FILE).read_text()) == [COUNT]


def test_a_checkpoint_without_states_holds_no_others(spark: SparkSession, tmp_path: Path, url: str) -> None:
    (tmp_path / FILE).write_text("[]")
    (tmp_path / "commits" / "0").unlink()
    check(spark, counting(spark), url)
    assert json.loads((tmp_path / FILE).read_text()) == [COUNT]
