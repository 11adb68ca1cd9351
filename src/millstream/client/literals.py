"""Python values as SQL literals, and statements with `?` for them: the one place where text becomes SQL."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

from millstream.client.values import utc
from millstream.model.names import literal

# What hides a question mark: texts, quoted names and comments. A hint's comment is one too.
HIDING = r"'(?:[^']|'')*'|`(?:[^`]|``)*`|\"(?:[^\"]|\"\")*\"|--[^\n]*|/\*.*?\*/"
MARK = re.compile(rf"({HIDING})|\?", re.DOTALL)

# As docs/language.md#settings-and-variables has it.
VARIABLE = re.compile(r"\$\{[A-Za-z_][A-Za-z0-9_@]*\}")


class WrongParameters(ValueError):
    """A statement and its parameters do not fit together."""


def sql_literal(value: Any) -> str:
    """A value as SQL text that reads back as the same value; an aware datetime is told in UTC.

    Raises WrongParameters where a value has no literal.
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
    """The statement with a literal in place of each `?` outside texts, quoted names and comments.

    Raises WrongParameters where there are more or fewer of them than parameters.
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
    """A text literal; `${x}` would name a variable, so it is written `$${x}`, which the server reads as `${x}`."""
    return literal(VARIABLE.sub(r"$\g<0>", value))


def _double(value: float) -> str:
    if not math.isfinite(value):
        return f"CAST('{'NaN' if math.isnan(value) else 'Infinity' if value > 0 else '-Infinity'}' AS DOUBLE)"
    mantissa, _, exponent = repr(value).partition("e")
    return f"{mantissa}E{exponent or '0'}"


def _decimal(value: Decimal) -> str:
    if not value.is_finite():
        raise WrongParameters(f"{value} is no value of DECIMAL")
    return f"{value:f}"
