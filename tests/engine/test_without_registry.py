"""Formats with schemas when no registry is configured: refused with ksqlDB's messages, before anything is created."""

import pytest

from millstream.analysis.targets import Target, target
from millstream.catalog.catalog import Catalog
from millstream.engine.schemas import NoRegistry, RegistryAccess
from millstream.model.settings import effective
from millstream.syntax import tree
from millstream.syntax.parser import split


def created(statement: tree.Statement) -> Target:
    assert isinstance(statement, tree.CreateSource | tree.CreateAs)
    return target(statement, Catalog(), effective({}, {}))


CREATE = "CREATE STREAM s (v INT) WITH (kafka_topic='t', value_format='{}');"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (CREATE.format("AVRO"), "Cannot create topic 't' with format AVRO without configuring"),
        (CREATE.format("protobuf"), "Cannot create topic 't' with format PROTOBUF without configuring"),
        ("CREATE STREAM s WITH (kafka_topic='t', value_format='JSON_SR');", "KSQL is not configured to use a schema"),
        ("CREATE STREAM s WITH (format='AVRO') AS SELECT * FROM o;", "Cannot create topic 'S' with format AVRO"),
    ],
)
def test_refused(text: str, why: str) -> None:
    (parsed,) = split(text)
    with pytest.raises(NoRegistry, match=f"{why}.*ksql.schema.registry.url"):
        RegistryAccess({}).look_up(created(parsed.statement))


@pytest.mark.parametrize("format", ["JSON", "DELIMITED", "PROTOBUF_NOSR"])
def test_others_need_none(format: str) -> None:
    (parsed,) = split(CREATE.format(format))
    assert RegistryAccess({}).look_up(created(parsed.statement)) == ({}, {})
