"""Encodes and decodes Protobuf messages from and to a JSON view, with Google's library."""

from base64 import b64decode, b64encode
from collections.abc import Mapping
from datetime import date, timedelta
from decimal import Context, Decimal
from typing import Any

from google.protobuf import wrappers_pb2
from google.protobuf.descriptor import Descriptor, FieldDescriptor, FileDescriptor
from google.protobuf.message import DecodeError, Message
from google.protobuf.message_factory import GetMessageClass

from millstream.catalog.schemas import SchemaText
from millstream.formats import protofile

# Decimals have up to 38 digits; Python's default context would round them to 28.
EXACT = Context(prec=100)
Json = Any
_WRAPPED = frozenset(f"google.protobuf.{m}" for m in wrappers_pb2.DESCRIPTOR.message_types_by_name)
# The library has two implementations of descriptors, one in C, which its stubs distinguish.
_Field = Any
_EPOCH = date(1970, 1, 1)


def encode(view: Json, schema: SchemaText, message: str, indexed: bool) -> bytes:
    """The bytes of a view as one message of the schema, preceded by the message's indexes if `indexed`.

    Raises ValueError if the view of a message is not an object.
    """
    descriptor = _descriptor(schema, message)
    filled = GetMessageClass(descriptor)()
    _fill(filled, view)
    return (_indexes(_path_to(descriptor)) if indexed else b"") + filled.SerializeToString()


def decode(data: bytes, schema: SchemaText, indexed: bool, message: str = "") -> Json:
    """The view of a message's bytes. Raises ValueError."""
    descriptor = _descriptor(schema, message)
    if indexed:
        path, data = _path(data)
        descriptor = _at(descriptor.file, path)
    read = GetMessageClass(descriptor)()
    try:
        read.ParseFromString(data)
    except DecodeError as error:
        raise ValueError(str(error)) from error
    return _view(read)


def _descriptor(schema: SchemaText, name: str) -> Descriptor:
    descriptor = protofile.message(schema, name)
    if descriptor is None:
        raise ValueError(f"the schema has no message {name}")
    return descriptor


def _path_to(descriptor: Descriptor) -> list[int]:
    outer = descriptor.containing_type
    return (
        [*_path_to(outer), outer.nested_types.index(descriptor)]
        if outer
        else [_messages(descriptor.file).index(descriptor)]
    )


def _messages(file: FileDescriptor) -> list[Descriptor]:
    return list(file.message_types_by_name.values())


def _at(file: FileDescriptor, path: list[int]) -> Descriptor:
    descriptor = _messages(file)[path[0]]
    for step in path[1:]:
        descriptor = descriptor.nested_types[step]
    return descriptor


def _indexes(path: list[int]) -> bytes:
    """Confluent's list of indexes: zigzag varints; the list (0) is one byte."""
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


# ---------------------------------------------------------------- views


def _fill(message: Message, view: Json) -> None:
    """Set the fields of a message from a view, by their names in any case, without nulls. Raises ValueError."""
    if not isinstance(view, Mapping):
        fields = ", ".join(f.name for f in message.DESCRIPTOR.fields)
        hint = f"a Protobuf message is written as an object with its fields: {fields or 'it has none'}"
        raise ValueError(f"{view!r} is not a Protobuf message\n  hint: {hint}")
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
    return protofile.is_map(f)


def _fill_map(target: Any, value: Mapping[str, Json], entry: Any) -> None:
    value_field, key_field = entry.fields_by_name["value"], entry.fields_by_name["key"]
    for k, v in value.items():
        if not protofile.has_plain_keys(entry):
            _fill(target.add(), {"key": k, "value": v})
        elif value_field.message_type:
            _fill_message(target[_key(k, key_field)], v)
        else:
            target[_key(k, key_field)] = _value(v, value_field)


def _key(text: str, f: _Field) -> Any:
    """The key of a map that is written as text in JSON."""
    return text == "true" if f.type == FieldDescriptor.TYPE_BOOL else _value(text, f)


def _key_view(key: Any) -> str:
    return str(key).lower() if isinstance(key, bool) else str(key)


def _fill_list(target: Any, values: list[Json], f: _Field) -> None:
    for value in values:
        if f.message_type:
            _fill_message(target.add(), value)
        else:
            target.append(_value(value, f))


def _fill_message(target: Any, value: Json) -> None:
    """Set a field that is a message: well-known types from plain values, any other from an object."""
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
        case name if name in _WRAPPED and not isinstance(value, Mapping):
            target.value = _value(value, target.DESCRIPTOR.fields_by_name["value"])
        case _:
            _fill(target, value)


def _fill_decimal(target: Any, value: Decimal) -> None:
    digits = value.as_tuple()
    scale = max(0, -int(digits.exponent))
    number = int(value.scaleb(scale, EXACT))
    target.value = number.to_bytes((number.bit_length() + 8) // 8, "big", signed=True)
    target.precision, target.scale = len(digits.digits), scale


def _value(value: Json, f: _Field) -> Any:
    if f.enum_type:
        return f.enum_type.values_by_name[value].number
    if f.type == FieldDescriptor.TYPE_BYTES:
        return b64decode(value)
    if f.type in (FieldDescriptor.TYPE_DOUBLE, FieldDescriptor.TYPE_FLOAT):
        return float(value)
    if f.type == FieldDescriptor.TYPE_STRING:
        return str(value)
    return value if f.type == FieldDescriptor.TYPE_BOOL else int(value)


def _view(message: Message) -> dict[str, Json]:
    return {f.name: _field_view(message, f) for f in message.DESCRIPTOR.fields}


def _field_view(message: Message, f: _Field) -> Json:
    value = getattr(message, f.name)
    if _is_map(f) and not protofile.has_plain_keys(f.message_type):
        return {str(entry.key.value): _view(entry)["value"] for entry in value}
    if _is_map(f):
        value_field = f.message_type.fields_by_name["value"]
        return {_key_view(k): _shown(value[k], value_field) for k in value}
    if f.is_repeated:
        return [_shown(v, f) for v in value]
    # Empty bytes without presence are null, as in jvm/ProtobufReader.scala.
    absent = not message.HasField(f.name) if f.has_presence else value == b""
    return None if absent else _shown(value, f)


def _shown(value: Any, f: _Field) -> Json:
    if f.enum_type:
        return f.enum_type.values_by_number[value].name
    if f.message_type:
        return _message_view(value)
    return b64encode(value).decode() if isinstance(value, bytes) else value


def _message_view(message: Any) -> Json:
    match message.DESCRIPTOR.full_name:
        case "google.protobuf.Timestamp":
            return message.seconds * 1000 + message.nanos // 1_000_000
        case "google.type.Date":
            return (date(message.year, message.month, message.day) - _EPOCH).days
        case "google.type.TimeOfDay":
            seconds = (message.hours * 60 + message.minutes) * 60 + message.seconds
            return seconds * 1000 + message.nanos // 1_000_000
        case "confluent.type.Decimal":
            return Decimal(int.from_bytes(message.value, "big", signed=True)).scaleb(-message.scale, EXACT)
        case name if name in _WRAPPED:
            return _shown(message.value, message.DESCRIPTOR.fields_by_name["value"])
    return _view(message)
