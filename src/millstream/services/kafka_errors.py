"""The words of Kafka's errors, and which of them deny a right."""

from confluent_kafka import KafkaError, KafkaException

AUTHORIZATION = (
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED,
    KafkaError.GROUP_AUTHORIZATION_FAILED,
    KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
)


def reason(failure: Exception) -> str:
    """What an error says; a KafkaException in Kafka's words, without code and class. "" if it says nothing."""
    error = failure.args[0] if failure.args else None
    if not isinstance(error, KafkaError):
        return str(failure)
    # librdkafka may give an error without words, as of a group whose coordinator has just begun.
    return str(error.str() or KafkaError(error.code()).str())


def is_denial(failure: KafkaException) -> bool:
    """True if Kafka has refused something for the want of a right."""
    return failure.args[0].code() in AUTHORIZATION
