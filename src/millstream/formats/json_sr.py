"""JSON_SR: from columns to a JSON schema in Kafka Connect's form, and from other JSON schemas to columns."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import unquote

from millstream.catalog.schemas import SchemaText
from millstream.formats import unfolding
from millstream.model.schema import Column
from millstream.model.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INTEGER,
    STRING,
    TIME,
    TIMESTAMP,
    Array,
    Decimal,
    Field,
    Map,
    SqlType,
    Struct,
)

KIND = "JSON"
_CONNECT = "org.apache.kafka.connect.data."
_PLAIN: dict[SqlType, dict[str, Any]] = {
    BOOLEAN: {"type": "boolean"},
    INTEGER: {"type": "integer", "connect.type": "int32"},
    BIGINT: {"type": "integer", "connect.type": "int64"},
    DOUBLE: {"type": "number", "connect.type": "float64"},
    STRING: {"type": "string"},
    BYTES: {"type": "string", "connect.type": "bytes"},
    DATE: {"type": "integer", "title": f"{_CONNECT}Date", "connect.version": 1, "connect.type": "int32"},
    TIME: {"type": "integer", "title": f"{_CONNECT}Time", "connect.version": 1, "connect.type": "int32"},
    TIMESTAMP: {"type": "integer", "title": f"{_CONNECT}Timestamp", "connect.version": 1, "connect.type": "int64"},
}
_TITLES: dict[str, SqlType] = {
    f"{_CONNECT}{n}": t for n, t in (("Date", DATE), ("Time", TIME), ("Timestamp", TIMESTAMP))
}
_WIDTHS: dict[str, SqlType] = {"int8": INTEGER, "int16": INTEGER, "int32": INTEGER}
_NULL = {"type": "null"}
# Parts of a JSON document by their identity.
Path = tuple[int, ...]
# The deepest nesting of a schema's parts; deeper ones have no type.
_DEEPEST = 60


class Member(NamedTuple):
    """A member of an object: its name, its schema, and the document that the schema is in."""

    name: str
    node: Any
    root: Any


def text(columns: Sequence[Column], wrapped: bool, name: str, representation: str | None = None) -> str:
    """The schema of a side: an object of the columns, or the type of its single unwrapped column."""
    if wrapped:
        document = _object([Field(c.name, c.type) for c in columns])
        return json.dumps(document | ({"title": name} if name else {}))
    return json.dumps(_nullable(columns[0].type))


def _object(fields: Sequence[Field]) -> dict[str, Any]:
    properties = {f.name: {"connect.index": i, **_nullable(f.type)} for i, f in enumerate(fields)}
    return {"type": "object", "properties": properties}


def _nullable(type: SqlType) -> dict[str, Any]:
    return {"oneOf": [_NULL, _type(type)]}


def _type(type: SqlType) -> dict[str, Any]:
    match type:
        case Decimal(precision, scale):
            parameters = {"scale": str(scale), "connect.decimal.precision": str(precision)}
            head = {"type": "number", "title": f"{_CONNECT}Decimal", "connect.version": 1, "connect.type": "bytes"}
            return {**head, "connect.parameters": parameters}
        case Array(element):
            return {"type": "array", "items": _nullable(element)}
        case Map(_, value):
            return {"type": "object", "connect.type": "map", "additionalProperties": _nullable(value)}
        case Struct(fields):
            return _object(fields)
    return _PLAIN[type]


def root_type(schema: SchemaText, message: str = "") -> SqlType | None:
    """The SQL type of a schema; None if SQL has none. Names keep their case.

    Raises ValueError if the text is not JSON.
    """
    root = json.loads(schema.text)
    referenced = {r.name: json.loads(r.schema.text) for r in schema.references}
    return _read(root, root, referenced, ())


def _read(node: Any, root: Any, referenced: Mapping[str, Any], outer: Path) -> SqlType | None:
    """The type of `node`, a part of the document `root`. None for a type that SQL lacks, and for a part inside itself.

    `outer` are the identities of the parts around it, `referenced` the documents that it may refer to, by name.
    """
    if not isinstance(node, dict) or id(node) in outer or len(outer) > _DEEPEST:
        return None
    inner = (*outer, id(node))
    if "$ref" in node:
        target, base = _target(str(node["$ref"]), root, referenced)
        return _read(target, base, referenced, inner)
    kind = _kind(node)
    if kind is not None:
        return _typed(kind, node, root, referenced, inner)
    for choice in ("oneOf", "anyOf"):
        if choice in node:
            branches = [n for n in node[choice] if n != _NULL]
            return _read(branches[0], root, referenced, inner) if len(branches) == 1 else None
    return STRING if "enum" in node else _all_of(node, root, referenced, inner)


def _target(reference: str, root: Any, referenced: Mapping[str, Any]) -> tuple[Any, Any]:
    """The target of a $ref, and the document that contains it."""
    name, _, path = reference.partition("#")
    base = referenced.get(name) if name and name != root.get("$id") else root
    target = base
    for step in filter(None, path.split("/")):
        word = unquote(step).replace("~1", "/").replace("~0", "~")
        if isinstance(target, list) and word.isdecimal():
            target = dict(enumerate(target)).get(int(word))
        else:
            target = target.get(word) if isinstance(target, dict) else None
    return target, base


def _kind(node: Mapping[str, Any]) -> str | None:
    """The `type` of a schema other than null; None if nothing says it, or several are possible.

    A schema without `type` is an "object" if it has `properties`, an "array" if it has `items`.
    """
    kind = node.get("type")
    if isinstance(kind, list):
        kinds = [k for k in kind if k != "null"]
        return str(kinds[0]) if len(kinds) == 1 else None
    if kind is None and "properties" in node:
        return "object"
    if kind is None and "items" in node:
        return "array"
    return None if kind is None else str(kind)


def _typed(kind: str, node: Mapping[str, Any], root: Any, referenced: Mapping[str, Any], inner: Path) -> SqlType | None:
    match kind:
        case "boolean":
            return BOOLEAN
        case "string":
            return BYTES if node.get("connect.type") == "bytes" else STRING
        case "integer" | "number":
            return _number(node, kind)
        case "array":
            element = _read(node.get("items"), root, referenced, inner)
            return Array(element) if element else None
        case "object":
            return _object_type(node, root, referenced, inner)
    return STRING if "enum" in node else None


def _all_of(node: Mapping[str, Any], root: Any, referenced: Mapping[str, Any], inner: Path) -> SqlType | None:
    """The STRUCT of all members of an `allOf`; if there are none, the type of its first part that has one."""
    members = list(_parts_members(node, root, referenced, inner[:-1]))
    if members:
        return _struct(members, referenced, inner)
    types = (_read(part, root, referenced, inner) for part in node.get("allOf", ()))
    return next((type for type in types if type is not None), None)


def _number(node: Mapping[str, Any], kind: str) -> SqlType:
    title = str(node.get("title", ""))
    if title == f"{_CONNECT}Decimal":
        parameters = node.get("connect.parameters", {})
        return Decimal(int(parameters.get("connect.decimal.precision", 64)), int(parameters.get("scale", 0)))
    if title in _TITLES:
        return _TITLES[title]
    return _WIDTHS.get(str(node.get("connect.type")), BIGINT) if kind == "integer" else DOUBLE


def _object_type(node: Mapping[str, Any], root: Any, referenced: Mapping[str, Any], inner: Path) -> SqlType | None:
    """The MAP of an object that allows any members, else the STRUCT of the members that it and its parts declare.

    Its parts are the schemas in `allOf`, `anyOf` and `oneOf`. None for a MAP whose values have no SQL type.
    """
    if node.get("connect.type") == "map" or ("properties" not in node and "additionalProperties" in node):
        value = _read(node.get("additionalProperties"), root, referenced, inner)
        return Map(STRING, value) if value else None
    return _struct(list(_parts_members(node, root, referenced, inner[:-1])), referenced, inner)


def _struct(members: Sequence[Member], referenced: Mapping[str, Any], inner: Path) -> Struct:
    """The STRUCT of members; of two with one name the first counts."""
    first: dict[str, Member] = {}
    for member in sorted(members, key=lambda member: _index(member.node)):
        first.setdefault(member.name, member)
    read = [(m.name, _read(m.node, m.root, referenced, inner)) for m in first.values()]
    return Struct(tuple(Field(name, type) for name, type in read if type is not None))


def _parts_members(node: Any, root: Any, referenced: Mapping[str, Any], outer: Path) -> Iterator[Member]:
    """The members that an object's schema and its parts name."""
    if not isinstance(node, dict) or id(node) in outer or len(outer) > _DEEPEST:
        return
    inner = (*outer, id(node))
    if "$ref" in node:
        target, base = _target(str(node["$ref"]), root, referenced)
        yield from _parts_members(target, base, referenced, inner)
        return
    unfolding.count(len(_properties(node)))
    yield from (Member(name, member, root) for name, member in _properties(node).items())
    for word in ("allOf", "anyOf", "oneOf"):
        for part in node.get(word, ()):
            yield from _parts_members(part, root, referenced, inner)


def _properties(node: Any) -> dict[str, Any]:
    """The members of an object's schema, {} where it has none."""
    properties = node.get("properties") if isinstance(node, dict) else None
    return properties if isinstance(properties, dict) else {}


def _index(member: Any) -> int:
    """The position of a member by Kafka Connect's `connect.index`; 0 without one: sorting keeps the schema's order."""
    index = member.get("connect.index") if isinstance(member, dict) else None
    return index if isinstance(index, int) else 0


def required(schema: SchemaText) -> tuple[str, ...]:
    """The fields that an object schema requires and that may not be null."""
    node = json.loads(schema.text)
    parts = [node.get(word, ()) for word in ("oneOf", "anyOf", "allOf")] if isinstance(node, dict) else []
    branches = [node, *(branch for part in parts for branch in part)]
    record: dict[str, Any] = next((b for b in branches if _properties(b)), {})
    fields = _properties(record)
    return tuple(n for n in record.get("required", ()) if n in fields and not _allows_null(fields[n]))


def _allows_null(node: Any) -> bool:
    """True if a field's schema allows null; one that is referred to by `$ref` is not resolved, and counts as True."""
    if not isinstance(node, dict) or "$ref" in node:
        return True
    kinds = node.get("type", [])
    if kinds == "null" or (isinstance(kinds, list) and "null" in kinds):
        return True
    return any(_allows_null(b) for word in ("oneOf", "anyOf") for b in node.get(word, ()))
