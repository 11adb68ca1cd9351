"""What Kafka's ACLs let the server do with the topics of a statement, checked before it is carried out.

    CREATE STREAM big AS SELECT * FROM orders …   orders: Read, BIG: Write, if it exists
    AccessDenied: Authorization denied to Read on topic(s): [orders]

As in ksqlDB (KsqlAuthorizationValidatorImpl), whose `ksql.access.validator.enable` switches it off. Without ACLs Kafka
allows everything. A right that is revoked later ends a query with Kafka's error, until it is granted again.
"""

from collections.abc import Mapping
from functools import singledispatch

from confluent_kafka import KafkaException

from millstream.analysis.targets import names_read, target
from millstream.catalog.catalog import Catalog
from millstream.engine.facts import topics_of
from millstream.engine.kafka import KafkaClient
from millstream.services.kafka_errors import is_denial
from millstream.syntax import tree

ENABLED = "ksql.access.validator.enable"
CREATE, READ, WRITE, DELETE = "Create", "Read", "Write", "Delete"
# ksqlDB's ERROR_CODE_FORBIDDEN_KAFKA_ACCESS.
FORBIDDEN = 40301
RIGHTS = "docs/security.md has the rights that a server's user needs at Kafka"


class AccessDenied(Exception):
    """An operation that Kafka's ACLs deny to the server."""


def denied(operation: str, topic: str) -> AccessDenied:
    """The error for one topic."""
    return AccessDenied(f"Authorization denied to {operation} on topic(s): [{topic}]\n  hint: {RIGHTS}")


def write_failure(topic: str, failure: KafkaException) -> Exception:
    """The error for a record that was not written: AccessDenied if that is the reason, else the failure."""
    return denied(WRITE, topic) if is_denial(failure) else failure


def check(statement: tree.Statement, catalog: Catalog, settings: Mapping[str, str], kafka: KafkaClient) -> None:
    """Raises AccessDenied if an existing topic may not be used as the statement uses it; KafkaException."""
    check_topics(operations(statement, catalog, settings), settings, kafka)


def check_topics(needed: Mapping[str, str], settings: Mapping[str, str], kafka: KafkaClient) -> None:
    """Raises AccessDenied if a topic may not be used by its operation, such as {"orders": "Read"}; KafkaException."""
    allowed = {} if settings[ENABLED] == "off" else kafka.allowed(needed)
    for topic, operation in needed.items():
        if topic in allowed and operation.upper() not in allowed[topic]:
            raise denied(operation, topic)


@singledispatch
def operations(statement: tree.Statement, catalog: Catalog, settings: Mapping[str, str]) -> dict[str, str]:
    """The operation that a statement needs on each topic, such as {"orders": "Read"}."""
    return {}


@operations.register
def _(statement: tree.CreateSource, catalog: Catalog, settings: Mapping[str, str]) -> dict[str, str]:
    return {target(statement, catalog, settings).topic: READ}


@operations.register
def _(statement: tree.CreateAs, catalog: Catalog, settings: Mapping[str, str]) -> dict[str, str]:
    return _read(statement.query, catalog) | {target(statement, catalog, settings).topic: WRITE}


@operations.register
def _(statement: tree.InsertInto, catalog: Catalog, settings: Mapping[str, str]) -> dict[str, str]:
    return _read(statement.query, catalog) | dict.fromkeys(topics_of((statement.target,), catalog), WRITE)


@operations.register
def _(statement: tree.Drop, catalog: Catalog, settings: Mapping[str, str]) -> dict[str, str]:
    return dict.fromkeys(topics_of((statement.name,), catalog), DELETE) if statement.delete_topic else {}


@operations.register
def _(statement: tree.QueryStatement, catalog: Catalog, settings: Mapping[str, str]) -> dict[str, str]:
    return _read(statement.query, catalog)


def _read(query: tree.SelectQuery, catalog: Catalog) -> dict[str, str]:
    return dict.fromkeys(topics_of(names_read(query), catalog), READ)
