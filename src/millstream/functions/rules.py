"""Rules that compute a result's type from the types of the arguments."""

from collections.abc import Sequence

from millstream.functions.widening import wider_decimal
from millstream.model.types import Decimal, SqlType

Types = Sequence[SqlType | None]


def same_decimal(types: Types) -> SqlType:
    """The type of the first argument, a DECIMAL."""
    assert isinstance(types[0], Decimal)
    return types[0]


def whole_decimal(types: Types) -> SqlType:
    """The type of the first argument, a DECIMAL, without decimals."""
    assert isinstance(types[0], Decimal)
    return Decimal(max(types[0].precision - types[0].scale, 1), 0)


def widest(types: Types) -> SqlType:
    """The DECIMAL that can hold all arguments."""
    return wider_decimal([t for t in types if isinstance(t, Decimal)])
