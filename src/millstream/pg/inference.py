"""Infers, before a prepared statement has values, the types of its parameters and the columns of its result.

SELECT * FROM orders WHERE id = $1 LIMIT $2    $1 is compared with ID, an INTEGER: int4; $2 counts rows: int8

The statement is parsed with a marker constant for each parameter; the marker's context in the tree determines the type.
A parameter without such a context is a text.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from millstream.catalog.catalog import Catalog
from millstream.client.types import type_of_schema
from millstream.engine.api import Entity
from millstream.model.schema import RecordPart
from millstream.model.types import BIGINT, SqlType
from millstream.pg.results import ResultColumn, result_columns
from millstream.pg.script import ClientStatement, any_parameters, for_engine
from millstream.pg.types import BOOL, BYTEA, CLOCK, DAY, FLOAT8, INT4, INT8, MOMENT, NUMERIC, OBJECT_ID, TEXT, pg_type
from millstream.syntax import tree
from millstream.syntax.parser import parse_one, parse_type

# The marker of a parameter: a private-use character begins it, so that no statement has such a text by chance.
MARKER = "\ue000parameter %d"
# A literal of each type, with which a statement is planned to determine its result's columns.
SAMPLES: Mapping[int, str] = {
    BOOL.oid: "TRUE",
    **dict.fromkeys((21, INT4.oid), "1"),
    INT8.oid: "1",
    **dict.fromkeys((700, FLOAT8.oid), "1E0"),
    NUMERIC.oid: "1.0",
    BYTEA.oid: "TO_BYTES('00', 'hex')",
    DAY.oid: "'2000-01-01'",
    CLOCK.oid: "'00:00:00'",
    **dict.fromkeys((1114, MOMENT.oid), "'2000-01-01T00:00:00.000'"),
    **{
        t.array: f"ARRAY[{sample}]"
        for t, sample in (
            *((INT4, "1"), (INT8, "1"), (FLOAT8, "1E0"), (TEXT, "'a'"), (NUMERIC, "1.0"), (BOOL, "TRUE")),
            *((DAY, "'2000-01-01'"), (MOMENT, "'2000-01-01T00:00:00.000'")),
        )
    },
    1005: "ARRAY[1]",
}


def sample(types: Sequence[int], number: int) -> str:
    """A literal of a parameter's type."""
    return SAMPLES.get(types[number - 1] if number <= len(types) else 0, "'a'")


# The types in casts of a catalog query's parameters, and of the array in `= ANY($1::int[])`: name, OID, OID of the
# array.
_CASTS = {
    "bool": (BOOL.oid, BOOL.array),
    **dict.fromkeys(("int2", "smallint"), (21, 1005)),
    **dict.fromkeys(("int4", "int", "integer"), (INT4.oid, INT4.array)),
    **dict.fromkeys(("int8", "bigint"), (INT8.oid, INT8.array)),
    "oid": (OBJECT_ID.oid, OBJECT_ID.array),
    **dict.fromkeys(("numeric", "decimal"), (NUMERIC.oid, NUMERIC.array)),
    "date": (DAY.oid, DAY.array),
    "timestamptz": (MOMENT.oid, MOMENT.array),
    **dict.fromkeys(("float8", "double"), (FLOAT8.oid, FLOAT8.array)),
}


def catalog_types(statement: ClientStatement, oids: Sequence[int]) -> tuple[int, ...]:
    """The same for a query of the catalog: the type that a parameter is cast to (`$1::oid[]`), else text."""
    words, types = statement.words, {}
    for index, lexeme in enumerate(words):
        after = [following.text.lower() for following in words[index + 1 : index + 7]]
        if lexeme.kind == "parameter" and after[:1] == ["::"]:
            name = after[3:] if after[1:3] == ["pg_catalog", "."] else after[1:]
            types[lexeme.number] = _CASTS.get(name[0], (TEXT.oid, TEXT.array))[name[1:3] == ["[", "]"]]
    counted = dict.fromkeys(_counts(statement), INT8.oid)
    return tuple(oid or types.get(n, counted.get(n, TEXT.oid)) for n, oid in enumerate(oids, 1))


def inferred_types(statement: ClientStatement, oids: Sequence[int], catalog: Catalog) -> tuple[int, ...]:
    """The OIDs of a statement's parameters; `oids` has those that the client gave, else 0. Raises StatementError."""
    counted, arrays = set(_counts(statement)), any_parameters(statement)
    text = for_engine(statement, lambda number: "1" if number in counted else _marker(number)).text
    types = dict.fromkeys(counted, INT8.oid)
    types.update((number, _array_type(name)) for number, name in arrays.items() if name)
    for number, type in _places(parse_one(text), catalog):
        types.setdefault(number, pg_type(type).array if number in arrays else pg_type(type).oid)
    types.update((number, TEXT.array) for number in arrays if number not in types)
    return tuple(oid or types.get(number, TEXT.oid) for number, oid in enumerate(oids, 1))


def _array_type(name: str) -> int:
    """The OID of an array of a type in a cast; of an array of texts for a type that is not known here."""
    return _CASTS.get(name.lower(), (TEXT.oid, TEXT.array))[1]


def _marker(number: int) -> str:
    return f"'{MARKER % number}'"


def _counts(statement: ClientStatement) -> Iterator[int]:
    """The parameters after LIMIT and OFFSET."""
    words = statement.words
    for before, lexeme in pairwise(words):
        if lexeme.kind == "parameter" and before.word in ("LIMIT", "OFFSET"):
            yield lexeme.number


def _places(root: tree.Statement, catalog: Catalog) -> Iterator[tuple[int, SqlType]]:
    """Yields the parameters whose context determines a type."""
    columns = dict(_columns(root, catalog))
    if isinstance(root, tree.InsertValues):
        yield from _inserted(root, catalog)
    for node in root.walk():
        match node:
            case tree.Comparison(left=left, right=right):
                yield from _pair(left, right, columns)
                yield from _pair(right, left, columns)
            case tree.Between(operand=operand, low=low, high=high):
                yield from _pair(operand, low, columns)
                yield from _pair(operand, high, columns)
            case tree.InList(operand=operand, items=items):
                for item in items:
                    yield from _pair(operand, item, columns)
            case tree.Cast(operand=operand, type=type) if (number := _number(operand)) is not None:
                yield number, type


def _inserted(statement: tree.InsertValues, catalog: Catalog) -> Iterator[tuple[int, SqlType]]:
    source = catalog.sources.get(statement.target)
    if source is None:
        return
    types = {column.name: column.type for column in source.schema if column.part is not RecordPart.HEADER}
    for name, value in zip(statement.columns or types, statement.values, strict=False):
        if (number := _number(value)) is not None and name in types:
            yield number, types[name]


def _columns(root: tree.Statement, catalog: Catalog) -> Iterator[tuple[str, SqlType]]:
    """The columns of all sources that a statement names, by name: enough to guess a type from."""
    for node in root.walk():
        match node:
            case tree.FromSource(name=name) | tree.DeleteFrom(target=name):
                source = catalog.sources.get(name)
            case _:
                source = None
        if source is not None:
            yield from ((column.name, column.type) for column in source.schema)
            yield from (("WINDOWSTART", BIGINT), ("WINDOWEND", BIGINT), ("ROWTIME", BIGINT))


def _pair(
    column: tree.Expression, marker: tree.Expression, columns: Mapping[str, SqlType]
) -> Iterator[tuple[int, SqlType]]:
    number = _number(marker)
    if number is not None and isinstance(column, tree.ColumnRef) and column.name in columns:
        yield number, columns[column.name]


def _number(expression: Any) -> int | None:
    """The number of the parameter whose marker an expression is; None for any other expression."""
    value = expression.value if isinstance(expression, tree.Literal) else None
    head = MARKER.removesuffix("%d")
    return int(value.removeprefix(head)) if isinstance(value, str) and value.startswith(head) else None


def described_columns(entities: Sequence[Entity]) -> tuple[ResultColumn, ...]:
    """The columns in the answer to EXPLAIN SELECT …"""
    fields = entities[-1]["queryDescription"]["fields"]
    types = [parse_type(str(type_of_schema(field["schema"]))) for field in fields]
    return result_columns([field["name"] for field in fields], types)
