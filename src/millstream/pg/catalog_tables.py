"""The rows of pg_catalog: the engine's streams and tables as Postgres's clients see tables.

CREATE TABLE totals (region STRING PRIMARY KEY, n BIGINT)   →   pg_class totals, pg_attribute region, n

An OID is a hash of the name, so that it stays valid when other sources are created or dropped.
"""

import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from millstream.catalog.catalog import RelationKind, Source
from millstream.model.schema import Column, RecordPart
from millstream.model.types import BIGINT
from millstream.pg.script import DATABASE, SCHEMA, client_name
from millstream.pg.settings import DEFAULTS
from millstream.pg.types import (
    COLUMN_TYPES,
    SQL_NAMES,
    PgType,
    modifier,
    pg_type,
)

OWNER, CATALOG_OID, PUBLIC_OID, INFORMATION_OID, DATABASE_OID, HEAP, KEY_METHOD = 10, 11, 2200, 13000, 5, 2, 403
TABLESPACE_OID = 1663
FIRST_OID, OIDS = 100_000, 2_000_000_000
TableRow = Mapping[str, Any]
# The columns that a windowed source has in SELECT *, besides those of its schema.
WINDOW_BOUNDS = (Column("WINDOWSTART", BIGINT, RecordPart.KEY), Column("WINDOWEND", BIGINT, RecordPart.VALUE))
CATEGORIES = {"bool": "B", "date": "D", "time": "D", "timestamptz": "D", "timestamp": "D", "json": "U", "bytea": "U"}
NUMBERS = frozenset({"int2", "int4", "int8", "float4", "float8", "numeric", "oid"})
# Types that no column has, but that clients look for: OID, name, OID of the array, bytes.
OTHERS = (
    (18, "char", 1002, 1),
    (19, "name", 1003, 64),
    (21, "int2", 1005, 2),
    (22, "int2vector", 1006, -1),
    (26, "oid", 1028, 4),
    (700, "float4", 1021, 4),
    (705, "unknown", 0, -2),
    (1042, "bpchar", 1014, -1),
    (1043, "varchar", 1015, -1),
    (1114, "timestamp", 1115, 8),
    (2205, "regclass", 2210, 4),
    (2206, "regtype", 2211, 4),
    (2249, "record", 2287, -1),
    (2278, "void", 0, 4),
    (2950, "uuid", 2951, 16),
    (3802, "jsonb", 3807, -1),
)


def oid_of(name: str, names_by_oid: Mapping[int, str]) -> int:
    """The OID of a source or an index; if two names have the same one, the later name gets the next free OID."""
    oid = FIRST_OID + zlib.crc32(name.encode()) % OIDS
    while names_by_oid.get(oid, name) != name:
        oid += 1
    return oid


@dataclass(frozen=True, slots=True)
class ViewRelation:
    """A view as clients see it: its columns in the order of SELECT *, and the text of its query."""

    name: str
    columns: tuple[Column, ...]
    query: str


def rows_of(sources: Sequence[Source], views: Sequence[ViewRelation] = ()) -> dict[str, list[TableRow]]:
    """The rows of each table of catalog.sql that has some; a column that a row does not name is NULL, 0 or false."""
    names_by_oid: dict[int, str] = {}
    tables: dict[str, list[TableRow]] = {
        "pg_namespace": [
            {"oid": oid, "nspname": name, "nspowner": OWNER}
            for oid, name in (
                (CATALOG_OID, "pg_catalog"),
                (PUBLIC_OID, SCHEMA),
                (INFORMATION_OID, "information_schema"),
            )
        ],
        "pg_am": [
            {"oid": HEAP, "amname": "heap", "amtype": "t"},
            {"oid": KEY_METHOD, "amname": "btree", "amtype": "i"},
        ],
        "pg_database": [_database()],
        "pg_tablespace": [{"oid": TABLESPACE_OID, "spcname": "pg_default", "spcowner": OWNER}],
        "pg_roles": [{"oid": OWNER, "rolname": DATABASE, "rolcanlogin": True, "rolinherit": True, "rolconnlimit": -1}],
        "pg_settings": [
            {"name": name, "setting": value, "category": "", "source": "default", "vartype": "string"}
            for name, value in DEFAULTS.items()
        ],
        "pg_type": list(_types()),
        **{
            name: [] for name in ("pg_class", "pg_attribute", "pg_index", "pg_constraint", "pg_description", "pg_views")
        },
    }
    for source in sources:
        _add(source, tables, names_by_oid)
    for view in views:
        _add_view(view, tables, names_by_oid)
    return tables


def _database() -> TableRow:
    return {
        "oid": DATABASE_OID,
        "datname": DATABASE,
        "datdba": OWNER,
        "encoding": 6,
        "datlocprovider": "c",
        "datallowconn": True,
        "datconnlimit": -1,
        "dattablespace": TABLESPACE_OID,
        "datcollate": "C",
        "datctype": "C",
    }


def _types() -> Iterable[TableRow]:
    all_types = [*((t.oid, t.name, t.array, t.size) for t in COLUMN_TYPES), *OTHERS]
    for oid, name, array, size in all_types:
        category = "N" if name in NUMBERS else CATEGORIES.get(name, "S" if name != "record" else "P")
        yield _type(oid, name, SQL_NAMES.get(name, name), size, category, array=array)
        if array:
            yield _type(array, f"_{name}", f"{SQL_NAMES.get(name, name)}[]", -1, "A", element=oid)


def _type(oid: int, name: str, sql_name: str, size: int, category: str, array: int = 0, element: int = 0) -> TableRow:
    """A row of pg_type; `typdefault`, which no type here has, keeps its name in SQL for format_type."""
    return {
        "oid": oid,
        "typname": name,
        "typnamespace": CATALOG_OID,
        "typowner": OWNER,
        "typlen": size,
        "typtype": "p" if name in ("void", "unknown", "record") else "b",
        "typcategory": category,
        "typisdefined": True,
        "typdelim": ",",
        "typelem": element,
        "typarray": array,
        "typinput": "array_in" if element else f"{name}in",
        "typoutput": "array_out" if element else f"{name}out",
        "typreceive": "array_recv" if element else f"{name}recv",
        "typsend": "array_send" if element else f"{name}send",
        "typsubscript": "array_subscript_handler" if element else "-",
        "typtypmod": -1,
        "typdefault": sql_name,
    }


def _add(source: Source, tables: dict[str, list[TableRow]], names_by_oid: dict[int, str]) -> None:
    """The rows of a stream or table, of its columns, and of the index over a table's key."""
    name = client_name(source.name)
    oid = oid_of(name, names_by_oid)
    names_by_oid[oid] = name
    columns = _columns(source)
    has_key = source.kind is RelationKind.TABLE and bool(source.schema.key)
    tables["pg_class"].append(_relation(oid, name, len(columns), "r", has_key))
    for number, column in enumerate(columns, 1):
        tables["pg_attribute"].append(_attribute(oid, number, column, has_key))
    about = f"{source.kind.value} over topic {source.topic}"
    tables["pg_description"].append({"objoid": oid, "classoid": 1259, "objsubid": 0, "description": about})
    if has_key:
        _add_key(
            oid, f"{name}_pkey", [n for n, c in enumerate(columns, 1) if c.part is RecordPart.KEY], tables, names_by_oid
        )


def _add_view(view: ViewRelation, tables: dict[str, list[TableRow]], names_by_oid: dict[int, str]) -> None:
    """The rows of a view, and of its columns."""
    name = client_name(view.name)
    oid = oid_of(name, names_by_oid)
    names_by_oid[oid] = name
    tables["pg_class"].append(_relation(oid, name, len(view.columns), "v", False))
    tables["pg_attribute"] += (_attribute(oid, n, column, False) for n, column in enumerate(view.columns, 1))
    tables["pg_views"].append(
        {"schemaname": SCHEMA, "viewname": name, "viewowner": DATABASE, "definition": f" {view.query};"}
    )


def _columns(source: Source) -> list[Column]:
    """A source's columns in the order of SELECT *: the key's first, then the window's bounds."""
    bounds = WINDOW_BOUNDS if source.windowed is not None else ()
    return [*source.schema.key, *bounds, *source.schema.value, *source.schema.headers]


def _add_key(
    relation: int, name: str, numbers: list[int], tables: dict[str, list[TableRow]], names_by_oid: dict[int, str]
) -> None:
    """Add the rows of a table's key, an index called `name` over the columns `numbers`, to the catalog's tables.

    `relation` is the table's OID; the index gets an OID of its own, which is added to `names_by_oid`.
    """
    oid = oid_of(name, names_by_oid)
    names_by_oid[oid] = name
    tables["pg_class"].append(_relation(oid, name, len(numbers), "i", False))
    tables["pg_index"].append(
        {
            "indexrelid": oid,
            "indrelid": relation,
            "indnatts": len(numbers),
            "indnkeyatts": len(numbers),
            **dict.fromkeys(
                ("indisunique", "indisprimary", "indimmediate", "indisvalid", "indisready", "indislive"), True
            ),
            "indkey": numbers,
            "indoption": [0] * len(numbers),
        }
    )
    tables["pg_constraint"].append(
        {
            "oid": oid,
            "conname": name,
            "connamespace": PUBLIC_OID,
            "contype": "p",
            "convalidated": True,
            "conrelid": relation,
            "conindid": oid,
            "conislocal": True,
            "conkey": numbers,
        }
    )


def _relation(oid: int, name: str, columns: int, kind: str, has_index: bool) -> TableRow:
    return {
        "oid": oid,
        "relname": name,
        "relnamespace": PUBLIC_OID,
        "relowner": OWNER,
        "relam": {"r": HEAP, "v": 0}.get(kind, KEY_METHOD),
        "reltuples": -1,
        "relhasindex": has_index,
        "relpersistence": "p",
        "relkind": kind,
        "relnatts": columns,
        "relispopulated": True,
        "relreplident": "d",
    }


def _attribute(relation: int, number: int, column: Column, has_key: bool) -> TableRow:
    """A row of pg_attribute: column `number`, counted from 1, of the table with the OID `relation`."""
    type: PgType = pg_type(column.type)
    return {
        "attrelid": relation,
        "attname": client_name(column.name),
        "atttypid": type.oid,
        "attlen": type.size,
        "attnum": number,
        "atttypmod": modifier(column.type),
        "attndims": 1 if type.element else 0,
        "attnotnull": has_key and column.part is RecordPart.KEY,
        "attidentity": "",
        "attgenerated": "",
        "attislocal": True,
        "attstattarget": -1,
        "attstorage": "p",
        "attcompression": "",
        "attalign": "i",
    }
