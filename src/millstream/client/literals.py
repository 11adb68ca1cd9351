"""Python values as SQL literals, and statements with `?` replaced by them."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

from millstream.client.values import utc
from millstream.model.names import literal

# Where a question mark is not a parameter: in texts, quoted names and comments, including hints.
QUOTED_OR_COMMENT = r"'(?:[^']|'')*'|`(?:[^`]|``)*`|\"(?:[^\"]|\"\")*\"|--[^\n]*|/\*.*?\*/"
MARK = re.compile(rf"({QUOTED_OR_COMMENT})|\?", re.DOTALL)

# As described in docs/language.md#settings-and-variables.
VARIABLE = re.compile(r"\$\{[A-Za-z_][A-Za-z0-9_@]*\}")


class WrongParameters(ValueError):
    """A statement and its parameters do not match."""


def sql_literal(value: Any) -> str:
    """A value as SQL text with the same value; an aware datetime is converted to UTC.

    Raises WrongParameters if a value has no literal.
    """
    match value:
        case None:
            return "NULL"
        case bool():
            return "TRUE" if value else "FALSE"
        case str():
            return _text(value)
        case int():
            return str(value)
        case float():
            return _double(value)
        case Decimal():
            return _decimal(value)
        case bytes() | bytearray() | memoryview():
            return f"TO_BYTES('{bytes(value).hex()}', 'hex')"
        case datetime():
            return f"'{utc(value).isoformat(timespec='milliseconds')}'"
        case date() | time():
            return f"'{value.isoformat()}'"
        case Mapping():
            entries = (f"{_text(str(key))} := {sql_literal(inner)}" for key, inner in value.items())
            return f"MAP({', '.join(entries)})"
        case list() | tuple() | set() | frozenset():
            return f"ARRAY[{', '.join(map(sql_literal, value))}]"
    raise WrongParameters(f"{value!r} of type {type(value).__name__} has no SQL literal")


def bound(sql: str, parameters: Sequence[Any]) -> str:
    """The statement with each `?` outside texts, quoted names and comments replaced by a literal.

    Raises WrongParameters if their number differs from the number of parameters.
    """
    values = iter(parameters)
    try:
        text = MARK.sub(lambda mark: mark[1] or _next_literal(values), sql)
    except StopIteration:
        raise WrongParameters(f"the statement has more question marks than the {len(parameters)} parameters") from None
    left = sum(1 for _ in values)
    if left:
        raise WrongParameters(f"{left} of {len(parameters)} parameters have no question mark in the statement")
    return text


def _next_literal(values: Iterator[Any]) -> str:
    return sql_literal(next(values))


def _text(value: str) -> str:
    """A text literal; `${x}` would be replaced by a variable, so it is written `$${x}`, which the server reads as
    `${x}`."""
    return literal(VARIABLE.sub(r"$\g<0>", value))


def _double(value: float) -> str:
    if not math.isfinite(value):
        return f"CAST('{'NaN' if math.isnan(value) else 'Infinity' if value > 0 else '-Infinity'}' AS DOUBLE)"
    mantissa, _, exponent = repr(value).partition("e")
    return f"{mantissa}E{exponent or '0'}"


def _decimal(value: Decimal) -> str:
    if not value.is_finite():
        raise WrongParameters(f"{value} is not a value of DECIMAL")
    return f"{value:f}"
