"""Which values a key column can be looked up by: those of its own type (docs/reference/queries.md#pull-queries)."""

from collections.abc import Sequence
from decimal import Decimal as Number

from millstream.analysis.typed_expressions import Constant, TypedCast, TypedExpression
from millstream.functions.widening import number_widens
from millstream.model.decimals import exact
from millstream.model.errors import Span, StatementError
from millstream.model.names import identifier
from millstream.model.schema import Column
from millstream.model.types import INTEGER, Decimal, SqlType


def check_key(column: Column, constants: Sequence[TypedExpression], at: Span) -> None:
    """Raises StatementError for a constant that is not a value of the key column's type, in the words of ksqlDB's
    QueryFilterNode.

    The constants have been converted to the type in which they are compared with the column.
    """
    refused = [constant for constant in constants if not _is_value(constant, column.type)]
    if refused:
        # In a list that has 1.5, the 2 beside it is a DECIMAL, too.
        value = _shown(next(filter(_has_fraction, refused), refused[0]))
        fact = f"{value} can not be converted to the type of the key column: {column.name} {column.type} KEY"
        hint = f"a key is looked up by its own type; CAST({identifier(column.name)} AS …) compares it with others"
        raise StatementError(fact, at, hint)


def _is_value(constant: TypedExpression, type: SqlType) -> bool:
    own = constant
    while isinstance(own, TypedCast) and not own.written:
        own = own.operand
    if not isinstance(own, Constant) and own.type is not None:
        # The value is not known before it is computed, so only its type is checked.
        return own.type == type or number_widens(own.type, type)
    if constant.type == type:
        return True
    value = constant.value if isinstance(constant, Constant) else None
    if isinstance(type, Decimal) and isinstance(value, int | Number):
        return exact(Number(value), type) is not None
    return type == INTEGER and isinstance(value, int) and -(2**31) <= value < 2**31


def _has_fraction(constant: TypedExpression) -> bool:
    value = constant.value if isinstance(constant, Constant) else None
    return isinstance(value, Number) and value.as_tuple().exponent != 0


def _shown(constant: TypedExpression) -> str:
    return f"'{constant.value}'" if isinstance(constant, Constant) else f"a {constant.type}"
