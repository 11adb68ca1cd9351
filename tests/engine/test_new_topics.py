"""Topics that have just been created, of which some brokers have not heard yet."""

from concurrent.futures import Future
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, Uuid
from confluent_kafka.admin import TopicDescription  # type: ignore[attr-defined]

from millstream.engine import kafka_admin
from millstream.engine.kafka_admin import KafkaAdmin
from millstream.services.ports import free_port


class Brokers:
    """An admin client of brokers, of which the first ones that are asked do not know the topics yet."""

    def __init__(self, unaware: int) -> None:
        self.unaware, self.asked = unaware, 0

    def describe_topics(self, topics: Any, **_: object) -> dict[str, Future[Any]]:
        self.asked += 1
        return {name: self._described(name) for name in topics.topic_names}

    def _described(self, name: str) -> Future[Any]:
        future = Future[Any]()
        if self.asked <= self.unaware:
            future.set_exception(KafkaException(KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART)))
        else:
            future.set_result(TopicDescription(name, Uuid(1, 2), False, []))
        return future


def admin(brokers: Brokers) -> KafkaAdmin:
    client = KafkaAdmin({"bootstrap.servers": f"127.0.0.1:{free_port()}"})
    client.client = brokers  # type: ignore[assignment]
    return client


def test_a_broker_that_has_not_heard_of_a_new_topic_is_asked_again() -> None:
    """A server that started on three brokers ended: *topic …command_topic does not exist*."""
    brokers = Brokers(unaware=2)
    client = admin(brokers)
    client.has_created("t")
    assert client.described("t").name == "t"
    assert brokers.asked == 3


@pytest.mark.parametrize("known", ["other", "deleted", "old"])
def test_other_topics_are_asked_for_once(known: str, monkeypatch: pytest.MonkeyPatch) -> None:
    brokers = Brokers(unaware=2)
    client = admin(brokers)
    client.has_created("other" if known == "other" else "t")
    if known == "deleted":
        client.has_deleted(["t"])
    if known == "old":
        monkeypatch.setattr(kafka_admin, "SETTLE", 0.0)
    with pytest.raises(KafkaException, match="topic t does not exist"):
        client.described("t")
    assert brokers.asked == 1
