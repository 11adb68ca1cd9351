"""Queries that write in Kafka transactions (exactly_once_v2): their settings, and the steps before they start."""

from collections.abc import Mapping

from pyspark.sql import SparkSession

from millstream.spark import checkpoint as checkpoints
from millstream.spark import jvm
from millstream.spark.session_settings import is_cluster
from millstream.spark.sink import PRODUCER

GUARANTEE = "exactly_once_v2"
# ms. The end of a batch takes about that long.
SHORTEST = 100
# ms. A transaction must not time out while its batch is late, and consumers wait for one whose producer is dead. Those
# of a cluster's executors may have to be committed by the next run, and get the brokers' default maximum.
TIMEOUT, LONGEST_TIMEOUT = 60_000, 900_000
# No consumer sees a record before its transaction is committed, so records may wait for others.
LINGER = 20


def is_exactly_once(settings: Mapping[str, str]) -> bool:
    """True if the settings ask for exactly once."""
    return settings["processing.guarantee"].lower() == GUARANTEE


def interval(settings: Mapping[str, str]) -> int:
    """How long after its first record a batch ends, in ms."""
    return max(SHORTEST, int(settings["commit.interval.ms"]))


def begin(
    session: SparkSession,
    run: str,
    group: str,
    checkpoint: str,
    settings: Mapping[str, str],
    producer: Mapping[str, str],
) -> None:
    """Call before a run starts: end what earlier runs have left open, and complete what they committed.

    `group` is the query's transactional id, and the consumer group of its positions; `producer` are settings of its
    producer. Raises CheckpointBehind, and Py4JError if Kafka refuses.
    """
    timeout = min(LONGEST_TIMEOUT, max(TIMEOUT, 2 * interval(settings) + TIMEOUT // 2))
    if is_cluster(session.sparkContext.master or ""):
        timeout = LONGEST_TIMEOUT
    linger = max(LINGER, int(settings["linger.ms"]))
    config = {"transaction.timeout.ms": str(timeout), "linger.ms": str(linger)}
    conf = jvm.java_map(session, {**PRODUCER, **producer, **config})
    transactions = jvm.module(session, "Transactions")
    marker = str(transactions.begin(run, checkpoint, group, conf))
    transactions.complete(run, checkpoint)
    checkpoints.finish(session, checkpoint, marker)


def end(session: SparkSession, run: str) -> None:
    """Call after a run has ended: what it has not committed is aborted."""
    jvm.module(session, "Transactions").end(run)


def forget(session: SparkSession, group: str, client: Mapping[str, str]) -> None:
    """Remove a dropped query's positions from Kafka."""
    jvm.module(session, "Transactions").forget(group, jvm.java_map(session, client))
