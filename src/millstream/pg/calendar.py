"""Days and times of any year as numbers, which Python's own calendar (years 1 to 9999) cannot hold.

"+12026-07-01"  →  day 3662678 after 1970-01-01  →  3651721 days after 2000-01-01, Postgres's day 0
"""

import re

DATE = re.compile(r"([+-]?\d{4,9})-(\d\d)-(\d\d)")
CLOCK = re.compile(r"(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,6})\d*)?)?")
DAY_MICROS = 86_400_000_000
# From 1970-01-01 to 2000-01-01.
POSTGRES_EPOCH = 10_957


def split_date(text: str) -> tuple[int, int, int]:
    """Year, month and day of a date in ISO 8601. Raises ValueError."""
    match = DATE.fullmatch(text)
    if match is None:
        raise ValueError(f"{text} is not a date")
    return int(match[1]), int(match[2]), int(match[3])


def day_number(year: int, month: int, day: int) -> int:
    """The day's number after 1970-01-01 in the proleptic Gregorian calendar; year 0 is 1 BC."""
    # Years are counted from March, so that the leap day is a year's last day; 400 years have 146,097 days.
    shifted = year - (month <= 2)
    era, year_of_era = divmod(shifted, 400)
    day_of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return era * 146_097 + year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year - 719_468


def micros_of_day(text: str) -> int:
    """Microseconds since midnight of `12:00`, `12:00:01` or `12:00:01.250`. Raises ValueError."""
    match = CLOCK.fullmatch(text)
    if match is None:
        raise ValueError(f"{text} is not a time of day")
    seconds = int(match[1]) * 3600 + int(match[2]) * 60 + int(match[3] or 0)
    return seconds * 1_000_000 + int((match[4] or "").ljust(6, "0"))


def postgres_date(text: str) -> str:
    """A date as Postgres writes it: years before 1 have BC, and no year has a sign."""
    year, month, day = split_date(text)
    shown = f"{year if year > 0 else 1 - year:04d}-{month:02d}-{day:02d}"
    return shown if year > 0 else f"{shown} BC"


def postgres_day(text: str) -> int:
    """A date as the number of its day after 2000-01-01."""
    return day_number(*split_date(text)) - POSTGRES_EPOCH


def postgres_timestamp(text: str) -> str:
    """A time in UTC, `2026-07-01T12:00:00.250`, as Postgres writes a timestamptz in the zone UTC."""
    day, _, clock = text.partition("T")
    date, _, era = postgres_date(day).partition(" ")
    return f"{date} {clock_text(clock)}+00{' ' + era if era else ''}"


def postgres_micros(text: str) -> int:
    """A time in UTC as microseconds after 2000-01-01."""
    day, _, clock = text.partition("T")
    return postgres_day(day) * DAY_MICROS + micros_of_day(clock)


def clock_text(text: str) -> str:
    """A time of day with seconds, and without zeros at the end of its fraction."""
    seconds, micros = divmod(micros_of_day(text), 1_000_000)
    fraction = f".{micros:06d}".rstrip("0").rstrip(".")
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}{fraction}"
