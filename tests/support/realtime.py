"""Real-time queries over topics of a real broker, without an engine."""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from confluent_kafka import Producer
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from millstream.catalog.catalog import RelationKind
from millstream.functions.operator_expressions import SparkSql
from millstream.spark import sink, source, table_bootstrap
from millstream.spark.coalescing import NO_COALESCING
from millstream.spark.fold import Fold
from support.kafka import BrokerClient, wait_for
from support.load import SteadyLoad
from support.spark import fold

ENOUGH = 30.0


class RealtimeQuery(ABC):
    """A query that writes to the topic `out`, of one partition; a batch lasts an hour unless it is ended. `coalescing`:
    which changes are written, or passed on by operators."""

    coalescing = NO_COALESCING

    def __init__(self, spark: SparkSession, kafka: BrokerClient, folder: Path) -> None:
        self.spark, self.kafka, self.folder = spark, kafka, folder
        self.out = kafka.create_topic(partitions=1)
        self.query: StreamingQuery | None = None
        self._starts = 0

    @abstractmethod
    def frame(self, run: str) -> DataFrame:
        """The rows to write (columns of sink.COLUMNS), from sources of the run with that id."""

    def start(self, pace: source.Pace = source.ENDLESS, **producer: str) -> None:
        """Run the query in a run of its own; `producer`: settings of the sink's producer."""
        self._starts += 1
        self.run = source.Run(self.spark, f"{self.out}/{self._starts}", pace)
        after_backlog = self.coalescing.repeats and self._starts > 1
        self.run.coalesce(self.coalescing.operators, after_backlog)
        servers = {"bootstrap.servers": self.kafka.bootstrap, **producer}
        output = sink.TopicOutput(
            self.out, self.out, servers, str(self.folder), "1 hour", self.run.id, coalescing=self.coalescing.records
        )
        self.query = sink.run_realtime(self.frame(self.run.id), output)

    def finish(self) -> None:
        """Stop in an orderly way."""
        assert self.query is not None
        self.run.finish()
        assert self.run.await_batch_end(ENOUGH), self.query.exception()
        self.query.stop()
        self.run.end()

    def abort(self) -> None:
        """Stop in the middle of a batch, if it runs."""
        if self.query is not None:
            self.query.stop()

    def values(self) -> list[bytes | None]:
        """The values of all records that the query has written."""
        return [r.value for r in self.kafka.consume_all(self.out, self.kafka.ends(self.out))]

    def batches(self) -> list[int]:
        """The batches that were committed."""
        commits = self.folder / "commits"
        return sorted(int(file.name) for file in commits.iterdir() if file.name.isdigit()) if commits.is_dir() else []

    @property
    def saves(self) -> Path:
        """The file of what is saved within a batch (jvm/BatchSaves.scala)."""
        return self.folder / "saved" / "batch.json"

    def saved_batch(self) -> dict[str, Any]:
        """What is saved of the batch after the last one that was committed; {} if nothing is."""
        saved: dict[str, Any] = json.loads(self.saves.read_text()) if self.saves.exists() else {}
        return saved if saved.get("batch") == max(self.batches(), default=-1) + 1 else {}

    def committed(self) -> int:
        """How many records lie before the positions of the last batch that was committed."""
        offsets = self.folder / "offsets" / str(max(self.batches(), default=-1))
        if not offsets.exists():
            return 0
        # A version, metadata, and a line for each source.
        sources = map(json.loads, offsets.read_text().splitlines()[2:])
        topics = (topic for positions in sources for topic in positions.values() if isinstance(topic, dict))
        return sum(n for topic in topics for n in topic.values())

    def saved(self) -> int:
        """How many records lie before the positions at which the next run begins."""
        sources = self.saved_batch().get("sources", {}).values()
        return sum(n for one in sources for n in one["next"].values()) if sources else self.committed()

    def reach(self, count: int) -> None:
        """Wait until so many records have been written."""
        wait_for(lambda: self.kafka.ends(self.out) >= count or self.ended(), f"{count} records in {self.out}")
        assert not self.ended(), self.failure()

    def ended(self) -> bool:
        """True if the query was started and runs no more."""
        return self.query is not None and not self.query.isActive

    def failure(self) -> str:
        """What ended the query, as text."""
        assert self.query is not None
        return str(self.query.exception())


# The last value of each key; its changes may be coalesced.
LAST = Fold(
    by=["key"],
    state="struct<value: binary>",
    update=SparkSql("struct(row.value)"),
    emit=SparkSql("array(struct(row.key, new.value, row.rowtime, row.headers))"),
    out="struct<key: binary, value: binary, rowtime: bigint, headers: array<struct<key: string, value: binary>>>",
    label="copy.last",
    coalesces=True,
)


# The same, of values below 3: HAVING.
LOW = replace(
    LAST,
    emit=SparkSql(
        "case when new.value < X'33' then array(struct(row.key, new.value, row.rowtime, row.headers)) "
        "when state.value < X'33' then array(struct(row.key, cast(null as binary) as value, row.rowtime, row.headers)) "
        "else array() end"
    ),
)


class Copy(RealtimeQuery):
    """A query that copies a topic. `columns`: what it copies, as SQL; `starts`: the offsets to begin with; `blocked`:
    another topic that it copies, once the barrier of its name is lifted; `tasks`: pass rows on to so many tasks;
    `fold`: a fold of the records of each key."""

    columns = ("key", "value", "rowtime", "headers")
    blocked: str | None = None
    tasks = 0
    fold: Fold | None = None

    def __init__(self, spark: SparkSession, kafka: BrokerClient, folder: Path, topic: str, **client: str) -> None:
        super().__init__(spark, kafka, folder)
        self.topic, self.starts = topic, dict[int, int]()
        self._client = {"bootstrap.servers": kafka.bootstrap, **client}

    def frame(self, run: str) -> DataFrame:
        frame = source.stream(self.spark, source.Topic(self.topic, self._client, self.starts), run)
        if self.blocked is not None:
            another = source.Topic(self.blocked, {**self._client, "client.id": "held"})
            stream = source.stream(self.spark, another, run)
            frame = frame.union(table_bootstrap.source(stream, self.out, RelationKind.STREAM, 0))
        frame = frame if self.fold is None else fold(frame, self.fold, live=True)
        frame = frame.selectExpr(*self.columns)
        return frame.repartition(self.tasks) if self.tasks else frame


Copying = Callable[..., Copy]


def numbers(count: int, first: int = 0) -> list[bytes]:
    """So many numbers from `first` on, as the values of records."""
    return [str(n).encode() for n in range(first, first + count)]


def steady(kafka: BrokerClient, topic: str) -> SteadyLoad:
    """Numbered records, 500 a second."""
    return SteadyLoad(lambda n: kafka.send(topic, str(n), str(n)), kafka.flush, each=5)


def changes(kafka: BrokerClient, topic: str, text: str) -> None:
    """Write the changes of a table: `a=1 b=2 a` are two rows, and a tombstone."""
    for change in text.split():
        key, _, value = change.partition("=")
        kafka.send(topic, key, value or None)
    kafka.flush()


def put(kafka: BrokerClient, topic: str, values: list[bytes]) -> None:
    """Write records, with each value as its key too."""
    for value in values:
        kafka.send(topic, value, value)
    kafka.flush()


def transaction(kafka: BrokerClient, topic: str, values: list[bytes], commit: bool) -> None:
    """Write values in one transaction, which is committed or aborted."""
    writer = Producer({"bootstrap.servers": kafka.bootstrap, "transactional.id": kafka.unique("tx")})
    writer.init_transactions()
    writer.begin_transaction()
    for value in values:
        writer.produce(topic, value, value)
    writer.flush()
    (writer.commit_transaction if commit else writer.abort_transaction)()
