"""Indexes of a table's store: an index finds exactly the rows of a full scan, in their order, whatever happened."""

import json
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from millstream.catalog.catalog import Catalog, TableIndex
from millstream.catalog.facts import Facts, TopicFacts
from millstream.plan.pull_queries import IndexLookup, PullPlan
from millstream.spark.bounded import Bounded
from millstream.spark.evaluate import EvaluationFailed
from millstream.tables import indexing
from millstream.tables.answer import TableReader, with_complete_indexes
from millstream.tables.indexes import IndexedTable, IndexedValues, indexed_values
from millstream.tables.indexing import TableIndexing
from millstream.tables.keys import keys_of
from millstream.tables.store import Change, Store
from support import golden
from support.statements import catalog_of, pull_plan

INDEXED = {
    "many": ["b", "i", "l", "d", "e", "t", "y", "da", "ti", "ts", "arr", "s", "m", "i, t", "id"],
    "win": ["n"],
    "two": ["v", "v, id"],
    "doubles": ["n"],
    "texts": ["n"],
}
CATALOG = """
CREATE SOURCE TABLE many (id INT PRIMARY KEY, b BOOLEAN, i INT, l BIGINT, d DOUBLE, e DECIMAL(6, 2), t STRING, y BYTES,
  da DATE, ti TIME, ts TIMESTAMP, arr ARRAY<DOUBLE>, s STRUCT<a INT, b STRING>, m MAP<STRING, INT>)
  WITH (kafka_topic='t', value_format='JSON');
CREATE STREAM a (id INT KEY, d DOUBLE, v INT, s STRING) WITH (kafka_topic='a', value_format='JSON', key_format='KAFKA');
CREATE TABLE win AS SELECT id, COUNT(*) AS n FROM a WINDOW TUMBLING (SIZE 1 SECOND) GROUP BY id;
CREATE TABLE two WITH (key_format='JSON') AS SELECT id, v, COUNT(*) AS n FROM a GROUP BY id, v;
CREATE TABLE doubles AS SELECT d, COUNT(*) AS n FROM a GROUP BY d;
CREATE TABLE texts AS SELECT s, COUNT(*) AS n FROM a GROUP BY s;
""" + "".join(
    f"CREATE INDEX by_{table}_{'_'.join(columns.split(', '))} ON {table} ({columns});\n"
    for table, indexes in INDEXED.items()
    for columns in indexes
)
# The values of MANY by key, as JSON, and what is not a row at all.
ROWS: dict[int, str | None] = {
    1: '{"B":true,"I":1,"L":1,"D":1.5,"E":1.25,"T":"a","ARR":[1,2],"S":{"A":1,"B":"x"},"M":{"k":1,"l":2}}',
    2: '{"B":false,"I":-1,"L":9007199254740993,"D":-0.0,"E":-1.25,"T":"b","ARR":[],"S":{"A":1},"M":{}}',
    3: '{"I":2147483647,"L":9007199254740992,"D":0.0,"E":9999.99,"T":"\ue000","ARR":[1,null],"S":{}}',
    4: '{"I":-2147483648,"L":-9223372036854775808,"D":-1e300,"E":0,"T":"\U0001f600","ARR":null,"S":null}',
    5: '{"B":null,"I":null,"T":null,"D":null}',
    6: "{}",
    7: '{"I":"1","L":"2","D":"NaN","T":1,"E":"1.25"}',
    8: '{"i":1,"t":"a","d":1.50,"e":1.2500}',
    9: "not json",
    10: '{"DA":0,"TI":1000,"TS":1577836800000,"Y":"AQI=","I":1}',
    11: '{"DA":-1,"TI":0,"TS":-1,"Y":"","I":2}',
    12: '{"T":"' + "x" * 200 + 'a","I":1}',
    13: '{"T":"' + "x" * 200 + 'b","I":1,"M":{"l":2,"k":1}}',
    14: '{"T":"","I":0,"D":1e400,"ARR":[-0.0]}',
    15: '{"I":1,"T":"b","D":1}',
    17: '{"Y":"gA=="}',
    18: '{"Y":"/w=="}',
    19: '{"Y":"AQI=","I":0}',
    20: '{"Y":"AYA="}',
    -1: '{"I":1,"T":"a","D":2}',
    -5: '{"I":1,"T":"a","D":2,"B":true}',
}


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return catalog_of(CATALOG, Facts({"a": TopicFacts(2), "t": TopicFacts(2)}))


@pytest.fixture(scope="module")
def bounded(spark: SparkSession) -> Bounded:
    return Bounded(spark)


class IndexedStore:
    """A table's store with its indexes, and queries on it; `build` lets a new index visit all rows."""

    def __init__(self, table: str, folder: Path, catalog: Catalog, bounded: Bounded) -> None:
        self._folder, self._bounded, self.catalog = folder, bounded, catalog
        self.source = catalog.sources[table]
        self.store = self._opened()
        self.indexing = self._indexing()

    def _opened(self) -> Store:
        return Store(self._folder / f"{self.source.name}.sqlite", {"topic": "t"})

    def _indexing(self) -> TableIndexing:
        return TableIndexing(self.source, self.store, self.prepare)

    def prepare(self, table: IndexedTable) -> IndexedValues:
        return indexed_values(table, self._bounded)

    def restart(self) -> None:
        """Open the file again, as a new process would."""
        self.store.close()
        self.store = self._opened()
        self.indexing = self._indexing()

    def keep(self) -> None:
        """Give the table the indexes that the catalog has."""
        self.indexing.keep(self.catalog.indexes_of(self.source.name))

    def apply(self, changes: Sequence[Change], retention_ms: int | None = None) -> None:
        """Store changes as the materializer does."""
        self.store.apply(changes, {0: 1}, retention_ms, self.indexing.entries(changes))

    def build(self) -> None:
        """Index rows until all indexes are complete."""
        while self.indexing.pending:
            self.indexing.build()

    def put(self, rows: dict[int, str | None]) -> None:
        """Store rows with INTEGER keys."""
        keys = keys_of(self.source)
        self.apply(
            [
                Change(keys.stored(struct.pack(">i", id)), 0, 0, None if value is None else value.encode(), id)
                for id, value in rows.items()
            ]
        )

    def answer(self, text: str) -> list[list[Any]]:
        """The rows of a query that an index serves; they must be those of the query without the index."""
        plan = pull_plan(text, self.catalog)
        assert isinstance(plan.accesses[0], IndexLookup)
        assert with_complete_indexes(plan.accesses, self.store) == plan.accesses, "the index is not complete"
        rows = self.rows(plan)
        assert rows == self.scanned(text)
        return rows

    def scanned(self, text: str) -> list[list[Any]]:
        """The rows of a query without indexes."""
        return self.rows(pull_plan(text, replace(self.catalog, indexes={})))

    def rows(self, plan: PullPlan) -> list[list[Any]]:
        """The rows of a plan."""
        return [*TableReader(plan.source, plan.plan, self._bounded).rows(plan.accesses, self.store)]


Open = Callable[[str], IndexedStore]


@pytest.fixture
def opened(tmp_path: Path, catalog: Catalog, bounded: Bounded) -> Iterator[Open]:
    """Opens the stores of tables; they are closed at the end."""
    stores = list[IndexedStore]()

    def open(table: str) -> IndexedStore:
        stores.append(IndexedStore(table, tmp_path, catalog, bounded))
        return stores[-1]

    yield open
    for one in stores:
        one.store.close()


@pytest.fixture
def many(opened: Open) -> IndexedStore:
    one = opened("MANY")
    one.keep()
    one.put(ROWS)
    one.build()
    return one


def test_the_rows_that_an_index_finds(many: IndexedStore) -> None:
    """Data file: queries that indexes serve, over values of every type; their rows are also those of a full scan."""
    golden.check(
        Path(__file__).parent / "texts" / "indexes.sql",
        lambda text: "\n".join(", ".join(map(str, row)) for row in many.answer(text)) or "no rows",
    )


def test_an_index_of_a_table_that_has_rows(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is built some rows at a time, while rows change, and used once it has all."""
    monkeypatch.setattr(indexing, "SLICE", 4)
    one, query = opened("MANY"), "SELECT id, i FROM many WHERE i = 1;"
    one.put(ROWS)
    one.keep()
    accesses = pull_plan(query, one.catalog).accesses
    one.indexing.build()
    assert with_complete_indexes(accesses, one.store) != accesses
    assert one.rows(pull_plan(query, one.catalog)) == one.scanned(query)
    # Some of these rows are indexed already, some not; one is new, one is gone.
    one.put({2: '{"I":1}', 3: None, -5: '{"I":7}', 15: '{"I":7}', 16: '{"I":1}', -7: '{"I":1}'})
    one.build()
    assert [row[0] for row in one.answer(query)] == [1, 2, 7, 8, 10, 12, 13, 16, -7, -1]


def test_changes_of_rows_are_changes_of_entries(many: IndexedStore) -> None:
    for i in range(40):
        many.put({i % 7: None if i % 3 == 0 else json.dumps({"I": i % 4, "T": f"t{i % 2}"})})
        many.answer(f"SELECT * FROM many WHERE i = {i % 4};")
        many.answer(f"SELECT * FROM many WHERE i = {i % 4} AND t = 't{i % 2}';")
        many.answer("SELECT * FROM many WHERE i > 1;")


@pytest.mark.parametrize(
    ("table", "form", "keys"),
    [
        ("DOUBLES", ">d", [i / 4 for i in range(-9, 9)]),
        ("TEXTS", "", ["", "a", "ab", "b", "\ue000", "\U0001f600"]),
        ("WIN", ">i", [*range(-5, 5)]),
    ],
)
def test_the_order_is_that_of_a_scan(table: str, form: str, keys: list[Any], opened: Open) -> None:
    one, starts = opened(table), (0, 1000, 2000) if table == "WIN" else (0,)
    one.keep()
    stored, name = keys_of(one.source), one.source.schema.key[0].name
    places = [(k, start) for k in keys for start in starts]
    stored_keys = [stored.stored(struct.pack(form, k) if form else k.encode()) for k, _ in places]
    one.apply(
        [
            Change(key, start, start + 1000, b'{"N":%d}' % (i % 7 % 3), i)
            for i, (key, (_, start)) in enumerate(zip(stored_keys, places, strict=True))
        ]
    )
    one.build()
    least = keys[1] if form else "'a'"
    assert one.answer(f"SELECT {name}, n FROM {table} WHERE n = 1;")
    assert one.answer(f"SELECT {name}, n FROM {table} WHERE n IN (0, 2) LIMIT 4;")
    assert one.answer(f"SELECT {name}, n FROM {table} WHERE n >= 1;")
    assert one.answer(f"SELECT {name}, n FROM {table} WHERE n = 1 AND {name} >= {least};")
    if table == "WIN":
        assert one.answer("SELECT id, WINDOWSTART AS s FROM win WHERE n = 1 AND WINDOWSTART > 0 AND WINDOWEND < 3000;")
        one.apply([Change(stored.stored(struct.pack(">i", 1)), 5000, 6000, b'{"N":1}', 10_000)], retention_ms=8500)
        assert {row[1] for row in one.answer("SELECT id, WINDOWSTART AS s FROM win WHERE n = 1;")} == {2000, 5000}


def test_a_key_of_several_columns(opened: Open) -> None:
    one = opened("TWO")
    one.keep()
    one.apply(
        [
            Change(json.dumps({"ID": id, "V": v}).encode(), 0, 0, json.dumps({"N": id + v}).encode(), 0)
            for id in range(4)
            for v in range(3)
        ]
    )
    one.build()
    assert [row[:2] for row in one.answer("SELECT id, v, n FROM two WHERE v = 2;")] == [[id, 2] for id in range(4)]
    assert one.answer("SELECT id, v, n FROM two WHERE v < 2 AND n > 1;")


def test_a_restart_keeps_what_is_indexed(many: IndexedStore) -> None:
    rows = many.answer("SELECT id FROM many WHERE i = 1;")
    many.restart()
    many.keep()
    assert not many.indexing.pending
    assert many.answer("SELECT id FROM many WHERE i = 1;") == rows


def test_an_index_of_the_same_name_on_another_column_is_another_index(many: IndexedStore) -> None:
    by_i = TableIndex("BY_MANY_I", "MANY", ("I",))
    by_l = replace(by_i, columns=("L",))
    many.catalog = replace(many.catalog, indexes={by_i.name: by_l})
    many.keep()
    assert not many.store.has_index(by_i.name)
    assert not many.store.has_index("BY_MANY_T")
    many.build()
    assert [row[0] for row in many.answer("SELECT id FROM many WHERE l = 1;")] == [1]


def test_an_index_whose_values_cannot_be_computed_is_built_again(
    many: IndexedStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows are stored all the same; queries read all of them until then."""
    query = "SELECT id FROM many WHERE i = 77;"

    def failing(table: IndexedTable) -> IndexedValues:
        def values(changes: Sequence[Change]) -> Any:
            raise EvaluationFailed("the JVM is busy")

        return values

    monkeypatch.setattr(many, "prepare", failing)
    monkeypatch.setattr(indexing, "RETRY", 3600.0)
    many.restart()
    many.keep()
    many.put({30: '{"I":77}'})
    assert not many.store.has_index("BY_MANY_I")
    assert [row[0] for row in many.scanned(query)] == [30]
    assert not many.indexing.pending, "it waits before it tries again"
    monkeypatch.undo()
    many.restart()
    many.keep()
    many.build()
    assert [row[0] for row in many.answer(query)] == [30]


def test_a_dropped_index_leaves_nothing_behind(many: IndexedStore) -> None:
    plan = pull_plan("SELECT id FROM many WHERE i = 1;", many.catalog)
    indexed = many.catalog
    many.catalog = replace(indexed, indexes={})
    many.keep()
    # A query that was planned before reads every row.
    assert many.rows(plan) == many.scanned("SELECT id FROM many WHERE i = 1;")
    tables = many.store._writer.execute("SELECT name FROM sqlite_master WHERE name LIKE 'index_%'").fetchall()
    assert [name for (name,) in tables if name != "indexes"] == []
