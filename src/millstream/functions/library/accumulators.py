"""What the tables of aggregate functions are written with (aggregates.py, by_offset.py, over.py)."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from millstream.functions.declare import (
    STATE,
    Accumulating,
    Function,
    FunctionKind,
    Signature,
    TypeRule,
    argument,
)
from millstream.functions.operator_expressions import OperatorExpression, array, if_
from millstream.functions.signatures import parse_signature
from millstream.model.errors import StatementError
from millstream.model.types import SqlType

# The arguments of `Accumulating`.
Types = Sequence[SqlType]
Constants = Sequence[object]
Settings = Mapping[str, str]

# The first argument of the row.
VALUE = argument(0)


def aggregate(
    name: str, description: str, example: str, answer: str, *signatures: Signature, category: str = "aggregate"
) -> Function:
    """A row of a table; its `example` includes the rows: `SUM(X) over X = 1, 2`."""
    return Function(name, FunctionKind.AGGREGATE, category, description, signatures, example, answer)


def signature(text: str, accumulating: Accumulating, returns: TypeRule | None = None, constants: int = 0) -> Signature:
    """A signature of an aggregate; its last `constants` arguments must be constants."""
    return replace(parse_signature(text, "", returns), accumulating=accumulating, constants=constants)


def unless_null(value: OperatorExpression) -> OperatorExpression:
    """The state after a row: `value`, or if the row's first argument is null the state before."""
    return if_(VALUE.is_null(), STATE, value)


def empty(array_type: str) -> OperatorExpression:
    """An array of a type of Spark's, `array<int>`, without elements."""
    return array().cast(array_type)


def at_least_one(name: str, value: object) -> int:
    """A constant argument of the function `name` that is a number of values. Raises StatementError."""
    if not isinstance(value, int) or value < 1:
        shown = "NULL" if value is None else value
        raise StatementError(f"{name} requires a number of at least 1, as a constant; this is {shown}")
    return value
