"""Topics of windowed tables keep their rows by stream time: which topics, from where on, how often that is seen to."""

from collections.abc import Mapping

import pytest

from engine.test_state import SOURCE, after, logged
from millstream.catalog.facts import TopicFacts
from millstream.engine import trimming
from millstream.engine.kafka import KafkaClient
from millstream.engine.state import DesiredQuery, applied
from millstream.engine.trimming import Trimmer
from millstream.plan.steps import CreateTopic
from support.kafka import BrokerClient

WINDOWED = (
    "CREATE TABLE w AS SELECT id, COUNT(*) AS n FROM s "
    "WINDOW TUMBLING (SIZE 10 SECONDS, RETENTION 1 HOUR, GRACE PERIOD 0 SECONDS) GROUP BY id;"
)
HOUR = 3_600_000


def query_of(statement: str) -> DesiredQuery:
    """The query that a statement makes over the stream s."""
    (query,) = after(SOURCE, statement).desired.values()
    return query


def topic(statement: str) -> CreateTopic:
    step = query_of(statement).topic
    assert step is not None
    return step


def test_a_windowed_tables_topic_is_not_cut_by_the_clock() -> None:
    step = topic(WINDOWED)
    assert step.config == {"cleanup.policy": "compact,delete", "retention.ms": str(HOUR)}, "what the statement asks for"
    assert trimming.config(step) == {"cleanup.policy": "compact,delete", "retention.ms": "-1"}
    assert trimming.retention_ms(step) == HOUR


@pytest.mark.parametrize(
    ("of_source", "with_clause", "kept"),
    [
        (None, "", HOUR),
        (1000, "", HOUR),
        (9 * HOUR, "", 9 * HOUR),
        (9 * HOUR, f"WITH (retention_ms={2 * HOUR})", 2 * HOUR),
        (None, "WITH (retention_ms=-1)", None),
        (-1, "", None),
    ],
)
def test_a_windowed_tables_topic_keeps_what_its_source_keeps(
    of_source: int | None, with_clause: str, kept: int | None
) -> None:
    command = logged(WINDOWED.replace(" AS", f" {with_clause} AS", 1), {"s": TopicFacts(1, 1, of_source)})
    (query,) = applied(after(SOURCE), 1, command).state.desired.values()
    assert query.topic is not None
    assert trimming.retention_ms(query.topic) == kept


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE t AS SELECT id, COUNT(*) AS n FROM s GROUP BY id;",
        "CREATE STREAM t AS SELECT * FROM s;",
        "CREATE STREAM t WITH (RETENTION_MS=1000) AS SELECT * FROM s;",
    ],
)
def test_other_topics_are_kept_as_kafka_does(statement: str) -> None:
    step = topic(statement)
    assert trimming.retention_ms(step) is None
    assert trimming.config(step) == step.config


class TrimmedTopics(KafkaClient):
    """Notes what is trimmed."""

    def __init__(self) -> None:
        super().__init__({"bootstrap.servers": "127.0.0.1:1"})
        self.calls: list[tuple[str, int]] = []

    def trim(self, topic: str, retention_ms: int) -> dict[int, int]:
        """As KafkaClient.trim."""
        self.calls.append((topic, retention_ms))
        return {}


def test_topics_of_the_queries_that_run_here_are_trimmed_once_a_period(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter((0.0, 299.0, 301.0, 302.0, 602.0))
    monkeypatch.setattr(trimming.time, "monotonic", lambda: next(clock))
    kafka = TrimmedTopics()
    queries: Mapping[str, DesiredQuery] = after(SOURCE, WINDOWED, "CREATE STREAM t AS SELECT * FROM s;").desired
    trimmer = Trimmer(kafka, queries.values)
    calls = []
    for _ in range(5):
        trimmer.step()
        calls.append(len(kafka.calls))
    assert calls == [0, 0, 1, 1, 2], "a period after the query is seen, and then each period"
    assert set(kafka.calls) == {("W", HOUR)}


def test_records_older_than_the_retention_are_removed(kafka: BrokerClient) -> None:
    name = kafka.create_topic(partitions=3, config={"cleanup.policy": "compact,delete", "retention.ms": "-1"})
    for partition, seconds in enumerate([(1, 9, 4, 30, 25, 17), (5, 6, 7)]):
        for second in seconds:
            kafka.produce(name, str(second), {"v": second}, second * 1000, partition=partition)
    client = KafkaClient({"bootstrap.servers": kafka.bootstrap})
    assert client.trim(name, 10_000) == {0: 3}, "in partition 1 nothing is so old, and partition 2 is empty"
    assert client.bounds(name) == {0: (3, 6), 1: (0, 3), 2: (0, 0)}
    assert client.trim(name, 10_000) == {}, "that has gone"
