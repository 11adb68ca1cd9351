"""The kinds of setting values: which texts are valid, the form in which they are stored, and their description.

whole(0, 100)      " 7 " is "7";  "²", "-1", "7.5" are refused: a whole number from 0 to 100
duration(1000, …)  "1 minute";  "garbage", "0 seconds" are refused: a duration from 1 second to …
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from millstream.model.units import MILLISECONDS, UNITS

INT_MAX, LONG_MAX = 2**31 - 1, 2**63 - 1
# int() accepts digits of every script, and any number of them.
_WHOLE = re.compile(r"[+-]?[0-9]{1,19}\Z")
_PART = re.compile(r"([0-9]{1,15})\s+([A-Za-z]+)")
_LISTENER = re.compile(r"https?://(?:\[[0-9A-Fa-f:]+\]|[^\s/:,\[\]]*):([0-9]{1,5})/?\Z")
_ADVERTISED = re.compile(
    r"(https?://)?(?:[^\s/@]*@)?((?:\[[0-9A-Fa-f:]+\]|[^\s/:,@\[\]]+):0*([1-9][0-9]{0,4}))(?:/\S*)?\Z", re.IGNORECASE
)
_URL = re.compile(r"https?://[^\s/?#]+[^\s?#]*\Z", re.IGNORECASE)
_BROKER = re.compile(r"(?:[A-Za-z][A-Za-z0-9_+-]*://)?(?:\[[0-9A-Fa-f:]+\]|[^\s/:,\[\]]+):([0-9]{1,5})\Z")


@dataclass(frozen=True, slots=True)
class ValueKind:
    """A kind of values: `words` describes valid ones; `read` returns a text's stored form, None if it is not valid."""

    words: str
    read: Callable[[str], str | None]

    def or_empty(self) -> "ValueKind":
        """The same kind, except that an empty text, for no value, is valid too."""
        return ValueKind(f"{self.words}, or empty", lambda text: self.read(text) if text.strip() else "")


def whole(low: int = 0, high: int = LONG_MAX) -> ValueKind:
    """Whole numbers from `low` to `high`, inclusive."""

    def read(text: str) -> str | None:
        number = int(text) if _WHOLE.match(text := text.strip()) else None
        return None if number is None or not low <= number <= high else str(number)

    return ValueKind(f"a whole number {_bounds(low, high)}", read)


def _bounds(low: int, high: int) -> str:
    return f"of at least {low}" if high == LONG_MAX else f"from {low} to {high}"


def one_of(*words: str) -> ValueKind:
    """One of several words, in any case; it is stored in the case used here."""
    by_lower = {word.lower(): word for word in words}
    return ValueKind(f"one of {', '.join(words)}", lambda text: by_lower.get(text.strip().lower()))


def duration(low_ms: int, high_ms: int) -> ValueKind:
    """Durations as Spark writes them, `1 minute` or `1 minute 30 seconds`, of whole numbers; limits in ms."""

    def read(text: str) -> str | None:
        ms = milliseconds(text)
        return None if ms is None or not low_ms <= ms <= high_ms else " ".join(text.split())

    return ValueKind(f"a duration from {_duration_text(low_ms)} to {_duration_text(high_ms)}, as in '1 minute'", read)


def milliseconds(text: str) -> int | None:
    """The length of a duration; None if the text is not one."""
    parts = _PART.findall(text)
    if not parts or _PART.sub("", text).strip():
        return None
    units = [MILLISECONDS.get(UNITS.get(unit.upper(), "")) for _, unit in parts]
    return None if None in units else sum(int(n) * (unit or 0) for (n, _), unit in zip(parts, units, strict=True))


def _duration_text(ms: int) -> str:
    names = (("day", 86_400_000), ("hour", 3_600_000), ("minute", 60_000), ("second", 1000), ("millisecond", 1))
    name, unit = next((name, unit) for name, unit in names if ms % unit == 0)
    return f"{ms // unit} {name}{'' if ms == unit else 's'}"


def _patterns(text: str) -> str | None:
    try:
        for pattern in text.split(","):
            re.compile(pattern.strip())
    except (re.error, RecursionError, OverflowError):
        return None
    return text


def _addresses(address: re.Pattern[str]) -> Callable[[str], str | None]:
    def read(text: str) -> str | None:
        addresses = [address.match(part.strip()) for part in text.split(",")]
        return text.strip() if all(one and int(one[1]) <= 65535 for one in addresses) else None

    return read


def _advertised(text: str) -> str | None:
    """The scheme, host and port of an address; None if it is not valid. The rest is cut off, as in ksqlDB: other
    servers only use these parts.
    """
    match = _ADVERTISED.match(text.strip())
    return (match[1] or "") + match[2] if match and int(match[3]) <= 65535 else None


def _text(text: str) -> str | None:
    return None if "\0" in text or not _encodable(text) else text


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


TEXT = ValueKind("a text", _text)
FLAG = one_of("true", "false")
PATTERNS = ValueKind("regular expressions, separated by commas", _patterns)
LISTENERS = ValueKind("http:// or https:// addresses with a port, separated by commas", _addresses(_LISTENER))
ADDRESS = ValueKind("host:port", _addresses(re.compile(r"(?:\[[0-9A-Fa-f:]+\]|[^\s/:,\[\]]+):([0-9]{1,5})\Z")))
ADVERTISED = ValueKind("an http:// or https:// address with a port", _advertised)
URL = ValueKind("an http:// or https:// address", lambda text: text.strip() if _URL.match(text.strip()) else None)
BROKERS = ValueKind("host:port, separated by commas", _addresses(_BROKER))
TOPIC = ValueKind(
    "a topic's name: letters, digits, '.', '_' and '-'",
    lambda text: text.strip() if re.fullmatch(r"\s*[A-Za-z0-9._-]{1,249}\s*", text) and text.strip(". ") else None,
)
SERVICE_ID = ValueKind(
    "letters, digits, '.', '_' and '-', which topic names may contain",
    lambda text: text.strip() if re.fullmatch(r"\s*[A-Za-z0-9._-]{0,100}\s*", text) else None,
)
