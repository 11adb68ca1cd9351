"""The records of a topic, as they come or up to an end: the columns key, value, rowtime, headers, partition, offset."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from pyspark.sql import DataFrame, SparkSession

from millstream.spark import jvm

FORMAT = f"{jvm.PACKAGE}.KafkaSource"

Offsets = Mapping[int, int]


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic to read: `client` are settings of its Kafka consumers, bootstrap.servers among them.

    A partition that `starts` does not name is read from its first record on.
    """

    name: str
    client: Mapping[str, str]
    starts: Offsets = field(default_factory=dict)

    def _options(self) -> dict[str, str]:
        client = {f"kafka.{name}": value for name, value in self.client.items()}
        return {**client, "topic": self.name, "starts": _json(self.starts)}


def stream(session: SparkSession, topic: Topic, run: str = "") -> DataFrame:
    """The records as they come, for one run of a query (`Run.id`); "" for one that is never stopped in an orderly way.

    Sources of one query need different `client.id`s: Spark takes those with equal options for one.
    """
    return session.readStream.format(FORMAT).options(**topic._options(), run=run).load()


def bounded(session: SparkSession, topic: Topic, ends: Offsets) -> DataFrame:
    """The records that are there before `ends`, of the partitions that it names."""
    return session.read.format(FORMAT).options(**topic._options(), ends=_json(ends)).load()


class Run:
    """One run of a query, which can end its batch on demand; see jvm/QueryRuns.scala. `id` is of this run alone."""

    def __init__(self, session: SparkSession, id: str) -> None:
        """Before the query starts."""
        self.id = id
        self._runs = jvm.module(session, "QueryRuns")
        self._runs.begin(id)

    def finish(self) -> None:
        """Have the query end its batch now, and begin no other; does not wait."""
        self._runs.finish(self.id)

    def await_batch_end(self, seconds: float) -> bool:
        """Whether the batch was committed within so many seconds; False where the query has ended otherwise."""
        return bool(self._runs.awaitBatchEnd(self.id, round(seconds * 1000)))

    def end(self) -> None:
        """After the query has ended, or where it could not start."""
        self._runs.end(self.id)


def _json(offsets: Offsets) -> str:
    return json.dumps({str(partition): offset for partition, offset in offsets.items()})
