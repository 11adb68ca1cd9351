"""What brokers say that ACLs allow, and what follows; with a real broker: tests/live/test_live_access.py."""

from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, Uuid
from confluent_kafka.admin import AclOperation, TopicDescription  # type: ignore[attr-defined]

from millstream.engine.kafka import KafkaClient
from millstream.engine.topic_access import AccessDenied, check_topics
from millstream.model.settings import effective
from millstream.services.ports import free_port

NOWHERE = {"bootstrap.servers": f"127.0.0.1:{free_port()}"}


class Brokers:
    """An admin client of brokers that answer with these operations by topic, or with the code of an error."""

    def __init__(self, answers: dict[str, Sequence[AclOperation] | int]) -> None:
        self._answers = answers

    def describe_topics(self, topics: Any, **_: object) -> dict[str, Future[Any]]:
        return {name: self._described(name) for name in topics.topic_names}

    def _described(self, name: str) -> Future[Any]:
        answer, future = self._answers[name], Future[Any]()
        if isinstance(answer, int):
            future.set_exception(KafkaException(KafkaError(answer)))
        else:
            future.set_result(TopicDescription(name, Uuid(1, 2), False, [], list(answer)))
        return future


def client(answers: dict[str, Sequence[AclOperation] | int]) -> KafkaClient:
    kafka = KafkaClient(NOWHERE)
    kafka._admin.client = Brokers(answers)  # type: ignore[assignment]
    return kafka


def test_what_is_allowed() -> None:
    kafka = client(
        {
            "read": [AclOperation.READ, AclOperation.DESCRIBE],
            "not said": [],
            "absent": KafkaError.UNKNOWN_TOPIC_OR_PART,
            "without leader": KafkaError.LEADER_NOT_AVAILABLE,
            "no name of a topic": KafkaError.TOPIC_EXCEPTION,
            "hidden": KafkaError.TOPIC_AUTHORIZATION_FAILED,
        }
    )
    topics = ("read", "not said", "absent", "without leader", "no name of a topic", "hidden")
    assert kafka.allowed(topics) == {"read": frozenset({"READ", "DESCRIBE"}), "hidden": frozenset()}
    assert kafka.allowed([]) == {}


@pytest.mark.parametrize("operation", ["Read", "Write"])
def test_what_is_denied_can_be_left_to_kafka(operation: str) -> None:
    kafka = client({"t": [AclOperation.DESCRIBE]})
    with pytest.raises(AccessDenied, match=rf"^Authorization denied to {operation} on topic\(s\): \[t\]"):
        check_topics({"t": operation}, effective({}), kafka)
    check_topics({"t": operation}, effective({"ksql.access.validator.enable": "off"}), kafka)


def test_an_outage_is_no_denial() -> None:
    with pytest.raises(KafkaException):
        client({"t": KafkaError.REQUEST_TIMED_OUT}).allowed(["t"])
