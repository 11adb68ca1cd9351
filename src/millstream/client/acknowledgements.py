"""The answers of /inserts-stream for each row, and the batches in which rows are sent."""

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from millstream.client.values import wire_value

# All rows of a request are sent before its answer is read: a batch's acknowledgements must fit the socket's buffers.
BATCH = 1000


@dataclass(frozen=True, slots=True)
class Acknowledgement:
    """Row number `seq` (from 0) of an insert: `ok` if it is in Kafka, else the error's `code` and `message`."""

    seq: int
    ok: bool
    code: int = 0
    message: str = ""


def batches(rows: Iterable[Mapping[str, Any]], size: int = BATCH) -> Iterator[list[Mapping[str, Any]]]:
    """The rows in batches of `size`."""
    remaining = iter(rows)
    while batch := list(itertools.islice(remaining, size)):
        yield batch


def insert_body(target: str, properties: Mapping[str, Any], rows: Iterable[Mapping[str, Any]]) -> bytes:
    """The body of /inserts-stream: the target on the first line, then one row on each line."""
    header = {"target": target, "properties": dict(properties)}
    return b"".join(orjson.dumps(wire_value(part)) + b"\n" for part in (header, *rows))


def acknowledgements(lines: Iterable[bytes], start: int) -> Iterator[Acknowledgement]:
    """The acknowledgements of an answer's lines; the number of its first row is `start`."""
    for line in lines:
        body = orjson.loads(line)
        yield Acknowledgement(
            start + body.get("seq", 0),
            body.get("status") == "ok",
            body.get("error_code", 0),
            body.get("message", ""),
        )
