"""The storm's queries, and the output that each must have written for the inputs 0 to n - 1.

Example: input 7 is the record k7 → {"V": 7, "ID": "7"} in the topic LEFT and 7 → {"W": 14} in RIGHT. Its outputs are
the row (k7, 7) of the stream COPY, the row k7 → (1, 7) of the table TOTAL, and the row (7, 7, 14) of the join PAIRS.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

KEYS = 50
# The timestamp of input v is BASE + v * STEP_MS, in epoch ms.
BASE, STEP_MS = 1_700_000_000_000, 10
WINDOW_MS = 5_000
Json = Mapping[str, Any]
Row = tuple[Any, ...]

SOURCES = """
CREATE STREAM lefts (k STRING KEY, v INT, id STRING) WITH (kafka_topic='LEFT', format='JSON');
CREATE STREAM rights (id STRING KEY, w BIGINT) WITH (kafka_topic='RIGHT', format='JSON');
CREATE TABLE names (k STRING PRIMARY KEY, name STRING) WITH (kafka_topic='NAMES', format='JSON');
"""


# SQL that is equivalent to that of two of the shapes below for any number in {}, since no input is negative.
REPLACEMENTS = (
    "CREATE OR REPLACE STREAM copy AS SELECT k, v FROM lefts WHERE v % 3 <> 0 AND v > -{} EMIT CHANGES;",
    "CREATE OR REPLACE TABLE total AS SELECT k, COUNT(*) AS n, SUM(v) AS s FROM lefts WHERE v > -{} GROUP BY k "
    "EMIT CHANGES;",
)


@dataclass(frozen=True, slots=True)
class StreamShape:
    """A query that writes a stream: `row` converts an output record, `expected` is the set of all rows for n inputs."""

    name: str
    sql: str
    row: Callable[[Any, Json], Row]
    expected: Callable[[int], set[Row]]


@dataclass(frozen=True, slots=True)
class TableShape:
    """A query that writes a table: `key` and `row` convert an output record, `expected` is the last row of each key.

    `chained`: it aggregates another query's stream, so that a row which that query repeats is counted twice.
    `windowed`: the record's key ends with eight bytes of the window's start.
    """

    name: str
    sql: str
    key: Callable[[Any, Json], Row]
    row: Callable[[Json], Row]
    expected: Callable[[int], Mapping[Row, Row]]
    chained: bool = False
    windowed: bool = False


Shape = StreamShape | TableShape


def key_of(number: int) -> str:
    """The key of input `number` in the topic LEFT."""
    return f"k{number % KEYS}"


def _copied(n: int) -> list[int]:
    return [v for v in range(n) if v % 3 != 0]


def _totals(numbers: list[int]) -> dict[Row, tuple[int, int]]:
    counts, sums = Counter(map(key_of, numbers)), Counter[str]()
    for v in numbers:
        sums[key_of(v)] += v
    return {(key,): (count, sums[key]) for key, count in counts.items()}


def _windows(n: int) -> dict[Row, Row]:
    starts = Counter((key_of(v), (BASE + v * STEP_MS) // WINDOW_MS * WINDOW_MS) for v in range(n))
    return {key: (count,) for key, count in starts.items()}


def _plain(key: Any, _: Json) -> Row:
    return (key,)


SHAPES: tuple[Shape, ...] = (
    StreamShape(
        "COPY",
        "CREATE STREAM copy AS SELECT k, v FROM lefts WHERE v % 3 <> 0 EMIT CHANGES;",
        lambda key, value: (key, value["V"]),
        lambda n: {(key_of(v), v) for v in _copied(n)},
    ),
    StreamShape(
        "EXPLODED",
        "CREATE STREAM exploded AS SELECT k, v, EXPLODE(ARRAY[v, v + 1]) AS e FROM lefts EMIT CHANGES;",
        lambda key, value: (key, value["V"], value["E"]),
        lambda n: {(key_of(v), v, e) for v in range(n) for e in (v, v + 1)},
    ),
    StreamShape(
        "BY_ID",
        "CREATE STREAM by_id AS SELECT id, k, v FROM lefts PARTITION BY id EMIT CHANGES;",
        lambda key, value: (key, value["K"], value["V"]),
        lambda n: {(str(v), key_of(v), v) for v in range(n)},
    ),
    StreamShape(
        "NAMED",
        "CREATE STREAM named AS SELECT l.k AS k, v, name FROM lefts l LEFT JOIN names n ON l.k = n.k EMIT CHANGES;",
        lambda key, value: (key, value["V"], value["NAME"]),
        lambda n: {(key_of(v), v, f"name of {key_of(v)}") for v in range(n)},
    ),
    StreamShape(
        "PAIRS",
        "CREATE STREAM pairs AS SELECT l.id AS id, v, w FROM lefts l JOIN rights r WITHIN 1 HOUR ON l.id = r.id "
        "EMIT CHANGES;",
        lambda key, value: (key, value["V"], value["W"]),
        lambda n: {(str(v), v, 2 * v) for v in range(n)},
    ),
    TableShape(
        "TOTAL",
        "CREATE TABLE total AS SELECT k, COUNT(*) AS n, SUM(v) AS s FROM lefts GROUP BY k EMIT CHANGES;",
        _plain,
        lambda value: (value["N"], value["S"]),
        lambda n: _totals(list(range(n))),
    ),
    TableShape(
        "WINDOWED",
        "CREATE TABLE windowed AS SELECT k, WINDOWSTART AS ws, COUNT(*) AS n FROM lefts "
        "WINDOW TUMBLING (SIZE 5 SECONDS, RETENTION 10 DAYS, GRACE PERIOD 1 DAY) GROUP BY k EMIT CHANGES;",
        lambda key, value: (key, value["WS"]),
        lambda value: (value["N"],),
        _windows,
        windowed=True,
    ),
    TableShape(
        "DETAIL",
        "CREATE TABLE detail AS SELECT t.k AS k, n, name FROM total t JOIN names x ON t.k = x.k EMIT CHANGES;",
        _plain,
        lambda value: (value["N"], value["NAME"]),
        lambda n: {key: (count, f"name of {key[0]}") for key, (count, _) in _totals(list(range(n))).items()},
    ),
    TableShape(
        "COPY_COUNT",
        "CREATE TABLE copy_count AS SELECT k, COUNT(*) AS n, SUM(v) AS s FROM copy GROUP BY k EMIT CHANGES;",
        _plain,
        lambda value: (value["N"], value["S"]),
        lambda n: _totals(_copied(n)),
        chained=True,
    ),
    TableShape(
        "AVRO_COUNT",
        "CREATE STREAM avro_copy WITH (value_format='AVRO') AS SELECT k, v FROM lefts WHERE v % 2 = 0 EMIT CHANGES; "
        "CREATE TABLE avro_count WITH (value_format='JSON') AS SELECT k, COUNT(*) AS n, SUM(v) AS s FROM avro_copy "
        "GROUP BY k EMIT CHANGES;",
        _plain,
        lambda value: (value["N"], value["S"]),
        lambda n: _totals(list(range(0, n, 2))),
        chained=True,
    ),
    TableShape(
        "PAIR_COUNT",
        "CREATE TABLE pair_count AS SELECT 'all' AS everything, COUNT(*) AS n, SUM(w) AS s FROM pairs GROUP BY 'all' "
        "EMIT CHANGES;",
        _plain,
        lambda value: (value["N"], value["S"]),
        lambda n: {("all",): (n, n * (n - 1))} if n else {},
        chained=True,
    ),
)
