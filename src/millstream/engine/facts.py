"""The facts about Kafka and the registry that planning a statement needs: looked up once, before planning."""

import time
from collections.abc import Iterable, Iterator, Mapping
from functools import singledispatch

from millstream.analysis.targets import Target, names_read, target
from millstream.catalog.catalog import Catalog
from millstream.catalog.facts import Facts
from millstream.engine.kafka import KafkaClient
from millstream.engine.schemas import RegistryAccess
from millstream.syntax import tree

# How long, in seconds, a topic that is missing is looked for: it may have been created a moment ago.
JUST_CREATED = 1.0


def look_up(
    statement: tree.Statement,
    names: frozenset[str],
    catalog: Catalog,
    settings: Mapping[str, str],
    kafka: KafkaClient,
    schemas: RegistryAccess,
) -> Facts:
    """The facts of the topics of these names, which are those that the statement uses (`topics_used`).

    Also the schemas of the registry that it needs. Raises StatementError if the registry fails.
    """
    created = _created(statement, catalog, settings)
    if not names:
        return Facts()
    needed = {created.topic} if created is not None and created.must_exist else set()
    facts = kafka.facts(names)
    # A topic that another client has just created may not be known to all brokers yet.
    deadline = time.monotonic() + JUST_CREATED
    while not needed <= facts.keys() and time.monotonic() < deadline:
        time.sleep(0.05)
        facts = kafka.facts(names)
    return Facts(facts, *(schemas.look_up(created) if created is not None else ()))


def _created(statement: tree.Statement, catalog: Catalog, settings: Mapping[str, str]) -> Target | None:
    return target(statement, catalog, settings) if isinstance(statement, tree.CreateSource | tree.CreateAs) else None


def topics_used(statement: tree.Statement, catalog: Catalog, settings: Mapping[str, str]) -> frozenset[str]:
    """The topics that a statement uses, through its sources, its properties or by default; they need not exist."""
    return frozenset(_topics(statement, catalog, settings))


@singledispatch
def _topics(statement: tree.Statement, catalog: Catalog, settings: Mapping[str, str]) -> Iterable[str]:
    return ()


@_topics.register
def _(statement: tree.CreateSource, catalog: Catalog, settings: Mapping[str, str]) -> Iterator[str]:
    yield target(statement, catalog, settings).topic
    yield from topics_of((statement.name,), catalog)


@_topics.register
def _(statement: tree.CreateAs, catalog: Catalog, settings: Mapping[str, str]) -> Iterator[str]:
    yield target(statement, catalog, settings).topic
    yield from topics_of((statement.name, *names_read(statement.query)), catalog)


@_topics.register
def _(statement: tree.InsertInto, catalog: Catalog, settings: Mapping[str, str]) -> Iterable[str]:
    return topics_of((statement.target, *names_read(statement.query)), catalog)


@_topics.register
def _(statement: tree.QueryStatement, catalog: Catalog, settings: Mapping[str, str]) -> Iterable[str]:
    return topics_of(names_read(statement.query), catalog)


@_topics.register
def _(statement: tree.Drop, catalog: Catalog, settings: Mapping[str, str]) -> Iterable[str]:
    return topics_of((statement.name,), catalog)


@_topics.register
def _(statement: tree.AlterSource, catalog: Catalog, settings: Mapping[str, str]) -> Iterable[str]:
    return topics_of((statement.name,), catalog)


@_topics.register
def _(statement: tree.Explain, catalog: Catalog, settings: Mapping[str, str]) -> Iterable[str]:
    return _topics(statement.statement, catalog, settings) if statement.statement else ()


def topics_of(names: Iterable[str], catalog: Catalog) -> Iterator[str]:
    """The topics of those sources that exist."""
    return (catalog.sources[name].topic for name in names if name in catalog.sources)
