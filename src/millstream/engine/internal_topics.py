"""Topics that a server creates for itself when it starts, perhaps while the brokers are starting, too."""

import logging
import time
from collections.abc import Mapping

from confluent_kafka import KafkaError, KafkaException

from millstream.engine.kafka import KafkaClient
from millstream.services.errors import SetupError
from millstream.services.kafka_errors import UNANSWERED, reason

LOG = logging.getLogger(__name__)
# How long, in seconds, to wait for the brokers that are to hold a topic's replicas, and between two tries.
BROKERS_START, PAUSE = 20.0, 0.5


def create_internal_topic(
    kafka: KafkaClient, name: str, partitions: int, replicas: int, config: Mapping[str, str] | None = None
) -> None:
    """Create a topic, unless it exists; while Kafka has fewer brokers than `replicas`, further ones may be starting.

    Raises SetupError if there are still too few after BROKERS_START seconds, KafkaException.
    """
    deadline = time.monotonic() + BROKERS_START
    while True:
        try:
            kafka.create(name, partitions, replicas, config)
            return
        except KafkaException as failure:
            if failure.args[0].code() != KafkaError.INVALID_REPLICATION_FACTOR:
                raise
            if time.monotonic() > deadline:
                fact = f"the topic {name} cannot be created: {reason(failure)}"
                hint = "start more brokers, or set ksql.internal.topic.replicas to the number of brokers or less"
                raise SetupError(fact, hint) from failure
        time.sleep(PAUSE)


def correct_settings(kafka: KafkaClient, name: str, settings: Mapping[str, str]) -> None:
    """Change those of these settings of a topic that have other values, by which it may lose records: those of an
    operator, or Kafka's defaults.

    If Kafka refuses that, the log says what is wrong. Raises KafkaException if Kafka does not answer.
    """
    present: dict[str, str] = {}
    try:
        present = kafka.topic_settings(name)
        if wrong := _different(present, settings):
            kafka.set_topic_settings(name, {setting: settings[setting] for setting in wrong})
            LOG.warning("the topic %s had %s, by which it loses records: corrected", name, _listed(wrong))
    except KafkaException as failure:
        if failure.args[0].code() in UNANSWERED:
            raise
        wrong = _different(present, settings)
        fact = f"has {_listed(wrong)}, by which it loses records" if wrong else "was not checked"
        level = logging.WARNING if wrong else logging.INFO
        LOG.log(level, "the topic %s %s; it must have %s: %s", name, fact, _listed(settings), reason(failure))


def _different(present: Mapping[str, str], settings: Mapping[str, str]) -> dict[str, str]:
    """Those of the present settings that should have another value."""
    return {name: present[name] for name, value in settings.items() if name in present and present[name] != value}


def _listed(settings: Mapping[str, str]) -> str:
    return ", ".join(f"{name}={value}" for name, value in settings.items())
