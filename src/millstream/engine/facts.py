"""What planning a statement needs to know of Kafka: looked up once, before planning begins."""

import time
from collections.abc import Iterable, Iterator, Mapping
from functools import singledispatch

from millstream.catalog.catalog import Catalog
from millstream.catalog.facts import Facts
from millstream.engine.kafka import KafkaClient
from millstream.engine.schemas import RegistryAccess
from millstream.syntax import tree

JUST_MADE = 1.0
PREFIX = "ksql.output.topic.name.prefix"


def look_up(
    statement: tree.Statement,
    catalog: Catalog,
    settings: Mapping[str, str],
    kafka: KafkaClient,
    schemas: RegistryAccess,
) -> Facts:
    """The facts of every topic that the statement names, through its sources, its properties or by default.

    And of the registry's schemas that it is about. Raises StatementError where the registry fails.
    """
    names = frozenset(topics(statement, catalog, settings))
    if not names:
        return Facts()
    found = kafka.facts(names)
    deadline = time.monotonic() + JUST_MADE
    while not _needed(statement) <= found.keys() and time.monotonic() < deadline:
        time.sleep(0.05)
        found = kafka.facts(names)
    return Facts(found, *schemas.look_up(statement, catalog, settings))


def _needed(statement: tree.Statement) -> frozenset[str]:
    """The topics that must be there. One that another client made a moment ago may not be known to all brokers yet."""
    if not isinstance(statement, tree.CreateSource) or any(p.name == "PARTITIONS" for p in statement.properties):
        return frozenset()
    return frozenset(_given(statement.properties))


@singledispatch
def topics(statement: tree.Statement, catalog: Catalog, settings: Mapping[str, str]) -> Iterable[str]:
    """The topics that a statement is about, whether they exist or not."""
    return ()


@topics.register
def _(statement: tree.CreateSource, catalog: Catalog, settings: Mapping[str, str]) -> Iterator[str]:
    yield from _given(statement.properties)
    yield from _of((statement.name,), catalog)


@topics.register
def _(statement: tree.CreateAs, catalog: Catalog, settings: Mapping[str, str]) -> Iterator[str]:
    yield from _given(statement.properties)
    yield settings.get(PREFIX, "") + statement.name
    yield from _of((statement.name, *_read_by(statement.query)), catalog)


@topics.register
def _(statement: tree.InsertInto, catalog: Catalog, settings: Mapping[str, str]) -> Iterable[str]:
    return _of((statement.target, *_read_by(statement.query)), catalog)


@topics.register
def _(statement: tree.QueryStatement, catalog: Catalog, settings: Mapping[str, str]) -> Iterable[str]:
    return _of(_read_by(statement.query), catalog)


@topics.register
def _(statement: tree.Drop, catalog: Catalog, settings: Mapping[str, str]) -> Iterable[str]:
    return _of((statement.name,), catalog)


@topics.register
def _(statement: tree.AlterSource, catalog: Catalog, settings: Mapping[str, str]) -> Iterable[str]:
    return _of((statement.name,), catalog)


@topics.register
def _(statement: tree.Explain, catalog: Catalog, settings: Mapping[str, str]) -> Iterable[str]:
    return topics(statement.statement, catalog, settings) if statement.statement else ()


def _given(properties: Iterable[tree.Property]) -> Iterator[str]:
    return (str(p.value.value) for p in properties if p.name == "KAFKA_TOPIC")


def _read_by(query: tree.SelectQuery) -> Iterator[str]:
    yield query.source.name
    yield from (join.source.name for join in query.joins)


def _of(names: Iterable[str], catalog: Catalog) -> Iterator[str]:
    return (catalog.sources[name].topic for name in names if name in catalog.sources)
