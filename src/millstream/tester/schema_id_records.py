"""Encodes and decodes records of formats with schemas, by other libraries than the engine's."""

import io
import json
import struct
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

import fastavro

from millstream.catalog.schemas import RegisteredSchema, SchemaText
from millstream.formats import avro
from millstream.tester import protos
from millstream.tester.protos import EXACT

Json = Any
_HEADER = struct.Struct(">bi")


def encode(view: Json, registered: RegisteredSchema, message: str, text: Callable[[Json], str]) -> bytes:
    """The bytes of a view after the schema's id; `text` returns JSON text."""
    schema = registered.schema
    head = _HEADER.pack(0, registered.id)
    if schema.kind == "JSON":
        return head + text(view).encode()
    if schema.kind == "PROTOBUF":
        return head + protos.encode(view, schema, message, indexed=True)
    return head + _avro_bytes(view, schema)


def decode(data: bytes, find: Callable[[int], RegisteredSchema | None]) -> Json:
    """The view of bytes after a schema id. Raises ValueError if they do not fit the schema."""
    if len(data) < _HEADER.size:
        raise ValueError("no schema id")
    magic, id = _HEADER.unpack_from(data)
    registered = find(id)
    if magic != 0 or registered is None:
        raise ValueError(f"magic byte {magic}, schema id {id}")
    body = data[_HEADER.size :]
    if registered.schema.kind == "JSON":
        return json.loads(body, parse_float=Decimal)
    if registered.schema.kind == "PROTOBUF":
        return protos.decode(body, registered.schema, indexed=True)
    return _avro_view(body, registered.schema)


# ---------------------------------------------------------------- Avro


def _avro_bytes(view: Json, schema: SchemaText) -> bytes:
    node, names = _parsed(schema)
    if _kind(node) == "bytes":  # Confluent's serializers write a payload of bytes alone without its length
        payload = _to_avro(view, node, names)
        assert isinstance(payload, bytes)
        return payload
    out = io.BytesIO()
    fastavro.schemaless_writer(out, _plain(schema), _to_avro(view, node, names))
    return out.getvalue()


def _avro_view(data: bytes, schema: SchemaText) -> Json:
    node, names = _parsed(schema)
    if _kind(node) == "bytes":
        return _from_avro(data, node, names)
    value = fastavro.schemaless_reader(io.BytesIO(data), _plain(schema), None)
    return _from_avro(value, node, names)


def _parsed(schema: SchemaText) -> tuple[Any, dict[str, Any]]:
    names: dict[str, Any] = {}
    for reference in schema.references:
        _name(_loaded(reference.schema.text), "", names)
    node = _loaded(schema.text)
    _name(node, "", names)
    return node, names


def _loaded(text: str) -> Any:
    return json.loads(text) if text.strip()[:1] in '{["' else text.strip()


def _plain(schema: SchemaText) -> Any:
    """The schema for fastavro without logical types: a view contains plain numbers and bytes."""
    named: dict[str, Any] = {}
    for reference in schema.references:
        fastavro.parse_schema(_bare(_loaded(reference.schema.text)), named_schemas=named)
    return fastavro.parse_schema(_bare(_loaded(schema.text)), named_schemas=named)


def _bare(node: Any) -> Any:
    if isinstance(node, list):
        return [_bare(n) for n in node]
    if not isinstance(node, dict):
        return node
    plain = {k: v for k, v in node.items() if k != "logicalType" and not k.startswith("connect.")}
    for name in ("type", "items", "values"):
        if name in plain:
            plain[name] = _bare(plain[name])
    if "fields" in plain:
        plain["fields"] = [_bare(f) for f in plain["fields"]]
    return plain


def _name(node: Any, namespace: str, names: dict[str, Any]) -> None:
    if isinstance(node, list):
        for branch in node:
            _name(branch, namespace, names)
    if not isinstance(node, dict):
        return
    if "name" in node and node.get("type") in ("record", "enum", "fixed"):
        namespace = node.get("namespace", namespace)
        names[node["name"]] = node
        names[f"{namespace}.{node['name']}"] = node
    for inner in (node.get("type"), node.get("items"), node.get("values")):
        _name(inner, namespace, names)
    for f in node.get("fields", ()):
        _name(f["type"], namespace, names)


def _branch(node: Any, names: Mapping[str, Any], value: Any = None) -> Any:
    """The type of a node; of a union the first branch, null apart, that a view or a value fits, else the first."""
    while True:
        if isinstance(node, list):
            others = [n for n in node if n != "null"]
            node = next((n for n in others if len(others) > 1 and _fits(value, _branch(n, names))), others[0])
        elif isinstance(node, str) and node in names:
            node = names[node]
        elif isinstance(node, dict) and isinstance(node["type"], dict | list):
            node = node["type"]
        else:
            return node


def _fits(value: Any, branch: Any) -> bool:
    """True if a view, or a value that was read, may be one of a union's `branch`."""
    match _kind(branch):
        case "boolean":
            return isinstance(value, bool)
        case "int" | "long" | "float" | "double" as kind:
            numbers = int if kind in ("int", "long") else (int, float, Decimal)
            return isinstance(value, numbers) and not isinstance(value, bool)
        case "enum":
            return value in branch["symbols"]
        case "record":
            names = {f["name"].upper() for f in branch["fields"]}
            return isinstance(value, dict) and {name.upper() for name in value} <= names
        case "map" | "array" as kind:
            return isinstance(value, dict if kind == "map" else list)
        case "bytes" | "fixed" if avro.is_decimal(branch):
            return isinstance(value, bytes | int | float | Decimal) and not isinstance(value, bool)
        case "bytes" | "fixed":
            return isinstance(value, bytes | str)
    return isinstance(value, str)


def _kind(node: Any) -> str:
    return str(node["type"] if isinstance(node, dict) else node)


def _is_map(node: Any, names: Mapping[str, Any]) -> bool:
    element = _branch(node["items"], names)
    return _kind(element) == "record" and [f["name"] for f in element["fields"]] == ["key", "value"]


def _to_avro(view: Json, node: Any, names: Mapping[str, Any]) -> Any:
    """A view as the value that fastavro encodes by the schema `node`; `names` has the named types."""
    if view is None:
        return None
    node = _branch(node, names, view)
    match _kind(node):
        case "record":
            return _record(view, node, names)
        case "array" if isinstance(view, dict) and _is_map(node, names):
            value = _branch(node["items"], names)["fields"][1]["type"]
            return [{"key": k, "value": _to_avro(v, value, names)} for k, v in view.items()]
        case "array":
            return [_to_avro(v, node["items"], names) for v in view]
        case "map":
            return {k: _to_avro(v, node["values"], names) for k, v in view.items()}
        case "bytes" | "fixed" if avro.is_decimal(node):
            return _unscaled(Decimal(str(view)), node)
        case "bytes" | "fixed":
            return b64decode(view)
        case "float" | "double":
            return float(view)
        case "int" | "long" if isinstance(view, str):
            return int(view)
    return view


def _record(view: Mapping[str, Json], node: Any, names: Mapping[str, Any]) -> dict[str, Any]:
    upper = {k.upper(): v for k, v in view.items()}
    row = {}
    for f in node["fields"]:
        name = f["name"]
        if name in view or name.upper() in upper:
            row[name] = _to_avro(view.get(name, upper.get(name.upper())), f["type"], names)
        elif "default" not in f:
            row[name] = None
    return row


def _scale(decimal: Mapping[str, Any]) -> int:
    return int(decimal.get("scale", decimal.get("connect.parameters", {}).get("scale", 0)))


def _unscaled(value: Decimal, node: Any) -> bytes:
    number = int(value.scaleb(_scale(node), EXACT))
    return number.to_bytes(node.get("size", (number.bit_length() + 8) // 8), "big", signed=True)


def _from_avro(value: Any, node: Any, names: Mapping[str, Any]) -> Json:
    """The view of a value that fastavro has decoded by the schema `node`; `names` has the named types."""
    if value is None:
        return None
    node = _branch(node, names, value)
    match _kind(node):
        case "record":
            return {f["name"]: _from_avro(value[f["name"]], f["type"], names) for f in node["fields"]}
        case "array" if _is_map(node, names):
            value_node = _branch(node["items"], names)["fields"][1]["type"]
            return {e["key"]: _from_avro(e["value"], value_node, names) for e in value}
        case "array":
            return [_from_avro(v, node["items"], names) for v in value]
        case "map":
            return {k: _from_avro(v, node["values"], names) for k, v in value.items()}
        case "bytes" | "fixed" if avro.is_decimal(node):
            return Decimal(int.from_bytes(value, "big", signed=True)).scaleb(-_scale(node), EXACT)
        case "bytes" | "fixed":
            return b64encode(value).decode()
    return value
