"""Continuation tokens of push queries: the next offset of each partition, in the form of ksqlDB's tokens.

    eyJlbmRPZmZzZXRzIjp7Im8iOls3LDRdfSwidmVyc2lvbiI6MCwidG9waWMiOiJvcmRlcnMiLCJ0b3BpY0lkIjoiUjJ…

is base64 of

    {"endOffsets":{"o":[7,4]},"version":0,"topic":"orders","topicId":"R2…"}

ksqlDB's own tokens have no topic, and are accepted. The form is that of PushOffsetRange in ksqlDB's source, which
ignores members that it does not know.
"""

import base64
import json
from dataclasses import dataclass
from typing import Any

from millstream.engine.kafka_offsets import Bounds, Positions

VERSION = 0


class ContinuationRefused(ValueError):
    """Why a push query cannot go on after a token, for the user."""


@dataclass(frozen=True, slots=True)
class ContinuationToken:
    """The next offset of each partition of a topic; `topic` and `topic_id` are "" in a token of ksqlDB."""

    positions: Positions
    topic: str = ""
    topic_id: str = ""

    def encoded(self) -> str:
        """The token's text. A partition without a position has -1, as in ksqlDB."""
        offsets = [self.positions.get(p, -1) for p in range(max(self.positions, default=-1) + 1)]
        body = {"endOffsets": {"o": offsets}, "version": VERSION, "topic": self.topic, "topicId": self.topic_id}
        return base64.b64encode(json.dumps(body, separators=(",", ":")).encode()).decode()

    def starts(self, topic: str, topic_id: str, bounds: Bounds) -> Positions:
        """The offsets at which a query on a topic goes on, in partitions with these first and end offsets.

        Partitions that were added after the token are read from their beginning. Raises ContinuationRefused if the
        token is of another topic, or records after it no longer exist.
        """
        if self.topic and self.topic != topic:
            raise ContinuationRefused(f"it is a token of topic {self.topic}, and the query reads topic {topic}")
        if self.topic_id and self.topic_id != topic_id:
            raise ContinuationRefused(f"topic {topic} was deleted and created again after it")
        if missing := [p for p in self.positions if p not in bounds]:
            raise ContinuationRefused(f"topic {topic} has no partition {min(missing)}")
        return {p: self._start(topic, p, *bounds[p]) for p in bounds}

    def _start(self, topic: str, partition: int, first: int, end: int) -> int:
        offset = self.positions.get(partition, first)
        if offset < 0:
            return end
        if offset < first:
            raise ContinuationRefused(removed(topic, partition, offset, first))
        if offset > end:
            text = "partition %d of topic %s ends at offset %d, before offset %d of the token"
            raise ContinuationRefused(text % (partition, topic, end, offset))
        return offset


def removed(topic: str, partition: int, offset: int, first: int) -> str:
    """The fact that a partition no longer has the record at an offset; `first` is that of the first one it has."""
    return f"partition {partition} of topic {topic} no longer has offset {offset}: its first record is at {first}"


def decoded(text: str) -> ContinuationToken:
    """The token of a text. Raises ContinuationRefused."""
    try:
        body: Any = json.loads(base64.b64decode(text, validate=True))
        offsets = body["endOffsets"]["o"]
        topic_and_id = str(body.get("topic", "")), str(body.get("topicId", ""))
    except (ValueError, KeyError, TypeError, AttributeError) as failure:
        raise ContinuationRefused("it is not a continuation token") from failure
    if not isinstance(offsets, list) or not all(type(offset) is int for offset in offsets):
        raise ContinuationRefused("it is not a continuation token")
    return ContinuationToken(dict(enumerate(offsets)), *topic_and_id)
