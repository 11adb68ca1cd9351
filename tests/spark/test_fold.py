"""The fold, over lists of rows and over a real topic: states, outputs, failures and expiration by stream time."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from millstream.model.types import BIGINT, INTEGER, STRING
from millstream.spark import jvm, sink, source
from millstream.spark.evaluate import Evaluator, leaf
from millstream.spark.fold import Expiry, Fold, Punctuation
from support.kafka import BrokerClient, wait_for
from support.spark import fold, past_batch

COUNT = Fold(
    by=("k",),
    state="struct<k: string, n: bigint>",
    update="if(row.v is null, null, struct(row.k, coalesce(state.n, 0) + 10 div row.v))",
    emit="array(struct(row.k as k, new.n as n))",
    out="struct<k: string, n: bigint>",
    label="q.count",
)
WINDOWS = Fold(
    by=("k",),
    subkey="cast(row.w as binary)",
    state="struct<k: string, p: int, w: bigint, n: bigint>",
    update="if(row.w + 10 <= clock, state, "
    "named_struct('k', row.k, 'p', row.partition, 'w', row.w, 'n', coalesce(state.n, 0) + 1))",
    emit="array()",
    out="struct<k: string, n: bigint>",
    label="q.windows",
    expiry=Expiry(
        due="state.w + 10",
        partition="state.p",
        update="cast(null as struct<k: string, p: int, w: bigint, n: bigint>)",
        emit="array(struct(concat(state.k, '@', state.w) as k, state.n as n))",
        order="encode(state.k, 'UTF-8')",
    ),
)
# Columns that are not read, in input and output, and structs of which not all fields are read.
FIELDS = Fold(
    by=("k",),
    state="struct<n: bigint>",
    update="struct(coalesce(state.n, 0) + row.v.b)",
    emit="array(struct(1 as unread, struct('x' as unread, row.k as k, new.n as n) as v))",
    out="struct<unread: int, v: struct<unread: string, k: string, n: bigint>>",
    label="q.fields",
)
COLUMNS = [("k", STRING), ("v", BIGINT), ("partition", INTEGER), ("offset", BIGINT)]


def rows(spark: SparkSession) -> DataFrame:
    return leaf(spark, COLUMNS)


def test_states_are_kept_by_group_and_deleted_by_null(spark: SparkSession) -> None:
    run = Evaluator(fold(rows(spark), COUNT, live=False), [t for _, t in COLUMNS], [STRING, BIGINT])
    input_rows = [("a", 1, 0, 0), ("b", 5, 0, 1), ("a", 2, 0, 2), ("a", None, 0, 3), ("a", 10, 0, 4)]
    assert run(input_rows) == [[("a", 10)], [("b", 2)], [("a", 15)], [("a", None)], [("a", 1)]]


def test_a_row_that_fails_is_logged_and_changes_nothing(spark: SparkSession) -> None:
    sink.log_to_memory(spark, "q")
    failing = Fold(**{**_fields(COUNT), "update": "struct(row.k, ms_need(10 div row.v) + coalesce(state.n, 0))"})
    run = Evaluator(fold(rows(spark), failing, live=False), [t for _, t in COLUMNS], [STRING, BIGINT])
    assert run([("a", 1, 0, 7), ("a", 0, 3, 8), ("a", 1, 0, 9)]) == [[("a", 10)], [], [("a", 20)]]
    (entry,) = [json.loads(entry) for entry in sink.drain_log(spark, "q")]
    assert entry["logger"] == "processing.q.count"
    place = {"partition": 3, "offset": 8}
    assert {name: entry["message"]["recordProcessingError"][name] for name in place} == place


def _fields(what: Fold) -> dict[str, object]:
    return {name: getattr(what, name) for name in what.__slots__}


def test_folds_follow_folds_and_unions(spark: SparkSession) -> None:
    left = rows(spark).selectExpr("k", "v", "partition", "offset")
    right = rows(spark).selectExpr("concat(k, '!') as k", "v", "partition", "offset")
    first = fold(left.union(right), COUNT, live=False).selectExpr("k", "n as v", "0 as partition", "0L as offset")
    second = fold(first, COUNT, live=False)
    run = Evaluator(second, [t for _, t in COLUMNS], [STRING, BIGINT])
    input_rows = [("a", 10, 0, 0), ("a", 10, 0, 1), ("a!", 5, 0, 2)]
    assert run(input_rows, [0, 1, 0]) == [[("a", 10)], [("a!", 10)], [("a!", 10 + 10 // 3)]]


def test_stream_time_expires_states_in_order(spark: SparkSession) -> None:
    timed = rows(spark).selectExpr("k", "v div 10 * 10 as w", "v as clock", "partition", "offset")
    run = Evaluator(fold(timed, WINDOWS, live=False), [t for _, t in COLUMNS], [STRING, BIGINT])
    input_rows = [("b", 1, 0, 0), ("c", 11, 0, 1), ("a", 12, 0, 2), ("a", 3, 0, 3), ("x", 5, 1, 0), ("b", 99, 0, 4)]
    assert run(input_rows) == [[], [("b@0", 1)], [], [], [], [("a@10", 1), ("c@10", 1)]]


def _messages(spark: SparkSession) -> list[str]:
    entries = [json.loads(entry) for entry in sink.drain_log(spark, "q")]
    return [entry["message"]["recordProcessingError"]["errorMessage"] for entry in entries]


def test_a_row_that_fails_half_way_gives_no_output(spark: SparkSession) -> None:
    sink.log_to_memory(spark, "q")
    first, second = "struct(row.k as k, 1L as n)", "struct(row.k as k, ms_need(if(row.v = 0, null, row.v)) as n)"
    halved = replace(COUNT, emit=f"array({first}, {second})", update="struct(row.k, 1L)")
    run = Evaluator(fold(rows(spark), halved, live=False), [t for _, t in COLUMNS], [STRING, BIGINT])
    assert run([("a", 0, 0, 0), ("a", 7, 0, 1)]) == [[], [("a", 1), ("a", 7)]]
    assert _messages(spark) == ["null operand"]


def test_a_state_whose_expiration_fails_is_tried_again_when_it_is_twice_as_late(spark: SparkSession) -> None:
    """Due at 10: it fails at 12, is tried again after 14, fails at 15, and is there at 20."""
    sink.log_to_memory(spark, "q")
    assert WINDOWS.expiry is not None
    failing = "ms_need(if(row.v in (12, 13, 15, 16), null, state.n))"
    expiry = replace(WINDOWS.expiry, emit=f"array(struct(state.k as k, {failing} as n))")
    timed = rows(spark).selectExpr("k", "v div 10 * 10 as w", "v as clock", "v", "partition", "offset")
    run = Evaluator(fold(timed, replace(WINDOWS, expiry=expiry), live=False), [t for _, t in COLUMNS], [STRING, BIGINT])
    input_rows = [("a", 1, 0, 0), ("b", 12, 0, 1), ("b", 13, 0, 2), ("b", 15, 0, 3), ("b", 16, 0, 4), ("b", 20, 0, 5)]
    assert run(input_rows) == [[], [], [], [], [], [("a", 1), ("b", 4)]]
    assert _messages(spark) == ["null operand"] * 2


@pytest.mark.parametrize("kind", ["count", "fields", "windows"])
def test_live_gives_the_same_and_goes_on_after_a_stop(
    spark: SparkSession, kafka: BrokerClient, tmp_path: Path, kind: str
) -> None:
    topics = (f"fold-{kind}-in", f"fold-{kind}-out")
    for topic in topics:
        kafka.create_topic(topic)
    if kind == "count":
        what: Fold = COUNT
        # Keys that fill the buffer of the projection that makes them: a fold must not keep that buffer as a key.
        columns: tuple[str, ...] = ("repeat(string(key), 30) as k", "bigint(string(value)) as v")
        halves = [[("a", 1), ("b", 5), ("a", 5)], [("a", 2)]]
        expected = [b"a" * 30 + b"=10", b"b" * 30 + b"=2", b"a" * 30 + b"=12", b"a" * 30 + b"=17"]
    elif kind == "fields":
        what = FIELDS
        columns = ("0 as unread", "string(key) as k", "named_struct('a', 'x', 'b', bigint(string(value))) as v")
        halves = [[("a", 1), ("b", 5), ("a", 5)], [("a", 2)]]
        expected = [b"a=1", b"b=5", b"a=6", b"a=8"]
    else:
        what = WINDOWS
        columns = ("string(key) as k", "bigint(string(value)) div 10 * 10 as w", "bigint(string(value)) as clock")
        halves = [[("b", 1), ("b", 11), ("b", 12)], [("b", 3), ("b", 99)]]
        expected = [b"b@0=1", b"b@10=2"]
    for n, half in enumerate(halves):
        for key, value in half:
            kafka.produce(topics[0], key.encode(), str(value).encode())
        folded = fold(read(spark, kafka, topics[0], columns), what, live=True)
        out = folded.selectExpr("v.k as k", "v.n as n") if kind == "fields" else folded
        query = write(out, kafka, topics[1], tmp_path, f"fold-{kind}")
        try:
            count = len(expected) if n else 1 if kind == "windows" else 3
            wait_for(lambda: kafka.ends(topics[1]) >= count, f"{count} records")  # noqa: B023
            wait_for(lambda: past_batch(query, n), "a saved batch")  # noqa: B023
        finally:
            query.stop()
    values = [r.value for r in kafka.consume_all(topics[1], kafka.ends(topics[1]))]
    assert sorted(set(values)) == sorted(set(expected))


def read(spark: SparkSession, kafka: BrokerClient, topic: str, columns: Sequence[str]) -> DataFrame:
    """The records of a topic as a fold's rows, in real time."""
    records = source.stream(spark, source.Topic(topic, {"bootstrap.servers": kafka.bootstrap}))
    return records.selectExpr(*columns, "partition", "offset")


def write(out: DataFrame, kafka: BrokerClient, topic: str, checkpoint: Path, name: str) -> StreamingQuery:
    """A query that writes k=n of each row to a topic."""
    records = out.selectExpr(
        "cast(null as binary) as key",
        "encode(concat(k, '=', coalesce(string(n), 'null')), 'UTF-8') as value",
        "0L as rowtime",
        "cast(null as array<struct<key: string, value: binary>>) as headers",
    )
    servers = {"bootstrap.servers": kafka.bootstrap}
    return sink.run_realtime(records, sink.TopicOutput(name, topic, servers, str(checkpoint), "2 seconds"))


@pytest.mark.parametrize("tasks", [1, 2, 5, 16])
def test_a_punctuation_goes_where_its_number_says(spark: SparkSession, tasks: int) -> None:
    routes = [jvm.module(spark, "StreamTimePunctuation").routes(tasks).apply(task) for task in range(tasks)]
    column = f"pmod(hash(named_struct('a', cast(null as struct<K0: string>)).a, number), {tasks}) as task"
    frame = spark.sql(f"select {column} from (select explode(array({', '.join(f'{n}L' for n in routes)})) as number)")
    assert [row.task for row in frame.collect()] == list(range(tasks))


@contextmanager
def shuffled(spark: SparkSession, tasks: int) -> Iterator[None]:
    """The setting applies to new queries; a resumed query keeps its number of tasks."""
    before = spark.conf.get("spark.sql.shuffle.partitions")
    spark.conf.set("spark.sql.shuffle.partitions", tasks)
    try:
        yield
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", before)


def test_stream_time_reaches_every_task(spark: SparkSession, kafka: BrokerClient, tmp_path: Path) -> None:
    """Rows of many groups, then of one alone; the checkpoint, not the session, determines the number of tasks."""
    topics = [kafka.create_topic() for _ in "io"]
    columns = ("string(key) as k", "bigint(string(value)) div 10 * 10 as w", "bigint(string(value)) as clock")
    punctuated = replace(WINDOWS, punctuation=Punctuation(10, 10))
    emitted: set[bytes | None] = set()
    for n, (tasks, last) in enumerate([(3, 12), (2, 99)]):
        for key in "abcdefgh":
            kafka.produce(topics[0], key, str(last - 10))
        kafka.produce(topics[0], "a", str(last))
        with shuffled(spark, tasks):
            query = write(
                fold(read(spark, kafka, topics[0], columns), punctuated, live=True),
                kafka,
                topics[1],
                tmp_path,
                "punctuated",
            )
        try:
            emitted |= {f"{key}@{start}=1".encode() for key in "abcdefgh" for start in {(last - 10) // 10 * 10}}
            emitted |= {b"a@10=1"} if n else set()
            wait_for(lambda: emitted <= _values(kafka, topics[1]), f"every window before {last}")  # noqa: B023
            wait_for(lambda: past_batch(query, n), "a saved batch")  # noqa: B023
        finally:
            query.stop()
    assert _values(kafka, topics[1]) == emitted


def _values(kafka: BrokerClient, topic: str) -> set[bytes | None]:
    return {record.value for record in kafka.consume_all(topic, kafka.ends(topic))}
