"""The memory for images: what does not fit is refused with a hint, and an index needs no image of the whole table."""

import struct
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest
from pyspark.sql import SparkSession

from millstream.catalog.facts import Facts
from millstream.engine.rows import RowReader
from millstream.plan.relational_nodes import tables_of
from millstream.plan.statements import outcome
from millstream.spark.bounded import Bounded
from millstream.syntax import parser
from millstream.tables.followed_topic import FollowedTopic, MaterializedTable
from millstream.tables.images import TableImages, TableRead, TableTooLarge
from millstream.tables.indexes import IndexedTable, IndexedValues, indexed_values
from millstream.tables.keys import keys_of
from millstream.tables.materializer import Materializer
from millstream.tables.store import Change, Store
from support.relational import MEMORY, MINUTE, SETTINGS, PulledTables, table

# A page of an image has 1 MB: one with few rows fits, one with all does not.
ROWS, LEAST = 20_000, 3 * 2**19


class OneTable:
    """A materializer of one table that has been read: ROWS rows whose V is the key modulo 5,000."""

    def __init__(self, tables: PulledTables, folder: Path, bounded: Bounded) -> None:
        def prepare(indexed: IndexedTable) -> IndexedValues:
            return indexed_values(indexed, bounded)

        source = tables.catalog.sources["T"]
        self.moment = threading.Lock()
        self.table = MaterializedTable(source)
        self.store = Store(folder / "t.sqlite", {})
        self.topic = FollowedTopic(self.table, self.store, "", prepare)
        self.topic.indexing.keep(tables.catalog.indexes_of("T"))
        keys = keys_of(source)
        rows = [Change(keys.stored(struct.pack(">i", i)), 0, 0, b'{"V":%d}' % (i % 5000), i) for i in range(ROWS)]
        self.store.apply(rows, {0: ROWS}, None, self.topic.indexing.entries(rows))

    def followed(self, table: MaterializedTable) -> FollowedTopic:
        """The table, as a materializer returns it."""
        return self.topic


@pytest.fixture
def tables(spark: SparkSession) -> PulledTables:
    tables = PulledTables(spark, [table("t", "id INT PRIMARY KEY, v INT")])
    (index,) = parser.split("CREATE INDEX by_v ON t (v);")
    tables.catalog = outcome(index.statement, index.text, tables.catalog, Facts({}), SETTINGS).catalog
    return tables


@pytest.fixture
def one(tables: PulledTables, spark: SparkSession, tmp_path: Path) -> Iterator[OneTable]:
    table = OneTable(tables, tmp_path, Bounded(spark))
    yield table
    table.store.close()


def answered(text: str, most: int, one: OneTable, tables: PulledTables) -> list[list[object]]:
    """The rows of a query if images may take so many bytes."""
    images = TableImages(cast(Materializer, one), tables.queries.image, Bounded(tables.session), lambda: most)
    node = tables.plan(text)
    snapshots = images.snapshots([TableRead(one.table, rows.accesses) for rows in tables_of(node)])
    read = RowReader([c.type for c in node.schema])
    return [read(line) for line in tables.queries.answer(node, snapshots, MINUTE, MEMORY)]


def test_a_table_that_does_not_fit_is_refused(one: OneTable, tables: PulledTables) -> None:
    assert answered("SELECT COUNT(*) AS n FROM t;", MEMORY, one, tables) == [[ROWS]]
    with pytest.raises(TableTooLarge, match=r"(?s)1 MB of memory: millstream\.pull\.cache\.mb.*\n  hint: look rows up"):
        answered("SELECT COUNT(*) AS n FROM t;", LEAST, one, tables)


def test_an_index_needs_no_image(one: OneTable, tables: PulledTables) -> None:
    query = "SELECT a.id AS i, b.id AS j FROM t a JOIN t b ON a.v = b.v WHERE a.v = 7 AND b.v IN (7, 8) ORDER BY i, j;"
    ids = [7, 5007, 10007, 15007]
    expected = [[i, j] for i in ids for j in ids]
    # The index has not visited the end of the store yet, so the whole table is read.
    with pytest.raises(TableTooLarge):
        answered(query, LEAST, one, tables)
    assert answered(query, MEMORY, one, tables) == expected
    while one.topic.indexing.pending:
        one.topic.indexing.build()
    assert answered(query, LEAST, one, tables) == expected
