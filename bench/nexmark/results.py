"""Results of a query as a set of rows that can be compared and hashed, whichever engine wrote them."""

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from confluent_kafka import Message, TopicPartition

from bench.topics import PARTITIONS, raw, reader

EXAMPLES = 3
# The columns with the time of a row's event, or with the start of its window.
TIMES = ("datetime", "bid_datetime", "starts", "starttime")
HASH_DIGITS = 12
Row = str
Rows = Counter[Row]


def read(bootstrap: str, topic: str) -> list[tuple[bytes, bytes]]:
    """The keys and values of all records of a topic; those of a partition are in order."""
    consumer, ended, records = reader(bootstrap, **{"enable.partition.eof": True}), 0, []
    try:
        consumer.assign([TopicPartition(topic, p, 0) for p in range(PARTITIONS)])
        while ended < PARTITIONS:
            for message in consumer.consume(10_000, 1):
                ended += message.error() is not None
                records += [] if message.error() else [_fields(message)]
    finally:
        consumer.close()
    return records


def _fields(message: Message) -> tuple[bytes, bytes]:
    return raw(message.key()), raw(message.value())


def rows(records: Iterable[tuple[bytes, bytes]], each: str = "", end: float = math.inf, changes: bool = True) -> Rows:
    """The rows that the records leave: of those with a key the latest of each key, and all of those without.

    A record without a value deletes its key. Unless they are `changes` of a table, all records are rows. `each` names a
    column whose elements are rows, and the column of their places; a record without that column is a row itself. Rows
    of times from `end` on, in ms, are left out.
    """
    latest: dict[bytes | int, bytes] = {}
    for number, (key, value) in enumerate(records):
        latest[key if key and changes else number] = value
    values = (json.loads(value) for value in latest.values() if value)
    return Counter(_text(row) for value in values for row in _rows(value, each.lower().split()) if _time(row) < end)


def _rows(value: Mapping[str, Any], each: list[str]) -> Iterator[dict[str, Any]]:
    columns = {name.lower(): _plain(field) for name, field in value.items()}
    if not each or each[0] not in columns:
        yield columns
        return
    for place, element in enumerate(columns.pop(each[0]), 1):
        yield {**columns, **element, **dict.fromkeys(each[1:], place)}


def _time(row: Mapping[str, Any]) -> float:
    """The latest time in the row; none is before all others."""
    return max((row[name] for name in TIMES if name in row), default=-math.inf)


def _text(columns: dict[str, Any]) -> Row:
    return json.dumps(columns, sort_keys=True)


def _plain(value: Any) -> Any:
    """A value in one notation: 1.0 is 1, and field names are in lower case."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [_plain(element) for element in value]
    if isinstance(value, dict):
        return {name.lower(): _plain(field) for name, field in value.items()}
    return value


def digest(result: Rows) -> str:
    """A hash of the rows, whatever their order."""
    lines = "\n".join(sorted(result.elements()))
    return hashlib.sha256(lines.encode()).hexdigest()[:HASH_DIGITS]


def difference(expected: Rows, actual: Rows) -> str:
    """How many rows only one of the results has, with the first of them; empty if they are equal."""
    missing, extra = expected - actual, actual - expected
    parts = [
        f"{only.total()} rows {text}: " + " ".join(sorted(only)[:EXAMPLES])
        for only, text in ((missing, "are missing"), (extra, "should not be there"))
        if only
    ]
    return "; ".join(parts)
