"""Conversion of text to numbers, booleans, dates and times (docs/reference/types-and-coercion.md).

This module converts constants of a statement while it is planned, without a JVM, so that an error has a position in the
statement. At run time jvm/FunctionsCast.scala converts the text of records; tests/spark/test_text_conversions.py checks
that both give the same results. Text that is not a BOOLEAN is refused here and false there.
"""

import base64
import binascii
import re
from calendar import monthrange
from collections.abc import Callable
from datetime import date
from decimal import Decimal as Number
from decimal import InvalidOperation

from millstream.model.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INTEGER,
    TIME,
    TIMESTAMP,
    Decimal,
    SqlType,
    constant_decimal,
)

_ZONE = r"(?P<zone>Z|(?P<sign>[+-])(?P<ahead>\d{2})(?::?(?P<more>\d{2}))?)?"
_DATE = re.compile(r"(?P<year>\d{4})(?:-(?P<month>\d{2})(?:-(?P<day>\d{2}))?)?", re.ASCII)
_TIME = re.compile(r"(?P<hour>\d{2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:\.(?P<fraction>\d{1,9}))?)?", re.ASCII)
_DAY_AND_CLOCK = re.compile(rf"(?P<date>[^T ]*)(?:[T ](?P<clock>[\d:.]*){_ZONE})?", re.ASCII)
_COMPLETE_DATE, _MIDNIGHT = "0000-01-01", "00:00:00.000"
_DIGITS = re.compile(r"[+-]?\d+")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_INT, _LONG = 2**31, 2**63
# What Java's String.trim removes.
_BLANKS = "".join(map(chr, range(0x21)))
_EPOCH = date(1970, 1, 1).toordinal()
_CYCLE_YEARS, _CYCLE_DAYS = 400, 146_097


def numeric_type(text: str) -> SqlType | None:
    """The type of numeric text: INTEGER, BIGINT or the narrowest DECIMAL; None if it is not a number."""
    value = number(text)
    if value is None:
        return None
    if value == value.to_integral_value() and not re.search(r"[.eE]", text):
        whole = int(value)
        if -_INT <= whole < _INT:
            return INTEGER
        if -_LONG <= whole < _LONG:
            return BIGINT
    return literal_type(value)


def literal_type(value: Number) -> Decimal:
    """The DECIMAL of a constant: the narrowest with a digit before the point, which is 0 between -1 and 1."""
    narrowest = decimal_type(value)
    return constant_decimal(narrowest.precision, narrowest.scale)


def decimal_type(value: Number) -> Decimal:
    """The narrowest DECIMAL that can hold `value` as it is written."""
    _, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    scale = max(-exponent, 0)
    whole = max(len(digits) + exponent, 0) if any(digits) else 1
    return Decimal(max(whole + scale, 1), scale)


def read(text: str, target: SqlType) -> object:
    """The value of type `target` that `text` denotes. Raises ValueError if it does not denote one.

    DATE results in epoch days, TIME in milliseconds of the day, TIMESTAMP in epoch milliseconds.
    """
    if isinstance(target, Decimal):
        return _read_decimal(text, target)
    return _READERS[target](text)


def timestamp(text: str) -> int:
    """Epoch milliseconds of ISO-8601 text, which may end early; UTC without a zone. Raises ValueError.

    A time that ends early goes on with zeros, also inside of a part: `2024-02-29T1` is 10:00, as in ksqlDB.
    """
    parts = _match(_DAY_AND_CLOCK, text)
    written, clock = parts["date"] or "", parts["clock"]
    if clock is not None and len(written) < len(_COMPLETE_DATE):
        raise ValueError(text)
    day = _epoch_day(_match(_DATE, written), clamped=True)
    time = _match(_TIME, _completed(clock or ""))
    hour, minute, second = (24, 0, 0) if _midnight(time) else _clock(time)
    seconds = ((day * 24 + hour) * 60 + minute) * 60 + second
    return (seconds - _offset(parts)) * 1000 + _milliseconds(time)


def _completed(clock: str) -> str:
    return clock + _MIDNIGHT[len(clock) :]


def _date(text: str) -> int:
    return _epoch_day(_match(_DATE, text))


def _time(text: str) -> int:
    parts = _match(_TIME, text)
    hour, minute, second = _clock(parts)
    return ((hour * 60 + minute) * 60 + second) * 1000 + _milliseconds(parts)


def _trimmed(text: str) -> str:
    return text.strip(_BLANKS)


def _match(pattern: re.Pattern[str], text: str) -> dict[str, str | None]:
    match = pattern.fullmatch(_trimmed(text))
    if match is None:
        raise ValueError(text)
    return match.groupdict()


def _at(parts: dict[str, str | None], name: str, default: int = 0) -> int:
    return int(parts[name] or default)


def _epoch_day(parts: dict[str, str | None], clamped: bool = False) -> int:
    """Days since 1970-01-01. Python has no year 0: it is counted from the year 400, whose calendar is the same.

    `clamped`: up to the 31st, a day that its month does not have is the month's last.
    """
    year, month, day = _at(parts, "year"), _at(parts, "month", 1), _at(parts, "day", 1)
    cycles = 1 if year == 0 else 0
    year += cycles * _CYCLE_YEARS
    if clamped and 1 <= month <= 12 and day <= 31:
        day = min(day, monthrange(year, month)[1])
    return date(year, month, day).toordinal() - _EPOCH - cycles * _CYCLE_DAYS


def _midnight(parts: dict[str, str | None]) -> bool:
    """True if the time is 24:00, the end of the day, which is the next day's beginning."""
    return _at(parts, "hour") == 24 and not any(_at(parts, name) for name in ("minute", "second", "fraction"))


def _clock(parts: dict[str, str | None]) -> tuple[int, int, int]:
    hour, minute, second = _at(parts, "hour"), _at(parts, "minute"), _at(parts, "second")
    if hour > 23 or minute > 59 or second > 59:
        raise ValueError(f"{hour}:{minute}:{second} is not a time of day")
    return hour, minute, second


def _milliseconds(parts: dict[str, str | None]) -> int:
    return int(((parts["fraction"] or "") + "000")[:3])


def _offset(parts: dict[str, str | None]) -> int:
    seconds = (_at(parts, "ahead") * 60 + _at(parts, "more")) * 60
    return -seconds if parts["sign"] == "-" else seconds


def number(text: str) -> Number | None:
    """The number that `text` denotes; None if it is not a number."""
    if not _NUMBER.fullmatch(_trimmed(text)):
        return None
    try:
        return Number(_trimmed(text))
    except InvalidOperation:
        return None


def _whole(text: str, limit: int) -> int:
    digits = _trimmed(text)
    if not _DIGITS.fullmatch(digits) or not -limit <= int(digits) < limit:
        raise ValueError(text)
    return int(digits)


def _read_decimal(text: str, target: Decimal) -> Number:
    value = number(text)
    if value is None or _whole_digits(decimal_type(value)) > _whole_digits(target):
        raise ValueError(text)
    return value


def _whole_digits(decimal: Decimal) -> int:
    return decimal.precision - decimal.scale


def _double(text: str) -> float:
    word = _trimmed(text)
    if not word.isascii() or (number(word) is None and word.lstrip("+-") not in ("NaN", "Infinity")):
        raise ValueError(text)
    return float(word)


def _boolean(text: str) -> bool:
    word = _trimmed(text).lower()
    if word and ("true".startswith(word) or "yes".startswith(word)):
        return True
    if word and ("false".startswith(word) or "no".startswith(word)):
        return False
    raise ValueError(text)


def _bytes(text: str) -> bytes:
    digits = _trimmed(text)
    padding = "" if digits.endswith("=") else "=" * (-len(digits) % 4)
    try:
        return base64.b64decode(digits + padding, validate=True)
    except binascii.Error as error:
        raise ValueError(text) from error


_READERS: dict[SqlType, Callable[[str], object]] = {
    BOOLEAN: _boolean,
    INTEGER: lambda text: _whole(text, _INT),
    BIGINT: lambda text: _whole(text, _LONG),
    DOUBLE: _double,
    DATE: _date,
    TIME: _time,
    TIMESTAMP: timestamp,
    BYTES: _bytes,
}
