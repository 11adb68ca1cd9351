"""Where new queries begin to read streams: the values of the settings `auto.offset.reset` and `millstream.start`.

by_duration:P1DT12H                since(text, now)   36 hours before now, in epoch ms
timestamp:2026-11-01T00:00:00Z     StartTime(1793491200000)
offsets:0=17,1=20                  StartOffsets({0: 17, 1: 20})
group:shop_copy                    StartGroup("shop_copy")

`by_duration` is that of Kafka's consumers from 4.0 on (KIP-1106).
"""

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime

from millstream.model.setting_kinds import LONG_MAX, ValueKind

RESET, START = "auto.offset.reset", "millstream.start"
EARLIEST, LATEST, BY_DURATION = "earliest", "latest", "by_duration:"
# Java's Duration.parse, without negative parts: P1DT2H3M4.5S.
_DURATION = re.compile(
    r"P(?=.)(?:([0-9]{1,7})D)?(?:T(?=.)(?:([0-9]{1,9})H)?(?:([0-9]{1,9})M)?(?:([0-9]{1,12}(?:\.[0-9]{1,9})?)S)?)?\Z"
)
_PART_MS = (86_400_000, 3_600_000, 60_000, 1000)
_OFFSET = re.compile(r"\s*([0-9]{1,9})\s*=\s*([0-9]{1,18})\s*\Z")


@dataclass(frozen=True, slots=True)
class StartTime:
    """Each partition is read from its first record with this timestamp or a later one, in epoch ms."""

    ms: int


@dataclass(frozen=True, slots=True)
class StartOffsets:
    """Each of these partitions is read from this offset."""

    offsets: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class StartGroup:
    """Each partition is read from the offset that this consumer group has committed."""

    name: str


def query_start(text: str) -> StartTime | StartOffsets | StartGroup | None:
    """The meaning of a value of `millstream.start`; None if it is not valid, or empty."""
    kind, _, value = text.strip().partition(":")
    match kind.lower():
        case "timestamp":
            return _start_time(value.strip())
        case "offsets":
            return _start_offsets(value)
        case "group" if value.strip():
            return StartGroup(value.strip())
    return None


def _start_time(text: str) -> StartTime | None:
    if re.fullmatch("[0-9]{1,18}", text):
        return StartTime(int(text))
    with suppress(ValueError, OverflowError):
        time = datetime.fromisoformat(text)
        ms = round((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp() * 1000)
        return StartTime(ms) if ms >= 0 else None
    return None


def _start_offsets(text: str) -> StartOffsets | None:
    parts = [_OFFSET.match(part) for part in text.split(",")]
    offsets = {int(part[1]): int(part[2]) for part in parts if part}
    return StartOffsets(offsets) if len(offsets) == len(parts) else None


def since(reset: str, now_ms: int) -> int | None:
    """The time from which `auto.offset.reset` reads, in epoch ms; None if it is not by_duration."""
    ms = _duration_ms(reset)
    return None if ms is None else max(0, now_ms - ms)


def _duration_ms(reset: str) -> int | None:
    prefix, text = reset[: len(BY_DURATION)], reset[len(BY_DURATION) :]
    parts = _DURATION.match(text.upper()) if prefix.lower() == BY_DURATION else None
    if parts is None:
        return None
    ms = sum(float(part or 0) * unit for part, unit in zip(parts.groups(), _PART_MS, strict=True))
    return round(ms) if ms <= LONG_MAX else None


def _reset(text: str) -> str | None:
    text = text.strip()
    if text.lower() in (EARLIEST, LATEST):
        return text.lower()
    return None if _duration_ms(text) is None else BY_DURATION + text[len(BY_DURATION) :].upper()


RESETS = ValueKind("earliest, latest, or by_duration: with an ISO 8601 duration, as in by_duration:P1DT12H", _reset)
STARTS = ValueKind(
    "timestamp:2026-11-01T00:00:00Z, offsets:0=17,1=20 (of partitions), group:NAME (of consumers)",
    lambda text: text.strip() if query_start(text) else None,
).or_empty()
