"""Relational pull queries: a data file of questions and answers, SQLite as a second opinion, bounds, snapshots."""

import random
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from millstream.model.errors import StatementError
from millstream.plan.relational_nodes import tables_of
from millstream.spark.evaluate import EvaluationFailed
from support import golden
from support.relational import MEMORY, MINUTE, PulledTables, table

ORDERS = [
    {
        "ID": i,
        "CUSTOMER": i % 4 if i % 5 else None,
        "AMOUNT": i * 1.5 - 4,
        "ITEM": "ab\ue000\U0001f600"[i % 4],
        "PRICE": i / 4,
        "SEAL": ["gA==", "", "fw==", "/w=="][i % 4],
    }
    for i in range(12)
]
CUSTOMERS = [{"ID": i, "NAME": f"n{i}"} for i in range(1, 5)]


@pytest.fixture(scope="module")
def shop(spark: SparkSession) -> PulledTables:
    """Orders, of which some have no customer, and customers, of whom some have no order."""
    columns = "id INT PRIMARY KEY, customer BIGINT, amount DOUBLE, item STRING, price DECIMAL(6,2), seal BYTES"
    tables = PulledTables(spark, [table("orders", columns), table("customers", "id BIGINT PRIMARY KEY, name STRING")])
    tables.put("ORDERS", ORDERS)
    tables.put("CUSTOMERS", CUSTOMERS)
    return tables


def test_answers(shop: PulledTables) -> None:
    """Data file: the rows of queries, in the order in which they come where ORDER BY says it."""

    def described(text: str) -> str:
        try:
            rows = [", ".join(map(_shown, row)) for row in shop.answer(text)]
        except StatementError as error:
            return str(error)
        return "\n".join(rows if "ORDER BY" in text else sorted(rows)) or "no rows"

    golden.check(Path(__file__).parent / "texts" / "relational.sql", described)


def _shown(value: Any) -> str:
    return "NULL" if value is None else repr(value) if isinstance(value, str) else str(value)


# ---------------------------------------------------------------- SQLite as a second opinion

A = [(i, random.Random(i).choice([None, 0, 1, 2, 3]), i * 7 % 11 - 5, f"s{i % 6}") for i in range(40)]
B = [(i, random.Random(-i).choice([None, *range(45)]), i % 9 - 4, f"s{i % 4}") for i in range(30)]


@pytest.fixture(scope="module")
def generated(spark: SparkSession) -> PulledTables:
    """Two tables of generated rows, with NULLs."""
    tables = PulledTables(
        spark,
        [
            table("a", "id INT PRIMARY KEY, g INT, v INT, s STRING"),
            table("b", "id INT PRIMARY KEY, g INT, v INT, s STRING"),
        ],
    )
    for name, rows in (("A", A), ("B", B)):
        # What a table had before must not be seen.
        tables.put(name, [{"ID": r[0], "G": 99, "V": 99, "S": "old"} for r in rows] + [{"ID": 1000, "V": 1}])
        tables.put(name, [dict(zip(("ID", "G", "V", "S"), row, strict=True)) for row in rows] + [{"ID": 1000}])
    return tables


@pytest.fixture(scope="module")
def sqlite() -> Iterator[sqlite3.Connection]:
    """The same two tables in SQLite."""
    connection = sqlite3.connect(":memory:")
    for name, rows in (("a", A), ("b", B)):
        connection.execute(f"CREATE TABLE {name} (id INTEGER, g INTEGER, v INTEGER, s TEXT)")
        connection.executemany(f"INSERT INTO {name} VALUES (?, ?, ?, ?)", rows)
    yield connection
    connection.close()


class _Generator:
    """Writes queries that mean the same in both languages.

    A comparison with NULL is false here and unknown there, so that conditions have no NOT. No GROUP BY key is NULL.
    """

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def query(self) -> str:
        """A query whose rows have one order."""
        make = self._random.choice(
            [self._plain, self._joined, self._grouped, self._union, self._derived, self._filtered_again]
        )
        return f"{make()}{self._end()}"

    def _end(self) -> str:
        many = self._random.choice(["", " LIMIT 5", " LIMIT 7 OFFSET 3"])
        first, second = self._random.sample(["1", "2"], 2)
        return f" ORDER BY {first}{self._direction()}, {second}{self._direction()}{many}"

    def _direction(self) -> str:
        return self._random.choice([" NULLS LAST", " DESC NULLS FIRST", " NULLS FIRST", " DESC NULLS LAST"])

    def _condition(self, *names: str) -> str:
        one, other = (f"{self._random.choice(names)}{self._random.choice(['v', 'g', 'id'])}" for _ in "12")
        operator, number = self._random.choice(["<", "<=", "=", "<>", ">", ">="]), self._random.randint(-4, 12)
        text = f"{self._random.choice(names)}s"
        choices = [
            f"{one} {operator} {number}",
            f"{one} {operator} {other}",
            f"{one} + {other} > {number}",
            f"{one} IS NULL",
            f"{text} IN ('s1', 's3')",
            f"{one} BETWEEN {number} AND 9",
            f"{text} LIKE '%3'",
        ]
        first, second = self._random.choice(choices), self._random.choice(choices)
        return self._random.choice([first, f"{first} AND {second}", f"({first} OR {second})"])

    def _plain(self) -> str:
        what = self._random.choice(
            ["id, v", "v + id AS x, id", "DISTINCT v, s", "CASE WHEN v > 0 THEN s ELSE 'z' END AS x, id"]
        )
        return f"SELECT {what} FROM a WHERE {self._condition('')}"

    def _joined(self) -> str:
        kind = self._random.choice(["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"])
        on = self._random.choice(
            ["a.id = b.g", "b.g = a.g", "a.s = b.s AND a.v < b.v", "a.v + 1 = b.v AND a.id > b.id", "a.id < b.v"]
        )
        return f"SELECT a.id, b.id FROM a {kind} b ON {on} WHERE {self._condition('a.', 'b.')}"

    def _grouped(self) -> str:
        calls = "COUNT(*) AS n, MIN(v) AS lo, MAX(g) AS hi, COUNT(DISTINCT v) AS d, SUM(v) AS t, COUNT(g) AS c"
        passes = f"FILTER (WHERE {self._condition('')})"
        calls += f", COUNT(*) {passes} AS fn, MAX(v) {passes} AS fm, COUNT(DISTINCT v) {passes} AS fd"
        having = self._random.choice(["", " HAVING COUNT(*) > 3", " HAVING MIN(v) < 0"])
        key = self._random.choice(["s", "v", "v + 1"])
        if self._random.random() < 0.3:
            return f"SELECT {calls} FROM a WHERE {self._condition('')}"
        return f"SELECT {key} AS k, {calls} FROM a WHERE {self._condition('')} GROUP BY {key}{having}"

    def _union(self) -> str:
        word = self._random.choice(["UNION", "UNION ALL"])
        return f"SELECT v, s FROM a WHERE {self._condition('')} {word} SELECT g, s FROM b WHERE {self._condition('')}"

    def _filtered_again(self) -> str:
        """Conditions on columns that an inner query selects unchanged, renames, or computes."""
        id = self._random.choice(["id", "id + 1 AS id"])
        inner = [f"(SELECT {id}, g AS v, v AS g, s FROM {t} WHERE {self._condition('')})" for t in "ab"]
        if self._random.random() < 0.5:
            return f"SELECT q.id, q.v FROM {inner[0]} AS q WHERE {self._condition('q.')} AND {self._condition('q.')}"
        kind = self._random.choice(["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"])
        where = f"{self._condition('q.', 'r.')} AND {self._condition('q.')}"
        return f"SELECT q.id, r.id FROM {inner[0]} AS q {kind} {inner[1]} AS r ON q.id = r.v WHERE {where}"

    def _derived(self) -> str:
        inner = f"SELECT v, COUNT(*) AS n FROM b WHERE {self._condition('')} GROUP BY v"
        return self._random.choice(
            [
                f"SELECT q.n, q.v FROM ({inner}) AS q WHERE q.n > 1",
                f"WITH q AS ({inner}) SELECT a.id, q.n FROM a JOIN q ON a.v = q.v",
                f"WITH q AS ({inner}), r AS (SELECT MAX(n) AS top FROM q) "
                "SELECT q.v, r.top FROM q JOIN r ON q.n = r.top",
            ]
        )


@pytest.mark.parametrize("seed", range(50))
def test_sqlite_gives_the_same_rows(seed: int, generated: PulledTables, sqlite: sqlite3.Connection) -> None:
    query = _Generator(seed).query()
    answers = [generated.answer(f"{query};") for _ in range(2)]
    expected = [list(row) for row in sqlite.execute(query.replace("SUM(v)", "COALESCE(SUM(v), 0)"))]
    # Rows that are the same for ORDER BY may come in any order.
    assert [sorted(map(repr, rows)) for rows in answers] == [sorted(map(repr, expected))] * 2, query
    keys = [[row[:2] for row in rows] for rows in (*answers, expected)]
    assert keys[0] == keys[1] == keys[2], query


# ---------------------------------------------------------------- bounds and snapshots


@pytest.mark.parametrize(
    "text",
    [
        "SELECT a.id FROM a JOIN a AS c ON a.v <> c.v + 100 JOIN a AS d ON a.v <> d.v + 100 ORDER BY a.id;",
        "SELECT DISTINCT a.id, c.id AS c FROM a JOIN a AS c ON a.v <> c.v + 100;",
        "SELECT a.s, COLLECT_LIST(c.s) AS l FROM a JOIN a AS c ON a.v <> c.v + 100 GROUP BY a.s;",
    ],
)
def test_a_query_that_keeps_too_much_is_refused(text: str, generated: PulledTables) -> None:
    assert generated.answer(text)
    with pytest.raises(EvaluationFailed, match=r"more memory than millstream\.pull\.memory\.mb\n  hint: "):
        generated.answer(text, memory=20_000)


def test_a_query_that_takes_too_long_is_refused(generated: PulledTables) -> None:
    pairs = " ".join(f"JOIN a AS a{i} ON a.v <> a{i}.v + 100" for i in range(6))
    with pytest.raises(EvaluationFailed, match=r"longer than millstream\.pull\.timeout\.ms\n  hint: "):
        generated.answer(f"SELECT COUNT(*) FROM a {pairs};", timeout_ms=300)


def test_a_snapshot_stays_as_it_was_through_changes_and_compaction(spark: SparkSession) -> None:
    tables = PulledTables(spark, [table("t", "id INT PRIMARY KEY, v INT, s STRING")])
    tables.put("T", [{"ID": i, "V": 1, "S": "x" * 300} for i in range(3000)])
    node = tables.plan("SELECT COUNT(*) AS n, SUM(v) AS t FROM t;")
    image = tables.images["T"]
    before, memory = image.snapshot(), image.bytes
    for value in range(2, 12):
        tables.put("T", [{"ID": i, "V": value, "S": "y" * 300} for i in range(3000)])
    tables.put("T", [{"ID": i} for i in range(1000)])
    assert tables.answer("SELECT COUNT(*) AS n, SUM(v) AS t FROM t;") == [[2000, 22000]]
    assert list(tables.queries.answer(node, [before], MINUTE, MEMORY)) == [b'{"C0":3000,"C1":3000}']
    assert image.bytes < 8 * memory
    assert len(tables_of(node)) == 1


def test_the_index_finds_keys_after_many_inserts_and_deletes(spark: SparkSession) -> None:
    tables, expected = PulledTables(spark, [table("t", "id INT PRIMARY KEY, v INT")]), dict[int, int]()
    choice = random.Random(5)
    for step in range(30):
        rows = [{"ID": choice.randrange(4000), "V": step} for _ in range(700)]
        deleted = [{"ID": choice.randrange(4000)} for _ in range(400)]
        tables.put("T", rows + deleted)
        expected |= {row["ID"]: row["V"] for row in rows}
        for row in deleted:
            expected.pop(row["ID"], None)
    assert tables.answer("SELECT id, v FROM t ORDER BY id;") == [[key, expected[key]] for key in sorted(expected)]
