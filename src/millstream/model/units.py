"""The language's units of time by name, with their lengths in milliseconds."""

MILLISECONDS = {"MILLISECONDS": 1, "SECONDS": 1000, "MINUTES": 60_000, "HOURS": 3_600_000, "DAYS": 86_400_000}
DAY = MILLISECONDS["DAYS"]
# The longest duration of a statement, in milliseconds: a time and several durations add up to a BIGINT.
LONGEST = 2**60
# The same units by singular and plural: SECOND and SECONDS.
UNITS = {name: unit for unit in MILLISECONDS for name in (unit, unit.removesuffix("S"))}
