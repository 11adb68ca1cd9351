"""The words of Kafka's errors, and which of them deny a right."""

from confluent_kafka import KafkaError, KafkaException

AUTHORIZATION = (
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED,
    KafkaError.GROUP_AUTHORIZATION_FAILED,
    KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
)


def reason(failure: Exception) -> str:
    """The message of an error, "" if it has none; of a KafkaException Kafka's message, without code and class."""
    error = failure.args[0] if failure.args else None
    if not isinstance(error, KafkaError):
        return str(failure)
    # librdkafka may give an error without a message, such as that of a group whose coordinator is starting.
    return str(error.str() or KafkaError(error.code()).str())


def is_denial(failure: KafkaException) -> bool:
    """True if Kafka has refused something because a right is missing."""
    return failure.args[0].code() in AUTHORIZATION
