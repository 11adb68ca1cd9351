"""The words of Kafka's errors."""

from confluent_kafka import KafkaError


def reason(failure: Exception) -> str:
    """What an error says; a KafkaException in Kafka's words, without code and class. "" if it says nothing."""
    error = failure.args[0] if failure.args else None
    return str(error.str()) if isinstance(error, KafkaError) else str(failure)
