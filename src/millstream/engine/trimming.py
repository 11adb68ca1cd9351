"""How long a windowed table's topic keeps its rows: by stream time, as the table does, not by the rows' age.

Kafka's retention.ms counts from the clock: the rows of a window of last year would be removed minutes after they are
written, while the table still has them. So the engine creates the topics of windowed tables with retention.ms=-1, and
the server that runs the queries removes what is behind stream time by more than the retention that the statement
declares:

    partition 0   times of its records           newest   RETENTION 10 s: kept from
                  1 s, 9 s, 4 s, 30 s, 25 s, 17 s   30 s     the first at or after 20 s: the fourth record
"""

import time
from collections.abc import Callable, Iterable, Mapping

from confluent_kafka import KafkaException

from millstream.engine.kafka import KafkaClient
from millstream.engine.state import DesiredQuery
from millstream.plan.steps import CreateTopic
from millstream.services.loop import Loop, no_resource

RETENTION, POLICY = "retention.ms", "cleanup.policy"
# Kafka's default for log.retention.check.interval.ms.
PERIOD = 300.0
# Seconds between two looks whether a topic is due.
PULSE = 1.0


def retention_ms(topic: CreateTopic) -> int | None:
    """How long, in ms of stream time, a topic keeps its rows; None for good, and unless it is a windowed table's."""
    if topic.config.get(POLICY) != "compact,delete" or topic.config.get(RETENTION, "-1") == "-1":
        return None
    return int(topic.config[RETENTION])


def config(topic: CreateTopic) -> Mapping[str, str]:
    """The settings that a topic is created with."""
    return topic.config if retention_ms(topic) is None else {**topic.config, RETENTION: "-1"}


class Trimmer:
    """Trims the topics of the queries that this server runs, `queries`, every `period` seconds.

    A topic is first trimmed one period after its query was started here: when a server comes back, the consumers of its
    outputs get that time to come back too.
    """

    def __init__(
        self, kafka: KafkaClient, queries: Callable[[], Iterable[DesiredQuery]], period: float = PERIOD
    ) -> None:
        self._kafka, self._queries, self._period = kafka, queries, period
        # When a topic was last trimmed, or first seen, on the monotonic clock.
        self._since: dict[str, float] = {}
        self.loop = Loop("retention", lambda _: self.step(), no_resource, outages=(KafkaException,), pause=PULSE)

    def close(self) -> None:
        """End the thread."""
        self.loop.stop()

    def step(self) -> None:
        """Trim the topics that are due. Raises KafkaException."""
        topics = {q.topic.name: ms for q in self._queries() if q.topic and (ms := retention_ms(q.topic)) is not None}
        now = time.monotonic()
        self._since = {name: self._since.get(name, now) for name in topics}
        for name, ms in topics.items():
            if now - self._since[name] > self._period:
                self._since[name] = now
                self._kafka.trim(name, ms)
