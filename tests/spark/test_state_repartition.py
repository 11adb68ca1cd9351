"""Repartitioning a checkpoint's states to another number of tasks: after a kill half-way, and what is refused."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from millstream.spark import sink, source
from millstream.spark.checkpoint import location, repartition
from support import spark as frames
from support.kafka import BrokerClient, wait_for

pytestmark = pytest.mark.live
ENOUGH = 60.0
KEYS = 50
COUNT = frames.counting("repartition.count")


class Count:
    """A query that counts a topic's keys."""

    def __init__(self, spark: SparkSession, kafka: BrokerClient, folder: Path) -> None:
        self._spark, self._kafka, self.folder, self.url = spark, kafka, folder, location(str(folder))
        self._topic, self._out = kafka.create_topic(), kafka.create_topic()
        self._client = {"bootstrap.servers": kafka.bootstrap}
        self._query: StreamingQuery | None = None
        self._rounds = self._starts = 0

    def frame(self, run: str = "", key: str = "string(key)") -> DataFrame:
        records = source.stream(self._spark, source.Topic(self._topic, self._client), run)
        rows = records.selectExpr(f"{key} as k", "rowtime", "partition", "offset")
        return frames.fold(rows, COUNT, live=True).selectExpr(
            "encode(string(k), 'UTF-8') as key", "encode(string(n), 'UTF-8') as value", "0L as rowtime",
            "cast(null as array<struct<key: string, value: binary>>) as headers",
        )  # fmt: skip

    def count(self, tasks: int) -> None:
        """Start it with so many tasks, let it count a row of each key, and stop it in an orderly way."""
        self._starts += 1
        run = source.Run(self._spark, f"{self._out}/{self._starts}")
        frame = self.frame(run.id)
        repartition(self._spark, frame, self.url, tasks)
        self._spark.conf.set("spark.sql.shuffle.partitions", tasks)
        name = f"{self._out}-{self._starts}"
        self._query = sink.run_realtime(
            frame, sink.TopicOutput(name, self._out, self._client, str(self.folder), run=run.id)
        )
        self._rounds += 1
        for key in range(KEYS):
            self._kafka.send(self._topic, f"k{key}", "")
        self._kafka.flush()
        wait_for(lambda: self.latest() == {self._rounds} or self.failure(), "the counts", ENOUGH)
        assert not self.failure()
        run.finish()
        assert run.await_batch_end(ENOUGH)
        self.stop()
        run.end()

    def stop(self) -> None:
        if self._query is not None:
            self._query.stop()

    def failure(self) -> str:
        assert self._query is not None
        return "" if self._query.isActive else str(self._query.exception())

    def check(self) -> None:
        """Each key was counted 1, 2, 3, …: nothing was forgotten, and nothing counted again."""
        counts: dict[bytes | None, list[int]] = {}
        for record in self._kafka.consume_all(self._out, self._kafka.ends(self._out)):
            counts.setdefault(record.key, []).append(int(record.value or b""))
        assert counts == {b"k%d" % key: list(range(1, self._rounds + 1)) for key in range(KEYS)}

    def latest(self) -> set[int]:
        """The last counts of all keys; empty before the first."""
        records = self._kafka.consume_all(self._out, self._kafka.ends(self._out))
        return set({record.key: int(record.value or b"") for record in records}.values())

    def tasks(self) -> list[str]:
        """The tasks for which the checkpoint has states."""
        return sorted(f.name for f in (self.folder / "state" / "0").iterdir() if f.name.isdigit())


@pytest.fixture
def counting(spark: SparkSession, kafka: BrokerClient, tmp_path: Path) -> Iterator[Count]:
    count = Count(spark, kafka, tmp_path / "checkpoint")
    yield count
    count.stop()
    spark.conf.set("spark.sql.shuffle.partitions", 2)


def test_a_repartition_that_was_killed_is_as_if_it_had_not_begun(spark: SparkSession, counting: Count) -> None:
    """Before its commit only the old checkpoint exists, which resumes with the old tasks, or is repartitioned again."""
    counting.count(1)
    for tasks, killed in ((1, "commits"), (3, "commits"), (3, "offsets")):
        before = last(counting.folder, "commits")
        repartition(spark, counting.frame(), counting.url, 4)
        assert last(counting.folder, "commits") == before + 1
        for log in ("offsets", "commits")[("offsets", "commits").index(killed) :]:
            (counting.folder / log / str(before + 1)).unlink()
        counting.count(tasks)
    counting.check()
    counting.count(2)
    counting.check()
    assert counting.tasks() == ["0", "1"]


def test_a_batch_that_is_run_again_replaces_the_states_of_the_killed_run(counting: Count) -> None:
    """A kill between the states' commit and that of the offsets: the batch is run again, with more records."""
    counting.count(2)
    for log in ("offsets", "commits"):
        (counting.folder / log / "0").unlink()
    counting.count(2)
    counting.count(2)
    assert counting.latest() == {3}


def last(folder: Path, log: str) -> int:
    return max(int(f.name) for f in (folder / log).iterdir() if f.name.isdigit())


def test_states_that_another_query_has_written_are_not_shared_out(spark: SparkSession, counting: Count) -> None:
    """Its groups are of another type, so that the exchange would have sent them elsewhere."""
    counting.count(2)
    with pytest.raises(Py4JJavaError, match="is of a group that task"):
        repartition(spark, counting.frame(key="length(key)"), counting.url, 3)
    assert last(counting.folder, "commits") == last(counting.folder, "offsets")
    counting.count(2)
    counting.check()
