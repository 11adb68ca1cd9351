"""Carries out the steps that create and delete topics, or checks that they are possible."""

from collections.abc import Iterable

from confluent_kafka import KafkaException

from millstream.engine import topic_access, trimming
from millstream.engine.kafka import DELETES_TOPICS, KafkaClient
from millstream.model.errors import StatementError
from millstream.plan.steps import CreateTopic, DeleteTopic, Step
from millstream.services.kafka_errors import UNANSWERED, is_denial, reason


def carry_out(step: CreateTopic | DeleteTopic, kafka: KafkaClient) -> None:
    """Create or delete the topic. Raises KafkaException."""
    match step:
        case CreateTopic(name, partitions, replicas):
            kafka.create(name, partitions, replicas, trimming.config(step))
        case DeleteTopic(name):
            kafka.delete(name)


def check(step: Step, kafka: KafkaClient) -> None:
    """Ask Kafka whether it would create, or delete, the topic of a step. Raises StatementError with its reason,
    AccessDenied, KafkaException if it does not answer."""
    if isinstance(step, DeleteTopic) and not kafka.may_delete():
        fact = f"Could not delete the corresponding kafka topic: {step.name}"
        raise StatementError(fact, hint=f"the brokers have {DELETES_TOPICS}=false: leave DELETE TOPIC out")
    if not isinstance(step, CreateTopic):
        return
    try:
        kafka.create(step.name, step.partitions, step.replicas, step.config, validate_only=True)
    except KafkaException as failure:
        raise _refused(step, failure, "would") from failure


def create(steps: Iterable[Step], kafka: KafkaClient) -> None:
    """Create the topics of a statement that is not logged yet. Raises StatementError with Kafka's reason, AccessDenied,
    KafkaException if Kafka does not answer.

    The follower's step then finds them; it creates one where a server that has taken the statement could not.
    """
    for step in steps:
        if isinstance(step, CreateTopic):
            try:
                carry_out(step, kafka)
            except KafkaException as failure:
                raise _refused(step, failure, "did") from failure


def _refused(step: CreateTopic, failure: KafkaException, verb: str) -> Exception:
    """The error for a topic that Kafka would not, or did not, create; the failure itself if Kafka has not answered."""
    if failure.args[0].code() in UNANSWERED:
        return failure
    if is_denial(failure):
        return topic_access.denied(topic_access.CREATE, step.name)
    return StatementError(f"Kafka {verb} not create topic {step.name}: {reason(failure)}")
