"""Real-time queries that write to a topic, and the processing log of their failed records."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from millstream.plan.append_time import AppendTime
from millstream.spark import jvm
from millstream.spark.bounded import Record
from millstream.spark.coalescing import EACH_CHANGE, Coalescing

# With one request in flight, records that arrive meanwhile share the next request, so that batches grow with the load.
PRODUCER = {
    "linger.ms": "0",
    "max.in.flight.requests.per.connection": "1",
    "batch.size": "131072",
    "compression.type": "none",
    "max.block.ms": "20000",
}
# How long a query's rows may linger, in ms, while its task has more to read; they are sent before it waits. At the
# beginning of a backlog, requests with a few rows each would take a third of the cores.
BUSY_LINGER = "5"
COLUMNS = ("key", "value", "rowtime", "headers")
# Writes the record of each row, and lets none pass (jvm/Send.scala).
SENT = f"ms_send({', '.join(COLUMNS)})"


class NotWritten(Exception):
    """A record that the broker did not accept; the message says why."""


@dataclass(frozen=True, slots=True)
class TopicOutput:
    """Where and how a query writes its rows.

    `producer` are Kafka producer settings with bootstrap.servers; with a linger.ms of 0, a record lingers only while
    its task has more to read. The query's position is saved in `checkpoint` every `batch_duration`. A `run`
    (source.Run) that has transactions writes in them, with their own settings. `append_time`: where the start of the
    latency is (if CARRIED, in the last header, which is not written; see pipeline.written). `coalescing`: what rows of
    one key may replace each other before they are written.
    """

    query_id: str
    topic: str
    producer: Mapping[str, str]
    checkpoint: str
    batch_duration: str = "1 minute"
    run: str = ""
    append_time: AppendTime = AppendTime.ROWTIME
    coalescing: Coalescing = EACH_CHANGE


def run_realtime(frame: DataFrame, output: TopicOutput) -> StreamingQuery:
    """Start writing the frame's key, value (binary), rowtime (bigint ms) and headers to a topic, in real time.

    A null value is a tombstone. Raises pyspark's errors if it cannot start.
    """
    session = frame.sparkSession
    settings = {**PRODUCER, **output.producer}
    # A producer refuses a delivery.timeout.ms of the settings that is shorter than linger.ms plus request.timeout.ms.
    is_prompt = settings["linger.ms"] == PRODUCER["linger.ms"] and "delivery.timeout.ms" not in settings
    conf = jvm.java_map(session, settings | ({"linger.ms": BUSY_LINGER} if is_prompt else {}))
    rows = jvm.java_frame(frame.where(SENT))
    started = jvm.module(session, "Sink").start(
        rows,
        output.query_id,
        output.run,
        output.topic,
        conf,
        output.checkpoint,
        output.batch_duration,
        output.append_time.value,
        is_prompt,
        output.coalescing.bytes,
        output.coalescing.interval,
    )
    return jvm.python_query(started)


def failure(session: SparkSession, query_id: str) -> str | None:
    """The error of the query's first failed write; None if there is none. Set before the query itself ends."""
    text = jvm.module(session, "Sink").failure(query_id)
    return None if text is None else str(text)


def fence_clock(session: SparkSession) -> int:
    """The present time of the clock by which fences count: System.nanoTime of the driver's JVM."""
    return int(jvm.module(session, "Fences").clock())


def extend_fence(session: SparkSession, fence: str, start: int, seconds: float) -> None:
    """Let the queries guarded by `fence` write until `seconds` after `start`, a time of the fence's clock; after that
    their sinks wait (jvm/Fence.scala)."""
    jvm.module(session, "Fences").extend(fence, start, float(seconds))


def guard(session: SparkSession, query_id: str, fence: str) -> None:
    """Make the sink of a query that is about to start wait for `fence`."""
    jvm.module(session, "Fences").guard(query_id, fence)


def release(session: SparkSession, query_id: str) -> None:
    """Remove the fence of a query that has ended."""
    jvm.module(session, "Fences").release(query_id)
    jvm.module(session, "ProductionErrors").forget(query_id)


def skip_refused(session: SparkSession, query_id: str) -> None:
    """Let a query that is about to start skip records that Kafka rejects, with entries in its processing log."""
    jvm.module(session, "ProductionErrors").skipIn(query_id)


def put(session: SparkSession, topic: str, record: Record, producer_conf: Mapping[str, str]) -> None:
    """Write one record with its own time, also if that is 0, and wait for the acknowledgement.

    Raises NotWritten if the broker does not accept it.
    """
    conf = jvm.java_map(session, {**PRODUCER, **producer_conf})
    names, values = [name for name, _ in record.headers], [data for _, data in record.headers]
    lists = (jvm.java_list(session, names), jvm.java_list(session, values))
    try:
        jvm.module(session, "Sink").put(conf, topic, record.rowtime, record.key, record.value, *lists)
    except Py4JJavaError as failure:
        raise NotWritten(jvm.reasons(failure.java_exception)) from failure


def log_to_topic(
    session: SparkSession,
    query_id: str,
    topic: str,
    producer_conf: Mapping[str, str],
    rows: bool = False,
    per_second: int = 100,
) -> None:
    """Send the query's processing log to `topic`, at most `per_second` entries, without waiting. Call before it starts.

    `rows`: an entry may contain the bytes of the failed record.
    """
    log = jvm.module(session, "ProcessingLog")
    log.toTopic(query_id, topic, jvm.java_map(session, producer_conf), rows, per_second)


def log_to_memory(session: SparkSession, query_id: str, rows: bool = False, limit: int = 10_000) -> None:
    """Keep the query's processing log in memory, up to `limit` entries, until it is drained."""
    jvm.module(session, "ProcessingLog").toMemory(query_id, rows, limit)


def drain_log(session: SparkSession, query_id: str) -> list[str]:
    """Remove and return the kept entries of the query's processing log as JSON, oldest first."""
    return [str(entry) for entry in jvm.module(session, "ProcessingLog").drain(query_id)]


def append_to_log(session: SparkSession, query_id: str, kind: int, name: str, body: Mapping[str, object]) -> None:
    """Write an entry to the query's processing log: its type, the name of its field, and the field's value.

    For example 4, "kafkaStreamsThreadError", {"errorMessage": …, "threadName": …, "cause": []}.
    """
    jvm.module(session, "ProcessingLog").other(query_id, kind, name, json.dumps(body))


def close_log(session: SparkSession, query_id: str) -> None:
    """Close the query's processing log; later entries are dropped."""
    jvm.module(session, "ProcessingLog").close(query_id)
