"""What functions mean, in plain Python; a call that fails at run time raises Fails."""

import base64
import binascii
import json
import math
import re
import struct
import urllib.parse
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, timedelta
from decimal import ROUND_HALF_DOWN, ROUND_HALF_UP, Decimal
from typing import Any

Model = Callable[..., Any]


class Fails(Exception):
    """The call fails at run time, so that it is null."""


def require(holds: bool) -> None:
    if not holds:
        raise Fails


# ---------------------------------------------------------------- numbers


def as_written(value: float) -> Decimal:
    """The number that a DOUBLE is written as."""
    require(math.isfinite(value))
    return Decimal(repr(value))


def wrapped(value: int, bits: int) -> int:
    """As Java's whole numbers overflow."""
    return (value + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1)


def saturated(value: float) -> int:
    """As Java makes a double a long."""
    if math.isnan(value):
        return 0
    return int(min(max(value, -(2**63)), 2**63 - 1)) if math.isinf(value) else min(max(int(value), -(2**63)), 2**63 - 1)


def rounded(value: float) -> int:
    return saturated(value) if not math.isfinite(value) else saturated(math.floor(Decimal(value) + Decimal("0.5")))


def whole(make: Callable[[float], int]) -> Model:
    return lambda x: float(make(x)) if math.isfinite(x) else x


def scaled(value: Decimal, decimals: int, rounding: str) -> Decimal:
    return value.scaleb(decimals).quantize(Decimal(1), rounding=rounding).scaleb(-decimals)


def to_decimals(decimals: int) -> Model:
    return fitting(lambda x: scaled(x, decimals, ROUND_HALF_UP if x > 0 else ROUND_HALF_DOWN))


def fitting(make: Callable[[Decimal], Decimal | int]) -> Model:
    """A function to DECIMALs of eight digits before the point; what has more of them fails."""

    def model(value: Decimal) -> Decimal | int:
        result = make(value)
        require(abs(result) < 10**8)
        return result

    return model


def real(make: Callable[..., float]) -> Model:
    """A function of doubles outside whose domain Java gives NaN."""

    def model(*values: float) -> float:
        try:
            return make(*values)
        except ValueError:
            return math.nan
        except OverflowError:
            return math.inf

    return model


def logarithm(x: float) -> float:
    return -math.inf if x == 0 else math.nan if x < 0 else math.log(x)


def divided(left: int, right: int, bits: int) -> int:
    require(right != 0)
    return wrapped(int(Decimal(left) / right) if abs(left) < 2**53 else towards_zero(left, right), bits)


def towards_zero(left: int, right: int) -> int:
    return abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)


def remainder(left: int, right: int) -> int:
    require(right != 0)
    return left - right * towards_zero(left, right)


# ---------------------------------------------------------------- text and bytes


def substring(value: Any, position: int, length: int) -> Any:
    start = max(len(value) + position, 0) if position < 0 else min(max(position - 1, 0), len(value))
    return value[start : max(start, start + length)]


def lpad(value: Any, length: int, pad: Any) -> Any:
    return None if length < 0 or not pad else (pad * length)[: max(length - len(value), 0)] + value[:length]


def rpad(value: Any, length: int, pad: Any) -> Any:
    return None if length < 0 or not pad else (value + pad * length)[:length]


def instr(text: str | None, part: str | None, position: int = 1, nth: int = 1) -> int:
    """The nth from a position on; of those that end at a negative one or before, backwards. "" occurs once there."""
    if text is None or part is None or position == 0 or nth < 1 or abs(position) > len(text):
        return 0
    starts = [i for i in range(len(text) + 1) if text.startswith(part, i)]
    last = len(text) + position + 1 - len(part)
    hits = [i for i in starts if i >= position - 1] if position > 0 else [i for i in reversed(starts) if i <= last]
    nth = nth if part else 1
    return hits[nth - 1] + 1 if nth <= len(hits) else 0


def split(value: Any, delimiter: Any) -> list[Any]:
    if delimiter:
        return list(value.split(delimiter))
    return [value[i : i + 1] for i in range(len(value))] or [value]


def split_to_map(text: str, entries: str, values: str) -> dict[str, str] | None:
    if not entries or not values or entries == values:
        return None
    pairs = [part.split(values) for part in text.split(entries)]
    return {pair[0]: pair[1] for pair in pairs if len(pair) >= 2}


def initcap(text: str) -> str:
    """The first letter of each word in upper case, the others in lower case, without white space at the beginning."""
    low = text.lower().lstrip(" \t\n\v\f\r")
    return "".join(c.upper() if i == 0 or low[i - 1] in " \t\n\v\f\r" else c for i, c in enumerate(low))


def trim(text: str) -> str:
    return text.strip("".join(map(chr, range(33))))


def masked(text: str, marks: Sequence[str | None] = ("X", "x", "n", "-")) -> str:
    def mark(c: str) -> str:
        kind = 0 if c.isupper() else 1 if c.islower() else 2 if c.isdecimal() else 3
        return marks[kind] or c

    return "".join(map(mark, text))


def part_masked(keep: bool, left: bool) -> Model:
    """A model of MASK_LEFT or a function like it: the first or last n characters masked, or all but them."""

    def model(text: str, n: int) -> str:
        require(n >= 0)
        at = min(n, len(text)) if left else len(text) - min(n, len(text))
        one, other = text[:at], text[at:]
        return masked(one) + other if left != keep else one + masked(other)

    return model


def matched(pattern: str, text: str, group: int = 0) -> str | None:
    match = re.search(pattern, text)
    return match[group] if match and group <= re.compile(pattern).groups else None


def all_matched(pattern: str, text: str, group: int) -> list[str | None] | None:
    return [one[group] for one in re.finditer(pattern, text)] if group <= re.compile(pattern).groups else None


def parts_between(text: str, pattern: str) -> list[str]:
    """Java leaves out an empty part before a match at the start only where the match is empty."""
    return re.split(pattern, text)


def like(text: str, pattern: str) -> bool:
    """% does not reach over the end of a line."""
    regex = "".join({"%": ".*", "_": "."}.get(c, re.escape(c)) for c in pattern)
    return re.fullmatch(regex, text) is not None


def decoded(text: str, encoding: str) -> bytes:
    try:
        if encoding == "base64":
            return base64.b64decode(text, validate=True)
        return bytes.fromhex(text) if encoding == "hex" else text.encode(encoding, "replace")
    except (binascii.Error, ValueError) as error:
        raise Fails from error


def number_of(form: str) -> Model:
    def model(value: bytes) -> Any:
        require(len(value) == struct.calcsize(form))
        return struct.unpack(form, value)[0]

    return model


def unquoted(text: str) -> str:
    try:
        return urllib.parse.unquote_plus(text, errors="strict")
    except UnicodeDecodeError as error:
        raise Fails from error


# ---------------------------------------------------------------- JSON


def loaded(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise Fails from error


def is_json(text: str | None) -> bool:
    try:
        return text is not None and loaded(text) is not Fails
    except Fails:
        return False


def dumped(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def plain(value: Any) -> str:
    return value if isinstance(value, str) else dumped(value)


_ABSENT = object()


def extracted(text: str, *path: str | int) -> str | None:
    node = loaded(text)
    for step in path:
        if isinstance(step, int):
            node = node[step] if isinstance(node, list) and step < len(node) else _ABSENT
        else:
            node = node.get(step, _ABSENT) if isinstance(node, dict) else _ABSENT
    return None if node is _ABSENT else plain(node)


def items(text: str) -> list[str]:
    node = loaded(text)
    require(isinstance(node, list))
    return [dumped(v) for v in node]


def has(text: str | None, value: Any) -> bool:
    if not is_json(text):
        return False
    node = loaded(text or "")
    return isinstance(node, list) and any(type(v) is type(value) and v == value for v in node)


def concatenated(one: str, other: str) -> str:
    nodes = [loaded(one), loaded(other)]
    if all(isinstance(n, dict) for n in nodes):
        return dumped({**nodes[0], **nodes[1]})
    return dumped([v for n in nodes for v in (n if isinstance(n, list) else [n])])


# ---------------------------------------------------------------- collections


def distinct(values: Iterable[Any]) -> list[Any]:
    return list(dict.fromkeys(values))


def joined(values: Sequence[Any], delimiter: str) -> str:
    return delimiter.join("null" if v is None else str(v) for v in values)


def ordered(values: Sequence[Any], downwards: bool = False) -> list[Any]:
    return sorted((v for v in values if v is not None), reverse=downwards) + [None] * values.count(None)


def cut(values: Sequence[Any] | None, start: int | None, end: int | None) -> Sequence[Any] | None:
    if values is None:
        return None
    start, end = (1 if start is None else start), (len(values) if end is None else end)
    if start < 1 or end > len(values):
        return None
    require(start <= end + 1)
    return values[start - 1 : end]


def best(choose: Callable[[list[Any]], Any]) -> Model:
    return lambda *values: choose(present) if (present := [v for v in values if v is not None]) else None


def greatest_bytes(values: Sequence[bytes]) -> bytes:
    """By signed bytes, as Java compares them."""
    return max(values, key=lambda value: [byte - 256 if byte > 127 else byte for byte in value])


def best_element(choose: Callable[[list[Any]], Any]) -> Model:
    return lambda values: best(choose)(*values)


def either(join: Callable[[Any, Any], Any]) -> Model:
    return lambda a, b: b if a is None else a if b is None else join(a, b)


def element(values: Sequence[Any], index: int) -> Any:
    return None if index == 0 or abs(index) > len(values) else values[index - 1 if index > 0 else index]


def series(start: int, end: int) -> list[int]:
    return list(range(start, end + 1)) if start <= end else list(range(start, end - 1, -1))


def entries(values: Mapping[str, int | None]) -> list[dict[str, Any]]:
    return [{"K": k, "V": values[k]} for k in sorted(values)]


def as_map(keys: Sequence[str | None], values: Sequence[Any]) -> dict[str, Any]:
    return {k: values[i] if i < len(values) else None for i, k in enumerate(k for k in keys if k is not None)}


def folded(values: Sequence[int | None] | None, state: int) -> int:
    require(values is None or None not in values)
    return wrapped(state + sum(v for v in values or () if v is not None), 32)


def kept_entries(entries: Mapping[str, int | None]) -> dict[str, int | None]:
    kept = {k: v for k, v in entries.items() if k == "a" or (v or 0) > 0}
    require(None not in kept.values())
    return kept


# ---------------------------------------------------------------- times

DAY = 86_400_000


def day(days: int) -> date:
    return date(1970, 1, 1) + timedelta(days=days)


def day_text(days: int) -> str:
    return day(days).isoformat()


def clock_text(ms: int) -> str:
    seconds, rest = divmod(ms, 1000)
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{rest:03}"


def moment_text(ms: int) -> str:
    return f"{day_text(ms // DAY)}T{clock_text(ms % DAY)}"


def of_text(parse: Callable[[str], date]) -> Model:
    def model(text: str) -> int:
        try:
            return (parse(text) - date(1970, 1, 1)).days
        except ValueError as error:
            raise Fails from error

    return model
