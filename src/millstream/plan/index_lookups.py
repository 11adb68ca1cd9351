"""How a pull query finds rows through an index: which conditions of a WHERE an index of the table can serve.

    CREATE INDEX by_city ON people (city);

    city = 'Oslo' AND age > 40         the rows whose CITY is 'Oslo'; the plan checks AGE on each
    city IN ('Oslo', 'Rome')           the rows with one of these
    city = 'Oslo' OR city = 'Rome'     the same
    city >= 'O' AND city < 'P'         a range: only through an index of one column
    city = 'Oslo' OR age > 40          no index has all of these rows

The index only finds candidates: the plan checks the whole condition on each row. So a condition may be left out
here, and one whose comparison is not exact (a BIGINT compared as DOUBLE) must be.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

from millstream.analysis.typed_expressions import (
    ColumnPlace,
    ColumnReference,
    TypedCast,
    TypedComparison,
    TypedExpression,
    TypedInList,
)
from millstream.catalog.catalog import Source, TableIndex
from millstream.functions.widening import as_decimal
from millstream.model.schema import Column, RecordPart
from millstream.model.types import (
    BIGINT,
    DOUBLE,
    INTEGER,
    MOST_DIGITS,
    Array,
    Decimal,
    Map,
    SqlType,
    Struct,
    is_numeric,
)

# An index is not used for more combinations of values than this: SQLite limits the parameters of a statement.
MOST_VALUES = 10_000
RANGES = ("<", "<=", ">", ">=")
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "!=": "!=", "<>": "<>"}
Conditions = Sequence[TypedExpression]


@dataclass(frozen=True, slots=True)
class IndexBound:
    """A bound of an indexed column: `operator` (< <= > >=) and a constant."""

    operator: str
    constant: TypedExpression


# For each column of an index, the constants that it may equal.
IndexValues = tuple[tuple[TypedExpression, ...], ...]


@dataclass(frozen=True, slots=True)
class IndexAccess:
    """The rows whose columns equal one of `values`, or, if there are none, whose only column is within `limits`."""

    index: TableIndex
    values: tuple[IndexValues, ...] = ()
    limits: tuple[IndexBound, ...] = ()


def index_access(
    source: Source, alternatives: Sequence[Conditions], indexes: Sequence[TableIndex]
) -> IndexAccess | None:
    """How an index finds all rows for which one of the alternatives may hold; None if no index does.

    Of several, the one with the most columns is used, and equality rather than a range.
    """
    if not alternatives:
        return None
    by_width = sorted(indexes, key=lambda index: -len(index.columns))
    equal = (_by_values(source, alternatives, index) for index in by_width)
    return next(filter(None, equal), None) or next(filter(None, _by_ranges(source, alternatives, by_width)), None)


def _by_values(source: Source, alternatives: Sequence[Conditions], index: TableIndex) -> IndexAccess | None:
    columns = indexed_columns(source, index)
    values = [_values(conditions, columns) for conditions in alternatives]
    known_values = [row_values for row_values in values if row_values is not None]
    if len(known_values) < len(values) or sum(prod(map(len, row_values)) for row_values in known_values) > MOST_VALUES:
        return None
    return IndexAccess(index, tuple(known_values))


def _values(conditions: Conditions, columns: Sequence[ColumnReference]) -> IndexValues | None:
    """The constants for each column; None if a column has none."""
    equal: dict[tuple[ColumnPlace, int], tuple[TypedExpression, ...]] = {}
    for condition in conditions:
        for column, constants in _equalities(condition):
            previous = equal.get((column.where, column.index))
            if previous is None or len(constants) < len(previous):
                equal[column.where, column.index] = constants
    values = [equal.get((c.where, c.index)) for c in columns]
    return None if None in values else tuple(v for v in values if v is not None)


def _equalities(condition: TypedExpression) -> Iterator[tuple[ColumnReference, tuple[TypedExpression, ...]]]:
    """The column that a condition equates with constants, if it does."""
    if isinstance(condition, TypedInList):
        column = _exact_column(condition.operand)
        if column is not None and all(_is_comparable(column, item) for item in condition.items):
            yield column, condition.items
        return
    for column, operator, constant in _comparisons(condition):
        if operator == "=":
            yield column, (constant,)


def _by_ranges(
    source: Source, alternatives: Sequence[Conditions], indexes: Sequence[TableIndex]
) -> Iterator[IndexAccess]:
    for index in indexes:
        columns = indexed_columns(source, index)
        if len(alternatives) > 1 or len(columns) > 1 or isinstance(columns[0].type, Array | Map | Struct):
            continue
        limits = tuple(
            IndexBound(operator, constant)
            for condition in alternatives[0]
            for column, operator, constant in _comparisons(condition)
            if operator in RANGES and (column.where, column.index) == (columns[0].where, columns[0].index)
        )
        if limits:
            yield IndexAccess(index, limits=limits)


def _comparisons(condition: TypedExpression) -> Iterator[tuple[ColumnReference, str, TypedExpression]]:
    """The column that a condition compares with a constant, the operator with the column on its left, the constant.

    Nothing for a comparison of a DECIMAL with a DOUBLE, which is in the order of neither type's index.
    """
    if isinstance(condition, TypedComparison) and condition.mixed:
        return
    for left, operator, right in orientations(condition):
        column = _exact_column(left)
        if column is not None and _is_comparable(column, right):
            yield column, operator, right


def orientations(condition: TypedExpression) -> Iterator[tuple[TypedExpression, str, TypedExpression]]:
    """A comparison in both directions, `a < b` and `b > a`: left side, operator, right side. Nothing for others."""
    if isinstance(condition, TypedComparison) and condition.operator in _TURNED:
        yield condition.left, condition.operator, condition.right
        yield condition.right, _TURNED[condition.operator], condition.left


def _is_comparable(column: ColumnReference, constant: TypedExpression) -> bool:
    """True for a constant of the column's type, or for a number if the column is one."""
    if any(isinstance(part, ColumnReference) for part in constant.walk()) or constant.type is None:
        return False
    assert column.type is not None
    return constant.type == column.type or (is_numeric(constant.type) and is_numeric(column.type))


def _exact_column(expression: TypedExpression) -> ColumnReference | None:
    """The key or value column that an expression is, ignoring conversions that lose nothing; None if it is none."""
    while isinstance(expression, TypedCast) and _is_exact(expression.operand.type, expression.type):
        expression = expression.operand
    inside = isinstance(expression, ColumnReference) and expression.where in (ColumnPlace.KEY, ColumnPlace.VALUE)
    return expression if inside and isinstance(expression, ColumnReference) else None


def _is_exact(source: SqlType | None, target: SqlType | None) -> bool:
    """True if different numbers stay different when they are converted."""
    if source is None or target is None:
        return False
    if target == DOUBLE:
        return source in (INTEGER, DOUBLE)
    if target == BIGINT:
        return source in (INTEGER, BIGINT)
    digits = as_decimal(source)
    if digits is None or not isinstance(target, Decimal):
        return False
    fits = target.precision - target.scale >= digits.precision - digits.scale
    return fits and target.scale >= digits.scale and target.precision <= MOST_DIGITS


# ---------------------------------------------------------------- the columns of an index


def indexed_columns(source: Source, index: TableIndex) -> tuple[ColumnReference, ...]:
    """References to an index's columns in the table's records. Raises KeyError for a column that is not there."""
    keys = source.schema.key
    values = [c for c in source.schema if c.part is not RecordPart.KEY]
    return tuple(_place(name, keys, values) for name in index.columns)


def _place(name: str, keys: Sequence[Column], values: Sequence[Column]) -> ColumnReference:
    for where, columns in ((ColumnPlace.KEY, keys), (ColumnPlace.VALUE, values)):
        for i, column in enumerate(columns):
            if column.name == name:
                return ColumnReference(column.type, where, i, name)
    raise KeyError(name)
