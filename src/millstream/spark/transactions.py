"""Queries that write in Kafka transactions (exactly_once_v2): their settings, and what is done before they start."""

from collections.abc import Mapping

from pyspark.sql import SparkSession

from millstream.spark import checkpoint as checkpoints
from millstream.spark import jvm
from millstream.spark.sink import PRODUCER

GUARANTEE = "exactly_once_v2"
# ms. Spark's real-time mode is told to take batches as short as that (spark/session.py).
SHORTEST = 100
# ms. A transaction must not time out while its batch is late, and readers wait for one whose writer is dead.
TIMEOUT, LONGEST_TIMEOUT = 60_000, 900_000
# Nobody sees a record before its transaction is committed: records may wait for others.
LINGER = 20


def wanted(settings: Mapping[str, str]) -> bool:
    """Whether the settings ask for exactly once."""
    return settings["processing.guarantee"].lower() == GUARANTEE


def batch_duration(settings: Mapping[str, str], group: str) -> str:
    """How long the batches of a query are; `group` is "" where it writes in no transactions."""
    return f"{_interval(settings)} milliseconds" if group else settings["millstream.batch.duration"]


def begin(
    session: SparkSession,
    run: str,
    group: str,
    checkpoint: str,
    settings: Mapping[str, str],
    producer: Mapping[str, str],
) -> None:
    """Before a run starts: end what earlier runs have left open, and finish in the checkpoint what they committed.

    `group` is the query's transactional id, and the consumer group of its positions; `producer` are settings of its
    producer. Raises CheckpointBehind, and Py4JError where Kafka refuses.
    """
    timeout = min(LONGEST_TIMEOUT, max(TIMEOUT, 2 * _interval(settings) + TIMEOUT // 2))
    linger = max(LINGER, int(settings["linger.ms"]))
    own = {"transaction.timeout.ms": str(timeout), "linger.ms": str(linger)}
    conf = jvm.java_map(session, {**PRODUCER, **producer, **own})
    marker = jvm.module(session, "Transactions").begin(run, checkpoint, group, conf)
    checkpoints.finish(session, checkpoint, str(marker))


def end(session: SparkSession, run: str) -> None:
    """A run has ended, however it did: what it has not committed is aborted."""
    jvm.module(session, "Transactions").end(run)


def forget(session: SparkSession, group: str, client: Mapping[str, str]) -> None:
    """The query is gone: Kafka need not know its positions any more."""
    jvm.module(session, "Transactions").forget(group, jvm.java_map(session, client))


def _interval(settings: Mapping[str, str]) -> int:
    return max(SHORTEST, int(settings["commit.interval.ms"]))
