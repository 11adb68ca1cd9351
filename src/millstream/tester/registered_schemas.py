"""The schemas that a case registers before its statements run, with their ids."""

import json
from collections.abc import Iterator
from typing import Any

from millstream.catalog.schemas import SchemaText, subject
from millstream.syntax import tree
from millstream.syntax.errors import SqlSyntaxError
from millstream.syntax.parser import split
from millstream.tester.cases import CaseTopic, ConformanceCase
from millstream.tester.registry import CaseSchemas, reference

_SIDES = ("KEY", "VALUE")


def register(case: ConformanceCase, schemas: CaseSchemas) -> None:
    """Register the schemas of the case's topics.

    A schema without id gets the id that a statement about its topic refers to; those without either come last.
    """
    ids = dict(_requested_ids(case))
    sides = [(topic, side, _id(topic, side, ids)) for topic in case.topics for side in _SIDES]
    for topic, side, id in sorted(sides, key=lambda s: s[2] is None):
        text = topic.raw.get(f"{side.lower()}Schema")
        if text is not None:
            schemas.register(subject(topic.name, side), _schema(topic, side, text, schemas), id)


def _id(topic: CaseTopic, side: str, ids: dict[tuple[str, str], int]) -> int | None:
    return topic.raw.get(f"{side.lower()}SchemaId") or ids.get((topic.name, side))


def _schema(topic: CaseTopic, side: str, text: Any, schemas: CaseSchemas) -> SchemaText:
    kind = _kind(topic, side, text)
    references = tuple(
        reference(r["name"], _text(r["schema"]), kind, schemas)
        for r in topic.raw.get(f"{side.lower()}SchemaReferences") or ()
    )
    return SchemaText(kind, _text(text), references)


def _text(schema: Any) -> str:
    if isinstance(schema, str):
        return schema if schema.lstrip()[:1] in ('"', "{", "[") or " " in schema else json.dumps(schema)
    return json.dumps(schema)


def _kind(topic: CaseTopic, side: str, text: Any) -> str:
    format = str(topic.raw.get(f"{side.lower()}Format") or topic.raw.get("format") or "").upper()
    if format in ("JSON", "JSON_SR"):
        return "JSON"
    is_proto = format.startswith("PROTOBUF") or (isinstance(text, str) and "syntax" in text)
    return "PROTOBUF" if is_proto else "AVRO"


def _requested_ids(case: ConformanceCase) -> Iterator[tuple[tuple[str, str], int]]:
    """The ids that statements refer to, by topic and side."""
    for statement in _sources(case):
        yield from _of(statement)


def _sources(case: ConformanceCase) -> Iterator[tree.CreateSource | tree.CreateAs]:
    """The statements that create sources; an invalid one is refused later, when it is played."""
    for text in case.statements:
        try:
            statements = [parsed.statement for parsed in split(text)]
        except SqlSyntaxError:
            continue
        yield from (s for s in statements if isinstance(s, tree.CreateSource | tree.CreateAs))


def partitions(case: ConformanceCase) -> dict[str, int]:
    """The partitions that statements request, for topics whose number of partitions is not in the case."""
    silent = {t.name for t in case.topics if "partitions" not in t.raw}
    return {
        str(p["KAFKA_TOPIC"]): int(str(p["PARTITIONS"]))
        for p in _declared(case)
        if "PARTITIONS" in p and p.get("KAFKA_TOPIC") in silent
    }


def topics(case: ConformanceCase) -> set[str]:
    """The topics over which statements declare sources without a number of partitions."""
    return {str(p["KAFKA_TOPIC"]) for p in _declared(case) if "KAFKA_TOPIC" in p and "PARTITIONS" not in p}


def created(case: ConformanceCase) -> set[str]:
    """The topics that statements create, because they name KAFKA_TOPIC and PARTITIONS."""
    return {str(p["KAFKA_TOPIC"]) for p in _declared(case) if "KAFKA_TOPIC" in p and "PARTITIONS" in p}


def _declared(case: ConformanceCase) -> list[dict[str, object]]:
    """The properties of the declared sources."""
    return [{p.name: p.value.value for p in s.properties} for s in _sources(case) if isinstance(s, tree.CreateSource)]


def _of(statement: tree.CreateSource | tree.CreateAs) -> Iterator[tuple[tuple[str, str], int]]:
    properties = {p.name: p.value.value for p in statement.properties}
    topic = str(properties.get("KAFKA_TOPIC", statement.name))
    for side in _SIDES:
        if f"{side}_SCHEMA_ID" in properties:
            yield (topic, side), int(str(properties[f"{side}_SCHEMA_ID"]))
