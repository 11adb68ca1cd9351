"""The topic of a statement is created before the statement is logged: if that fails, nothing has changed."""

from unittest.mock import Mock

import pytest
from confluent_kafka import KafkaError, KafkaException

from millstream.catalog.facts import Facts, TopicFacts
from millstream.engine.api import Request
from millstream.engine.changes import change
from millstream.engine.context import EngineContext, StatementContext
from millstream.engine.kafka import KafkaClient
from millstream.engine.session import RequestSession
from millstream.engine.state import EngineState
from millstream.engine.topic_access import AccessDenied
from millstream.model.errors import StatementError
from millstream.model.settings import effective
from millstream.syntax.parser import parse_one
from support.statements import catalog_of

KNOWN = {"orders": TopicFacts(1)}
CATALOG = catalog_of(
    "CREATE STREAM orders (id INT KEY, v INT) WITH (kafka_topic='orders', value_format='JSON');", Facts(KNOWN)
)
STATEMENTS = (
    "CREATE STREAM s (v INT) WITH (kafka_topic='new', value_format='JSON', partitions=1);",
    "CREATE TABLE t (k INT PRIMARY KEY, v INT) WITH (kafka_topic='new', value_format='JSON', partitions=1);",
    "CREATE STREAM new AS SELECT * FROM orders;",
    "CREATE TABLE new AS SELECT id, COUNT(*) AS n FROM orders GROUP BY id;",
)


def engine_without_topic(failure: KafkaException) -> Mock:
    """An engine over a Kafka that says it would create topics, and then does not."""
    kafka = Mock(spec=KafkaClient)
    kafka.facts.return_value = KNOWN
    kafka.allowed.return_value = {}
    kafka.ends.return_value = {0: 0}
    kafka.create.side_effect = lambda *step, validate_only=False: fail(failure, validate_only)
    engine = Mock(spec=EngineContext)
    engine.configure_mock(kafka=kafka, name="one", state=EngineState(CATALOG), push={}, log=Mock(), server={})
    engine.schemas.look_up.return_value = ()
    engine.follower.await_deletions.return_value = frozenset()
    engine.spark.cores = 2
    return engine


def fail(failure: KafkaException, validate_only: bool) -> bool:
    if not validate_only:
        raise failure
    return True


def executed(text: str, engine: Mock) -> None:
    session = RequestSession(Request(text), effective({"millstream.slots": "8"}, {}))
    change(StatementContext(parse_one(text), text, session), engine)


@pytest.mark.parametrize("text", STATEMENTS)
def test_a_topic_that_cannot_be_created_leaves_the_log_as_it_was(text: str) -> None:
    engine = engine_without_topic(KafkaException(KafkaError(KafkaError.POLICY_VIOLATION, "no more topics")))
    with pytest.raises(StatementError, match=r"Kafka did not create topic (new|NEW): no more topics"):
        executed(text, engine)
    engine.log.append.assert_not_called()


def test_a_right_that_is_revoked_meanwhile_is_named() -> None:
    engine = engine_without_topic(KafkaException(KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED, "denied")))
    with pytest.raises(AccessDenied, match=r"Authorization denied to Create on topic\(s\): \[new\]"):
        executed(STATEMENTS[0], engine)
    engine.log.append.assert_not_called()
