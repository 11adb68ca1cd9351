"""INSERT INTO … VALUES: one row of constants, checked against its target (docs/reference/statements.md)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from millstream.analysis import schemas
from millstream.analysis.coercion import castable, coerce, is_assignable
from millstream.analysis.expressions import type_expression
from millstream.analysis.record_views import part_of, physical_schema
from millstream.analysis.scope import NameScope
from millstream.analysis.typed_expressions import Constant, TypedExpression, TypedField
from millstream.catalog.catalog import Catalog, RelationKind, Source
from millstream.functions.python import library
from millstream.model.errors import Span, StatementError
from millstream.model.names import did_you_mean, identifier, quoted
from millstream.model.schema import Column, RecordPart
from millstream.model.settings import is_on
from millstream.model.types import BIGINT, DATE, STRING, TIME, TIMESTAMP
from millstream.plan.nodes import NamedExpression
from millstream.plan.planning import hint_of_unknown
from millstream.plan.steps import InsertRow
from millstream.syntax import tree
from millstream.syntax.printer import to_sql

ENABLED = "ksql.insert.into.values.enabled"
ROWTIME = Column("ROWTIME", BIGINT)
# The bounds of a windowed source's windows, which a statement that compares rows may name.
WINDOW_BOUNDS = (Column("WINDOWSTART", BIGINT), Column("WINDOWEND", BIGINT))
# What is said of a text that is not a time, in the words of ksqlDB's GenericExpressionResolver.
TIME_FORMATS = {
    TIMESTAMP: "Timestamp format must be yyyy-mm-ddThh:mm:ss[.S]",
    TIME: "Time format must be hh:mm:ss[.S]",
    DATE: "Date format must be yyyy-mm-dd",
}
TIMES = frozenset(column.name for column in (ROWTIME, *WINDOW_BOUNDS))


def row(statement: tree.InsertValues, catalog: Catalog, settings: Mapping[str, str]) -> InsertRow:
    """The row of the statement; its expressions do not refer to columns. Raises StatementError."""
    check_enabled(settings, statement.span)
    sink = writable(statement.target, statement.span, catalog, headers=True)
    _check_headers(statement, sink)
    expressions = column_expressions(statement, sink, catalog, settings)
    return InsertRow(
        sink,
        tuple(_named(c, expressions) for c in sink.schema.key),
        tuple(_named(c, expressions) for c in sink.schema.value),
        NamedExpression("ROWTIME", expressions[ROWTIME]) if ROWTIME in expressions else None,
    )


def _check_headers(statement: tree.InsertValues, sink: Source) -> None:
    """Raises StatementError if the statement names header columns, or lists no columns and so takes all of them."""
    headers = [c.name for c in sink.schema.headers if c.name in statement.columns or not statement.columns]
    if headers:
        fact = f"Cannot insert into HEADER columns: {', '.join(headers)}"
        raise StatementError(fact, statement.span, "list the other columns: headers can only be read")


def check_enabled(settings: Mapping[str, str], at: Span) -> None:
    """Raises StatementError if the settings forbid statements that write rows: INSERT VALUES and DELETE FROM."""
    if not is_on(settings, ENABLED):
        raise StatementError(
            "The server has disabled INSERT INTO ... VALUES functionality. "
            f"To enable it, restart your ksqlDB server with '{ENABLED}'=true",
            at,
        )


def column_expressions(
    statement: tree.InsertValues,
    sink: Source,
    catalog: Catalog,
    settings: Mapping[str, str],
    times: Sequence[Column] = (ROWTIME,),
) -> dict[Column, TypedExpression]:
    """The expression for each column that the statement names; they refer to no column. Raises StatementError.

    `times` are the columns that a statement may name besides the source's own: BIGINTs in epoch ms.
    """
    columns = _columns(statement, sink, times)
    if len(columns) != len(statement.values):
        raise _wrong_count(statement, sink, columns)
    for value in statement.values:
        _check_no_columns(value, sink)
    scope = NameScope((), {}, catalog.types, settings, library(catalog.functions))
    expressions = _expressions_by_column(columns, statement.values, sink, scope)
    _check_key(sink, expressions, statement.span)
    return expressions


def _wrong_count(statement: tree.InsertValues, sink: Source, columns: Sequence[Column]) -> StatementError:
    """The error for more or fewer values than columns, in the words of ksqlDB's InsertValues and GenericRecordFactory.

    Without a list of columns those words name none: the hint does.
    """
    if statement.columns:
        fact = f"Expected number columns and values to match: {len(columns)}, {len(statement.values)}"
    else:
        values = ", ".join(map(to_sql, statement.values))
        reason = f"Expected a value for each column. Expected Columns: []. Got [{values}]"
        fact = _failed(sink, reason)
    return StatementError(fact, statement.span, "the columns are " + ", ".join(identifier(c.name) for c in columns))


def _check_no_columns(value: tree.Expression, sink: Source) -> None:
    """Raises StatementError if a value refers to a column; names of lambda parameters do not count as columns."""
    parameters = {name for e in value.walk() if isinstance(e, tree.Lambda) for name in e.parameters}
    for reference in value.walk():
        if isinstance(reference, tree.ColumnRef) and (reference.source or reference.name not in parameters):
            reason = f"Unsupported column reference in insert value: {to_sql(value)}"
            raise StatementError(_failed(sink, reason), reference.span, "text is put in single quotes")


def _columns(statement: tree.InsertValues, sink: Source, times: Sequence[Column]) -> list[Column]:
    """The target columns of the values, in their order; `times`, ROWKEY and ROWVALUE count as columns.

    Without a list of columns they are those of the key, then those of the value, wherever they are declared.
    """
    if not statement.columns:
        return [*sink.schema.key, *sink.schema.value]
    parts = statement.parts or (None,) * len(statement.columns)
    places = statement.places or (statement.span,) * len(parts)
    return [
        _column(name, part, sink, times, at) for name, part, at in zip(statement.columns, parts, places, strict=True)
    ]


def _column(name: str, part: str | None, sink: Source, times: Sequence[Column], at: Span) -> Column:
    matches = [c for c in sink.schema if c.name == name and part in (None, part_of(c))]
    if len(matches) > 1:
        names = " or ".join(f"{part_of(c)}.{identifier(name)}" for c in matches)
        raise StatementError(f"Column '{name}' is ambiguous. Could be {names}.", at, f"write {names}")
    writable = (*times, *physical_schema(sink).columns) if part is None else ()
    column = next((c for c in (*matches, *writable) if c.name == name), None)
    if column is None:
        raise _unknown(name, part, at, sink)
    return column


def writable(
    name: str, at: Span, catalog: Catalog, action: str = "insert values into", headers: bool = False
) -> Source:
    """The source of that name, if clients may write rows of it; otherwise raises StatementError with the reason.

    `action` is what the statement does, for the message. `headers`: it may have header columns.
    """
    if name not in catalog.sources:
        fact = f"Cannot {action} an unknown stream/table: {quoted(name)}"
        raise StatementError(fact, at, hint_of_unknown(name, catalog))
    source = catalog.sources[name]
    kind = source.kind.value.lower()
    if source.read_only:
        raise StatementError(f"Cannot {action} read-only {kind}: {identifier(name)}", at)
    if source.windowed is not None:
        raise StatementError(f"Cannot {action} windowed stream/table!", at)
    if source.schema.headers and not headers:
        raise StatementError(f"Cannot {action} {identifier(name)}: it has header columns", at)
    return replace(source, key=schemas.inserted(source.key), value=schemas.inserted(source.value))


def _expressions_by_column(
    columns: Sequence[Column], values: Sequence[tree.Expression], sink: Source, scope: NameScope
) -> dict[Column, TypedExpression]:
    """The expression for each column; as in ksqlDB's GenericRecordFactory, the last one if a column is named twice."""
    return {
        target: expression
        for column, value in zip(columns, values, strict=True)
        for target, expression in _column_expressions(column, value, sink, scope)
    }


def _column_expressions(
    column: Column, value: tree.Expression, sink: Source, scope: NameScope
) -> Iterator[tuple[Column, TypedExpression]]:
    """The target columns of a value with an expression for each: ROWKEY and ROWVALUE cover all columns of a side."""
    if column.name in TIMES:
        yield column, _time(column.name, value, scope)
        return
    expression = _coerced_to(column, value, sink, scope)
    if column in sink.schema.columns:
        yield column, expression
        return
    side = sink.schema.key if column.part is RecordPart.KEY else sink.schema.value
    if column.type == side[0].type and len(side) == 1:
        yield side[0], expression
    else:
        yield from ((c, TypedField(c.type, expression, i, c.name)) for i, c in enumerate(side))


def _coerced_to(column: Column, value: tree.Expression, sink: Source, scope: NameScope) -> TypedExpression:
    """The value in the column's type. Raises StatementError, in the words of ksqlDB's GenericExpressionResolver."""
    expression = type_expression(value, scope)
    if not is_assignable(expression, column.type):
        reason = f"Expected type {column.type} for field {quoted(column.name)} but got {_shown(expression)}"
        hint = "CAST it" if expression.type and castable(expression.type, column.type) else ""
        raise StatementError(_failed(sink, reason), value.span, hint)
    try:
        return coerce(expression, column.type, value.span)
    except StatementError as error:
        if column.type in TIME_FORMATS and expression.type == STRING:
            reason = f"Expected type {column.type} for field {quoted(column.name)} but got {_shown(expression)}"
            fact = _failed(sink, f"{reason}. {TIME_FORMATS[column.type]}")
            raise StatementError(fact, error.at, error.hint) from error
        raise error.prefixed(f"column {identifier(column.name)}") from error


def _shown(expression: TypedExpression) -> str:
    """The type of an expression; of a constant with its value: STRING(two)."""
    if not isinstance(expression, Constant):
        return str(expression.type)
    value = str(expression.value)
    return f"{str(expression.type).split('(')[0]}({value.lower() if isinstance(expression.value, bool) else value})"


def _time(name: str, value: tree.Expression, scope: NameScope) -> TypedExpression:
    expression = type_expression(value, scope)
    if expression.type == STRING:
        raise StatementError(f"{name} is a BIGINT: milliseconds since 1970-01-01 UTC", value.span)
    return coerce(expression, BIGINT, value.span)


def _unknown(name: str, part: str | None, at: Span, sink: Source) -> StatementError:
    if name in ("ROWPARTITION", "ROWOFFSET"):
        return StatementError(_failed(sink, f"Inserting into column `{name}` is not allowed."), at)
    names = [c.name for c in sink.schema]
    shown = f"{part}.{quoted(name)}" if part else quoted(name)
    return StatementError(_failed(sink, f"Column name {shown} does not exist."), at, did_you_mean(name, names))


def _failed(sink: Source, reason: str) -> str:
    """The fact of an error in a row, as ksqlDB's InsertValuesExecutor begins it."""
    return f"Failed to insert values into '{sink.name}'. {reason}"


def _check_key(sink: Source, expressions: Mapping[Column, TypedExpression], at: Span) -> None:
    missing = [c for c in sink.schema.key if c not in expressions]
    if sink.kind is RelationKind.TABLE and missing:
        raise without_key(sink, missing, at)


def check_time(rowtime: int | None, at: Span) -> None:
    """Raises StatementError for a row's time that Kafka does not take."""
    if rowtime is not None and rowtime < 0:
        raise StatementError(f"ROWTIME is negative: {rowtime}", at)


def check_record_key(sink: Source, key: bytes | None, at: Span) -> None:
    """Raises StatementError for a record of a table without a key."""
    if key is None and sink.kind is RelationKind.TABLE:
        raise without_key(sink, sink.schema.key, at)


def without_key(sink: Source, missing: Sequence[Column], at: Span) -> StatementError:
    """The error for a row of a table without these key columns."""
    names = ", ".join(identifier(c.name) for c in missing)
    reason = f"Value for primary key column(s) {names} is required for tables"
    return StatementError(_failed(sink, reason), at)


def _named(column: Column, expressions: Mapping[Column, TypedExpression]) -> NamedExpression:
    return NamedExpression(column.name, expressions.get(column, Constant(column.type, None)))
