"""Which type stands for which without a CAST: INTEGER, BIGINT, DECIMAL, DOUBLE, each for all before it."""

from collections.abc import Callable, Mapping, Sequence

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

_LADDER = (INTEGER, BIGINT, ANY_DECIMAL, DOUBLE)
AS_DECIMAL: Mapping[SqlType, Decimal] = {INTEGER: Decimal(10, 0), BIGINT: Decimal(19, 0)}


def _rung(t: SqlType) -> int:
    return _LADDER.index(ANY_DECIMAL if isinstance(t, Decimal) else t)


def widens(given: SqlType, wanted: SqlType) -> bool:
    """Whether a value of `given` is taken for one of `wanted` without a CAST; equal types are."""
    if given == STRING and wanted in (DATE, TIME, TIMESTAMP):
        return True
    numeric = is_numeric(given) and (is_numeric(wanted) or wanted == ANY_DECIMAL)
    return given == wanted or (numeric and _rung(given) <= _rung(wanted))


def common(one: SqlType, other: SqlType) -> SqlType | None:
    """The type that holds both of two numbers (or arrays, maps of such); None where there is none."""
    if one == other:
        return one
    match one, other:
        case Array(a), Array(b):
            return mapped(Array, common(a, b))
        case Map(ka, a), Map(kb, b) if ka == kb:
            return mapped(lambda value: Map(ka, value), common(a, b))
    if not (is_numeric(one) and is_numeric(other)):
        return None
    low, high = sorted((one, other), key=_rung)
    if not isinstance(high, Decimal):
        return high
    low = AS_DECIMAL.get(low, low)
    assert isinstance(low, Decimal)
    return wider_decimal([low, high])


def mapped(make: Callable[[SqlType], SqlType], inner: SqlType | None) -> SqlType | None:
    """`make` of a type that may be missing."""
    return None if inner is None else make(inner)


def wider_decimal(types: Sequence[Decimal]) -> Decimal:
    """The decimal with room for all of `types`."""
    scale = max(t.scale for t in types)
    return Decimal(max(t.precision - t.scale for t in types) + scale, scale)
