"""Values as the JSON text that goes over the wire."""

import base64
import json
import math
import re
from decimal import Decimal
from typing import Any

MARK = "\x00"
MANY_DIGITS = 40
DECIMAL = re.compile(r'"\\u0000([^"\\]*)\\u0000"')


def dumps(value: Any) -> str:
    """Compact JSON of a value: a Decimal with every digit it has, bytes in base64, NaN and infinities as text."""
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=_plain)
    except ValueError:
        return dumps(_without_nan(value))
    return DECIMAL.sub(r"\1", text) if "\\u0000" in text else text


def _plain(value: object) -> Any:
    if isinstance(value, Decimal):
        # json has no door for a number as text: it goes through as a marked string and the marks are cut off.
        return f"{MARK}{_digits(value)}{MARK}" if value.is_finite() else str(value)
    if isinstance(value, bytes | bytearray):
        return base64.b64encode(value).decode()
    raise TypeError(f"{type(value).__name__} has no JSON form")


def _digits(value: Decimal) -> str:
    """A number as text: in plain digits unless that would take very many."""
    return f"{value:f}" if abs(value.adjusted()) < MANY_DIGITS else str(value)


def _without_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_nan(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value
