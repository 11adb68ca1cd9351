"""ASSERT TOPIC: wait until a topic is there, or is not."""

import time

from millstream.analysis import properties
from millstream.engine.api import Entity, RequestFailed
from millstream.engine.entities.build import entity
from millstream.engine.kafka import Kafka
from millstream.engine.parts import Parts, Said
from millstream.syntax import tree

TIMEOUT = "ksql.assert.topic.default.timeout.ms"
ASSERTION_FAILED = 41700
PULSE = 0.05


def topic(said: Said, parts: Parts) -> Entity:
    """The entity of an ASSERT TOPIC that holds. Raises RequestFailed 41700 where it does not within its time."""
    statement = said.statement
    assert isinstance(statement, tree.AssertTopic)
    wanted = properties.read(statement.properties, properties.ASSERTED, statement.span).values
    patience = statement.timeout.milliseconds if statement.timeout else int(said.settings[TIMEOUT])
    deadline = time.monotonic() + patience / 1000
    while (wrong := _wrong(statement, wanted, parts.kafka)) and time.monotonic() < deadline:
        time.sleep(PULSE)
    if wrong:
        raise RequestFailed(ASSERTION_FAILED, wrong, said.text)
    return entity("assert_topic", said.text, topicName=statement.topic, exists=statement.exists)


def _wrong(statement: tree.AssertTopic, wanted: dict[str, str | int | bool], kafka: Kafka) -> str:
    """Why the assertion does not hold now, "" where it does."""
    name = statement.topic
    found = kafka.topics().get(name)
    if not statement.exists:
        return f"Topic {name} exists" if found is not None and not _differences(found, wanted) else ""
    if found is None:
        return f"Topic {name} does not exist"
    different = _differences(found, wanted)
    return f"Mismatched configuration for topic {name}: {different}" if different else ""


def _differences(found: tuple[int, ...], wanted: dict[str, str | int | bool]) -> str:
    actual = {"PARTITIONS": len(found), "REPLICAS": min(found, default=0)}
    return "; ".join(
        f"For config {name.lower()}, expected {wanted[name]} got {actual[name]}"
        for name in wanted
        if wanted[name] != actual[name]
    )
