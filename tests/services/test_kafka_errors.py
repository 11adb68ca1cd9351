"""The words of Kafka's errors."""

import pytest
from confluent_kafka import KafkaError, KafkaException

from millstream.services.kafka_errors import AWAY, message, reason


@pytest.mark.parametrize(
    ("failure", "words"),
    [
        (KafkaException(KafkaError(KafkaError._TIMED_OUT, "no answer in 5 s")), "no answer in 5 s"),
        (KafkaException(KafkaError(KafkaError.COORDINATOR_NOT_AVAILABLE, "")), "Broker: Coordinator not available"),
        (KafkaException(KafkaError(KafkaError._TRANSPORT)), "Local: Broker transport failure"),
        (OSError("disk"), "disk"),
    ],
)
def test_an_error_says_something(failure: Exception, words: str) -> None:
    assert reason(failure) == words


def test_a_client_is_told_what_to_do_if_no_broker_has_answered() -> None:
    unanswered = KafkaException(KafkaError(KafkaError._TIMED_OUT))
    assert message(unanswered) == f"Kafka does not answer: Local: Timed out\n  hint: {AWAY}"
    assert message(KafkaException(KafkaError(KafkaError.INVALID_TIMESTAMP, "too old"))) == "Kafka: too old"
