"""Prefixes the topics in a case's statements, since many cases share one broker."""

from dataclasses import replace

from millstream.catalog.catalog import Catalog
from millstream.syntax import tree
from millstream.syntax.printer import to_sql


def renamed(statement: tree.Statement, text: str, prefix: str) -> str:
    """The statement's text with `prefix` before the topic that it names.

    For CREATE … AS without a topic, the server's setting ksql.output.topic.name.prefix adds the prefix.
    """
    if not isinstance(statement, tree.CreateSource | tree.CreateAs):
        return text
    return to_sql(replace(statement, properties=tuple(_property(p, prefix) for p in statement.properties))) + ";"


def _property(property: tree.Property, prefix: str) -> tree.Property:
    name = property.value.value
    if property.name != "KAFKA_TOPIC" or not isinstance(name, str):
        return property
    return replace(property, value=replace(property.value, value=prefix + name))


def original(catalog: Catalog, prefix: str) -> Catalog:
    """The catalog with the case's names of topics."""
    sources = {n: replace(s, topic=s.topic.removeprefix(prefix)) for n, s in catalog.sources.items()}
    return replace(catalog, sources=sources)
