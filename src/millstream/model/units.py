"""The units of time of the language by name, and how many milliseconds each is."""

MILLISECONDS = {"MILLISECONDS": 1, "SECONDS": 1000, "MINUTES": 60_000, "HOURS": 3_600_000, "DAYS": 86_400_000}
DAY = MILLISECONDS["DAYS"]
# The same units by every name that a duration may have: SECOND and SECONDS.
UNITS = {name: unit for unit in MILLISECONDS for name in (unit, unit.removesuffix("S"))}
