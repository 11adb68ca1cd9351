"""The words of Kafka's errors, and which of them deny a right."""

from confluent_kafka import KafkaError, KafkaException

AUTHORIZATION = (
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED,
    KafkaError.GROUP_AUTHORIZATION_FAILED,
    KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
)
# The errors of a request that no broker has answered.
UNANSWERED = (
    KafkaError._TIMED_OUT,
    KafkaError._MSG_TIMED_OUT,
    KafkaError._TRANSPORT,
    KafkaError._ALL_BROKERS_DOWN,
    KafkaError._DESTROY_BROKER,
    KafkaError._RESOLVE,
)
AWAY = "see whether the brokers of bootstrap.servers run and can be reached; GET /healthcheck says when they answer"


def reason(failure: Exception) -> str:
    """The message of an error, "" if it has none; of a KafkaException Kafka's message, without code and class."""
    error = failure.args[0] if failure.args else None
    if not isinstance(error, KafkaError):
        return str(failure)
    # librdkafka may give an error without a message, such as that of a group whose coordinator is starting.
    return str(error.str() or KafkaError(error.code()).str())


def hint(failure: KafkaException) -> str:
    """What to append to the message of a request that no broker has answered; "" for any other failure."""
    return f"\n  hint: {AWAY}" if failure.args[0].code() in UNANSWERED else ""


def message(failure: KafkaException) -> str:
    """The message for the client whose statement has failed: Kafka's own, and a hint if Kafka is away."""
    return f"Kafka{' does not answer' if hint(failure) else ''}: {reason(failure)}{hint(failure)}"


def is_denial(failure: KafkaException) -> bool:
    """True if Kafka has refused something because a right is missing."""
    return failure.args[0].code() in AUTHORIZATION
