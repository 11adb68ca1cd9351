"""How long an ASSERT may wait, and what holds."""

from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from millstream.engine.api import Request, RequestFailed
from millstream.engine.assertions import CHECK, schema, topic
from millstream.engine.context import StatementContext
from millstream.engine.session import RequestSession
from millstream.formats.client import RegistryFailed
from millstream.model.errors import StatementError
from millstream.model.settings import effective
from millstream.syntax.parser import parse_one


def _context(text: str) -> StatementContext:
    return StatementContext(parse_one(text), text, RequestSession(Request(""), effective({})))


def _engine(**components: object) -> Any:
    return SimpleNamespace(**components)


@pytest.mark.parametrize("text", ["ASSERT TOPIC t TIMEOUT 61 MINUTES;", "ASSERT TOPIC t TIMEOUT 1000000 DAYS;"])
def test_no_assert_keeps_its_thread_for_ever(text: str) -> None:
    no_engine: Any = None
    context = _context(text)
    with pytest.raises(StatementError, match="an ASSERT waits 60 minutes at most"):
        topic(context, no_engine)


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        ("ASSERT TOPIC t WITH (partitions=2)", ""),
        ("ASSERT TOPIC t WITH (partitions=9)", "For config partitions, expected 9 got 2"),
        ("ASSERT TOPIC t WITH (partitions='2', replicas=1)", ""),
        (
            "ASSERT TOPIC t WITH (partitions='apples', replicas=3, foo=1)",
            "Mismatched configuration for topic t: For config partitions, expected apples got 2\n"
            "Mismatched configuration for topic t: For config replicas, expected 3 got 1\n"
            "Cannot assert unknown topic property: FOO",
        ),
        ("ASSERT TOPIC u WITH (foo=1)", "Topic u does not exist"),
        ("ASSERT NOT EXISTS TOPIC u WITH (foo=1)", ""),
        ("ASSERT TOPIC u", "Topic u does not exist"),
        ("ASSERT NOT EXISTS TOPIC u WITH (partitions=2)", ""),
        ("ASSERT NOT EXISTS TOPIC t WITH (partitions=2)", "Topic t exists"),
        ("ASSERT NOT EXISTS TOPIC t WITH (partitions=9)", "Topic t exists"),
    ],
)
def test_what_holds_of_a_topic_with_two_partitions(text: str, refused: str) -> None:
    """WITH says nothing of a topic that is not to exist."""
    engine: Any = SimpleNamespace(kafka=SimpleNamespace(topics=lambda seconds: {"t": (1, 1)}))
    text = f"{text} TIMEOUT 0 SECONDS;"
    context = _context(text)
    if not refused:
        assert topic(context, engine)["topicName"] in "tu"
        return
    with pytest.raises(RequestFailed, match=refused) as failed:
        topic(context, engine)
    assert failed.value.code == 41700


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        ("ASSERT SCHEMA SUBJECT s ID 3", "Schema with subject name s id 3 does not exist"),
        ("ASSERT SCHEMA ID 3", "Schema with id 3 does not exist"),
    ],
)
def test_the_words_for_a_schema_that_is_not_there(text: str, refused: str) -> None:
    engine: Any = SimpleNamespace(schemas=SimpleNamespace(has=lambda subject, schema_id, seconds: False))
    text = f"{text} TIMEOUT 0 SECONDS;"
    context = _context(text)
    with pytest.raises(RequestFailed, match=f"^{refused}$"):
        schema(context, engine)


def test_while_kafka_is_away_an_assert_keeps_to_its_time() -> None:
    """Each check takes the time that is left at most, and the last one's failure is in ksqlDB's words."""
    allowed: list[float] = []

    def topics(seconds: float) -> dict[str, tuple[int, ...]]:
        allowed.append(seconds)
        raise KafkaException(KafkaError(KafkaError._TRANSPORT, "Failed to get metadata"))

    with pytest.raises(RequestFailed) as failed:
        topic(_context("ASSERT NOT EXISTS TOPIC t TIMEOUT 2 SECONDS;"), _engine(kafka=SimpleNamespace(topics=topics)))
    assert failed.value.code == 41700
    assert failed.value.message.startswith(
        "Cannot check topic existence: Kafka does not answer: Failed to get metadata\n  hint: see whether the brokers"
    )
    assert len(allowed) > 1
    assert max(allowed) <= 2
    assert min(allowed) >= CHECK


def test_a_topic_that_is_seen_once_kafka_is_back() -> None:
    answers = iter([KafkaException(KafkaError(KafkaError._TRANSPORT)), {}, {"t": (1,)}])

    def topics(_: float) -> dict[str, tuple[int, ...]]:
        answer = next(answers)
        if isinstance(answer, KafkaException):
            raise answer
        return answer

    context = _context("ASSERT TOPIC t TIMEOUT 10 MINUTES;")
    assert topic(context, _engine(kafka=SimpleNamespace(topics=topics)))["exists"] is True


def test_while_the_registry_is_away_an_assert_keeps_to_its_time() -> None:
    allowed: list[float] = []

    def has(_: str | None, __: int | None, seconds: float) -> bool:
        allowed.append(seconds)
        raise RegistryFailed("the schema registry http://r:8081 does not answer: timed out", hint="see whether it runs")

    with pytest.raises(RequestFailed) as failed:
        schema(_context("ASSERT SCHEMA ID 3 TIMEOUT 2 SECONDS;"), _engine(schemas=SimpleNamespace(has=has)))
    assert (failed.value.code, failed.value.message) == (
        41700,
        "Cannot check schema existence: the schema registry http://r:8081 does not answer: timed out\n"
        "  hint: see whether it runs",
    )
    assert len(allowed) > 1
    assert max(allowed) <= 2
    assert min(allowed) >= CHECK
