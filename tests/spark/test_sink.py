"""Real-time queries against a real broker: what they write, their entries about bad records, how they fail."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from millstream.catalog.catalog import Serde
from millstream.formats.spec import spec
from millstream.model.schema import Column, RecordPart
from millstream.model.types import BIGINT, STRING, Array
from millstream.spark import codec, jvm, sink, source
from millstream.spark.bounded import Record
from millstream.spark.lazy_frame import LazyFrame
from support.kafka import BrokerClient, TopicRecord, wait_for

pytestmark = pytest.mark.live
KEY = spec(Serde("KAFKA"), [Column("K", STRING, RecordPart.KEY)], "K")
VALUE = spec(Serde("JSON"), [Column("A", BIGINT), Column("L", Array(STRING))])
WRITTEN = spec(Serde("JSON"), [Column("N", BIGINT), Column("S", STRING)])


def records(spark: SparkSession, kafka: BrokerClient, topic: str) -> DataFrame:
    """The topic's records as they come."""
    return source.stream(spark, source.Topic(topic, {"bootstrap.servers": kafka.bootstrap}))


def read(frame: DataFrame, query: str) -> DataFrame:
    """The records' rows."""
    decoded = LazyFrame.of(frame).select(
        f"{codec.decode('key', KEY)} as k",
        f"{codec.decode('value', VALUE)} as v",
        *(f"{c} as raw_{c}" for c in ("key", "value")),
        *("rowtime", "headers", "partition", "offset"),
    )
    kept = codec.readable_rows(decoded, query, "source")
    rows = kept.select("k.value as key", "v.value as value", "rowtime", "headers", "partition", "offset")
    return rows.frame()


def written(frame: DataFrame, query: str) -> DataFrame:
    """The rows' records."""
    rest = ("rowtime", "headers", "partition", "offset")
    encoded = LazyFrame.of(frame).select(
        f"{codec.encode('key', KEY)} as k", f"{codec.encode('value', WRITTEN)} as v", *rest
    )
    return codec.encoded_rows(encoded, query, "sink").select("k.bytes as key", "v.bytes as value", *rest).frame()


@contextmanager
def running(
    frame: DataFrame, kafka: BrokerClient, topic: str, query: str, folder: Path, **conf: str
) -> Iterator[StreamingQuery]:
    """The query, stopped in the end."""
    settings = {"bootstrap.servers": kafka.bootstrap, **{k.replace("_", "."): v for k, v in conf.items()}}
    started = sink.run_realtime(
        frame, sink.TopicOutput(query, topic, settings, str(folder / "checkpoint"), "5 seconds")
    )
    try:
        yield started
    finally:
        started.stop()
        sink.close_log(frame.sparkSession, query)


def shown(record: TopicRecord) -> tuple[object, ...]:
    return (record.key, record.json, record.timestamp, record.headers)


def test_records_go_through_with_time_headers_and_tombstones(
    spark: SparkSession, kafka: BrokerClient, tmp_path: Path
) -> None:
    """Decode, filter, explode, guarded projections, encode and the sink in one real-time query."""
    source, target, log = kafka.create_topic(), kafka.create_topic(), kafka.create_topic()
    rows = read(records(spark, kafka, source), "QS").selectExpr("*", "explode(coalesce(value.V1, array('none'))) as s")
    projected = rows.where(
        "value is null or coalesce(ms_guard(value.V0 > 0, 'QS.filter|WHERE', partition, offset), true)"
    )
    numbers = "ms_guard(100 div ms_need(value.V0), 'QS.project|N', partition, offset)"
    value = f"if(value is null, null, named_struct('V0', {numbers}, 'V1', upper(s))) as value"
    out = written(projected.selectExpr("key", value, "rowtime", "headers", "partition", "offset"), "QS")
    sink.log_to_topic(spark, "QS", log, {"bootstrap.servers": kafka.bootstrap}, rows=True)
    with running(out, kafka, target, "QS", tmp_path):
        kafka.produce(source, b"k", '{"a": 4, "l": ["x", "y"]}', 1000, [("h", b"1"), ("h", None)])
        kafka.produce(source, b"k", "not json", 1001)
        kafka.produce(source, b"k", '{"A": -1, "L": ["gone"]}', 1002)
        kafka.produce(source, b"k", None, 1003)
        kafka.produce(source, None, '{"L": ["z"]}', 1004)
        output = kafka.consume_all(target, 4)
        logged = kafka.consume_all(log, 2)
    assert list(map(shown, output)) == [
        (b"k", {"N": 25, "S": "X"}, 1000, (("h", b"1"), ("h", None))),
        (b"k", {"N": 25, "S": "Y"}, 1000, (("h", b"1"), ("h", None))),
        (b"k", None, 1003, ()),
        (None, {"N": None, "S": "Z"}, 1004, ()),
    ]
    entries = [json.loads(t.value or b"")["message"] for t in logged]
    assert [e["type"] for e in entries] == [0, 1]
    assert entries[0]["deserializationError"]["recordB64"] == "bm90IGpzb24="
    assert entries[0]["deserializationError"]["offset"] == 1
    assert entries[1]["recordProcessingError"]["offset"] == 4
    assert entries[1]["recordProcessingError"]["errorMessage"] == "Error computing N: null operand"


@pytest.mark.parametrize("partitions", [(4, 2), (2, 5)])
def test_a_topic_that_was_replaced_gets_its_records_in_its_own_partitions(
    spark: SparkSession, kafka: BrokerClient, partitions: tuple[int, int], tmp_path: Path
) -> None:
    """The producer, which the queries share, knew the old partitions: records failed, or went to the wrong ones."""
    source, keys = kafka.create_topic(), [f"k{i}" for i in range(20)]
    for key in keys:
        kafka.produce(source, key.encode(), "{}", 1)
    target, other = kafka.create_topic(partitions=partitions[0]), kafka.create_topic(partitions=partitions[1])
    for number, topic in enumerate((target, other, target)):
        if number == 2:
            kafka.recreate_topic(target, partitions[1])
        frame = records(spark, kafka, source).select("key", "value", "rowtime", "headers", "partition", "offset")
        with running(frame, kafka, topic, f"QR{number}", tmp_path / str(number)):
            kafka.consume_all(topic, len(keys))
    placed = [{(r.key, r.partition) for r in kafka.consume_all(topic, len(keys))} for topic in (other, target)]
    assert placed[0] == placed[1]


def test_a_failed_write_is_reported_at_once_and_ends_the_query(
    spark: SparkSession, kafka: BrokerClient, tmp_path: Path
) -> None:
    source, target = kafka.create_topic(), kafka.create_topic()
    frame = records(spark, kafka, source)
    with running(frame, kafka, target, "QF", tmp_path, max_request_size="2000") as query:
        kafka.produce(source, b"k", "fits", 5)
        assert kafka.consume_all(target, 1)[0].value == b"fits"
        assert sink.failure(spark, "QF") is None
        kafka.produce(source, b"k", "x" * 5000, 6)
        wait_for(lambda: sink.failure(spark, "QF"), "the failure")
        assert "RecordTooLargeException" in str(sink.failure(spark, "QF"))
        wait_for(lambda: not query.isActive, "the end of the query")
        assert "could not write to topic" in str(query.exception())


def test_records_that_kafka_will_not_take_are_skipped_and_logged(
    spark: SparkSession, kafka: BrokerClient, tmp_path: Path
) -> None:
    """Too large for the producer; too large for the topic alone."""
    source, log = kafka.create_topic(), kafka.create_topic()
    target = kafka.create_topic(config={"max.message.bytes": "200000"})
    frame = records(spark, kafka, source)
    sink.log_to_topic(spark, "QL", log, {"bootstrap.servers": kafka.bootstrap})
    sink.skip_refused(spark, "QL")
    # One that fits behind the record before it, in what its batch has left, would go with that for ever: Kafka's client
    # splits a batch that is refused into the same batch.
    last = "z" * 100
    with running(frame, kafka, target, "QL", tmp_path, max_request_size="400000") as query:
        for value in ("first", "x" * 500_000, "y" * 300_000, last):
            kafka.produce(source, b"k", value, 5)
        assert [r.value for r in kafka.consume_all(target, 2)] == [b"first", last.encode()]
        entries = [json.loads(entry.value or b"")["message"] for entry in kafka.consume_all(log, 2)]
        assert query.isActive
        assert sink.failure(spark, "QL") is None
    sink.release(spark, "QL")
    assert [entry["type"] for entry in entries] == [2, 2]
    reasons = [entry["productionError"]["errorMessage"] for entry in entries]
    assert f"not written to topic {target}" in reasons[0]
    assert "and max.request.size is 400000" in reasons[0]
    assert "larger" in reasons[1]


def test_a_query_goes_on_where_it_was_stopped(spark: SparkSession, kafka: BrokerClient, tmp_path: Path) -> None:
    """Nothing is lost between two runs; what was not committed is written again."""
    source, target = kafka.create_topic(), kafka.create_topic()
    for run in range(2):
        with running(records(spark, kafka, source), kafka, target, "QR", tmp_path):
            kafka.produce(source, b"k", f"run {run}", 7)
            wait_for(lambda r=run: f"run {r}".encode() in values(kafka, target), "the record")
    assert set(values(kafka, target)) == {b"run 0", b"run 1"}


def values(kafka: BrokerClient, topic: str) -> list[bytes | None]:
    return [r.value for r in kafka.consume_all(topic, kafka.ends(topic))]


def test_a_producer_that_can_send_no_more_is_replaced(spark: SparkSession, kafka: BrokerClient) -> None:
    """All tasks share one producer: after a fatal error, such as its close, later tasks get another one."""
    topic, conf = kafka.create_topic(), {"bootstrap.servers": kafka.bootstrap, "client.id": "replaced"}
    sink.put(spark, topic, Record(b"a", b"1", 0), conf)
    jvm.module(spark, "Producers").get(jvm.java_map(spark, {**sink.PRODUCER, **conf})).close()
    with pytest.raises(sink.NotWritten, match="closed"):
        sink.put(spark, topic, Record(b"a", b"2", 0), conf)
    sink.put(spark, topic, Record(b"a", b"3", 0), conf)
    assert [record.value for record in kafka.consume_all(topic, 2)] == [b"1", b"3"]
