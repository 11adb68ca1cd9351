"""Which types are converted to which without a CAST: INTEGER, BIGINT, DECIMAL, DOUBLE, each to those after it.

The only module that compares number types: overloads (functions/resolve.py), operators and constructors
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
    Decimal,
    SqlType,
    is_numeric,
)

TIMES = (DATE, TIME, TIMESTAMP)
_LADDER = (INTEGER, BIGINT, ANY_DECIMAL, DOUBLE)
_AS_DECIMAL: Mapping[SqlType, Decimal] = {INTEGER: Decimal(10, 0), BIGINT: Decimal(19, 0)}


def as_decimal(number: SqlType) -> Decimal | None:
    """The DECIMAL that can hold every value of a number type; None for DOUBLE and types that are not numbers."""
    return number if isinstance(number, Decimal) else _AS_DECIMAL.get(number)


def _rung(number: SqlType) -> int:
    return _LADDER.index(ANY_DECIMAL if isinstance(number, Decimal) else number)


def widens(source: SqlType, target: SqlType) -> bool:
    """True if an argument of type `source` is accepted for a parameter of type `target` without a CAST.

    Equal types are accepted; text for DATE, TIME and TIMESTAMP; any DECIMAL for any other DECIMAL.
    """
    return source == target or (source == STRING and target in TIMES) or number_widens(source, target)


def number_widens(source: SqlType, target: SqlType) -> bool:
    """True if both are number types and `target` is not narrower than `source`; DECIMALs are not compared."""
    return is_numeric(source) and (is_numeric(target) or target == ANY_DECIMAL) and _rung(source) <= _rung(target)


def widened(first: SqlType, second: SqlType) -> SqlType | None:
    """The narrowest number type that can hold both; None if one is not a number."""
    if not (is_numeric(first) and is_numeric(second)):
        return None
    low, high = sorted((first, second), key=_rung)
    decimals = as_decimal(low), as_decimal(high)
    if not isinstance(high, Decimal) or decimals[0] is None or decimals[1] is None:
        return high
    return wider_decimal([decimals[0], decimals[1]])


def wider_decimal(types: Sequence[Decimal]) -> Decimal:
    """The DECIMAL that can hold all of `types`."""
    scale = max(t.scale for t in types)
    return Decimal(max(t.precision - t.scale for t in types) + scale, scale)
