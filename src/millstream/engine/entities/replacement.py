"""EXPLAIN CREATE OR REPLACE … AS: the member `replacement` of a query's description, and its text."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from millstream.engine.api import Entity
from millstream.engine.entities.describe import moment
from millstream.engine.kafka_offsets import Bounds
from millstream.plan.replacement import QueryPart, Replacement, replacement_text


@dataclass(frozen=True, slots=True)
class ReplacedState:
    """The state and positions of the running query, as of its last batch and its last report.

    `text` is the state in words, "" if it has none. `rows` and `bytes` are None before its first batch has ended, or if
    it does not run on this server; `written` is when it wrote its last record, in epoch ms, 0 if it has not.
    `positions` has the next offset to read by "topic/partition", `bounds` the bounds of its topics, `readers` the
    queries that read what it writes.
    """

    text: str
    rows: int | None
    bytes: int | None
    written: int
    positions: Mapping[str, int]
    bounds: Mapping[str, Bounds]
    readers: Sequence[str]


def replacement_body(replacement: Replacement, state: ReplacedState) -> Entity:
    """The replacement as JSON; its member `records` is how many records a rebuild would read."""
    return {
        "source": replacement.old.name,
        "query": replacement.query,
        "inPlace": replacement.in_place,
        "stays": [{"part": part.name, "value": part.after} for part in replacement.stays],
        "changes": [_change(part) for part in replacement.changes],
        "rebuilds": [{**_change(part), "why": part.reason} for part in replacement.rebuilds],
        "state": {"held": state.text, "rows": state.rows, "bytes": state.bytes} if state.text else None,
        "positions": list(_positions(state)),
        "lastWritten": state.written or None,
        "records": sum(end - low for bounds in state.bounds.values() for low, end in bounds.values()),
        "readers": list(state.readers),
    }


def _change(part: QueryPart) -> dict[str, str]:
    return {"part": part.name, "before": part.before, "after": part.after}


def _positions(state: ReplacedState) -> Iterator[dict[str, Any]]:
    """Where the query reads on, in each partition that it has begun to read."""
    for topic_partition, position in sorted(state.positions.items()):
        topic, _, partition = topic_partition.rpartition("/")
        end = state.bounds.get(topic, {}).get(int(partition), (0, position))[1]
        lag = max(end - position, 0)
        yield {"topic": topic, "partition": int(partition), "position": position, "end": end, "lag": lag}


def replacement_lines(replacement: Replacement, state: ReplacedState) -> str:
    """The replacement as text, for clients that show the plan alone."""
    return "\n".join([replacement_text(replacement), *(f"  {line}" for line in _figures(replacement, state))])


def _figures(replacement: Replacement, state: ReplacedState) -> Iterable[str]:
    keeps = "keeps" if replacement.in_place else "would lose"
    if state.text:
        size = "" if state.rows is None else f": {state.rows} rows, {state.bytes} bytes"
        yield f"{keeps} its state: {state.text}{size}"
    if replacement.in_place:
        for at in _positions(state):
            yield f"reads on: {at['topic']}/{at['partition']} from offset {at['position']} of {at['end']}"
    else:
        records = sum(end - low for bounds in state.bounds.values() for low, end in bounds.values())
        yield f"a rebuild would read {records} records"
    if state.written:
        yield f"last record written: {moment(state.written / 1000)}"
    if state.readers:
        yield f"read by: {', '.join(state.readers)}"
