"""Values as JSON text for responses, written by orjson; a DECIMAL keeps all its digits."""

import base64
import math
from decimal import Decimal
from typing import Any

import orjson

# Numbers with more digits than this before or after the point are written with an exponent.
MANY_DIGITS = 40
WHOLE_NUMBERS = range(-(2**63), 2**64)


def dumps(value: Any) -> str:
    """Compact JSON of a value: a Decimal with all its digits, bytes in base64, NaN and infinities as text."""
    try:
        text = orjson.dumps(value, default=_encoded)
    except orjson.JSONEncodeError:
        text = orjson.dumps(_encodable(value), default=_encoded)
    # orjson writes NaN and infinities as null.
    if b"null" in text:
        text = orjson.dumps(_encodable(value), default=_encoded)
    return text.decode()


def _encoded(value: object) -> Any:
    """orjson's callback for types that it does not know. Raises TypeError."""
    if isinstance(value, Decimal):
        return orjson.Fragment(_digits(value)) if value.is_finite() else str(value)
    if isinstance(value, bytes | bytearray):
        return base64.b64encode(value).decode()
    raise TypeError(f"{type(value).__name__} has no JSON form")


def _digits(value: Decimal) -> str:
    """A number as text: in plain digits unless there are very many."""
    return f"{value:f}" if abs(value.adjusted()) < MANY_DIGITS else str(value)


def _encodable(value: Any) -> Any:
    """A value without what orjson refuses or loses.

    That is NaN, integers of more than 64 bits, names that are not text, and halves of surrogate pairs.
    """
    if isinstance(value, dict):
        return {_encodable(str(name)): _encodable(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_encodable(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, int) and value not in WHOLE_NUMBERS:
        return Decimal(value)
    if isinstance(value, str):
        return value.encode(errors="replace").decode()
    return value
