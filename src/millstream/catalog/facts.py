"""All that planning may know of the outside world, read once before planning begins (STYLE.md §2.4)."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class TopicFacts:
    """A topic as the broker has it; `retention_ms` None where it is the broker's default or unknown."""

    partitions: int
    replicas: int = 1
    retention_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Facts:
    """The topics that exist, by name. (Registry schemas join here with the formats that need them.)"""

    topics: Mapping[str, TopicFacts] = field(default_factory=dict)
