"""Joins against naive models of the same query: random rows of both sides, the whole changelog compared."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from millstream.model.settings import effective
from millstream.spark.bounded import Bounded
from millstream.tester.cases import CaseRecord, ConformanceCase
from millstream.tester.check import shown
from millstream.tester.play import plan, run
from support.drawn_values import same_examples

SOURCE = "CREATE {kind} {name} (id INT {key}, f INT, v INT) WITH (kafka_topic='{name}', format='JSON');"
# Whether of the left side; key; value (None: a tombstone of a table); foreign key; time.
Row = tuple[bool, int, int | None, int | None, int]
# Key, the left's and the right's value (None: no row at all), time.
Change = tuple[Any, tuple[Any, Any] | None, int]
Play = Callable[..., list[Change]]
ROWS = st.lists(
    st.tuples(
        st.booleans(),
        st.integers(1, 3),
        st.sampled_from((None, *range(10))),
        st.sampled_from((None, 1, 2, 3)),
        st.integers(0, 100),
    ),
    min_size=20,
    max_size=40,
)
CHECKED = same_examples(8)


def _source(kind: str, name: str) -> str:
    return SOURCE.format(kind=kind, name=name, key="PRIMARY KEY" if kind == "TABLE" else "KEY")


@pytest.fixture(scope="module")
def changelog(spark: SparkSession) -> Play:
    """Plays a join of sources l and r, selecting the key and l.v and r.v."""

    def play(kinds: tuple[str, str], key: str, join: str, rows: Sequence[Row]) -> list[Change]:
        kind = "TABLE" if kinds[0] == "TABLE" else "STREAM"
        make = f"CREATE {kind} o AS SELECT {key} AS k, l.v AS a, r.v AS b FROM l {join};"
        inputs = tuple(
            CaseRecord("l" if left else "r", id, None if v is None else {"F": f, "V": v}, at)
            for left, id, v, f, at in rows
        )
        statements = (_source(kinds[0], "l"), _source(kinds[1], "r"), make)
        case = ConformanceCase("", "", "", statements, {}, (), inputs, (), {}, None)
        played = plan(case, effective({}, {}), Bounded(spark))
        run(case, played, Bounded(spark))
        sink = played.catalog.sources["O"]
        records = [shown(placed, sink, played) for placed in sorted(played.records.get("O", ()), key=lambda p: p.order)]
        return [(r.key, r.value and (r.value["A"], r.value["B"]), r.timestamp or 0) for r in records]

    return play


@CHECKED
@given(rows=ROWS, outer=st.booleans())
def test_a_stream_and_a_table(changelog: Play, rows: list[Row], outer: bool) -> None:
    table, expected = dict[int, int | None](), list[Change]()
    for left, id, v, _, at in rows:
        if not left:
            table[id] = v
        elif v is not None and (outer or table.get(id) is not None):
            expected.append((id, (v, table.get(id)), at))
    join = f"{'LEFT ' if outer else ''}JOIN r ON l.id = r.id"
    assert changelog(("STREAM", "TABLE"), "l.id", join, rows) == expected


@CHECKED
@given(rows=ROWS, kind=st.sampled_from(["", "LEFT ", "RIGHT ", "FULL "]))
def test_two_tables(changelog: Play, rows: list[Row], kind: str) -> None:
    """The result has a row where both sides, or the kept one, have a row; each change that affects it is emitted."""
    tables: tuple[dict[int, tuple[int, int]], ...] = ({}, {})
    keeps = (kind in ("LEFT ", "FULL "), kind in ("RIGHT ", "FULL "))
    expected: list[Change] = []
    for left, id, v, _, at in rows:
        side = 0 if left else 1
        old, other = tables[side].pop(id, None), tables[1 - side].get(id)
        if v is not None:
            tables[side][id] = (v, at)
        time = max(at, other[1]) if other else at
        pair = (v, other and other[0]) if left else (other and other[0], v)
        if other is None:
            present, emitted = v is not None, keeps[side] and (v is not None or old is not None)
        else:
            present, emitted = v is not None or keeps[1 - side], True
        if emitted:
            expected.append((id, pair if present else None, time))
    key = "ROWKEY" if kind == "FULL " else "l.id"
    assert changelog(("TABLE", "TABLE"), key, f"{kind}JOIN r ON l.id = r.id", rows) == expected


class ForeignKeyModel:
    """The changelog of a table joined by a foreign key, as Kafka Streams writes it: of each change, its outputs."""

    def __init__(self, outer: bool) -> None:
        self.outer = outer
        # By key: the left's value and foreign key; the right's value and time.
        self.lefts = dict[int, tuple[int, int | None]]()
        self.rights = dict[int, tuple[int, int]]()

    def left(self, id: int, v: int | None, f: int | None, at: int) -> Iterator[Change]:
        """A change of the left table; a result that may be there is deleted where nothing takes its place."""
        before = self.lefts.pop(id, None)
        old = before[1] if before else None
        if v is None:
            if before and (self.outer or old is not None):
                yield (id, None, self._time(old, at))
            return
        self.lefts[id] = (v, f)
        right = self.rights.get(f or 0)
        if right or self.outer:
            yield (id, (v, right and right[0]), self._time(f, at))
        elif old is not None:
            yield (id, None, self._time(old, at) if f is None else at)

    def right(self, id: int, w: int | None, at: int) -> Iterator[Change]:
        """A change of the right table: the results have its time."""
        self.rights.pop(id, None)
        if w is not None:
            self.rights[id] = (w, at)
        for key, (v, f) in sorted(self.lefts.items()):
            if f == id:
                yield (key, (v, w) if self.outer or w is not None else None, at)

    def _time(self, foreign_key: int | None, at: int) -> int:
        right = self.rights.get(foreign_key or 0)
        return max(at, right[1]) if right else at


@CHECKED
@given(rows=ROWS, outer=st.booleans())
def test_a_table_by_a_foreign_key(changelog: Play, rows: list[Row], outer: bool) -> None:
    model = ForeignKeyModel(outer)
    expected: list[Change] = []
    for left, id, v, f, at in rows:
        expected += model.left(id, v, f, at) if left else model.right(id, v, at)
    join = f"{'LEFT ' if outer else ''}JOIN r ON l.f = r.id"
    assert changelog(("TABLE", "TABLE"), "l.id", join, rows) == expected


@CHECKED
@given(rows=ROWS)
def test_stream_stream_join_window(changelog: Play, rows: list[Row]) -> None:
    """No row here is old enough to be removed: each pair is emitted once, when the later of both arrives."""
    seen: tuple[list[tuple[int, int, int]], ...] = ([], [])
    expected: list[Change] = []
    for left, id, v, _, at in rows:
        if v is None:
            continue
        side = 0 if left else 1
        before, after = (5, 20) if left else (20, 5)
        matches = [(t, w) for k, t, w in seen[1 - side] if k == id and at - before <= t <= at + after]
        for t, w in sorted(matches, key=lambda n: n[0]):
            expected.append((id, (v, w) if left else (w, v), max(at, t)))
        seen[side].append((id, at, v))
    within = "WITHIN (5 MILLISECONDS, 20 MILLISECONDS) GRACE PERIOD 1 DAY"
    assert changelog(("STREAM", "STREAM"), "l.id", f"JOIN r {within} ON l.id = r.id", rows) == expected


@CHECKED
@given(rows=ROWS)
def test_streams_that_wait_until_their_time_is_over(changelog: Play, rows: list[Row]) -> None:
    """In order of time, an unmatched row is emitted alone once stream time has passed its window."""
    ordered = sorted((r for r in rows if r[2] is not None), key=lambda r: r[4])
    flush: list[Row] = [(True, 0, 0, None, 10_000)]
    pairs = [
        (one, other)
        for i, one in enumerate(ordered)
        for other in ordered[:i]
        if one[0] is not other[0] and one[1] == other[1] and one[4] - other[4] <= 10
    ]
    joined = {id(row) for pair in pairs for row in pair}
    alone = [r for r in ordered if id(r) not in joined]
    expected = [(r[1], (r[2], None) if r[0] else (None, r[2]), r[4]) for r in alone]
    changes = changelog(
        ("STREAM", "STREAM"),
        "ROWKEY",
        "FULL JOIN r WITHIN 10 MILLISECONDS GRACE PERIOD 3 MILLISECONDS ON l.id = r.id",
        [*ordered, *flush],
    )
    assert len(changes) == len(pairs) + len(alone)
    single = [change for change in changes if change[1] and None in change[1]]
    assert sorted(single, key=str) == sorted(expected, key=str)
    assert [at for _, _, at in single] == sorted(at for _, _, at in single)
