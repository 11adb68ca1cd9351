"""AVRO: from columns to the schema that ksqlDB would register, and from other schemas to columns."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, count
from typing import Any

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

KIND = "AVRO"
NAMESPACE = "io.confluent.ksql.avro_schemas"
ROOT = f"{NAMESPACE}.KsqlDataSourceSchema"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_CONNECT = "org.apache.kafka.connect.data."
_PLAIN: dict[SqlType, Any] = {
    BOOLEAN: "boolean",
    INTEGER: "int",
    BIGINT: "long",
    DOUBLE: "double",
    STRING: "string",
    BYTES: "bytes",
}
_LOGICAL: dict[SqlType, tuple[str, str, str]] = {
    DATE: ("int", "date", "Date"),
    TIME: ("int", "time-millis", "Time"),
    TIMESTAMP: ("long", "timestamp-millis", "Timestamp"),
}
_READ_LOGICAL = {(avro_type, logical): type for type, (avro_type, logical, _) in _LOGICAL.items()}
_READ_CONNECT = {(avro_type, f"{_CONNECT}{name}"): type for type, (avro_type, _, name) in _LOGICAL.items()}
# The digits of a decimal whose schema does not say how many it has, in Kafka Connect and so in ksqlDB.
_CONNECT_DIGITS = 64
# The types of keys that have a text (as Kafka Connect's values have them in ksqlDB).
_KEYS = frozenset({BOOLEAN, INTEGER, BIGINT, STRING})
_READ: dict[str, SqlType] = {
    "boolean": BOOLEAN,
    "int": INTEGER,
    "long": BIGINT,
    "float": DOUBLE,
    "double": DOUBLE,
    "string": STRING,
    "enum": STRING,
    "bytes": BYTES,
    "fixed": BYTES,
}


# ---------------------------------------------------------------- columns to a schema


def text(columns: Sequence[Column], wrapped: bool, name: str, representation: str | None = None) -> str:
    """The schema of a side: a record of the columns called `name`, or the type of its single unwrapped column."""
    schema = _record([Field(c.name, c.type) for c in columns], name) if wrapped else _type(columns[0].type, name)
    _name_apart(schema, set())
    return json.dumps(schema)


def _name_apart(node: Any, names: set[str]) -> None:
    """Give each record in `node` a name that is not in `names`, where the names of all records are collected.

    They are made of the names of the fields around them, which may come to the same: the records in `V->X` and in
    `V_X` are both called KsqlDataSourceSchema_V_X; the second one becomes KsqlDataSourceSchema_V_X_2.
    """
    if isinstance(node, list):
        for part in node:
            _name_apart(part, names)
    if not isinstance(node, dict):
        return
    if node["type"] == "record":
        _rename(node, names)
    for part in (node["type"], node.get("items"), *(f["type"] for f in node.get("fields", ()))):
        _name_apart(part, names)


def _rename(record: dict[str, Any], names: set[str]) -> None:
    """Number the names of a record whose own name is taken."""
    name = str(record["name"])
    suffix = next(s for s in chain([""], (f"_{n}" for n in count(2))) if name + s not in names)
    names.add(name + suffix)
    record |= {key: record[key] + suffix for key in ("name", "connect.name") if key in record}


def _record(fields: Sequence[Field], name: str) -> dict[str, Any]:
    namespace, _, simple = name.rpartition(".")
    record: dict[str, Any] = {"type": "record", "name": simple}
    if namespace:
        record["namespace"] = namespace
    record["fields"] = [
        {"name": f.name, "type": _nullable(f.type, f"{name}_{f.name}"), "default": None} for f in fields
    ]
    return record | {"connect.name": name}


def _nullable(type: SqlType, name: str) -> list[Any]:
    return ["null", _type(type, name)]


def _type(type: SqlType, name: str) -> Any:
    match type:
        case Decimal(precision, scale):
            return _decimal(precision, scale)
        case Array(element):
            return {"type": "array", "items": _nullable(element, name)}
        case Map(key, value):
            return _map(key, value, name)
        case Struct(fields):
            return _record(fields, name)
    if type in _LOGICAL:
        avro_type, logical, connect = _LOGICAL[type]
        return {"type": avro_type, "connect.version": 1, "connect.name": _CONNECT + connect, "logicalType": logical}
    return _PLAIN[type]


def _decimal(precision: int, scale: int) -> dict[str, Any]:
    parameters = {"scale": str(scale), "connect.decimal.precision": str(precision)}
    return {
        "type": "bytes",
        "scale": scale,
        "precision": precision,
        "connect.version": 1,
        "connect.parameters": parameters,
        "connect.name": f"{_CONNECT}Decimal",
        "logicalType": "decimal",
    }


def _map(key: SqlType, value: SqlType, name: str) -> dict[str, Any]:
    """A map whose keys may be null, in Kafka Connect's form: an array of entries."""
    namespace, _, simple = name.rpartition(".")
    entry: dict[str, Any] = {
        "type": "record",
        "name": simple,
        "fields": [
            {"name": "key", "type": _nullable(key, f"{name}_MapKey"), "default": None},
            {"name": "value", "type": _nullable(value, f"{name}_MapValue"), "default": None},
        ],
        "connect.internal.type": "MapEntry",
    }
    if namespace:
        entry["namespace"] = namespace
    return {"type": "array", "items": entry}


def unnameable(columns: Sequence[Column], wrapped: bool) -> str | None:
    """Why Avro does not allow the name of a column, or a name within one; None if it does.

    The name of a column that is not a field of a record is not in the schema, and may be any.
    """
    for name in _names(columns, wrapped):
        if not _NAME.fullmatch(name):
            error = "Illegal initial character" if not _NAME.match(name[:1]) else "Illegal character in"
            return f"Schema is not compatible with Avro: {error}: {name}"
    return None


def _names(columns: Sequence[Column], wrapped: bool) -> Iterator[str]:
    for column in columns:
        if wrapped:
            yield column.name
        for type in column.type.walk():
            if isinstance(type, Struct):
                yield from (f.name for f in type.fields)


# ---------------------------------------------------------------- a schema to columns


def root_type(schema: SchemaText, message: str = "") -> SqlType | None:
    """The SQL type of a schema; None if SQL has none. Names keep their case.

    Raises ValueError if the text is not an Avro schema.
    """
    names: dict[str, Any] = {}
    for reference in schema.references:
        add_named_types(reference.schema, names)
    return _read(_loaded(schema.text), names, "", ())


def add_named_types(schema: SchemaText, names: dict[str, Any]) -> None:
    """Add the named types of a schema, and of those that it refers to, to `names`."""
    for reference in schema.references:
        add_named_types(reference.schema, names)
    _read(_loaded(schema.text), names, "", ())


def required(schema: SchemaText) -> tuple[str, ...]:
    """The fields of a record schema that have no default and do not allow null."""
    node = _loaded(schema.text)
    branches = [b for b in node if b != "null"] if isinstance(node, list) else [node]
    records = (b for b in branches if isinstance(b, dict) and b.get("type") == "record" and len(branches) == 1)
    record: dict[str, Any] = next(records, {"fields": []})
    return tuple(f["name"] for f in record["fields"] if "default" not in f and not _allows_null(f["type"]))


def _allows_null(type: Any) -> bool:
    return type == "null" or (isinstance(type, list) and "null" in type)


def _loaded(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        # The name of a primitive type is a schema too, with or without quotes.
        if text.strip() in _READ:
            return text.strip()
        raise


def _read(node: Any, names: dict[str, Any], namespace: str, inside: tuple[str, ...]) -> SqlType | None:
    if isinstance(node, list):
        return _union(node, names, namespace, inside)
    if isinstance(node, str):
        return _named(node, names, namespace, inside)
    if isinstance(node.get("type"), dict | list):
        return _read(node["type"], names, namespace, inside)
    return _complex(node, names, namespace, inside)


def _union(branches: Sequence[Any], names: dict[str, Any], namespace: str, inside: tuple[str, ...]) -> SqlType | None:
    """The type of a union: that of its other branch where one of two is null, else a STRUCT with a field for each.

    ["null", "int", {"type": "record", "name": "com.acme.Order", …}] is STRUCT<int INTEGER, Order STRUCT<…>>, of whose
    fields one at most is not NULL, as in Kafka Connect.
    """
    others = [b for b in branches if b != "null"]
    if len(others) == 1 and len(branches) == 2:
        return _read(others[0], names, namespace, inside)
    unfolding.count(len(others))
    read = [(_read(b, names, namespace, inside), _branch_name(b, names, namespace)) for b in others]
    fields = tuple(Field(name, type) for type, name in read if type is not None)
    # Kafka Connect has no schema for branches with equal names, or for no branches.
    is_named = 0 < len(fields) == len({f.name for f in fields})
    return Struct(fields) if is_named else None


def _branch_name(node: Any, names: dict[str, Any], namespace: str) -> str:
    """The name of a union's branch: a record's or enum's own without its namespace, else that of its type."""
    declared = names.get(_known_name(node, names, namespace), node) if isinstance(node, str) else node
    if isinstance(declared, str):
        return declared
    kind = declared["type"]
    if kind in ("record", "enum"):
        return str(declared["name"]).rpartition(".")[2]
    return kind if kind in _READ or kind in ("array", "map") else _branch_name(kind, names, namespace)


def _known_name(name: str, names: dict[str, Any], namespace: str) -> str:
    """The full name of a named type; the name itself if no such type is known."""
    full = name if "." in name or not namespace else f"{namespace}.{name}"
    return full if full in names else name


def _named(name: str, names: dict[str, Any], namespace: str, inside: tuple[str, ...]) -> SqlType | None:
    if name in _READ and name not in ("enum", "fixed"):
        return _READ[name]
    resolved_name = _known_name(name, names, namespace)
    if resolved_name not in names or resolved_name in inside:
        return None
    return _complex(names[resolved_name], names, namespace, inside)


def _complex(node: Mapping[str, Any], names: dict[str, Any], outer: str, inside: tuple[str, ...]) -> SqlType | None:
    """The type of a record, array or map, else as `_scalar`. A named type is added to `names`, by its full name.

    `outer` is the namespace around the node, `inside` are the full names of the records around it.
    """
    kind, namespace = node["type"], node.get("namespace", outer)
    full = str(node.get("name", ""))
    if full and "." not in full and namespace:
        full = f"{namespace}.{full}"
    if kind in ("record", "enum", "fixed"):
        names[full] = node
        namespace = full.rpartition(".")[0]
    match kind:
        case "record":
            return _struct(node, names, namespace, (*inside, full))
        case "array":
            return _array(node["items"], names, namespace, inside)
        case "map":
            value = _read(node["values"], names, namespace, inside)
            return Map(STRING, value) if value else None
    return _scalar(node, names, namespace, inside)


def _scalar(node: Mapping[str, Any], names: dict[str, Any], namespace: str, inside: tuple[str, ...]) -> SqlType | None:
    """The type of a primitive: by its logical type, else by the name of Kafka Connect's type, else by its kind.

    None for an unknown name, or a type that SQL lacks. A logical type that is not valid is ignored, as Avro's
    specification requires; but a decimal need not say its precision.
    """
    kind, logical, name = str(node["type"]), node.get("logicalType"), node.get("connect.name")
    if is_decimal(node):
        return _decimal_type(node, logical == "decimal") or BYTES
    known = _READ_LOGICAL.get((kind, str(logical))) or _READ_CONNECT.get((kind, str(name)))
    if known is not None:
        return known
    return _READ[kind] if kind in _READ else _named(kind, names, namespace, inside)


def is_decimal(node: Any) -> bool:
    """True for the schema of decimals, by its logical type or by the name of Kafka Connect's type."""
    if not isinstance(node, dict) or node["type"] not in ("bytes", "fixed"):
        return False
    return node.get("logicalType") == "decimal" or node.get("connect.name") == f"{_CONNECT}Decimal"


def _decimal_type(node: Mapping[str, Any], is_logical: bool) -> Decimal | None:
    """The type of a decimal, whose digits are in the schema itself (`is_logical`) or in Kafka Connect's parameters.

    None if the numbers are missing or not valid.
    """
    if is_logical:
        precision, scale = node.get("precision", _CONNECT_DIGITS), node.get("scale", 0)
    else:
        parameters = node.get("connect.parameters", {})
        digits = (parameters.get("connect.decimal.precision", str(_CONNECT_DIGITS)), parameters.get("scale", ""))
        precision, scale = (int(text) if str(text).isdecimal() else None for text in digits)
    if not isinstance(precision, int) or not isinstance(scale, int):
        return None
    return Decimal(precision, scale) if 0 <= scale <= precision and precision > 0 else None


def _struct(node: Mapping[str, Any], names: dict[str, Any], namespace: str, inside: tuple[str, ...]) -> Struct:
    unfolding.count(len(node["fields"]))
    read = [(f["name"], _read(f["type"], names, namespace, inside)) for f in node["fields"]]
    return Struct(tuple(Field(name, type) for name, type in read if type is not None))


def _array(items: Any, names: dict[str, Any], namespace: str, inside: tuple[str, ...]) -> SqlType | None:
    element = _read(items, names, namespace, inside)
    if isinstance(element, Struct) and [f.name for f in element.fields] == ["key", "value"] and _is_entry(items):
        key, value = (f.type for f in element.fields)
        # Keys of other types are read as their text, as the formats hold MAPs with STRING keys only.
        return Map(STRING, value) if key in _KEYS else None
    return Array(element) if element else None


def _is_entry(items: Any) -> bool:
    """True for the record of an entry of a map of Kafka Connect's, under a name of its own or Connect's."""
    if not isinstance(items, dict):
        return False
    named = (items.get("namespace"), items.get("name")) == ("io.confluent.connect.avro", "MapEntry")
    return named or items.get("connect.internal.type") == "MapEntry"
