"""The units of time that a function takes, as their names stand in a call, and how long each is."""

MILLISECONDS = {"MILLISECONDS": 1, "SECONDS": 1000, "MINUTES": 60_000, "HOURS": 3_600_000, "DAYS": 86_400_000}
