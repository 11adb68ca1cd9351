"""Observes a server for /metrics and the page: the state of its parts, its sources, and its queries' figures.

    {"server": {"service": "default_", "leads": true, "position": 3, "pushQueries": 0, "loops": {"lease": ""}, …},
     "jvm": {"heapUsed": …},
     "sources": [{"name": "ORDERS", "kind": "STREAM", "topic": "orders", "ends": {"0": 120}, "columns": […], …}],
     "queries": [{"id": "CSAS_BIG_1", "state": "RUNNING", "sources": ["ORDERS"], "sink": "BIG", "figures": {"read": …},
                  "lag": [{"topic": "orders", "partition": 0, "position": 117, "lag": 3}], "failures": [], …}]}

An observation is cached for a second and shared by all clients; it is then filtered by their rights: a user who may
not DESCRIBE a source sees neither the source nor the queries that read or write it.
"""

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import KafkaException

from millstream.catalog.catalog import Catalog, PersistentQuery, Source
from millstream.engine.api import Entity, MissingRight
from millstream.engine.context import EngineContext
from millstream.engine.kafka_offsets import Offsets
from millstream.engine.slots import SLOTS
from millstream.engine.state import EngineState
from millstream.syntax import tree

# The maximum age of a cached observation, and of cached end offsets, in seconds.
FRESH, ENDS_FRESH = 1.0, 2.0
# The timeout of a request for end offsets, and the pause after one that failed, in seconds.
KAFKA_PATIENCE = 2.0
KAFKA_PAUSE = 15.0
Ends = Mapping[str, Offsets]


@dataclass(slots=True)
class CachedValue:
    """A cached value with a time to live. It is thread-safe.

    `fetch` computes the value, `until` is when it expires (in the seconds of `clock`); `fetch` may set `until` itself.
    """

    fetch: Callable[[], Any]
    clock: Callable[[], float] = time.monotonic
    until: float = -1.0
    value: Any = None
    lock: threading.Lock = field(default_factory=threading.Lock)

    def get(self, seconds: float) -> Any:
        """The cached value, fetched first if it has expired; `seconds` is the time to live of a fetched value.

        Concurrent callers wait for one fetch. Raises what `fetch` raises.
        """
        with self.lock:
            if self.clock() >= self.until:
                self.value = self.fetch()
                # `fetch` may have set a later expiry.
                self.until = max(self.until, self.clock() + seconds)
            return self.value


class Observer:
    """Observes one engine. It is thread-safe."""

    def __init__(self, engine: EngineContext) -> None:
        self._engine = engine
        self._observation = CachedValue(self._observe)
        self._ends = CachedValue(self._fetch_ends)

    def observe(self, missing_right: MissingRight) -> Entity:
        """The observation, in the form of the module's example, without the sources and queries a user may not read.

        `missing_right` checks a statement against the user's rights; it returns "" if the user may execute it.
        """
        catalog, observation = self._observation.get(FRESH)
        readable = {name for name in catalog.sources if not missing_right(tree.Describe(name, True), catalog)}
        return {
            **observation,
            "sources": [source for source in observation["sources"] if source["name"] in readable],
            "queries": [
                query for query in observation["queries"] if readable.issuperset((query["sink"], *query["sources"]))
            ],
        }

    def _observe(self) -> tuple[Catalog, Entity]:
        engine = self._engine
        state, figures, ends = engine.state, engine.spark.figures(), self._ends.get(ENDS_FRESH)
        catalog = state.catalog
        return catalog, {
            "server": self._server(state),
            "jvm": dict(figures.jvm),
            "sources": [_source(source, ends, engine.log_topic) for source in catalog.sources.values()],
            "queries": [self._query(q, figures.queries.get(q.id), ends) for q in catalog.queries.values()],
        }

    def _server(self, state: EngineState) -> Entity:
        engine = self._engine
        return {
            "service": engine.server["ksql.service.id"],
            "name": engine.name,
            "host": engine.host,
            "leads": engine.lease.held,
            "position": state.position,
            "pushQueries": len(engine.push),
            "pushConsumers": engine.subscriptions.consumers,
            "slots": int(engine.server[SLOTS]),
            "slotsTaken": state.slots + sum(push.slots for push in list(engine.push.values())),
            "processingLog": engine.log_topic,
            "loops": {name: health.error for name, health in engine.loops.health().items()},
        }

    def _query(self, query: PersistentQuery, figures: Mapping[str, Any] | None, ends: Ends) -> Entity:
        health = self._engine.supervisor.health(query.id)
        return {
            "id": query.id,
            "kind": query.kind.value,
            "state": health.state if health else query.state.value,
            "runsHere": health is not None,
            "sources": list(query.sources),
            "sink": query.sink,
            "statement": query.statement,
            "restarts": health.restarts if health else 0,
            "failures": [{"at": int(f.at * 1000), "message": f.message} for f in health.failures] if health else [],
            "figures": {name: value for name, value in (figures or {}).items() if name != "positions"},
            "lag": list(lags((figures or {}).get("positions", {}), ends)),
        }

    def _fetch_ends(self) -> Ends:
        """The end offsets of the topics of all sources; empty, for KAFKA_PAUSE, if Kafka does not answer."""
        topics = {source.topic for source in self._engine.state.catalog.sources.values()}
        try:
            return self._engine.kafka.ends_of(topics, KAFKA_PATIENCE)
        except KafkaException:
            self._ends.until = time.monotonic() + KAFKA_PAUSE
            return {}


def lags(positions: Mapping[str, int], ends: Ends) -> Iterable[Entity]:
    """Yields a query's lag (records not yet read) for each partition whose end offset is known.

    `positions` has the offset of the next record to read by "topic/partition", `ends` the end offsets by topic.
    """
    for topic_partition, position in sorted(positions.items()):
        topic, _, partition = topic_partition.rpartition("/")
        end = ends.get(topic, {}).get(int(partition))
        if end is not None:
            yield {"topic": topic, "partition": int(partition), "position": position, "lag": max(end - position, 0)}


def _source(source: Source, ends: Ends, log_topic: str) -> Entity:
    return {
        "name": source.name,
        "kind": source.kind.value,
        "topic": source.topic,
        "keyFormat": source.key.format,
        "valueFormat": source.value.format,
        "windowed": source.windowed.type if source.windowed else "",
        "columns": [{"name": c.name, "type": str(c.type), "part": c.part.value} for c in source.schema.columns],
        "statement": source.statement,
        "ends": {str(partition): end for partition, end in sorted(ends.get(source.topic, {}).items())},
        "isProcessingLog": source.topic == log_topic,
    }
