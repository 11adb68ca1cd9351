"""The JSON document that describes one side of a topic's records to the codec; Spec.scala parses it."""

import json
from collections.abc import Sequence

from millstream.catalog.catalog import Serde
from millstream.catalog.schemas import PhysicalSchema, SchemaText
from millstream.formats.delimited import DELIMITER, character
from millstream.formats.registry import is_wrapped
from millstream.model.schema import Column
from millstream.model.types import Array, Decimal, Map, SqlType, Struct, computed


def spec(serde: Serde, columns: Sequence[Column], prefix: str = "V") -> str:
    """The codec's document for columns of one side, in their order; Spark's fields are `prefix`0, `prefix`1 …."""
    document = {
        "format": serde.format,
        "wrapped": is_wrapped(serde, len(columns)),
        "delimiter": character(serde.get(DELIMITER)),
        "prefix": prefix,
        "columns": [{"name": c.name, "type": document_of(c.type)} for c in columns],
        **({"schema": _physical(serde.schema)} if serde.schema else {}),
    }
    return json.dumps(document, separators=(",", ":"))


def _physical(physical: PhysicalSchema) -> dict[str, object]:
    document: dict[str, object] = {"registry": physical.registry, "subject": physical.subject}
    if physical.message:
        document["message"] = physical.message
    if physical.id is not None:
        document["id"] = physical.id
    return document | _schema(physical.schema)


def _schema(schema: SchemaText) -> dict[str, object]:
    references = [{"name": r.name, **_schema(r.schema)} for r in schema.references]
    return {"type": schema.kind, "text": schema.text, **({"references": references} if references else {})}


def document_of(type: SqlType) -> object:
    """A type in the form of the codec's documents."""
    match type:
        case Decimal():
            stored = computed(type)
            return {"decimal": [stored.precision, stored.scale]}
        case Array(element):
            return {"array": document_of(element)}
        case Map(key, value):
            return {"map": [document_of(key), document_of(value)]}
        case Struct(fields):
            return {"struct": [{"name": f.name, "type": document_of(f.type)} for f in fields]}
    return str(type)
