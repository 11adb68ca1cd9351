"""Queries that read one topic share a consumer where their positions allow, and each still gets every record once."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from confluent_kafka import TopicPartition
from pyspark.sql import SparkSession

from millstream.catalog.catalog import Serde
from millstream.formats.spec import spec
from millstream.functions.operator_expressions import quoted
from millstream.model.schema import Column
from millstream.model.types import BIGINT, STRING
from millstream.spark import jvm, source
from support.kafka import BrokerClient, wait_for
from support.realtime import Copy, Copying, numbers, put, steady, transaction

pytestmark = pytest.mark.live


def readers(spark: SparkSession, topic: str) -> int:
    """How many tasks read a topic in scans that they share."""
    return int(jvm.module(spark, "SharedScans").readers(topic))


def share(spark: SparkSession, topic: str, tasks: int) -> None:
    """Wait until so many tasks share the scan of a topic."""
    wait_for(
        lambda: readers(spark, topic) == tasks,
        f"{tasks} tasks in one scan",
        seen=lambda: str(readers(spark, topic)),
    )


def begin(spark: SparkSession, kafka: BrokerClient, topic: str, copies: Sequence[Copy], first: bytes) -> None:
    """Start the copies, and wait until they share the scan of a topic and each has copied its first record."""
    for copy in copies:
        copy.start()
    put(kafka, topic, [first])
    for copy in copies:
        copy.reach(1)
    share(spark, topic, len(copies))


def test_queries_over_one_topic_share_a_consumer_and_get_each_record_once(
    spark: SparkSession, kafka: BrokerClient, copying: Copying
) -> None:
    topic = kafka.create_topic(partitions=1)
    put(kafka, topic, numbers(100))
    copies = [copying(topic, **{"client.id": f"copy-{i}"}) for i in range(3)]
    copies[0].start()
    copies[0].reach(100)
    assert readers(spark, topic) == 0
    for copy in copies[1:]:
        copy.start()
        copy.reach(100)
    put(kafka, topic, numbers(100, first=100))
    share(spark, topic, 3)
    for copy in copies:
        copy.reach(200)
    # The others go on when one is stopped, and it goes on where it was when it is started again.
    copies[0].finish()
    assert readers(spark, topic) == 2
    put(kafka, topic, numbers(100, first=200))
    copies[1].reach(300)
    copies[0].start()
    copies[0].reach(300)
    put(kafka, topic, numbers(100, first=300))
    for copy in copies:
        copy.reach(400)
        copy.finish()
        assert copy.values() == numbers(400)
    assert readers(spark, topic) == 0


def test_a_query_that_begins_far_behind_joins_the_scan_when_it_has_caught_up(
    spark: SparkSession, kafka: BrokerClient, copying: Copying
) -> None:
    topic = kafka.create_topic(partitions=1)
    put(kafka, topic, [b"%07d" % n + b"x" * 1000 for n in range(6000)])
    late = copying(topic, **{"client.id": "late"})
    present = [copying(topic, **{"client.id": f"present-{i}"}) for i in range(2)]
    for copy in present:
        copy.starts = {0: 6000}
        copy.start()
    put(kafka, topic, numbers(10))
    for copy in present:
        copy.reach(10)
    share(spark, topic, 2)
    late.start()
    late.reach(6010)
    put(kafka, topic, numbers(10, first=10))
    for copy in present:
        copy.reach(20)
    late.reach(6020)
    share(spark, topic, 3)
    late.finish()
    assert [v[:7] for v in late.values() if v][:6000] == [b"%07d" % n for n in range(6000)]
    assert late.values()[6000:] == numbers(20)


def test_a_query_that_joins_within_the_last_records_gets_the_rest_at_once(
    spark: SparkSession, kafka: BrokerClient, copying: Copying
) -> None:
    topic = kafka.create_topic(partitions=1)
    present = [copying(topic, **{"client.id": f"present-{i}"}) for i in range(2)]
    begin(spark, kafka, topic, present, b"first")
    put(kafka, topic, numbers(10))
    for copy in present:
        copy.reach(11)
    late = copying(topic, **{"client.id": "late"})
    late.starts = {0: 4}
    late.start()
    # No record follows that would end its wait.
    late.reach(7)
    share(spark, topic, 3)
    late.finish()
    assert late.values() == numbers(7, first=3)


def test_a_scan_knows_that_there_is_no_further_record_although_none_has_come(
    spark: SparkSession, kafka: BrokerClient, copying: Copying
) -> None:
    """Else a join with a partition without records waits for it, while another query waits for its first record."""
    topic = kafka.create_topic(partitions=1)
    copies = [copying(topic, **{"client.id": f"copy-{i}"}) for i in range(2)]
    for copy in copies:
        copy.start()
    share(spark, topic, 2)
    wait_for(lambda: jvm.module(spark, "SharedScans").areCaughtUp(topic), "the end of the partition is known")
    put(kafka, topic, numbers(10))
    for copy in copies:
        copy.reach(10)
        copy.finish()


class SlowCopy(Copy):
    """Sleeps 5 ms for each record."""

    columns = (
        "if(java_method('java.lang.Thread', 'sleep', cast(5 as bigint)) is null, key, null) as key",
        *("value", "rowtime", "headers"),
    )


def test_a_slow_query_leaves_the_scan_and_loses_nothing(
    spark: SparkSession, kafka: BrokerClient, copying: Copying, tmp_path: Path
) -> None:
    topic = kafka.create_topic(partitions=1)
    slow = SlowCopy(spark, kafka, tmp_path / "slow", topic, **{"client.id": "slow"})
    fast = [copying(topic, **{"client.id": f"fast-{i}"}) for i in range(2)]
    try:
        begin(spark, kafka, topic, [slow, *fast], b"first")
        values = [b"%07d" % n + b"x" * 10_000 for n in range(2500)]
        put(kafka, topic, values)
        # It comes back when it has caught up, a dozen seconds later.
        share(spark, topic, 2)
        for copy in fast:
            copy.reach(2501)
        slow.reach(2501)
        put(kafka, topic, [b"last"])
        slow.reach(2502)
        share(spark, topic, 3)
        slow.finish()
        assert slow.values() == [b"first", *values, b"last"]
    finally:
        slow.abort()


def test_each_query_gets_each_record_once_while_others_stop_and_start_under_load(
    kafka: BrokerClient, copying: Copying
) -> None:
    topic = kafka.create_topic(partitions=2)
    copies = [copying(topic, **{"client.id": f"copy-{i}"}) for i in range(3)]
    for copy in copies:
        copy.start(source.Pace(500, 500))
    with steady(kafka, topic) as load:
        for n in range(6):
            copies[n % 2].reach(200 * (n + 1))
            copies[n % 2].finish()
            copies[n % 2].start(source.Pace(500, 500))
    for copy in copies:
        copy.reach(load.written)
        copy.finish()
        assert sorted(copy.values(), key=int) == numbers(load.written)


def test_the_others_go_on_when_the_query_that_polls_is_aborted(
    spark: SparkSession, kafka: BrokerClient, copying: Copying
) -> None:
    topic = kafka.create_topic(partitions=1)
    copies = [copying(topic, **{"client.id": f"copy-{i}"}) for i in range(4)]
    for copy in copies:
        copy.start()
    for n, aborted in enumerate(copies[:-1]):
        put(kafka, topic, numbers(10, first=10 * n))
        for copy in copies[n:]:
            copy.reach(10 * (n + 1))
        share(spark, topic, len(copies) - n)
        aborted.abort()
    put(kafka, topic, numbers(10, first=30))
    copies[-1].reach(40)
    copies[-1].finish()
    assert copies[-1].values() == numbers(40)


def test_markers_of_transactions_are_passed_by_all(spark: SparkSession, kafka: BrokerClient, copying: Copying) -> None:
    topic = kafka.create_topic(partitions=1)
    copies = [copying(topic, **{"client.id": f"copy-{i}", "isolation.level": "read_committed"}) for i in range(2)]
    for copy in copies:
        copy.start()
    transaction(kafka, topic, [b"aborted"], commit=False)
    transaction(kafka, topic, [b"kept"], commit=True)
    for copy in copies:
        copy.reach(1)
    share(spark, topic, 2)
    transaction(kafka, topic, [b"aborted"], commit=False)
    copies[0].finish()
    copies[0].start()
    transaction(kafka, topic, [b"kept too"], commit=True)
    for copy in copies:
        copy.reach(2)
        copy.finish()
        assert copy.values() == [b"kept", b"kept too"]


def test_what_retention_removes_is_left_out_by_all(kafka: BrokerClient, copying: Copying) -> None:
    topic = kafka.create_topic(partitions=1)
    put(kafka, topic, numbers(20))
    kafka.admin.delete_records([TopicPartition(topic, 0, 10)])[TopicPartition(topic, 0, 10)].result()
    copies = [copying(topic, **{"client.id": f"copy-{i}"}) for i in range(3)]
    for copy in copies:
        copy.starts = {0: 3}
        copy.start()
    put(kafka, topic, numbers(10, first=20))
    for copy in copies:
        copy.reach(20)
        copy.finish()
        assert copy.values() == numbers(20, first=10)


class ReadingCopy(Copy):
    """Writes what it has read of JSON values: the row, or the error."""

    columns = ("key", "", "rowtime", "headers")

    def reading(self, *columns: Column) -> "ReadingCopy":
        row = f"ms_read_record(value, {quoted(spec(Serde('JSON', wrap=True), columns))})"
        self.columns = ("key", f"cast(to_json({row}) as binary) as value", "rowtime", "headers")
        return self


def test_values_are_the_same_whoever_decodes_them_first(
    spark: SparkSession, kafka: BrokerClient, tmp_path: Path
) -> None:
    topic = kafka.create_topic(partitions=1)
    number, text = Column("N", BIGINT), Column("T", STRING)
    columns = [(number, text), (number, text), (text, number), (text,)]
    copies = [
        ReadingCopy(spark, kafka, tmp_path / str(i), topic, **{"client.id": f"copy-{i}"}).reading(*each)
        for i, each in enumerate(columns)
    ]
    try:
        begin(spark, kafka, topic, copies, b"null")
        rounds = 500
        put(
            kafka,
            topic,
            [text for n in range(rounds) for text in (b'{"N": %d, "T": "t%d"}' % (n, n), b"{bad", b'{"N": "x"}')],
        )
        for copy in copies:
            copy.reach(1 + 3 * rounds)
            copy.finish()
        seen = [[json.loads(value or b"") for value in copy.values()[1:]] for copy in copies]
        assert seen[0] == seen[1]
        for n in range(rounds):
            assert [one[3 * n] for one in seen[1:]] == [
                {"value": {"V0": n, "V1": f"t{n}"}},
                {"value": {"V0": f"t{n}", "V1": n}},
                {"value": {"V0": f"t{n}"}},
            ]
            assert all("error" in one[3 * n + 1] for one in seen)
            assert ["error" in one[3 * n + 2] for one in seen] == [True, True, True, False]
    finally:
        for copy in copies:
            copy.abort()
