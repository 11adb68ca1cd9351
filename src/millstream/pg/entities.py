"""The engine's entities as rows: SHOW, DESCRIBE and EXPLAIN have some, statements that change something have a tag.

{"@type": "streams", "streams": [{"name": "ORDERS", "topic": "orders", …}]}   →   name | topic | key_format | …
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from millstream.client.types import type_of_schema
from millstream.engine.api import Entity
from millstream.pg.results import ResultColumn, Row, StatementAnswer, listed
from millstream.server.text import dumps

_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")
# The member of an entity that has the rows, and the columns of a row.
LISTS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "streams": ("streams", ("name", "topic", "keyFormat", "valueFormat", "isWindowed")),
    "tables": ("tables", ("name", "topic", "keyFormat", "valueFormat", "isWindowed")),
    "kafka_topics": ("topics", ("name", "replicaInfo")),
    "kafka_topics_extended": ("topics", ("name", "replicaInfo", "consumerCount", "consumerGroupCount")),
    "queries": ("queries", ("id", "queryType", "state", "sinks", "sinkKafkaTopics", "queryString")),
    "properties": ("properties", ("name", "scope", "value", "editable", "level")),
    "variables": ("variables", ("name", "value")),
    "function_names": ("functions", ("name", "type")),
    "connector_list": ("connectors", ("name", "type", "className", "state")),
    "connector_plugins_list": ("connectorsPlugins", ("className", "type", "version")),
}
DONE = {
    "CREATE",
    "DROP",
    "INSERT",
    "DELETE",
    "ALTER",
    "TERMINATE",
    "PAUSE",
    "RESUME",
    "SET",
    "UNSET",
    "DEFINE",
    "UNDEFINE",
    "ASSERT",
}


def entity_answer(entities: Sequence[Entity], first_words: tuple[str, ...]) -> StatementAnswer:
    """The answer to a statement that begins with the words `first_words`, from the engine's entities."""
    if not entities:
        return StatementAnswer("INSERT 0 1" if first_words[0] == "INSERT" else " ".join(first_words[:1]))
    entity = entities[-1]
    warnings = tuple(warning.get("message", "") for warning in entity.get("warnings", ()))
    kind = entity["@type"]
    if kind in LISTS:
        member, columns = LISTS[kind]
        return listed([ResultColumn(_snake(name)) for name in columns], _rows(entity[member], columns), "SHOW")
    if kind in _DESCRIBED:
        names, rows = _DESCRIBED[kind](entity)
        return listed(list(map(ResultColumn, names)), rows, first_words[0])
    if first_words[0] in DONE:
        return StatementAnswer(
            " ".join(filter(str.isalpha, first_words)), notices=(*filter(None, [_message(entity)]), *warnings)
        )
    return listed([ResultColumn("entity")], [(dumps(entity),)], first_words[0])


def _message(entity: Entity) -> str:
    return str(entity.get("message") or entity.get("commandStatus", {}).get("message", ""))


def _rows(bodies: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> list[Row]:
    return [tuple(_text(body.get(name)) for name in columns) for body in bodies]


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return dumps(value)


def _snake(name: str) -> str:
    return _HUMP.sub("_", name).lower()


def _described(entity: Entity) -> tuple[Sequence[str], list[Row]]:
    return ("column", "type", "key"), _fields(entity["sourceDescription"]["fields"])


def _fields(fields: Sequence[Mapping[str, Any]]) -> list[Row]:
    return [(field["name"], type_of_schema(field["schema"]).short(), field.get("type")) for field in fields]


def _all_described(entity: Entity) -> tuple[Sequence[str], list[Row]]:
    bodies = entity["sourceDescriptions"]
    rows: list[Row] = [(body["name"], *field) for body in bodies for field in _fields(body["fields"])]
    return ("source", "column", "type", "key"), rows


def _plan(entity: Entity) -> tuple[Sequence[str], list[Row]]:
    plan = entity["queryDescription"].get("executionPlan") or ""
    return ("QUERY PLAN",), [(line,) for line in plan.split("\n")]


def _function(entity: Entity) -> tuple[Sequence[str], list[Row]]:
    rows: list[Row] = [
        (
            entity.get("name"),
            str(function.get("returnType")),
            dumps(function.get("arguments")),
            function.get("description"),
        )
        for function in entity.get("functions", ())
    ]
    return ("name", "returns", "arguments", "description"), rows


def _types(entity: Entity) -> tuple[Sequence[str], list[Row]]:
    return ("name", "type"), [(name, type_of_schema(schema).short()) for name, schema in entity["types"].items()]


_DESCRIBED: Mapping[str, Callable[[Entity], tuple[Sequence[str], list[Row]]]] = {
    "sourceDescription": _described,
    "source_descriptions": _all_described,
    "queryDescription": _plan,
    "describe_function": _function,
    "type_list": _types,
}
