"""DECIMAL values by their exact digits, in a context as wide as their type."""

from decimal import Context, DecimalException, Inexact, InvalidOperation
from decimal import Decimal as Number

from millstream.model.types import Decimal


def exact(number: Number, type: Decimal) -> Number | None:
    """The number with the digits after the point that its type has; None where the type does not hold it exactly.

    Python's own context has 28 digits, and a DECIMAL up to 38: quantize would round, or raise, in it.
    """
    if not number.is_finite():
        return None
    context = Context(prec=type.precision, traps=[Inexact, InvalidOperation])
    try:
        return number.quantize(Number((0, (1,), -type.scale)), context=context)
    except DecimalException:
        return None
