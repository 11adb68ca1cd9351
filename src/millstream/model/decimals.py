"""DECIMAL values with their exact digits, computed in a context as wide as their type."""

from decimal import ROUND_HALF_UP, Context, DecimalException, Inexact, InvalidOperation
from decimal import Decimal as Number

from millstream.model.types import Decimal


def exact(number: Number, type: Decimal) -> Number | None:
    """The number with as many decimals as its type has; None if the type cannot hold it exactly.

    Python's default context has 28 digits, but a DECIMAL up to 38: in it, quantize would round or raise.
    """
    return _quantized(number, type, Context(prec=type.precision, traps=[Inexact, InvalidOperation]))


def rounded(number: Number, type: Decimal) -> Number | None:
    """The number rounded half up to the decimals of its type; None if it has too many digits before the point."""
    return _quantized(number, type, Context(prec=type.precision, rounding=ROUND_HALF_UP, traps=[InvalidOperation]))


def _quantized(number: Number, type: Decimal, context: Context) -> Number | None:
    if not number.is_finite():
        return None
    try:
        return number.quantize(Number((0, (1,), -type.scale)), context=context)
    except DecimalException:
        return None
