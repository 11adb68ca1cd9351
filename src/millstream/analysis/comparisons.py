"""Comparisons: which values can be compared, and the types in which they are.

A DECIMAL is compared with a DOUBLE by the number that the DOUBLE is written as, which ms_double_order does at run time;
most DECIMAL constants are made DOUBLEs beforehand:

    m > d        TypedComparison of a DECIMAL and a DOUBLE
    d > 1.5      of two DOUBLEs: 1.5 is written alike as DOUBLE
"""

from decimal import Decimal as Number

from millstream.analysis import typed_expressions as typed
from millstream.analysis.coercion import (
    Operand,
    base_type,
    cast_hint,
    common_type,
    convert,
    operand_text,
    read_constant,
    to_decimal,
)
from millstream.functions.widening import TIMES, widened
from millstream.model.errors import Span, StatementError
from millstream.model.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    STRING,
    TIMESTAMP,
    Array,
    Decimal,
    Map,
    SqlType,
    Struct,
    is_numeric,
)

_EQUALITY = ("=", "<>", "IS DISTINCT FROM", "IS NOT DISTINCT FROM")
# The names of operators in messages.
_COMPARISONS = {
    "=": "EQUAL",
    "<>": "NOT_EQUAL",
    "!=": "NOT_EQUAL",
    "<": "LESS_THAN",
    "<=": "LESS_THAN_OR_EQUAL",
    ">": "GREATER_THAN",
    ">=": "GREATER_THAN_OR_EQUAL",
    "IS DISTINCT FROM": "IS_DISTINCT_FROM",
    "IS NOT DISTINCT FROM": "IS_NOT_DISTINCT_FROM",
}
_TIMES = ("ROWTIME", "WINDOWSTART", "WINDOWEND")


def comparison(operator: str, left: Operand, right: Operand, at: Span) -> typed.TypedExpression:
    """`left operator right`, both converted to the type in which they are compared. Raises StatementError."""
    if left.value.type is None or right.value.type is None:
        types = (base_type(side.value.type) if side.value.type else "NULL" for side in (left, right))
        fact = f"Comparison with NULL not supported: {f' {operator} '.join(types)}"
        raise StatementError(fact, at, "Use 'IS NULL' or 'IS NOT NULL' instead.")
    left_value, right_value = _comparable(operator, left, right, at)
    return typed.TypedComparison(BOOLEAN, operator, left_value, right_value)


def _comparable(
    operator: str, left: Operand, right: Operand, at: Span
) -> tuple[typed.TypedExpression, typed.TypedExpression]:
    """Both sides, converted to the type in which they are compared."""
    left_value, right_value = left.value, right.value
    if is_bound(left_value) and is_text(right_value):
        return left_value, instant(right)
    if is_bound(right_value) and is_text(left_value):
        return instant(left), right_value
    target = _compared_as(operator, left, right)
    if target is None:
        fact = f"Cannot compare {operand_text(left)} to {operand_text(right)} with {_COMPARISONS[operator]}."
        raise StatementError(fact, at, _hint(left_value.type, right_value.type))
    if isinstance(target, Decimal):
        return to_decimal(left_value, at), to_decimal(right_value, at)
    if isinstance(left_value.type, Decimal) or isinstance(right_value.type, Decimal):
        return _without_rounding(left_value), _without_rounding(right_value)
    return convert(left_value, target, left.span), convert(right_value, target, right.span)


def _without_rounding(value: typed.TypedExpression) -> typed.TypedExpression:
    """The DOUBLE for a DECIMAL constant that is written alike as DOUBLE (1.5); any other value unchanged.

    At run time a DOUBLE is compared with a DECIMAL by the number that it is written as. If both are written alike, a
    comparison of two DOUBLEs has the same result, and is faster.
    """
    if not isinstance(value, typed.Constant) or not isinstance(value.value, Number):
        return value
    double = float(value.value)
    return typed.Constant(DOUBLE, double) if Number(repr(double)) == value.value else value


def _hint(left: SqlType | None, right: SqlType | None) -> str:
    unordered = isinstance(left, Array | Map | Struct) or left == BOOLEAN
    return "such values can only be compared by = and <>" if unordered and left == right else cast_hint(left, right)


def is_bound(value: typed.TypedExpression) -> bool:
    """True for a reference to ROWTIME, WINDOWSTART or WINDOWEND, which are recognised by their names.

    In a join they are ordinary columns of the rows; no other column may have one of these names.
    """
    return isinstance(value, typed.ColumnReference) and value.name in _TIMES and value.type == BIGINT


def is_text(value: typed.TypedExpression) -> bool:
    """True for a STRING constant."""
    return isinstance(value, typed.Constant) and isinstance(value.value, str)


def instant(text: Operand) -> typed.TypedExpression:
    """ISO-8601 text that is compared with ROWTIME or a window's bounds, as epoch milliseconds.

    Raises StatementError.
    """
    assert isinstance(text.value, typed.Constant)
    return typed.Constant(BIGINT, read_constant(str(text.value.value), TIMESTAMP, text.span).value)


def _compared_as(operator: str, left: Operand, right: Operand) -> SqlType | None:
    left_type, right_type = left.value.type, right.value.type
    assert left_type is not None
    assert right_type is not None
    if is_numeric(left_type) and is_numeric(right_type):
        return widened(left_type, right_type)
    if isinstance(left_type, Array | Map | Struct):
        same = type(left_type) is type(right_type) and operator in _EQUALITY
        return common_type((left, right)) if same else None
    if {left_type, right_type} == {DATE, TIMESTAMP}:
        return TIMESTAMP
    if STRING in (left_type, right_type) and (left_type in TIMES or right_type in TIMES):
        return right_type if left_type == STRING else left_type
    simple = left_type == right_type and (left_type != BOOLEAN or operator in _EQUALITY)
    return left_type if simple else None
