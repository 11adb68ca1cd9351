"""The join of two streams against a naive model of its rules; failures, and resuming after a stop."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession

from millstream.model.types import BIGINT, INTEGER, STRING
from millstream.plan.nodes import JoinWindow
from millstream.spark import sink, source
from millstream.spark.evaluate import Evaluator, leaf
from millstream.spark.stream_stream_join import SideSql, StreamStreamOperator
from support.drawn_values import same_examples
from support.kafka import BrokerClient, wait_for
from support.spark import past_batch, stateful

COLUMNS = [("k", STRING), ("side", INTEGER), ("rowtime", BIGINT), ("v", BIGINT), ("partition", INTEGER)]
OUT = [STRING, BIGINT, BIGINT, BIGINT, INTEGER]
CHECKED = same_examples(6)
# Key, side, time, value, partition.
Row = tuple[str, int | None, int, int, int]
# Key, the left's and the right's value, time, the partition of the row that it was emitted at.
Out = tuple[str, int | None, int | None, int, int]


def operator(window: JoinWindow, outer: tuple[bool, bool], shared_clock: bool = False) -> StreamStreamOperator:
    """Rows (k, v) joined by k; a row whose value is 13 cannot be joined."""
    place = "'p', row.partition"
    sides = []
    for side in (0, 1):
        texts = ("ms_need(if(row.v = 13, null, row.v))", "entry.v")
        values = texts if side == 0 else texts[::-1]
        none = ("entry.v", "null") if side == 0 else ("null", "entry.v")
        sides.append(
            SideSql(
                outer=outer[side],
                type="struct<v: bigint, k: string>",
                stored="struct(row.v as v, row.k as k)",
                joined=f"named_struct('k', row.k, 'l', {values[0]}, 'r', {values[1]}, "
                f"'t', greatest(t, row.rowtime), {place})",
                unmatched=f"named_struct('k', entry.k, 'l', {none[0]}, 'r', {none[1]}, 't', t, {place})",
                order="encode(entry.k, 'UTF-8')",
            )
        )
    forwarded = f"named_struct('k', row.k, 'l', row.v, 'r', row.v, 't', -1L, {place})"
    out = "struct<k: string, l: bigint, r: bigint, t: bigint, p: int>"
    return StreamStreamOperator(("k",), window, sides[0], sides[1], forwarded, out, "q.join", shared_clock)


def timed(rows: DataFrame) -> DataFrame:
    """The columns that the join needs."""
    return rows.selectExpr("*", "rowtime as clock", "rowtime as offset")


def runner(spark: SparkSession, what: StreamStreamOperator) -> Evaluator:
    return Evaluator(stateful(timed(leaf(spark, COLUMNS)), what.texts(), live=False), [t for _, t in COLUMNS], OUT)


@dataclass(slots=True)
class StoredRow:
    """A row, and whether it waits for its outer result."""

    k: str
    t: int
    v: int
    waits: bool


@dataclass(slots=True)
class Model:
    """The rules, row by row over plain lists: one partition."""

    window: JoinWindow
    outer: tuple[bool, bool]
    side_clocks: list[int | None] = field(default_factory=lambda: [None, None])
    rows: tuple[list[StoredRow], list[StoredRow]] = field(default_factory=lambda: ([], []))

    def reach(self, side: int) -> tuple[int, int]:
        window = self.window
        return (window.before, window.after) if side == 0 else (window.after, window.before)

    def close(self, side: int, t: int) -> int:
        """The last moment of stream time at which a row waits."""
        return t + self.reach(side)[1] + self.window.grace

    def put(self, row: Row) -> Iterator[Out]:
        k, side, t, v, p = row
        if side is None:
            yield (k, v, v, -1, p)
            return
        self.side_clocks[side] = max(t, self.side_clocks[side] or t)
        clock = max(time for time in self.side_clocks if time is not None)
        yield from self.settled(clock, p)
        (before, after), keep = self.reach(side), self.window.before + self.window.after + self.window.grace
        matching = [x for x in self.rows[1 - side] if x.k == k and x.t > (self.side_clocks[1 - side] or 0) - keep]
        joined = sorted((x for x in matching if t - before <= x.t <= t + after), key=lambda x: x.t)
        for x in joined:
            x.waits = False
            yield (k, *((v, x.v) if side == 0 else (x.v, v)), max(t, x.t), p)
        added = StoredRow(k, t, v, False)
        if not joined and self.outer[side]:
            added.waits = not self.window.eager and t + self.reach(side)[1] >= clock
            if not added.waits:
                yield self.alone(side, added, p)
        self.rows[side].append(added)

    def settled(self, clock: int, p: int) -> Iterator[Out]:
        due = [(x.t, 1 - s, x.k, x, s) for s in (1, 0) for x in self.rows[s] if x.waits and self.close(s, x.t) < clock]
        for *_, x, side in sorted(due, key=lambda d: d[:3]):
            x.waits = False
            yield self.alone(side, x, p)

    def alone(self, side: int, x: StoredRow, p: int) -> Out:
        return (x.k, *((x.v, None) if side == 0 else (None, x.v)), x.t, p)


# Chunks are as wide as their name says.
WINDOWS = {
    "55": JoinWindow(5, 20, 30, False),
    "one at a time": JoinWindow(0, 0, 0, False),
    "26, no grace": JoinWindow(20, 5, 0, False),
    "10,000": JoinWindow(2_000, 1_000, 60_000, False),
    "4,001": JoinWindow(4_000, 0, 1, False),
    "10,000, eager": JoinWindow(500, 100, 86_400_000, True),
}
WIDTHS = dict(zip(WINDOWS, (55, 1, 26, 10_000, 4_001, 10_000), strict=True))


@pytest.mark.parametrize("name", WINDOWS)
def test_it_does_as_plain_python_does(spark: SparkSession, name: str) -> None:
    """Times are at the edges of chunks, or as far from them as rows are still joined; else random. Mostly they rise."""
    window, width = WINDOWS[name], WIDTHS[name]
    far = [sign * (reach + d) for sign in (-1, 1) for reach in (0, window.before, window.after) for d in (-1, 0, 1)]
    edges = st.builds(lambda n, d: max(0, n * width + d), st.integers(0, 12), st.sampled_from([0, 0, *far]))
    times = edges | st.integers(0, 12 * width)
    keys, sides = st.sampled_from("ab"), st.sampled_from([0, 1, 0, 1, 0, 1, None])

    @CHECKED
    @given(
        rows=st.lists(st.tuples(keys, sides, times, st.just(0), st.just(0)), min_size=30, max_size=90),
        rising=st.integers(0, 3),
        outer=st.tuples(st.booleans(), st.booleans()),
    )
    def agrees(rows: list[Row], rising: int, outer: tuple[bool, bool]) -> None:
        ordered = sorted(rows, key=lambda r: r[2] // (width * 4)) if rising else rows
        numbered = [(k, s, t, 100 + n, 0) for n, (k, s, t, _, _) in enumerate(ordered)]
        model = Model(window, outer)
        assert runner(spark, operator(window, outer))(numbered) == [list(model.put(row)) for row in numbered]

    agrees()


SOON = JoinWindow(10, 10, 5, False)


def test_partitions_have_clocks_of_their_own_unless_it_is_whole(spark: SparkSession) -> None:
    rows: list[Row] = [("a", 0, 100, 1, 0), ("b", 0, 100, 2, 1), ("c", 1, 116, 3, 1), ("d", 1, 117, 4, 0)]
    apart = runner(spark, operator(SOON, (True, False)))(rows)
    assert apart == [[], [], [("b", 2, None, 100, 1)], [("a", 1, None, 100, 0)]]
    together = runner(spark, operator(SOON, (True, False), shared_clock=True))(rows)
    assert together == [[], [], [("a", 1, None, 100, 1), ("b", 2, None, 100, 1)], []]


def test_a_row_that_fails_is_logged_and_changes_nothing(spark: SparkSession) -> None:
    """The second row is near the first and cannot be joined: the first waits as before, the second is not stored."""
    sink.log_to_memory(spark, "q")
    rows: list[Row] = [("a", 0, 100, 1, 0), ("a", 1, 101, 13, 0), ("a", 0, 102, 2, 0), ("b", 0, 200, 3, 0)]
    emitted = runner(spark, operator(SOON, (True, True)))(rows)
    assert emitted == [[], [], [], [("a", 1, None, 100, 0), ("a", 2, None, 102, 0)]]
    assert len(sink.drain_log(spark, "q")) == 1


def test_live_gives_the_same_and_goes_on_after_a_stop(spark: SparkSession, kafka: BrokerClient, tmp_path: Path) -> None:
    """Rows of before the stop are joined and emitted after it: chunks, who waits, and clocks are in the store."""
    rows: list[Row] = [
        *[(k, s, 100_000, n, 0) for n, (k, s) in enumerate((("a", 0), ("a", 1), ("b", 0), ("c", 1), ("d", 1)))],
        *[("e", 0, 100_000 + 10_000 * n, 10 + n, 0) for n in range(3)],
        *[(k, s, 119_000, n, 0) for n, (k, s) in enumerate((("c", 0), ("a", 0), ("e", 1)), 20)],
        ("z", 0, 200_000, 30, 0),
    ]
    what = operator(JoinWindow(20_000, 20_000, 5_000, False), (True, True))
    expected = [",".join(map(str, out)) for outputs in runner(spark, what)(rows) for out in outputs]
    assert len(expected) == 8
    kafka.create_topic("stream-join-in")
    kafka.create_topic("stream-join-out")
    for n, half in enumerate((rows[:8], rows[8:])):
        for row in half:
            kafka.produce("stream-join-in", row[0].encode(), ",".join(map(str, row)).encode())
        _run_live(spark, kafka, tmp_path, what, count=len(expected) if n else 1, batch=n)
    values = [(r.value or b"").decode() for r in kafka.consume_all("stream-join-out", kafka.ends("stream-join-out"))]
    assert sorted(set(values)) == sorted(expected)


def _run_live(
    spark: SparkSession, kafka: BrokerClient, folder: Path, what: StreamStreamOperator, count: int, batch: int
) -> None:
    records = source.stream(spark, source.Topic("stream-join-in", {"bootstrap.servers": kafka.bootstrap}))
    parts = records.selectExpr("split(string(value), ',') as p", "0 as partition")
    types = ("string", "int", "bigint", "bigint")
    read = [
        f"cast(p[{i}] as {type}) as {name}" for i, ((name, _), type) in enumerate(zip(COLUMNS, types, strict=False))
    ]
    emitted = stateful(timed(parts.selectExpr(*read, "partition")), what.texts(), live=True)
    fields = ", ".join(f"coalesce(string({name}), 'None')" for name in ("k", "l", "r", "t", "p"))
    out = emitted.selectExpr(
        "cast(null as binary) as key",
        f"encode(concat_ws(',', {fields}), 'UTF-8') as value",
        "0L as rowtime",
        "cast(null as array<struct<key: string, value: binary>>) as headers",
    )
    producer = {"bootstrap.servers": kafka.bootstrap}
    # One task: its clocks are those of all rows.
    tasks = str(spark.conf.get("spark.sql.shuffle.partitions"))
    spark.conf.set("spark.sql.shuffle.partitions", "1")
    query = sink.run_realtime(
        out, sink.TopicOutput("stream-join", "stream-join-out", producer, str(folder), "2 seconds")
    )
    spark.conf.set("spark.sql.shuffle.partitions", tasks)
    try:
        wait_for(lambda: kafka.ends("stream-join-out") >= count, f"{count} records")
        wait_for(lambda: past_batch(query, batch), "a saved batch")
    finally:
        query.stop()


def test_rows_of_no_side_pass(spark: SparkSession) -> None:
    forwarded: Sequence[Row] = [("a", None, 100, 7, 3)]
    assert runner(spark, operator(SOON, (True, True)))(forwarded) == [[("a", 7, 7, -1, 3)]]
