"""Protobuf messages written from a JSON view and read back, by Google's own library."""

from base64 import b64decode, b64encode
from collections.abc import Mapping
from datetime import date, timedelta
from decimal import Decimal
from functools import cache
from typing import Any

from google.protobuf import (
    descriptor_pb2,
    descriptor_pool,
    message_factory,
    timestamp_pb2,
    wrappers_pb2,
)
from google.protobuf.message import DecodeError, Message

from millstream.catalog.schemas import SchemaText
from millstream.formats.protofile import ProtoField, ProtoFile, chosen, parsed

Json = Any
_Type = descriptor_pb2.FieldDescriptorProto
_WRAPPED = frozenset(f"google.protobuf.{m}" for m in wrappers_pb2.DESCRIPTOR.message_types_by_name)
# The library has two kinds of descriptors, one in C, and its stubs tell them apart.
_Field = Any
_EPOCH = date(1970, 1, 1)
# What other registries know without being told: by file, a message and its fields.
_KNOWN: dict[str, tuple[str, dict[str, str]]] = {
    "google/type/date.proto": ("google.type.Date", {"year": "int32", "month": "int32", "day": "int32"}),
    "google/type/timeofday.proto": (
        "google.type.TimeOfDay",
        {"hours": "int32", "minutes": "int32", "seconds": "int32", "nanos": "int32"},
    ),
    "confluent/type/decimal.proto": (
        "confluent.type.Decimal",
        {"value": "bytes", "precision": "uint32", "scale": "int32"},
    ),
}


def encode(view: Json, schema: SchemaText, message: str, indexed: bool) -> bytes:
    """The bytes of a view as one message of the schema, behind the message's indexes where those are asked for."""
    file = parsed(schema)
    meant = chosen(file, message)
    if meant is None:
        raise ValueError(f"the schema has no message {message}")
    made = message_class(schema, meant.name)()
    _fill(made, view)
    body: bytes = made.SerializeToString()
    return (_indexes(file.indexes(meant.name)) if indexed else b"") + body


def decode(data: bytes, schema: SchemaText, indexed: bool, message: str = "") -> Json:
    """The view of a message's bytes. Raises ValueError."""
    file = parsed(schema)
    path, body = _path(data) if indexed else ([], data)
    name = _at(file, path) if indexed else (chosen(file, message) or file.messages[file.own[0]]).name
    made = message_class(schema, name)()
    try:
        made.ParseFromString(body)
    except DecodeError as error:
        raise ValueError(str(error)) from error
    return _view(made)


def message_class(schema: SchemaText, name: str) -> type[Message]:
    """The class that the library makes of a schema's message, by its full name."""
    made: type[Message] = message_factory.GetMessageClass(_pool(schema).FindMessageTypeByName(name.lstrip(".")))
    return made


def _indexes(path: list[int]) -> bytes:
    """Confluent's list of indexes: zigzag varints, the list of the single 0 as one byte."""
    if path == [0]:
        return b"\0"
    return b"".join(_varint(n << 1) for n in (len(path), *path))


def _varint(n: int) -> bytes:
    out = b""
    while n > 0x7F:
        out += bytes([n & 0x7F | 0x80])
        n >>= 7
    return out + bytes([n])


def _path(data: bytes) -> tuple[list[int], bytes]:
    count, rest = _number(data)
    path = []
    for _ in range(count):
        number, rest = _number(rest)
        path.append(number)
    return path or [0], rest


def _number(data: bytes) -> tuple[int, bytes]:
    value = shift = 0
    for i, b in enumerate(data):
        value |= (b & 0x7F) << shift
        shift += 7
        if b < 0x80:
            return value >> 1, data[i + 1 :]
    raise ValueError("the message indexes are cut off")


def _at(file: ProtoFile, path: list[int]) -> str:
    name = file.own[path[0]]
    for step in path[1:]:
        name = file.inner[name][step]
    return name


# ---------------------------------------------------------------- descriptors


@cache
def _pool(schema: SchemaText) -> descriptor_pool.DescriptorPool:
    """The library's own form of a schema, all of whose messages stand in one file."""
    pool = descriptor_pool.DescriptorPool()
    for known in (timestamp_pb2, wrappers_pb2):
        pool.AddSerializedFile(known.DESCRIPTOR.serialized_pb)
    for path, (name, fields) in _KNOWN.items():
        pool.Add(_known(path, name, fields))
    file = parsed(schema)
    made: dict[str, Any] = {}
    imports = [timestamp_pb2.DESCRIPTOR.name, wrappers_pb2.DESCRIPTOR.name, *_KNOWN]
    for full, message in file.messages.items():
        described = _holder(full, made, imports).message_type.add() if _outer(full, file) is None else None
        described = described if described is not None else made[str(_outer(full, file))].nested_type.add()
        described.name = full.rpartition(".")[2]
        made[full] = described
        for f in message.fields:
            _describe(f, full, described, file)
        if message.entry:
            described.options.map_entry = True
    for full, symbols in file.enums.items():
        outer = _outer(full, file)
        holder = _holder(full, made, imports) if outer is None else made[outer]
        enum = holder.enum_type.add(name=full.rpartition(".")[2])
        for symbol, number in symbols.items():
            enum.value.add(name=symbol, number=number)
    for name in [n for n in made if n.startswith("file:")]:
        pool.Add(made[name])
    return pool


def _holder(full: str, made: dict[str, Any], imports: list[str]) -> Any:
    """The file of a package."""
    package = full.rpartition(".")[0]
    name = f"file:{package}"
    if name not in made:
        others = [n for n in made if n.startswith("file:")]
        made[name] = descriptor_pb2.FileDescriptorProto(
            name=name, package=package.lstrip("."), syntax="proto3", dependency=[*imports, *others]
        )
    return made[name]


def _outer(full: str, file: ProtoFile) -> str | None:
    outer = full.rpartition(".")[0]
    return outer if outer in file.messages else None


def _known(path: str, name: str, fields: Mapping[str, str]) -> descriptor_pb2.FileDescriptorProto:
    package, _, simple = name.rpartition(".")
    file = descriptor_pb2.FileDescriptorProto(name=path, package=package, syntax="proto3")
    message = file.message_type.add(name=simple)
    for number, (field, type) in enumerate(fields.items(), 1):
        message.field.add(name=field, number=number, type=_scalar(type), label=_Type.LABEL_OPTIONAL)
    return file


def _scalar(type: str) -> Any:
    return getattr(_Type, f"TYPE_{type.upper()}")


def _describe(f: ProtoField, scope: str, described: Any, file: ProtoFile) -> None:
    label = _Type.LABEL_REPEATED if f.key or f.label == "repeated" else _Type.LABEL_OPTIONAL
    added = described.field.add(name=f.name, number=f.number, label=label)
    if f.key:
        entry = described.nested_type.add(name="".join(w.capitalize() for w in f.name.split("_")) + "Entry")
        entry.options.map_entry = True
        _describe(ProtoField("key", 1, f.key), scope, entry, file)
        _describe(ProtoField("value", 2, f.type), scope, entry, file)
        added.type, added.type_name = _Type.TYPE_MESSAGE, f"{scope}.{entry.name}"
        return
    _typed(added, f, scope, file)
    if f.label == "optional":
        added.proto3_optional = True
        added.oneof_index = len(described.oneof_decl)
        described.oneof_decl.add(name=f"_{f.name}")


def _typed(added: Any, f: ProtoField, scope: str, file: ProtoFile) -> None:
    full = file.resolve(f.type, scope)
    if full in file.enums:
        added.type, added.type_name = _Type.TYPE_ENUM, full
    elif full is not None:
        added.type, added.type_name = _Type.TYPE_MESSAGE, full
    elif hasattr(_Type, f"TYPE_{f.type.upper()}"):
        added.type = _scalar(f.type)
    else:
        added.type, added.type_name = _Type.TYPE_MESSAGE, "." + f.type.lstrip(".")


# ---------------------------------------------------------------- views


def _fill(message: Message, view: Mapping[str, Json]) -> None:
    upper = {k.upper(): v for k, v in view.items()}
    for f in message.DESCRIPTOR.fields:
        value = view.get(f.name, upper.get(f.name.upper()))
        if value is None:
            continue
        if _is_map(f):
            _fill_map(getattr(message, f.name), value, f.message_type)
        elif f.is_repeated:
            _fill_list(getattr(message, f.name), value, f)
        elif f.message_type:
            _fill_message(getattr(message, f.name), value)
        else:
            setattr(message, f.name, _value(value, f))


def _is_map(f: _Field) -> bool:
    return f.message_type is not None and bool(f.message_type.GetOptions().map_entry)


def _fill_map(target: Any, value: Mapping[str, Json], entry: Any) -> None:
    held, key = entry.fields_by_name["value"], entry.fields_by_name["key"]
    for k, v in value.items():
        if held.message_type:
            _fill_message(target[_value(k, key)], v)
        else:
            target[_value(k, key)] = _value(v, held)


def _fill_list(target: Any, values: list[Json], f: _Field) -> None:
    for value in values:
        if f.message_type:
            _fill_message(target.add(), value)
        else:
            target.append(_value(value, f))


def _fill_message(target: Any, value: Json) -> None:
    target.SetInParent()
    match target.DESCRIPTOR.full_name:
        case "google.protobuf.Timestamp":
            target.seconds, millis = divmod(int(value), 1000)
            target.nanos = millis * 1_000_000
        case "google.type.Date":
            day = _EPOCH + timedelta(int(value))
            target.year, target.month, target.day = day.year, day.month, day.day
        case "google.type.TimeOfDay":
            seconds, millis = divmod(int(value), 1000)
            target.hours, target.minutes, target.seconds = seconds // 3600, seconds // 60 % 60, seconds % 60
            target.nanos = millis * 1_000_000
        case "confluent.type.Decimal":
            _fill_decimal(target, Decimal(str(value)))
        case name if name in _WRAPPED:
            target.value = _value(value, target.DESCRIPTOR.fields_by_name["value"])
        case _:
            _fill(target, value)


def _fill_decimal(target: Any, value: Decimal) -> None:
    digits = value.as_tuple()
    scale = max(0, -int(digits.exponent))
    number = int(value.scaleb(scale))
    target.value = number.to_bytes((number.bit_length() + 8) // 8, "big", signed=True)
    target.precision, target.scale = len(digits.digits), scale


def _value(value: Json, f: _Field) -> Any:
    if f.enum_type:
        return f.enum_type.values_by_name[value].number
    if f.type == _Type.TYPE_BYTES:
        return b64decode(value)
    if f.type in (_Type.TYPE_DOUBLE, _Type.TYPE_FLOAT):
        return float(value)
    if f.type == _Type.TYPE_STRING:
        return str(value)
    return value if f.type == _Type.TYPE_BOOL else int(value)


def _view(message: Message) -> dict[str, Json]:
    return {f.name: _field_view(message, f) for f in message.DESCRIPTOR.fields}


def _field_view(message: Message, f: _Field) -> Json:
    held = getattr(message, f.name)
    if _is_map(f):
        value = f.message_type.fields_by_name["value"]
        return {str(k): _shown(held[k], value) for k in held}
    if f.is_repeated:
        return [_shown(v, f) for v in held]
    if f.has_presence and not message.HasField(f.name):
        return None
    return _shown(held, f)


def _shown(held: Any, f: _Field) -> Json:
    if f.enum_type:
        return f.enum_type.values_by_number[held].name
    if f.message_type:
        return _message_view(held)
    return b64encode(held).decode() if isinstance(held, bytes) else held


def _message_view(held: Any) -> Json:
    match held.DESCRIPTOR.full_name:
        case "google.protobuf.Timestamp":
            return held.seconds * 1000 + held.nanos // 1_000_000
        case "google.type.Date":
            return (date(held.year, held.month, held.day) - _EPOCH).days
        case "google.type.TimeOfDay":
            whole = (held.hours * 60 + held.minutes) * 60 + held.seconds
            return whole * 1000 + held.nanos // 1_000_000
        case "confluent.type.Decimal":
            return Decimal(int.from_bytes(held.value, "big", signed=True)).scaleb(-held.scale)
        case name if name in _WRAPPED:
            return _shown(held.value, held.DESCRIPTOR.fields_by_name["value"])
    return _view(held)
