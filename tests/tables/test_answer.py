"""Pull queries on a table's store: constants as keys of a column's type, and which rows come in which order."""

import struct
from collections.abc import Callable, Iterator
from decimal import Decimal as Number
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from millstream.catalog.catalog import Catalog
from millstream.catalog.facts import Facts, TopicFacts
from millstream.model.types import BIGINT, INTEGER, Decimal, SqlType
from millstream.plan.pull_queries import PullPlan
from millstream.plan.relational import scanned
from millstream.spark.bounded import Bounded
from millstream.spark.relational import RelationalQueries
from millstream.spark.types import json_reader
from millstream.tables.answer import ConstantFailed, NoSuchKey, TableReader, _as_key
from millstream.tables.images import wire
from millstream.tables.keys import keys_of
from millstream.tables.store import Change, Store
from support.statements import catalog_of, pull_plan


@pytest.mark.parametrize(
    ("constant", "type", "key"),
    [
        (Number("12345678901234567890123456789.012"), Decimal(32, 3), Number("12345678901234567890123456789.012")),
        (5, Decimal(38, 30), Number(5)),
        (0.1, Decimal(4, 2), Number("0.10")),
        (3.0, INTEGER, 3),
        (2**63 - 1, BIGINT, 2**63 - 1),
    ],
)
def test_a_constant_as_a_key(constant: Any, type: SqlType, key: Any) -> None:
    assert _as_key(constant, type) == key


@pytest.mark.parametrize(
    ("constant", "type"),
    [
        (None, INTEGER),
        (float("inf"), INTEGER),
        (float("nan"), BIGINT),
        (1.5, INTEGER),
        (Number("1e300"), Decimal(38, 2)),
        (float("inf"), Decimal(38, 2)),
        (float("nan"), Decimal(38, 2)),
        (Number("0.001"), Decimal(38, 2)),
    ],
)
def test_no_key_equals_it(constant: Any, type: SqlType) -> None:
    with pytest.raises(NoSuchKey):
        _as_key(constant, type)


CATALOG = """
CREATE STREAM a (id INT KEY, d DOUBLE, v INT, s STRING, b BYTES)
  WITH (kafka_topic='a', value_format='JSON', key_format='KAFKA');
CREATE TABLE win AS SELECT id, COUNT(*) AS n FROM a WINDOW TUMBLING (SIZE 1 SECOND) GROUP BY id;
CREATE TABLE whole AS SELECT id, COUNT(*) AS n FROM a GROUP BY id;
CREATE TABLE texts AS SELECT s, COUNT(*) AS n FROM a GROUP BY s;
CREATE TABLE doubles AS SELECT d, COUNT(*) AS n FROM a GROUP BY d;
CREATE TABLE binary AS SELECT b, COUNT(*) AS n FROM a GROUP BY b;
"""


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return catalog_of(CATALOG, Facts({"a": TopicFacts(2)}))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store(tmp_path / "t.sqlite", {"topic": "t"})
    yield opened
    opened.close()


def answered(text: str, catalog: Catalog, store: Store, spark: SparkSession) -> list[Any]:
    """The first column of each row."""
    return [row[0] for row in rows(pull_plan(text, catalog), store, spark)]


def rows(plan: PullPlan, store: Store, spark: SparkSession) -> Iterator[list[Any]]:
    return TableReader(plan.source, plan.plan, Bounded(spark)).rows(plan.accesses, store)


@pytest.mark.parametrize(
    ("where", "starts"),
    [
        ("id = 1 AND WINDOWSTART = 0 OR id = 1 AND WINDOWSTART = 2000", [0, 2000]),
        ("id = 1 AND (WINDOWSTART = 0 OR WINDOWEND = 3000)", [0, 2000]),
        ("id = 1 AND WINDOWSTART <= 1000 OR id = 1 AND WINDOWSTART >= 1000", [0, 1000, 2000]),
        ("id = 1 AND WINDOWSTART = 1000 OR id = 1", [1000, 0, 2000]),
        ("id IN (1, 1) AND WINDOWSTART IN (0, 2000)", [0, 2000]),
        ("id = 1 AND WINDOWSTART > 9223372036854775807", []),
        ("id = 1 AND WINDOWEND < CAST('-9223372036854775808' AS BIGINT)", []),
        ("id = 1 AND WINDOWSTART <= 9223372036854775807", [0, 1000, 2000]),
    ],
)
def test_bounds_joined_with_or_lose_no_window_and_repeat_none(
    where: str, starts: list[int], catalog: Catalog, store: Store, spark: SparkSession
) -> None:
    key = keys_of(catalog.sources["WIN"]).stored(struct.pack(">i", 1))
    store.apply([Change(key, s, s + 1000, b'{"N":1}', s) for s in (0, 1000, 2000)], {0: 3})
    assert answered(f"SELECT WINDOWSTART AS s FROM win WHERE {where};", catalog, store, spark) == starts


@pytest.mark.parametrize("where", ["id = 1 / 0", "id IN (2, CAST('x' AS INT))", "id = 1 AND WINDOWSTART > 1 / 0"])
def test_a_constant_that_cannot_be_computed_is_named(
    where: str, catalog: Catalog, store: Store, spark: SparkSession
) -> None:
    with pytest.raises(ConstantFailed, match="a constant of the WHERE clause cannot be computed: "):
        answered(f"SELECT WINDOWSTART AS s FROM win WHERE {where};", catalog, store, spark)


@pytest.mark.parametrize(
    ("table", "form", "keys"),
    [
        ("WHOLE", ">i", [*range(-20, 20)]),
        ("DOUBLES", ">d", [i / 4 for i in range(-20, 20)]),
        ("WIN", ">i", [*range(-5, 5)]),
        ("TEXTS", "", ["", "a", "ab", "b", "\ue000", "\U0001f600"]),
        ("BINARY", "2s", [bytes((i, 255 - i)) for i in range(0, 256, 32)]),
    ],
)
@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM {} WHERE n IS NOT NULL;",
        "SELECT n * 2 AS m, {key}, ROWTIME FROM {} WHERE n > 3;",
        "SELECT {key} FROM {} WHERE n <> 3 LIMIT 4;",
        "SELECT n, 1 / (n - 4) AS x FROM {} WHERE n > 2 AND NOT ROWTIME = 1;",
    ],
)
def test_an_image_gives_what_the_store_gives(
    table: str, form: str, keys: list[Any], query: str, catalog: Catalog, store: Store, spark: SparkSession
) -> None:
    source, windows = catalog.sources[table], (0, 1000, 2000) if table == "WIN" else (0,)
    stored, queries = keys_of(source), RelationalQueries(spark)
    changes = [
        Change(
            stored.stored(struct.pack(form, k) if form else k.encode()), start, start + 1000, b'{"N":%d}' % (i % 7), i
        )
        for i, (k, start) in enumerate((k, start) for k in keys for start in windows)
    ]
    store.apply([*changes, Change(changes[3].key, changes[3].start, changes[3].end, None, 99)], {0: 1})
    plan = pull_plan(query.format(table, key=source.schema.key[0].name), catalog)
    node, image = scanned(plan), queries.image(source)
    assert node is not None
    image.apply(b"".join(wire(change, stored) for change in store.between(None, None)))
    answered = queries.answer(node, [image.snapshot()], 60_000, 2**24)
    read = json_reader([column.type for column in plan.plan.schema])
    assert [[*read(row).values()] for row in answered] == [*rows(plan, store, spark)]


@pytest.mark.parametrize(
    ("table", "form", "values", "ordered"),
    [
        ("WHOLE", ">i", [10, -1, 0, -7], [0, 10, -7, -1]),
        ("DOUBLES", ">d", [10.0, -1.0, 0.0, -7.5], [0.0, 10.0, -1.0, -7.5]),
    ],
)
def test_a_scan_comes_in_the_order_of_the_keys_bytes(
    table: str,
    form: str,
    values: list[float],
    ordered: list[float],
    catalog: Catalog,
    store: Store,
    spark: SparkSession,
) -> None:
    source = catalog.sources[table]
    store.apply([Change(keys_of(source).stored(struct.pack(form, v)), 0, 0, b'{"N":1}', 1) for v in values], {0: 4})
    name = source.schema.key[0].name
    assert answered(f"SELECT {name} FROM {table};", catalog, store, spark) == ordered
    assert answered(f"SELECT {name} FROM {table} LIMIT 3;", catalog, store, spark) == ordered[:3]


@pytest.mark.parametrize("operator", ["<", "<=", ">", ">="])
@pytest.mark.parametrize(
    ("table", "column", "constants", "keys"),
    [
        ("TEXTS", "s", ["a", "\ud7ff", "\ue000", "\uffff", "\U0001f600", "a\ue000"], None),
        ("BINARY", "b", ["", "00", "7f", "80", "ff", "7f80", "ff00"], bytes.fromhex),
    ],
)
def test_a_range_of_keys_has_the_rows_that_a_scan_has(
    table: str,
    column: str,
    constants: list[str],
    keys: Callable[[str], bytes] | None,
    operator: str,
    catalog: Catalog,
    store: Store,
    spark: SparkSession,
) -> None:
    """Keys whose bytes sort in another order than their values do are all_rows all the same."""
    stored = keys_of(catalog.sources[table]).stored
    written = [keys(text) if keys else text.encode() for text in constants]
    store.apply([Change(stored(key), 0, 0, b'{"N":1}', 1) for key in written], {0: 1})
    all_rows = list[Any]()
    for text in constants:
        bound = f"TO_BYTES('{text}', 'hex')" if keys else f"'{text}'"
        ranged = answered(f"SELECT {column} FROM {table} WHERE {column} {operator} {bound};", catalog, store, spark)
        computed = f"CONCAT({column}, CAST('' AS BYTES))" if keys else f"CONCAT({column}, '')"
        scan = answered(f"SELECT {column} FROM {table} WHERE {computed} {operator} {bound};", catalog, store, spark)
        assert ranged == scan, text
        all_rows += scan
    assert all_rows
