"""The records of a topic, live or up to an end: the columns key, value, rowtime, headers, partition, offset."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from pyspark.sql import DataFrame, SparkSession

from millstream.spark import jvm
from millstream.spark.coalescing import Coalescing
from millstream.spark.scala_module import PACKAGE

FORMAT = f"{PACKAGE}.KafkaSource"
# A bounded read ends at records that exist, so its fetches need not wait for further ones. A consumer's last fetch asks
# for what follows the end: without this setting it would wait for half a second, Kafka's default, and delay the next
# read with the same consumer.
AT_ONCE = {"kafka.fetch.max.wait.ms": "1"}

Offsets = Mapping[int, int]


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic to read: `client` are settings of its Kafka consumers, including bootstrap.servers.

    A partition that `starts` does not name is read from its first record on.
    """

    name: str
    client: Mapping[str, str]
    starts: Offsets = field(default_factory=dict)

    def _options(self) -> dict[str, str]:
        client = {f"kafka.{name}": value for name, value in self.client.items()}
        return {**client, "topic": self.name, "starts": _json(self.starts)}


@dataclass(frozen=True, slots=True)
class Pace:
    """How long batches last, in ms after their first record; a batch that reads nothing does not end.

    The first one lasts `first`, each further one as long as all before it together, until `interval` is reached.
    """

    interval: int
    first: int


# Batches end as Spark ends them.
ENDLESS = Pace(0, 0)


@dataclass(frozen=True, slots=True)
class Reading:
    """How a stream is read.

    `shared`: whether queries that read the same partition at the same position share one consumer. `record_time`:
    whether the query's rows have the times of the records, and not those of a column. `idle`: for how many ms a
    partition without a further record may still limit stream time; -1: not even while Kafka has further ones.
    `clock_after`: for how many ms it has had no record when stream time goes on by the clock; 0: it never does.
    """

    shared: bool = True
    record_time: bool = False
    idle: int = 0
    clock_after: int = 0

    def _options(self) -> dict[str, str]:
        return {
            "shared": str(self.shared).lower(),
            "recordTime": str(self.record_time).lower(),
            "idle": str(self.idle),
            "clockAfter": str(self.clock_after),
        }


def stream(session: SparkSession, topic: Topic, run: str = "", reading: Reading = Reading()) -> DataFrame:
    """The records as they arrive, for one run of a query (`Run.id`); "" for a run that is never stopped in an orderly
    way.

    The sources of one query need different `client.id`s: Spark treats sources with equal options as one.
    """
    return session.readStream.format(FORMAT).options(**topic._options(), run=run, **reading._options()).load()


def bounded(session: SparkSession, topic: Topic, ends: Offsets) -> DataFrame:
    """The present records before `ends`, of the partitions that it names."""
    return session.read.format(FORMAT).options(**{**topic._options(), **AT_ONCE, "ends": _json(ends)}).load()


class Run:
    """One run of a query, whose batch can be ended on demand (jvm/QueryRuns.scala). Its `id` is unique."""

    def __init__(self, session: SparkSession, id: str, pace: Pace = ENDLESS) -> None:
        """Call it before the query starts."""
        self.id = id
        self._runs = jvm.module(session, "QueryRuns")
        self._runs.begin(id, pace.interval, pace.first)

    def coalesce(self, changes: Coalescing, after_backlog: bool) -> None:
        """Let operators coalesce changes; `after_backlog`: only when they have read what is there when the run begins.

        Call it before the query starts.
        """
        self._runs.coalesce(self.id, changes.bytes, changes.interval, after_backlog)

    def finish(self) -> None:
        """Request the end of the query's batch; no other begins. Does not wait."""
        self._runs.finish(self.id)

    def await_start(self, seconds: float) -> bool:
        """Wait until a task of the query reads its topic, or the query has ended; False if `seconds` pass before."""
        return bool(self._runs.awaitStart(self.id, round(seconds * 1000)))

    def await_batch_end(self, seconds: float) -> bool:
        """Wait for the batch's commit; False if it did not happen within `seconds`, or the query has ended
        otherwise."""
        return bool(self._runs.awaitBatchEnd(self.id, round(seconds * 1000)))

    def end(self) -> None:
        """Call it after the query has ended, or if it could not start."""
        self._runs.end(self.id)


def _json(offsets: Offsets) -> str:
    return json.dumps({str(partition): offset for partition, offset in offsets.items()})
