"""Changes of a table's keys that replace each other before they are written: as records that wait in the sink
(jvm/RecordCache.scala), or as changes that wait in an operator (jvm/WaitingChanges.scala)."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
from pyspark.sql import SparkSession

from millstream.model.settings import effective
from millstream.spark import jvm, sink, source
from millstream.spark.coalescing import Coalescing, QueryCoalescing, record_cache_size
from support.kafka import BrokerClient, wait_for
from support.realtime import LAST, LOW, Copy, Copying, changes
from support.spark import configured

live = pytest.mark.live
MUCH, LONG = 1_000_000, 3_600_000
SOON = source.Pace(interval=100, first=100)


Coalesced = Callable[[int, int], Copy]


@pytest.fixture(params=["sink", "operator"])
def coalescing(
    request: pytest.FixtureRequest, spark: SparkSession, copying: Copying, kafka: BrokerClient
) -> Iterator[Coalesced]:
    """Makes a copy of a new topic that coalesces changes, in so many bytes and for so many ms; it is not started."""

    def make(size: int, interval: int) -> Copy:
        copy, changes = copying(kafka.create_topic()), Coalescing(size, interval)
        if request.param == "operator":
            copy.fold, copy.coalescing = LAST, QueryCoalescing(operators=changes)
        else:
            copy.coalescing = QueryCoalescing(records=changes)
        return copy

    with configured(spark, {"spark.sql.shuffle.partitions": "1"}):
        yield make


def written(copy: Copy) -> list[tuple[bytes | None, bytes | None]]:
    """The changes that the query has written."""
    return [(r.key, r.value) for r in copy.kafka.consume_all(copy.out, copy.kafka.ends(copy.out))]


def read(copy: Copy, count: int) -> None:
    """Wait until the query has read so many records, in all of its runs, without saving any."""
    counts = jvm.module(copy.spark, "Counts")
    wait_for(lambda: json.loads(counts.json(copy.out))["read"] >= count, f"{count} records read")


@live
def test_the_last_change_of_each_key_is_written_when_the_batch_ends(kafka: BrokerClient, coalescing: Coalesced) -> None:
    """In the order of the keys' last changes; a tombstone is a change."""
    copy = coalescing(MUCH, LONG)
    copy.start()
    changes(kafka, copy.topic, "a=1 b=1 c=1 a=2 c a=3")
    read(copy, 6)
    assert written(copy) == []
    copy.finish()
    assert written(copy) == [(b"b", b"1"), (b"c", None), (b"a", b"3")]


@live
def test_changes_are_written_after_their_interval(kafka: BrokerClient, coalescing: Coalesced) -> None:
    """By themselves, while the query waits for records; each key's changes in order."""
    copy = coalescing(MUCH, 300)
    copy.start()
    for number in range(3):
        changes(kafka, copy.topic, f"a={number}.0 a={number}.1 b={number}")
        wait_for(lambda number=number: (b"b", b"%d" % number) in written(copy), "the changes")  # type: ignore[misc]
    assert [v for k, v in written(copy) if k == b"b"] == [b"0", b"1", b"2"]
    of_a = [v for k, v in written(copy) if k == b"a"]
    assert of_a == sorted(of_a), "the changes of a key are written out of order"
    assert {b"0.1", b"1.1", b"2.1"} <= set(of_a)
    copy.finish()


@live
def test_the_first_changes_are_written_where_they_are_too_many(kafka: BrokerClient, copying: Copying) -> None:
    """From the sink, as many as are too many."""
    copy = copying(kafka.create_topic())
    copy.coalescing = QueryCoalescing(records=Coalescing(5 * 160, LONG))
    copy.start()
    changes(kafka, copy.topic, " ".join(f"{key}=1 {key}=2" for key in "abcdefgh"))
    wait_for(lambda: len(written(copy)) >= 3, "the first three keys")
    time.sleep(0.2)
    assert written(copy) == [(b"a", b"2"), (b"b", b"2"), (b"c", b"2")]
    copy.finish()
    assert [k for k, _ in written(copy)] == [key.encode() for key in "abcdefgh"]


@live
@pytest.mark.parametrize("coalescing", ["operator"], indirect=True)
def test_all_changes_are_passed_on_where_they_are_too_many(kafka: BrokerClient, coalescing: Coalesced) -> None:
    """From an operator, which begins anew."""
    copy = coalescing(5 * 400, LONG)
    copy.start()
    changes(kafka, copy.topic, " ".join(f"{key}=1 {key}=2" for key in "abcdefgh"))
    wait_for(lambda: len(written(copy)) >= 4, "the first changes")
    first = [key for key, _ in written(copy)]
    assert 4 <= len(first) < 8
    assert first == sorted(first)
    copy.finish()
    assert dict(written(copy)) == {key.encode(): b"2" for key in "abcdefgh"}
    assert len(written(copy)) < 16


@live
def test_nothing_is_saved_before_it_is_written(kafka: BrokerClient, coalescing: Coalesced) -> None:
    """A query that saves while its changes wait, and is killed, has written all that it will not read again."""
    copy = coalescing(MUCH, LONG)
    copy.start(pace=SOON)
    changes(kafka, copy.topic, "a=1 a=2 b=1")
    wait_for(lambda: copy.saved() == 3, "the save")
    assert dict(written(copy)) == {b"a": b"2", b"b": b"1"}
    copy.abort()
    assert copy.batches() == []
    changes(kafka, copy.topic, "a=3")
    copy.start()
    read(copy, 4)
    copy.finish()
    assert written(copy)[-1] == (b"a", b"3")


@live
def test_what_waits_when_a_query_is_killed_is_read_again(kafka: BrokerClient, coalescing: Coalesced) -> None:
    copy = coalescing(MUCH, LONG)
    copy.start()
    changes(kafka, copy.topic, "a=1 b=1")
    read(copy, 2)
    copy.abort()
    assert written(copy) == []
    copy.start()
    read(copy, 4)
    copy.finish()
    assert written(copy) == [(b"a", b"1"), (b"b", b"1")]


@live
@pytest.mark.parametrize("coalescing", ["operator"], indirect=True)
def test_rows_that_a_killed_run_has_written_are_corrected(kafka: BrokerClient, coalescing: Coalesced) -> None:
    """With HAVING v < 3, a change from nothing to 5 writes no row; it is repeated by way of the 1 that was written."""
    copy = coalescing(MUCH, 50)
    copy.fold, copy.coalescing = LOW, replace(copy.coalescing, repeats=True)
    copy.start()
    changes(kafka, copy.topic, "a=1 b=1")
    wait_for(lambda: dict(written(copy)) == {b"a": b"1", b"b": b"1"}, "the rows of the first run")
    copy.abort()
    changes(kafka, copy.topic, "a=5")
    copy.start(pace=SOON)
    wait_for(lambda: dict(written(copy)) == {b"a": None, b"b": b"1"}, "the tombstone")
    wait_for(lambda: bool(copy.batches()), "the end of the batch that has read what was there")
    changes(kafka, copy.topic, " ".join(f"c={number % 3}" for number in range(300)))
    wait_for(lambda: (b"c", b"2") in written(copy)[-1:], "the last change")
    copy.finish()
    assert len([key for key, _ in written(copy) if key == b"c"]) < 300


@contextmanager
def fence(spark: SparkSession, query: str) -> Iterator[str]:
    """A fence of a query, which does not let it write yet; its name."""
    name = f"fence of {query}"
    sink.guard(spark, query, name)
    yield name
    sink.release(spark, query)


@live
@pytest.mark.parametrize("opens", [True, False])
def test_changes_wait_for_the_fence(
    spark: SparkSession, kafka: BrokerClient, coalescing: Coalesced, opens: bool
) -> None:
    """Whose interval is over, too; and a query that ends meanwhile does not write them, nor wait for ever."""
    copy = coalescing(MUCH, 50)
    with fence(spark, copy.out) as name:
        copy.start()
        changes(kafka, copy.topic, "a=1 a=2")
        read(copy, 2)
        time.sleep(0.3)
        assert written(copy) == []
        if opens:
            sink.extend_fence(spark, name, sink.fence_clock(spark), 60)
            wait_for(lambda: written(copy) == [(b"a", b"2")], "the change")
        copy.abort()
    assert written(copy) == ([(b"a", b"2")] if opens else [])


@live
def test_a_change_that_kafka_refuses_ends_the_query(kafka: BrokerClient, coalescing: Coalesced) -> None:
    """Although its task only waits: nothing is lost silently."""
    copy = coalescing(MUCH, 50)
    copy.start(**{"max.request.size": "1000"})
    changes(kafka, copy.topic, f"a={'x' * 2000}")
    wait_for(copy.ended, "the failure")
    assert "RecordTooLargeException" in copy.failure()


@pytest.mark.parametrize(
    ("settings", "size"),
    [
        ({}, 0),
        ({"cache.max.bytes.buffering": "5"}, 5),
        ({"statestore.cache.max.bytes": "7", "cache.max.bytes.buffering": "5"}, 7),
        ({"statestore.cache.max.bytes": "0", "cache.max.bytes.buffering": "5"}, 0),
    ],
)
def test_the_size_by_either_name(settings: dict[str, str], size: int) -> None:
    assert record_cache_size(effective(settings, {})) == size
