"""The expected results of some stateful queries, in plain Python, for comparison with real-time and bounded runs.

Each takes the inputs in order and gives the final table: the key as a case shows it, with its window's start where it
has one, to the row.
"""

from collections import Counter
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from millstream.tester.cases import CaseRecord

Table = dict[Any, Any]
SIZE, GRACE, GAP = 1000, 400, 500


def counts(inputs: Sequence[CaseRecord]) -> Table:
    """SELECT g, COUNT(*), SUM(v) FROM s GROUP BY g."""
    table: Table = {}
    for record in inputs:
        row = record.value
        if row is not None and row["G"] is not None:
            old = table.get(row["G"], {"N": 0, "S": 0})
            table[row["G"]] = {"N": old["N"] + 1, "S": old["S"] + (row["V"] or 0)}
    return table


def windows(inputs: Sequence[CaseRecord]) -> Table:
    """The same WINDOW TUMBLING (SIZE 1 SECOND, GRACE PERIOD 400 MILLISECONDS): late rows are left out."""
    table: Table = {}
    for record, clock in zip(inputs, _clocks(inputs), strict=True):
        start = record.timestamp // SIZE * SIZE
        if start + SIZE + GRACE > clock:
            old = table.get((record.value["G"], start), {"N": 0, "S": 0})
            table[record.value["G"], start] = {"N": old["N"] + 1, "S": old["S"] + record.value["V"]}
    return table


def closed(inputs: Sequence[CaseRecord]) -> Table:
    """Of these windows those that stream time has closed: EMIT FINAL."""
    now = _clocks(inputs)[-1]
    return {(group, start): row for (group, start), row in windows(inputs).items() if start + SIZE + GRACE <= now}


def undone(inputs: Sequence[CaseRecord]) -> Table:
    """SELECT g, COUNT(*), SUM(v) FROM a table: a key counts by its latest row; empty groups remain, as zeroes."""
    rows: dict[Any, Any] = {}
    groups: dict[str, None] = {}
    for record in inputs:
        rows[record.key] = record.value
        if record.value is not None:
            groups[record.value["G"]] = None
    last = [row for row in rows.values() if row is not None]
    return {g: {"N": sum(r["G"] == g for r in last), "S": sum(r["V"] for r in last if r["G"] == g)} for g in groups}


def present(inputs: Sequence[CaseRecord]) -> Table:
    """The same with HAVING COUNT(*) > 0."""
    return {group: row for group, row in undone(inputs).items() if row["N"]}


def counted_counts(inputs: Sequence[CaseRecord]) -> Table:
    """SELECT n, COUNT(*) FROM (SELECT g, COUNT(*) AS n FROM s GROUP BY g) GROUP BY n: how many groups have n rows."""
    times = Counter(row["N"] for row in counts(inputs).values())
    return {n: {"M": groups} for n, groups in times.items()}


def looked_up(inputs: Sequence[CaseRecord]) -> Table:
    """The last row of each key of a stream LEFT JOINed with a table, as the table was then."""
    right: dict[Any, Any] = {}
    table: Table = {}
    for record in inputs:
        if record.topic == "t":
            right[record.key] = record.value
        else:
            table[record.key] = {"L": record.value["V"], "R": (right.get(record.key) or {}).get("V")}
    return table


def full_joined(inputs: Sequence[CaseRecord]) -> Table:
    """Two tables FULL JOINed."""
    sides: dict[str, dict[Any, Any]] = {"l": {}, "r": {}}
    for record in inputs:
        sides[record.topic][record.key] = record.value
    return {
        key: {"L": (sides["l"].get(key) or {}).get("V"), "R": (sides["r"].get(key) or {}).get("V")}
        for key in sides["l"].keys() | sides["r"].keys()
        if sides["l"].get(key) or sides["r"].get(key)
    }


def sessions(inputs: Sequence[CaseRecord]) -> Table:
    """Session windows: rows of a group with gaps of at most half a second, without late rows."""
    table: dict[Any, tuple[int, int]] = {}
    for record, clock in zip(inputs, _clocks(inputs), strict=True):
        group, at = record.value["G"], record.timestamp
        open_ = {k: v for k, v in table.items() if k[0] == group and v[0] + GAP + GRACE >= clock}
        joined = {k: v for k, v in open_.items() if k[1] - GAP <= at <= v[0] + GAP}
        first, last = min([at, *(k[1] for k in joined)]), max([at, *(end for end, _ in joined.values())])
        if last + GAP + GRACE >= clock:
            for key in joined:
                del table[key]
            table[group, first] = last, 1 + sum(n for _, n in joined.values())
    return {(group, start, end): {"N": n} for (group, start), (end, n) in table.items()}


def _clocks(inputs: Sequence[CaseRecord]) -> list[int]:
    return list(accumulate((record.timestamp or 0 for record in inputs), max))
