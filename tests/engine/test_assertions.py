"""How long an ASSERT may wait, and what holds."""

from types import SimpleNamespace
from typing import Any

import pytest

from millstream.engine.api import Request, RequestFailed
from millstream.engine.assertions import schema, topic
from millstream.engine.context import StatementContext
from millstream.engine.session import RequestSession
from millstream.model.errors import StatementError
from millstream.model.settings import effective
from millstream.syntax.parser import parse_one


@pytest.mark.parametrize("text", ["ASSERT TOPIC t TIMEOUT 61 MINUTES;", "ASSERT TOPIC t TIMEOUT 1000000 DAYS;"])
def test_no_assert_keeps_its_thread_for_ever(text: str) -> None:
    no_engine: Any = None
    context = StatementContext(parse_one(text), text, RequestSession(Request(""), effective({})))
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
    engine: Any = SimpleNamespace(kafka=SimpleNamespace(topics=lambda: {"t": (1, 1)}))
    text = f"{text} TIMEOUT 0 SECONDS;"
    context = StatementContext(parse_one(text), text, RequestSession(Request(""), effective({})))
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
    engine: Any = SimpleNamespace(schemas=SimpleNamespace(has=lambda subject, schema_id: False))
    text = f"{text} TIMEOUT 0 SECONDS;"
    context = StatementContext(parse_one(text), text, RequestSession(Request(""), effective({})))
    with pytest.raises(RequestFailed, match=f"^{refused}$"):
        schema(context, engine)
