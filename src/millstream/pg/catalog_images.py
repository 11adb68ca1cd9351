"""The catalog's tables in memory, one image for each state of the catalog and each set of sources that users may read.

DuckDB answers the queries, because its SQL equals Postgres's in nearly everything that clients send
(docs/design/019-postgres.md). It is sandboxed: one thread, limited memory, no files, no extensions, fixed settings.
"""

import threading
from collections import OrderedDict
from collections.abc import Sequence
from datetime import date, datetime, time
from typing import Any

import duckdb
import orjson
from duckdb import DuckDBPyConnection

from millstream.catalog.catalog import Catalog
from millstream.model.errors import StatementError
from millstream.model.schema import Column
from millstream.model.settings import effective
from millstream.pg.catalog_queries import CatalogQuery, definitions, to_duckdb
from millstream.pg.catalog_tables import TableRow, ViewRelation, rows_of
from millstream.pg.failures import CANCELLED, NOT_SUPPORTED, UNKNOWN_COLUMN, UNKNOWN_FUNCTION, UNKNOWN_TABLE, PgError
from millstream.pg.results import ResultColumn
from millstream.pg.settings import SessionIdentity
from millstream.pg.types import BOOL, DAY, FLOAT8, INT4, INT8, MOMENT, NUMERIC, OBJECT_ID, TEXT, PgType, array_of
from millstream.plan.nodes import type_of
from millstream.plan.queries import plan_view
from millstream.plan.views import query_of, written_query
from millstream.security.roles import Principal
from millstream.syntax import tree
from millstream.syntax.printer import to_sql

# The number of cached images: users with other rights need another one, and each change of the catalog does.
MOST_IMAGES = 4
MEMORY = "256MB"
# The time limit of a catalog query in seconds, and the most rows of its result.
PATIENCE, MOST_ROWS = 10.0, 100_000
# Rows in one INSERT: an INSERT for each row takes ten times as long.
TOGETHER = 1000
COLUMNS = """SELECT column_name, data_type FROM duckdb_columns()
    WHERE schema_name = 'pgc' AND table_name = ? ORDER BY column_index"""
TYPES: dict[str, PgType] = {
    "BOOLEAN": BOOL,
    **dict.fromkeys(("TINYINT", "SMALLINT", "INTEGER"), INT4),
    "BIGINT": INT8,
    **dict.fromkeys(("FLOAT", "DOUBLE"), FLOAT8),
    **dict.fromkeys(("HUGEINT", "UBIGINT"), NUMERIC),
    "DATE": DAY,
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMP WITH TIME ZONE"), MOMENT),
}
STATES = {
    duckdb.ParserException: "42601",
    duckdb.InterruptException: CANCELLED,
    duckdb.NotImplementedException: NOT_SUPPORTED,
    duckdb.ConversionException: "22P02",
    duckdb.OutOfMemoryException: "53200",
}


class CatalogImages:
    """A cache of images, keyed by the catalog and the visible sources. Thread-safe; every method blocks."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._images: OrderedDict[tuple[int, tuple[str, ...]], tuple[Catalog, DuckDBPyConnection]] = OrderedDict()

    def answer(
        self,
        query: CatalogQuery,
        values: Sequence[Any],
        catalog: Catalog,
        principal: Principal,
        identity: SessionIdentity,
    ) -> tuple[tuple[ResultColumn, ...], Sequence[Sequence[Any]]]:
        """The columns and rows of a query. Raises PgError."""
        text = to_duckdb(query, identity)
        with self._image(catalog, principal).cursor() as cursor:
            guard = threading.Timer(PATIENCE, cursor.interrupt)
            guard.start()
            try:
                parameters = {str(number): value for number, value in enumerate(values, 1) if f"${number}" in text}
                cursor.execute(text, parameters or None)
                columns = tuple(ResultColumn(name, _type(str(kind))) for name, kind, *_ in cursor.description or ())
                rows = cursor.fetchmany(MOST_ROWS)
            except duckdb.Error as error:
                raise _refusal(error) from error
            finally:
                guard.cancel()
        return columns, [tuple(_shown(v, c.type) for v, c in zip(row, columns, strict=True)) for row in rows]

    def _image(self, catalog: Catalog, principal: Principal) -> DuckDBPyConnection:
        names = (*catalog.sources, *catalog.views)
        visible = tuple(name for name in names if not principal.missing(tree.Describe(name), catalog))
        key = id(catalog), visible
        with self._lock:
            if key not in self._images:
                # The reference to the catalog keeps it alive, so that no other catalog object gets its id().
                self._images[key] = catalog, _image_of(visible, catalog)
            self._images.move_to_end(key)
            while len(self._images) > MOST_IMAGES:
                self._images.popitem(last=False)
            return self._images[key][1]


def _image_of(names: Sequence[str], catalog: Catalog) -> DuckDBPyConnection:
    """An image of the sources and views of these names."""
    sources = [catalog.sources[name] for name in names if name in catalog.sources]
    views = [view for name in names if name in catalog.views and (view := _view_relation(name, catalog))]
    image = duckdb.connect(
        ":memory:", config={"threads": 1, "memory_limit": MEMORY, "autoload_known_extensions": False}
    )
    image.execute(definitions())
    for table, rows in rows_of(sources, views).items():
        _fill(image, table, rows)
    image.execute("SET enable_external_access = false")
    image.execute("SET python_enable_replacements = false")
    image.execute("SET lock_configuration = true")
    return image


def _view_relation(name: str, catalog: Catalog) -> ViewRelation | None:
    """A view of the catalog; None if it can no longer be read."""
    view = catalog.views[name]
    try:
        rows = plan_view(name, query_of(view, catalog), tree.NOWHERE, catalog, effective({})).plan
    except StatementError:
        return None
    return ViewRelation(
        name, tuple(Column(c.name, type_of(c.expression)) for c in rows.columns), to_sql(written_query(view))
    )


def _fill(image: DuckDBPyConnection, table: str, rows: Sequence[TableRow]) -> None:
    """Insert rows; a column that none of them names is NULL if it is a text or a list, else 0 or false.

    They are one parameter, a JSON text: for each value of Python DuckDB tries to import pandas, which takes longer than
    all the rest.
    """
    described = image.execute(COLUMNS, [table]).fetchall()
    structure = orjson.dumps([dict(described)]).decode()
    insert = f"INSERT INTO pgc.{table} SELECT row.* FROM (SELECT unnest(from_json(?, '{structure}')) AS row)"
    for begin in range(0, len(rows), TOGETHER):
        batch = rows[begin : begin + TOGETHER]
        values = [{name: row.get(name, _default(kind)) for name, kind in described} for row in batch]
        image.execute(insert, [orjson.dumps(values).decode()])


def _default(kind: str) -> Any:
    if kind == "BOOLEAN":
        return False
    return 0 if kind in ("BIGINT", "INTEGER", "DOUBLE") else None


def _type(kind: str) -> PgType:
    if kind == "BIGINT[]":
        # Lists of this kind have OIDs: asyncpg, which queries the types that it does not know, knows oid[].
        return array_of(OBJECT_ID)
    if kind.endswith("[]"):
        element = _type(kind[:-2])
        return array_of(element) if not element.element else TEXT
    return TYPES.get(kind, NUMERIC if kind.startswith("DECIMAL") else TEXT)


def _shown(value: Any, type: PgType) -> Any:
    """A value of DuckDB in the form that the encoders of types.py read."""
    match value:
        case datetime():
            return value.replace(tzinfo=None).isoformat(timespec="microseconds")
        case date() | time():
            return value.isoformat()
        case bool() if type is TEXT:
            return "true" if value else "false"
    return value


def _refusal(error: duckdb.Error) -> PgError:
    """A DuckDB error as a PgError with the SQLSTATE that Postgres would send."""
    text = str(error).split("\n")[0]
    state = next((state for kind, state in STATES.items() if isinstance(error, kind)), "42000")
    if isinstance(error, duckdb.InterruptException):
        return PgError(state, f"a query of the catalog took more than {PATIENCE:g} s")
    if isinstance(error, duckdb.CatalogException):
        state = UNKNOWN_TABLE if "Table with name" in text else UNKNOWN_FUNCTION
    if isinstance(error, duckdb.BinderException) and "column" in text.lower():
        state = UNKNOWN_COLUMN
    return PgError(state, f"in a query of the catalog: {text.partition(': ')[2] or text}")
