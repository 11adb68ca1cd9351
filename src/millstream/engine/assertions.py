"""ASSERT TOPIC and ASSERT SCHEMA: wait until a topic or schema is there, or is not."""

import time
from collections.abc import Callable

from millstream.analysis import properties
from millstream.engine.api import Entity, RequestFailed
from millstream.engine.context import EngineContext, StatementContext
from millstream.engine.entities.build import entity
from millstream.engine.kafka import KafkaClient
from millstream.engine.schemas import RegistryAccess
from millstream.model.errors import StatementError
from millstream.syntax import tree

SCHEMA_TIMEOUT = "ksql.assert.schema.default.timeout.ms"
TIMEOUT = "ksql.assert.topic.default.timeout.ms"
ASSERTION_FAILED = 41700
PULSE = 0.05


def topic(said: StatementContext, parts: EngineContext) -> Entity:
    """The entity of an ASSERT TOPIC that holds. Raises RequestFailed 41700 where it does not within its time."""
    statement = said.statement
    assert isinstance(statement, tree.AssertTopic)
    wanted = properties.read(statement.properties, properties.ASSERTED, statement.span).values
    _wait(said, statement.timeout, TIMEOUT, lambda: _wrong(statement, wanted, parts.kafka))
    return entity("assert_topic", said.text, topicName=statement.topic, exists=statement.exists)


def schema(said: StatementContext, parts: EngineContext) -> Entity:
    """The entity of an ASSERT SCHEMA that holds. Raises RequestFailed 41700 where it does not within its time."""
    statement = said.statement
    assert isinstance(statement, tree.AssertSchema)
    if statement.subject is None and statement.id is None:
        raise StatementError("ASSERT SCHEMA needs a subject name or a schema id", statement.span)
    _wait(said, statement.timeout, SCHEMA_TIMEOUT, lambda: _wrong_schema(statement, parts.schemas))
    told = {"subject": statement.subject, "id": statement.id, "exists": statement.exists}
    return entity("assert_schema", said.text, **told)


def _wait(said: StatementContext, given: tree.Duration | None, default: str, wrong: Callable[[], str]) -> None:
    """Ask until nothing is wrong, or the time that is given has passed. Raises RequestFailed."""
    patience = given.milliseconds if given else int(said.settings[default])
    deadline = time.monotonic() + patience / 1000
    while (why := wrong()) and time.monotonic() < deadline:
        time.sleep(PULSE)
    if why:
        raise RequestFailed(ASSERTION_FAILED, why, said.text)


def _wrong_schema(statement: tree.AssertSchema, schemas: RegistryAccess) -> str:
    """Why the assertion does not hold now, "" where it does."""
    what = [f"subject name {statement.subject}"] if statement.subject is not None else []
    what += [f"id {statement.id}"] if statement.id is not None else []
    if schemas.has(statement.subject, statement.id) == statement.exists:
        return ""
    return f"Schema with {' and '.join(what)} {'does not exist' if statement.exists else 'exists'}"


def _wrong(statement: tree.AssertTopic, wanted: dict[str, str | int | bool], kafka: KafkaClient) -> str:
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
