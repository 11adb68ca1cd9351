"""The end of an engine, when something cannot be closed."""

from types import SimpleNamespace
from typing import Any, cast

from confluent_kafka import KafkaError, KafkaException

from millstream.engine.bootstrap import close_engine


def test_queries_stop_in_an_orderly_way_though_a_push_query_cannot_be_closed() -> None:
    closed = []

    def refused() -> None:
        raise KafkaException(KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED))

    push = {"one": SimpleNamespace(close=refused), "two": SimpleNamespace(close=lambda: closed.append("two"))}
    close_engine(cast(Any, SimpleNamespace(push=push, close=lambda: closed.append("the rest"))))
    assert closed == ["two", "the rest"]
