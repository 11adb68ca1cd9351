"""CREATE INDEX and DROP INDEX (docs/design/020-indexes.md)."""

from collections import Counter
from dataclasses import replace

from millstream.catalog.catalog import Catalog, RelationKind, Source, TableIndex
from millstream.model.errors import Span, StatementError
from millstream.model.names import did_you_mean, identifier
from millstream.model.schema import Column, RecordPart
from millstream.plan.planning import existing
from millstream.plan.pull_queries import check_queryable
from millstream.plan.steps import Outcome
from millstream.syntax import tree


def create_index(statement: tree.CreateIndex, text: str, catalog: Catalog) -> Outcome:
    """The outcome of CREATE INDEX. Raises StatementError."""
    name, path = statement.name, f"index/`{statement.name}`/create"
    old = catalog.indexes.get(name)
    if old is not None:
        fact = f"Index {identifier(name)} already exists: it is on {index_text(old)}"
        if not statement.if_not_exists:
            raise StatementError(fact, statement.span, "DROP INDEX it first, or choose another name")
        return Outcome(catalog, (), fact, path, warning=True)
    table = _table(statement, catalog)
    _check_columns(statement, table)
    index = TableIndex(name, table.name, statement.columns, text)
    message = f"Index {identifier(name)} created on {index_text(index)}"
    return Outcome(catalog.with_index(index), (), message, path)


def drop_index(statement: tree.DropIndex, catalog: Catalog) -> Outcome:
    """The outcome of DROP INDEX. Raises StatementError."""
    name, path = statement.name, f"index/`{statement.name}`/drop"
    if name not in catalog.indexes:
        fact = f"Index {identifier(name)} does not exist"
        if not statement.if_exists:
            raise StatementError(fact, statement.span, did_you_mean(name, catalog.indexes))
        return Outcome(catalog, (), fact, path, warning=True)
    return Outcome(catalog.without_index(name), (), f"Index {identifier(name)} dropped", path)


def with_valid_indexes(catalog: Catalog) -> Catalog:
    """The catalog without the indexes whose table, or one of whose columns, a statement has removed."""
    valid = {n: index for n, index in catalog.indexes.items() if has_columns(catalog.sources.get(index.table), index)}
    return catalog if len(valid) == len(catalog.indexes) else replace(catalog, indexes=valid)


def has_columns(source: Source | None, index: TableIndex) -> bool:
    """True if a source is a table with all columns of the index."""
    if source is None or source.kind is not RelationKind.TABLE:
        return False
    return set(index.columns) <= {column.name for column in source.schema}


def index_text(index: TableIndex) -> str:
    """The table and the columns of an index: `T (A, B)`."""
    return f"{identifier(index.table)} ({', '.join(map(identifier, index.columns))})"


def _table(statement: tree.CreateIndex, catalog: Catalog) -> Source:
    """The table of a new index. Raises StatementError if it cannot have one."""
    source = existing(statement.table, statement.span, catalog)
    name = identifier(source.name)
    if source.kind is RelationKind.STREAM:
        hint = "an index finds the current rows of a table"
        raise StatementError(f"{name} is a stream: only a table can have an index", statement.span, hint)
    check_queryable(source, statement.span)
    if source.rebuilds is not None:
        hint = "create it on that table: the rebuild has the same indexes"
        fact = f"{name} is the rebuild of {identifier(source.rebuilds)}, and takes its name when it has caught up"
        raise StatementError(fact, statement.span, hint)
    return source


def _check_columns(statement: tree.CreateIndex, table: Source) -> None:
    columns = {column.name: column for column in table.schema}
    for name in statement.columns:
        _check_column(name, columns.get(name), table, statement.span)
    repeated = next((name for name, times in Counter(statement.columns).items() if times > 1), None)
    if repeated is not None:
        raise StatementError(f"the index names column {identifier(repeated)} twice", statement.span)


def _check_column(name: str, column: Column | None, table: Source, at: Span) -> None:
    if column is None:
        hint = did_you_mean(name, [c.name for c in table.schema]) or "an index has columns of the table itself"
        raise StatementError(f"table {identifier(table.name)} has no column {identifier(name)}", at, hint)
    if column.part is RecordPart.HEADER:
        fact = f"column {identifier(name)} is of the record's headers"
        raise StatementError(fact, at, "an index is on columns of the key or the value")
