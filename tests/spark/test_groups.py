"""Groups against a naive model of the same query: random rows, the whole changelog compared."""

from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from itertools import accumulate
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

STREAM = (
    "CREATE STREAM s (id INT KEY, g STRING, v INT) WITH (kafka_topic='s', value_format='JSON', key_format='KAFKA');"
)
TABLE = STREAM.replace("STREAM s (id INT KEY", "TABLE s (id INT PRIMARY KEY")
CALLS = {
    "COUNT(*)": lambda vs: len(vs),
    "COUNT(v)": lambda vs: len(_not_null(vs)),
    "SUM(v)": lambda vs: sum(_not_null(vs)),
    "AVG(v)": lambda vs: sum(_not_null(vs)) / len(_not_null(vs)) if _not_null(vs) else 0.0,
    "MIN(v)": lambda vs: min(_not_null(vs), default=None),
    "MAX(v)": lambda vs: max(_not_null(vs), default=None),
    "COLLECT_LIST(v)": lambda vs: list(vs),
    "COLLECT_SET(v)": lambda vs: list(dict.fromkeys(vs)),
    "TOPK(v, 2)": lambda vs: sorted(_not_null(vs), reverse=True)[:2],
    "TOPKDISTINCT(v, 2)": lambda vs: sorted(set(_not_null(vs)), reverse=True)[:2],
    "EARLIEST_BY_OFFSET(v)": lambda vs: next(iter(_not_null(vs)), None),
    "LATEST_BY_OFFSET(v, 2, false)": lambda vs: vs[-2:],
    "HISTOGRAM(CAST(v AS STRING))": lambda vs: {str(v): _not_null(vs).count(v) for v in _not_null(vs)},
    "ATTR(v)": lambda vs: vs[0] if vs and len(set(vs)) == 1 else None,
    "COUNT_DISTINCT(v)": lambda vs: len(set(_not_null(vs))),
}
DAY = 86_400_000
UNDOABLE = ("COUNT(*)", "COUNT(v)", "SUM(v)", "AVG(v)", "HISTOGRAM(CAST(v AS STRING))", "ATTR(v)")

Row = tuple[int, str | None, int | None, int]
Change = tuple[str, tuple[int, int] | None, dict[str, Any] | None, int]
ROWS = st.lists(
    st.tuples(
        st.integers(1, 3), st.sampled_from(["a", "b", None]), st.none() | st.integers(-2, 3), st.integers(0, 120)
    ),
    max_size=25,
)
CHECKED = same_examples(5)


def _not_null(values: Sequence[int | None]) -> list[int]:
    return [v for v in values if v is not None]


def _row(calls: Sequence[str], values: Sequence[int | None]) -> dict[str, Any]:
    return {f"C{i}": CALLS[call](list(values)) for i, call in enumerate(calls)}


@pytest.fixture(scope="module")
def changelog(spark: SparkSession) -> Callable[..., list[Change]]:
    """Plays a grouping of the rows; a row without group is a tombstone where there is a table."""

    def play(source: str, calls: Sequence[str], window: str, rows: Sequence[Row]) -> list[Change]:
        columns = ", ".join(f"{call} AS c{i}" for i, call in enumerate(calls))
        make = f"CREATE TABLE t AS SELECT g, {columns} FROM s {window} GROUP BY g;"
        inputs = tuple(CaseRecord("s", id, _value(source, g, v), at) for id, g, v, at in rows)
        case = ConformanceCase("", "", "", (source, make), {}, (), inputs, (), {}, None)
        played = plan(case, effective({}, {}), Bounded(spark))
        run(case, played, Bounded(spark))
        sink = played.catalog.sources["T"]
        records = [shown(placed, sink, played) for placed in sorted(played.records.get("T", ()), key=lambda p: p.order)]
        return [
            (r.key, r.window and (r.window["start"], r.window["end"]), _numbers(r.value), r.timestamp or 0)
            for r in records
        ]

    return play


def _numbers(row: Any) -> Any:
    return row and {name: float(v) if isinstance(v, Decimal) else v for name, v in row.items()}


def _value(source: str, g: str | None, v: int | None) -> dict[str, Any] | None:
    return None if source is TABLE and g is None else {"G": g, "V": v}


@CHECKED
@given(ROWS)
def test_of_a_stream(changelog: Callable[..., list[Change]], rows: list[Row]) -> None:
    calls, groups = list(CALLS), dict[str, list[tuple[int | None, int]]]()
    expected: list[Change] = []
    for _, g, v, at in rows:
        if g is not None:
            groups.setdefault(g, []).append((v, at))
            expected.append((g, None, _row(calls, [v for v, _ in groups[g]]), max(t for _, t in groups[g])))
    assert changelog(STREAM, calls, "", rows) == expected


@CHECKED
@given(ROWS)
def test_of_a_table(changelog: Callable[..., list[Change]], rows: list[Row]) -> None:
    """A row that stays in its group changes it once; one that moves changes the old group, then the new one."""
    table, latest = dict[int, tuple[str, int | None]](), dict[str, int]()
    expected: list[Change] = []
    for id, g, v, at in rows:
        old = table.pop(id, None)
        if g is not None:
            table[id] = (g, v)
        for group in dict.fromkeys([*([old[0]] if old else []), *([g] if g is not None else [])]):
            latest[group] = max(latest.get(group, 0), at)
            seen = {**table} if group == g else {i: row for i, row in table.items() if i != id}
            values = [w for h, w in seen.values() if h == group]
            expected.append((group, None, _row(UNDOABLE, values), latest[group]))
    assert changelog(TABLE, UNDOABLE, "", rows) == expected


@CHECKED
@given(ROWS)
def test_in_hopping_windows(changelog: Callable[..., list[Change]], rows: list[Row]) -> None:
    """A window takes rows until stream time has passed its end by the grace period."""
    calls, windows, now = list(CALLS), dict[tuple[str, int], list[tuple[int | None, int]]](), 0
    expected: list[Change] = []
    for _, g, v, at in rows:
        if g is None:
            continue
        now = max(now, at)
        for start in (w for w in range(0, at + 1, 10) if w <= at < w + 20 and w + 20 + 10 > now):
            seen = windows.setdefault((g, start), [])
            seen.append((v, at))
            row = _row(calls, [v for v, _ in seen])
            expected.append((g, (start, start + 20), row, max(t for _, t in seen)))
    window = "WINDOW HOPPING (SIZE 20 MILLISECONDS, ADVANCE BY 10 MILLISECONDS, GRACE PERIOD 10 MILLISECONDS)"
    assert changelog(STREAM, calls, window, rows) == expected


# Grace period and retention of sessions with a gap of 5 ms. No row is late in the first ones; in the second ones a
# session is kept until it closes, in the last ones much longer, so that rows merge sessions that have closed.
SESSIONS = {"": (DAY, DAY), ", GRACE PERIOD 10 MILLISECONDS": (10, 15)} | {
    ", RETENTION 60 MILLISECONDS, GRACE PERIOD 2 MILLISECONDS": (2, 60)
}


# Of each row: its group and value, by how much it may move stream time, and how far it is behind that.
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["a", "b", "c", None]),
        st.none() | st.integers(-2, 3),
        st.integers(0, 4),
        st.sampled_from([0, 0, 2, 5, 7, 9, 20]),
    ),
    min_size=40,
    max_size=60,
)


@pytest.mark.parametrize("clauses", SESSIONS)
def test_in_sessions(changelog: Callable[..., list[Change]], clauses: str) -> None:
    """A row joins the sessions within the gap; those it joins are deleted unless nothing of them changes place."""
    calls = ["COUNT(*)", "SUM(v)", "MIN(v)", "HISTOGRAM(CAST(v AS STRING))", "ATTR(v)", "COLLECT_LIST(v)"]

    @CHECKED
    @given(steps=STEPS)
    def agrees(steps: list[tuple[str | None, int | None, int, int]]) -> None:
        clocks = accumulate(step for _, _, step, _ in steps)
        rows = [(1, g, v, max(0, now - late)) for now, (g, v, _, late) in zip(clocks, steps, strict=True)]
        expected = list(_sessions(calls, rows, *SESSIONS[clauses]))
        assert changelog(STREAM, calls, f"WINDOW SESSION (5 MILLISECONDS{clauses})", rows) == expected

    agrees()


def _sessions(calls: Sequence[str], rows: Sequence[Row], grace: int, kept: int) -> Iterator[Change]:
    sessions: list[tuple[str, int, int, list[int | None]]] = []
    now = 0
    for _, g, v, at in rows:
        if g is None:
            continue
        now = max(now, at)
        sessions = [s for s in sessions if s[2] + kept >= now]
        touched = sorted((s for s in sessions if s[0] == g and s[2] >= at - 5 and s[1] <= at + 5), key=lambda s: s[1])
        one = (
            g,
            min([at, *(s[1] for s in touched)]),
            max([at, *(s[2] for s in touched)]),
            [*(w for s in touched for w in s[3]), v],
        )
        if one[2] + 5 + grace < now:
            continue
        sessions = [*(s for s in sessions if s not in touched), one]
        if (one[1], one[2]) != (at, at):
            yield from ((g, (s[1], s[2]), None, s[2]) for s in touched)
        yield g, (one[1], one[2]), _row(calls, one[3]), one[2]
