"""All that planning may know of the outside world, read once before planning begins."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from millstream.catalog.schemas import RegisteredSchema


@dataclass(frozen=True, slots=True)
class TopicFacts:
    """A topic as the broker has it; `retention_ms` None where it is the broker's default or unknown."""

    partitions: int
    replicas: int = 1
    retention_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Facts:
    """The topics that exist, by name; of the registry, each subject's latest schema and the schemas asked for by id.

    `registry` is where the schemas are, "" for the server's own registry.
    """

    topics: Mapping[str, TopicFacts] = field(default_factory=dict)
    latest: Mapping[str, RegisteredSchema] = field(default_factory=dict)
    by_id: Mapping[int, RegisteredSchema] = field(default_factory=dict)
    registry: str = ""
