"""INSERT INTO … VALUES: one row of constants, checked against the source it goes to (features.md §2.1, §4.5)."""

from collections.abc import Mapping, Sequence

from millstream.analysis.coercion import coerced
from millstream.analysis.expressions import typed
from millstream.analysis.meaning import Const, Meaning
from millstream.analysis.scope import Scope
from millstream.catalog.catalog import Catalog, Kind, Source
from millstream.model.errors import Span, StatementError
from millstream.model.names import did_you_mean, identifier
from millstream.model.schema import Column
from millstream.model.settings import switched
from millstream.model.types import BIGINT, STRING, SqlType
from millstream.plan.nodes import Named
from millstream.plan.steps import Row
from millstream.syntax import tree

ENABLED = "ksql.insert.into.values.enabled"


def row(statement: tree.InsertValues, catalog: Catalog, settings: Mapping[str, str]) -> Row:
    """The row of the statement: its expressions refer to no column. Raises StatementError."""
    if not switched(settings, ENABLED):
        raise StatementError(f"INSERT INTO … VALUES is switched off by {ENABLED}", statement.span)
    sink = writable(statement.target, statement.span, catalog)
    columns = statement.columns or tuple(c.name for c in sink.schema)
    if len(columns) != len(statement.values):
        raise StatementError(
            f"Expected a value for each column. Columns: {len(columns)}, values: {len(statement.values)}.",
            statement.span,
            "the columns are " + ", ".join(map(identifier, columns)),
        )
    scope = Scope((), {}, catalog.types, settings)
    given = _given(columns, statement.values, sink, scope)
    _check_key(sink, given, statement.span)
    return Row(
        sink,
        tuple(_named(c, given) for c in sink.schema.key),
        tuple(_named(c, given) for c in sink.schema.value),
        Named("ROWTIME", given["ROWTIME"]) if "ROWTIME" in given else None,
    )


def writable(name: str, at: Span, catalog: Catalog) -> Source:
    """The source of that name, if rows may be inserted into it. Raises StatementError that says why not."""
    if name not in catalog.sources:
        raise StatementError(
            f"Cannot insert values into an unknown stream/table: {identifier(name)}",
            at,
            did_you_mean(name, catalog.sources),
        )
    source = catalog.sources[name]
    what = source.kind.value.lower()
    if source.read_only:
        raise StatementError(f"Cannot insert values into read-only {what}: {identifier(name)}", at)
    if source.windowed is not None:
        raise StatementError("Cannot insert values into windowed stream/table", at)
    if source.schema.headers:
        raise StatementError(f"Cannot insert values into {identifier(name)}: it has header columns", at)
    return source


def _given(columns: Sequence[str], values: Sequence[tree.Expression], sink: Source, scope: Scope) -> dict[str, Meaning]:
    types = {c.name: c.type for c in sink.schema}
    given: dict[str, Meaning] = {}
    for name, value in zip(columns, values, strict=True):
        if name in given:
            raise StatementError(f"column {identifier(name)} is given twice", value.span)
        if name == "ROWTIME":
            given[name] = _rowtime(value, scope)
        elif name in types:
            given[name] = _as(types[name], value, name, scope)
        else:
            raise _unknown(name, value.span, sink)
    return given


def _as(wanted: SqlType, value: tree.Expression, name: str, scope: Scope) -> Meaning:
    meaning = typed(value, scope)
    try:
        return coerced(meaning, wanted, value.span)
    except StatementError as error:
        raise StatementError(f"column {identifier(name)}: {error.fact}", error.at, error.hint) from error


def _rowtime(value: tree.Expression, scope: Scope) -> Meaning:
    meaning = typed(value, scope)
    if meaning.type == STRING:
        raise StatementError("ROWTIME is a BIGINT: milliseconds since 1970-01-01 UTC", value.span)
    return coerced(meaning, BIGINT, value.span)


def _unknown(name: str, at: Span, sink: Source) -> StatementError:
    if name in ("ROWPARTITION", "ROWOFFSET"):
        return StatementError(f"Inserting into column `{name}` is not allowed.", at)
    names = [c.name for c in sink.schema]
    return StatementError(f"{identifier(sink.name)} has no column {identifier(name)}", at, did_you_mean(name, names))


def _check_key(sink: Source, given: Mapping[str, Meaning], at: Span) -> None:
    missing = [c.name for c in sink.schema.key if c.name not in given]
    if sink.kind is Kind.TABLE and missing:
        raise StatementError(
            f"Failed to insert values into {identifier(sink.name)}: a value for the primary key "
            f"{', '.join(map(identifier, missing))} is required",
            at,
        )


def _named(column: Column, given: Mapping[str, Meaning]) -> Named:
    return Named(column.name, given.get(column.name, Const(column.type, None)))
