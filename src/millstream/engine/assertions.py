"""ASSERT TOPIC and ASSERT SCHEMA: wait until a topic or schema exists, or no longer exists."""

import threading
import time
from collections.abc import Callable

from confluent_kafka import KafkaException

from millstream.engine.api import Entity, RequestFailed
from millstream.engine.context import EngineContext, StatementContext
from millstream.engine.entities.build import entity
from millstream.engine.kafka import KafkaClient
from millstream.engine.schemas import RegistryAccess
from millstream.formats.client import RegistryFailed
from millstream.model.errors import StatementError
from millstream.services.kafka_errors import message
from millstream.syntax import tree

SCHEMA_TIMEOUT = "ksql.assert.schema.default.timeout.ms"
TIMEOUT = "ksql.assert.topic.default.timeout.ms"
ASSERTION_FAILED = 41700
TOO_MANY = 42900
# Seconds between two checks.
PULSE = 0.05
# The seconds that a check may take, however little time is left.
CHECK = 1.0
# A waiting ASSERT occupies one of the threads that execute statements (server/context.py): at most half of them wait.
# The time is limited, so that an ASSERT whose client has disconnected frees its thread.
LONGEST_MS = 3_600_000
WAITING = threading.BoundedSemaphore(100)


def topic(context: StatementContext, engine: EngineContext) -> Entity:
    """The entity of an ASSERT TOPIC that holds. Raises RequestFailed 41700 if it does not hold within its time."""
    statement = context.statement
    assert isinstance(statement, tree.AssertTopic)
    _wait(context, statement.timeout, TIMEOUT, lambda seconds: _wrong(statement, engine.kafka, seconds))
    return entity("assert_topic", context.text, topicName=statement.topic, exists=statement.exists)


def schema(context: StatementContext, engine: EngineContext) -> Entity:
    """The entity of an ASSERT SCHEMA that holds. Raises RequestFailed 41700 if it does not hold within its time."""
    statement = context.statement
    assert isinstance(statement, tree.AssertSchema)
    if statement.subject is None and statement.id is None:
        raise StatementError("ASSERT SCHEMA needs a subject name or a schema id", statement.span)
    _wait(context, statement.timeout, SCHEMA_TIMEOUT, lambda seconds: _wrong_schema(statement, engine.schemas, seconds))
    schema = {"subject": statement.subject, "id": statement.id, "exists": statement.exists}
    return entity("assert_schema", context.text, **schema)


def _wait(
    context: StatementContext, timeout: tree.Duration | None, default: str, wrong: Callable[[float], str]
) -> None:
    """Check repeatedly until `wrong` returns "" or the timeout has passed; `wrong` gets the seconds that are left.

    Raises RequestFailed.
    """
    patience = timeout.milliseconds if timeout else int(context.settings[default])
    if patience > LONGEST_MS:
        raise StatementError(f"an ASSERT waits {LONGEST_MS // 60_000} minutes at most", context.statement.span)
    if not WAITING.acquire(blocking=False):
        raise RequestFailed(TOO_MANY, "too many ASSERTs wait already\n  hint: try again", context.text)
    try:
        deadline = time.monotonic() + patience / 1000
        while (reason := wrong(max(deadline - time.monotonic(), CHECK))) and time.monotonic() < deadline:
            time.sleep(PULSE)
    finally:
        WAITING.release()
    if reason:
        raise RequestFailed(ASSERTION_FAILED, reason, context.text)


def _wrong_schema(statement: tree.AssertSchema, schemas: RegistryAccess, seconds: float) -> str:
    """Why the assertion does not hold now; "" if it does. A check takes at most `seconds`."""
    conditions = [f"subject name {statement.subject}"] if statement.subject is not None else []
    conditions += [f"id {statement.id}"] if statement.id is not None else []
    try:
        exists = schemas.has(statement.subject, statement.id, seconds)
    except RegistryFailed as failure:
        return f"Cannot check schema existence: {failure}" + (f"\n  hint: {failure.hint}" if failure.hint else "")
    if exists == statement.exists:
        return ""
    return f"Schema with {' '.join(conditions)} {'does not exist' if statement.exists else 'exists'}"


def _wrong(statement: tree.AssertTopic, kafka: KafkaClient, seconds: float) -> str:
    """Why the assertion does not hold now; "" if it does. A check takes at most `seconds`."""
    name = statement.topic
    try:
        replicas = kafka.topics(seconds).get(name)
    except KafkaException as failure:
        return f"Cannot check topic existence: {message(failure)}"
    if not statement.exists:
        # As in ksqlDB, whatever WITH says.
        return f"Topic {name} exists" if replicas is not None else ""
    if replicas is None:
        return f"Topic {name} does not exist"
    actual = {"PARTITIONS": len(replicas), "REPLICAS": min(replicas, default=0)}
    return "\n".join(filter(None, (_difference(name, item, actual) for item in statement.properties)))


def _difference(topic_name: str, asserted: tree.Property, actual: dict[str, int]) -> str:
    """Why a property of WITH is not that of the topic, in ksqlDB's words; "" if it is."""
    name, expected = asserted.name.upper(), asserted.value.value
    if name not in actual:
        return f"Cannot assert unknown topic property: {name}"
    if str(expected) == str(actual[name]):
        return ""
    mismatch = f"For config {name.lower()}, expected {expected} got {actual[name]}"
    return f"Mismatched configuration for topic {topic_name}: {mismatch}"
