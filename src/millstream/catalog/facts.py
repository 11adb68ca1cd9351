"""The facts about Kafka and the registry that planning may use; they are read once, before planning."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from millstream.catalog.schemas import RegisteredSchema


@dataclass(frozen=True, slots=True)
class TopicFacts:
    """A topic as the broker describes it; `retention_ms` is None if it is the broker's default or not known."""

    partitions: int
    replicas: int = 1
    retention_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Facts:
    """The existing topics by name; from the registry, each subject's latest schema, and the schemas of requested ids.

    `registry` is the address of the registry; "" for the server's own.
    """

    topics: Mapping[str, TopicFacts] = field(default_factory=dict)
    latest: Mapping[str, RegisteredSchema] = field(default_factory=dict)
    by_id: Mapping[int, RegisteredSchema] = field(default_factory=dict)
    registry: str = ""
