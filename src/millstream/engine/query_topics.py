"""What a query needs of Kafka when it starts: its topics, the offsets at which it begins, the ends of joined tables.

CSAS_BIG_1 reads orders from {0: 120, 1: 98}, and writes BIG
require_topics      orders exists; BIG is missing, and is created again, as it was created for this query
existing_starts     partition 0 has 0 … 150 now, 1 has 200 … 260: {0: 120, 1: 200}
"""

from collections.abc import Mapping

from confluent_kafka import KafkaException

from millstream.engine import topics
from millstream.engine.kafka import KafkaClient
from millstream.engine.state import DesiredQuery
from millstream.engine.supervisor import CannotRun
from millstream.plan.nodes import PlanNode, lookup_tables, reads
from millstream.plan.steps import CreateTopic
from millstream.services.kafka_errors import reason
from millstream.spark.realtime import Starts


def existing_starts(starts: Starts, kafka: KafkaClient) -> dict[str, dict[int, int]]:
    """The start offsets that the topics still have; else, and in new partitions, the first offset. Raises CannotRun."""
    try:
        bounds = {topic: kafka.bounds(topic) for topic in starts}
    except KafkaException as failure:
        raise CannotRun(f"Kafka does not answer: {reason(failure)}") from failure
    return {topic: _within(starts[topic], available) for topic, available in bounds.items()}


def table_ends(plan: PlanNode, kafka: KafkaClient) -> Starts:
    """The end offsets of the tables in which streams of the plan look up rows. Raises CannotRun."""
    try:
        return {table.topic: kafka.ends(table.topic) for table in lookup_tables(plan)}
    except KafkaException as failure:
        raise CannotRun(f"Kafka does not answer: {reason(failure)}") from failure


def require_topics(desired: DesiredQuery, kafka: KafkaClient) -> None:
    """Check that the topics exist that the query reads and writes; creates its sink if missing. Raises CannotRun."""
    try:
        existing = kafka.topics()
    except KafkaException as failure:
        raise CannotRun(f"Kafka does not answer: {reason(failure)}") from failure
    needed = [s.topic for s in (*reads(desired.plan), desired.plan.sink)]
    missing = [topic for topic in needed if topic not in existing]
    if desired.topic is not None and missing == [desired.topic.name]:
        _create(desired.topic, kafka)
    elif missing:
        raise CannotRun(_why_missing(missing[0], kafka))


def _create(topic: CreateTopic, kafka: KafkaClient) -> None:
    try:
        topics.carry_out(topic, kafka)
    except KafkaException as failure:
        raise CannotRun(f"topic {topic.name} is missing and cannot be created: {reason(failure)}") from failure


def _why_missing(topic: str, kafka: KafkaClient) -> str:
    try:
        is_denied = topic in kafka.allowed([topic])
    except KafkaException as failure:
        return f"Kafka does not answer: {reason(failure)}"
    # Kafka lists only the topics that the server may describe.
    if is_denied:
        return f"Authorization denied to Describe on topic(s): [{topic}]"
    return f"waiting for topic {topic}, which does not exist"


def _within(desired: Mapping[int, int], available: Mapping[int, tuple[int, int]]) -> dict[int, int]:
    """The desired offset of each partition that still has it, else the partition's first one."""
    return {p: at if low <= (at := desired.get(p, low)) <= end else low for p, (low, end) in available.items()}
