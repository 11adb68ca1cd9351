"""Which type stands for which without a CAST: INTEGER, BIGINT, DECIMAL, DOUBLE, each for all before it.

The one place that compares number types: overloads (functions/resolve.py), operators and constructors
(analysis/coercion.py) and key lookups (plan/pull_queries.py) use it.
"""

from collections.abc import Mapping, Sequence

from millstream.functions.declare import ANY_DECIMAL
from millstream.model.types import (
    BIGINT,
    DATE,
    DOUBLE,
    INTEGER,
    STRING,
    TIME,
    TIMESTAMP,
    Array,
    Decimal,
    Map,
    SqlType,
    is_numeric,
)

TIMES = (DATE, TIME, TIMESTAMP)
_LADDER = (INTEGER, BIGINT, ANY_DECIMAL, DOUBLE)
_AS_DECIMAL: Mapping[SqlType, Decimal] = {INTEGER: Decimal(10, 0), BIGINT: Decimal(19, 0)}


def as_decimal(number: SqlType) -> Decimal | None:
    """The DECIMAL that holds every value of a number type, None for DOUBLE and what is no number."""
    return number if isinstance(number, Decimal) else _AS_DECIMAL.get(number)


def _rung(number: SqlType) -> int:
    return _LADDER.index(ANY_DECIMAL if isinstance(number, Decimal) else number)


def widens(source: SqlType, target: SqlType) -> bool:
    """Whether an argument of type `source` is taken for a parameter of type `target` without a CAST.

    Equal types are; text is for DATE, TIME and TIMESTAMP; any DECIMAL for any other.
    """
    return source == target or (source == STRING and target in TIMES) or number_widens(source, target)


def number_widens(source: SqlType, target: SqlType) -> bool:
    """Whether both are number types and `target` is not below `source` on the ladder; any DECIMAL is as good as any."""
    return is_numeric(source) and (is_numeric(target) or target == ANY_DECIMAL) and _rung(source) <= _rung(target)


def widened(one: SqlType, other: SqlType) -> SqlType | None:
    """The narrowest number type that holds both; None where one is no number."""
    if not (is_numeric(one) and is_numeric(other)):
        return None
    low, high = sorted((one, other), key=_rung)
    decimals = as_decimal(low), as_decimal(high)
    if not isinstance(high, Decimal) or decimals[0] is None or decimals[1] is None:
        return high
    return wider_decimal([decimals[0], decimals[1]])


def common(one: SqlType, other: SqlType) -> SqlType | None:
    """The type that holds both of two uses of a generic: equal types, numbers, ARRAYs and MAPs of such; else None."""
    if one == other:
        return one
    match one, other:
        case Array(a), Array(b):
            element = common(a, b)
            return None if element is None else Array(element)
        case Map(key, a), Map(other_key, b) if key == other_key:
            value = common(a, b)
            return None if value is None else Map(key, value)
    return widened(one, other)


def wider_decimal(types: Sequence[Decimal]) -> Decimal:
    """The DECIMAL with room for all of `types`."""
    scale = max(t.scale for t in types)
    return Decimal(max(t.precision - t.scale for t in types) + scale, scale)
