"""Thousands of rows through windows and joins, in three partitions, up to two seconds out of order: none is lost.

Each output is compared with what Python makes of the same rows. In a *backlog* the rows are there when the query
starts; in a *burst* they come while it runs. A burst's rows may be late where partitions share stream time, so
that only groups by the source's key are tried with one.
"""

import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

import pytest

from support.engine_process import EngineProcess
from support.kafka import BrokerClient, TopicRecord

pytestmark = pytest.mark.live
PARTITIONS, KEYS = 3, 40
SECOND = 1_000
SIZE, GRACE, WITHIN, GAP = 10 * SECOND, 10 * SECOND, 3 * SECOND, 4 * SECOND
TUMBLING = "TUMBLING (SIZE 10 SECONDS, GRACE PERIOD 10 SECONDS)"
HOPPING = "HOPPING (SIZE 10 SECONDS, ADVANCE BY 5 SECONDS, GRACE PERIOD 10 SECONDS)"
SESSION = "SESSION (4 SECONDS, GRACE PERIOD 10 SECONDS)"
NAMES = {f"k{k}": f"n{k % 5}" for k in range(KEYS) if k % 4 != 1}
Outputs = Counter[tuple[object, ...]]


@dataclass(frozen=True, slots=True)
class Row:
    """An input: record `number` of its stream, its key, the column `g`, its time in ms."""

    number: int
    key: str
    group: int
    time: int

    @property
    def partition(self) -> int:
        """The partition that it is written to."""
        return int(self.key[1:]) % PARTITIONS


# The seeds of a join's sides.
LEFT, RIGHT = 1, 2


@cache
def inputs(seed: int) -> list[Row]:
    """Rows that are a tenth of a second apart, and out of order."""
    numbers = random.Random(seed)
    return [
        Row(i, f"k{numbers.randrange(KEYS)}", numbers.randrange(7), 10**12 + 100 * i + numbers.randrange(-2_000, 2_000))
        for i in range(6_000)
    ]


Key = Callable[[Row], object]


def reached(rows: Sequence[Row], partition: int | None) -> int:
    """Stream time at the end: of a partition, or of all."""
    return max(row.time for row in rows if partition in (None, row.partition))


def windows(rows: Sequence[Row], key: Key, step: int = SIZE, grace: int = GRACE, by_key: bool = False) -> Outputs:
    """The group, start and count of each window that is closed at the end."""
    times = [reached(rows, partition if by_key else None) for partition in range(PARTITIONS)]
    counts = Counter(
        (key(row), start)
        for row in rows
        for start in range(row.time // step * step, row.time - SIZE, -step)
        if start + SIZE + grace <= times[row.partition]
    )
    return Counter((*window, n) for window, n in counts.items())


def sessions(rows: Sequence[Row]) -> Outputs:
    """The key, start and count of each session that is closed at the end."""
    grouped: list[list[Row]] = []
    for row in sorted(rows, key=lambda row: (row.key, row.time)):
        if grouped and grouped[-1][0].key == row.key and row.time - grouped[-1][-1].time <= GAP:
            grouped[-1].append(row)
        else:
            grouped.append([row])
    times = [reached(rows, partition) for partition in range(PARTITIONS)]
    closed = [own for own in grouped if own[-1].time + GAP + GRACE < times[own[0].partition]]
    return Counter((own[0].key, own[0].time, len(own)) for own in closed)


def pairs() -> Iterator[tuple[Row, Row]]:
    """The rows that a join by key has."""
    for left in inputs(LEFT):
        near = inputs(RIGHT)[max(0, left.number - 80) : left.number + 80]
        yield from ((left, right) for right in near if right.key == left.key and abs(right.time - left.time) <= WITHIN)


def joined(left: bool, right: bool) -> Outputs:
    """The numbers of both rows of each pair; of an outer side also each row without a match whose window has closed."""
    both = [(a.number, b.number) for a, b in pairs()]
    times = [reached(inputs(LEFT) + inputs(RIGHT), partition) for partition in range(PARTITIONS)]

    def alone(rows: list[Row], side: int) -> list[int]:
        matched = {pair[side] for pair in both}
        closed = [row.number for row in rows if row.time + WITHIN + GRACE < times[row.partition]]
        return [number for number in closed if number not in matched]

    lefts, rights = (alone(inputs(LEFT), 0) if left else []), (alone(inputs(RIGHT), 1) if right else [])
    return Counter([*both, *((number, None) for number in lefts), *((None, number) for number in rights)])


def named(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if row.key in NAMES]


def counting(key: str, source: str, window: str = TUMBLING) -> str:
    """A table of final counts."""
    columns = f"{key} AS g, AS_VALUE({key}) AS k, COUNT(*) AS n"
    return f"TABLE {{0}} AS SELECT {columns} FROM {source} WINDOW {window} GROUP BY {key} EMIT FINAL"


def joining(outer: str, key: str = "l.id") -> str:
    """A stream of pairs."""
    columns, within = f"{key} AS id, l.i AS v, r.i AS w", "WITHIN 3 SECONDS GRACE PERIOD 10 SECONDS"
    return f"STREAM {{0}} AS SELECT {columns} FROM {{0}}_L l {outer} JOIN {{0}}_R r {within} ON l.id = r.id"


NAMED = "{0}_L l LEFT JOIN {0}_T t ON l.id = t.id"
PAIRED = "{0}_L l JOIN {0}_R r WITHIN 3 SECONDS GRACE PERIOD 10 SECONDS ON l.id = r.id JOIN {0}_T t ON l.id = t.id"
UNITED = "(SELECT id, g FROM {0}_L UNION ALL SELECT id, g FROM {0}_R)"
MOVED = "(SELECT g AS k, i FROM {0}_L PARTITION BY g)"
BY_KEY = {
    "tumbling": (counting("id", "{0}_L"), lambda: windows(inputs(LEFT), lambda row: row.key, by_key=True)),
    "hopping": (
        counting("id", "{0}_L", HOPPING),
        lambda: windows(inputs(LEFT), lambda row: row.key, 5 * SECOND, by_key=True),
    ),
    "sessions": (counting("id", "{0}_L", SESSION), lambda: sessions(inputs(LEFT))),
    "windows over a table's join": (
        counting("l.id", NAMED), lambda: windows(inputs(LEFT), lambda row: row.key, by_key=True)
    ),
    "sessions over a table's join": (counting("l.id", NAMED, SESSION), lambda: sessions(inputs(LEFT))),
}  # fmt: skip
OTHERS = {
    "tumbling by a column": (counting("g", "{0}_L"), lambda: windows(inputs(LEFT), lambda row: row.group)),
    "hopping by a column": (
        counting("g", "{0}_L", HOPPING),
        lambda: windows(inputs(LEFT), lambda row: row.group, 5 * SECOND),
    ),
    "a union": (counting("g", UNITED), lambda: windows(inputs(LEFT) + inputs(RIGHT), lambda row: row.group)),
    "an inner query by another key": (counting("k", MOVED), lambda: windows(inputs(LEFT), lambda row: row.group)),
    "by a joined table's column": (
        counting("name", NAMED),
        lambda: windows(named(inputs(LEFT)), lambda row: NAMES[row.key]),
    ),
    "left join": (joining("LEFT"), lambda: joined(True, False)),
    "right join": (joining("RIGHT", "r.id"), lambda: joined(False, True)),
    "full join": (joining("FULL", "ROWKEY"), lambda: joined(True, True)),
    "windows over two joins": (
        counting("r.id", PAIRED, TUMBLING.replace("PERIOD 10", "PERIOD 20")),
        lambda: windows(
            named([replace(left, time=max(left.time, right.time)) for left, right in pairs()]),
            lambda row: row.key, grace=20 * SECOND, by_key=True,
        ),
    ),
}  # fmt: skip


def declare(server: EngineProcess, kafka: BrokerClient) -> str:
    """The prefix of two streams _L and _R, and of a table _T with the names."""
    prefix = kafka.source_name()
    for kind, side, columns in (
        ("STREAM", "L", "i INT, g INT"),
        ("STREAM", "R", "i INT, g INT"),
        ("TABLE", "T", "name STRING"),
    ):
        key = "KEY" if kind == "STREAM" else "PRIMARY KEY"
        topic = kafka.create_topic(f"{prefix}_{side}_IN", partitions=PARTITIONS)
        server.execute(
            f"CREATE {kind} {prefix}_{side} (id STRING {key}, {columns}) WITH (kafka_topic='{topic}', format='JSON');"
        )
    for key, name in NAMES.items():
        kafka.send(f"{prefix}_T_IN", f'"{key}"', {"name": name}, 1, partition=Row(0, key, 0, 0).partition)
    kafka.flush()
    return prefix


def send(kafka: BrokerClient, prefix: str) -> None:
    for left, right in zip(inputs(LEFT), inputs(RIGHT), strict=True):
        for side, row in (("L", left), ("R", right)):
            value = {"i": row.number, "g": row.group}
            kafka.send(f"{prefix}_{side}_IN", f'"{row.key}"', value, row.time, partition=row.partition)
    kafka.flush()


def output(record: TopicRecord) -> tuple[object, ...]:
    """A window's group, start and count; or the numbers of joined rows."""
    if "N" not in record.json:
        return (record.json["V"], record.json["W"])
    return (record.json["K"], record.window_start, record.json["N"])


@pytest.mark.parametrize("shape", [*BY_KEY, *OTHERS])
def test_a_backlog(server: EngineProcess, kafka: BrokerClient, shape: str) -> None:
    prefix, (statement, expected) = declare(server, kafka), {**BY_KEY, **OTHERS}[shape]
    send(kafka, prefix)
    server.execute(f"CREATE {statement.format(prefix)};")
    outputs = expected()
    assert Counter(map(output, kafka.consume_all(prefix, outputs.total()))) == outputs


@pytest.mark.parametrize("shape", BY_KEY)
def test_a_burst(server: EngineProcess, kafka: BrokerClient, shape: str) -> None:
    prefix, (statement, expected) = declare(server, kafka), BY_KEY[shape]
    server.execute(f"CREATE {statement.format(prefix)};")
    time.sleep(2)  # until the query reads: the rows would be a backlog otherwise, which must pass as well
    send(kafka, prefix)
    outputs = expected()
    assert Counter(map(output, kafka.consume_all(prefix, outputs.total()))) == outputs
