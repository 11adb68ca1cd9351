"""A registry's Protobuf schemas, .proto texts or descriptors in base64, as descriptors of Google's library.

A text is parsed by proto-schema-parser. (The codec reads other writers' schemas in Spark's executors, which have no
Python: jvm/ProtobufSchema.scala does the same with the parser of Confluent's registry.)
"""

import re
from base64 import b64decode
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from typing import Any

from antlr4.error.ErrorListener import ErrorListener
from google.protobuf import any_pb2, duration_pb2, empty_pb2, field_mask_pb2, struct_pb2, timestamp_pb2, wrappers_pb2
from google.protobuf.descriptor import Descriptor, FieldDescriptor, OneofDescriptor
from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
)
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass
from proto_schema_parser import Parser, ast

from millstream.catalog.schemas import SchemaText

_BASE64 = re.compile(r"[A-Za-z0-9+/\s]+=*\s*")
_HEXADECIMAL = re.compile(r"\b0[xX][0-9a-fA-F]+\b")
_FILE = "schema.proto"
# The files that every registry knows without a reference.
_GOOGLE = (any_pb2, duration_pb2, empty_pb2, field_mask_pb2, struct_pb2, timestamp_pb2, wrappers_pb2)
_WELL_KNOWN = {
    "google/type/date.proto": "package google.type; message Date { int32 year = 1; int32 month = 2; int32 day = 3; }",
    "google/type/timeofday.proto": "package google.type; message TimeOfDay { int32 hours = 1; int32 minutes = 2; "
    "int32 seconds = 3; int32 nanos = 4; }",
    "confluent/type/decimal.proto": "package confluent.type; message Decimal { bytes value = 1; uint32 precision = 2; "
    "int32 scale = 3; }",
    "confluent/meta.proto": "package confluent; message Meta { string doc = 1; map<string, string> params = 2; "
    "repeated string tags = 3; } message Options { Meta field_meta = 1088; }",
}
_WRAPPERS = frozenset(m.full_name for m in wrappers_pb2.DESCRIPTOR.message_types_by_name.values())
_SCALARS = frozenset(FieldDescriptorProto.Type.keys())
_F = FieldDescriptorProto
# The types that the key of a map cannot have. The first is also that of a field whose type is given by name.
_NO_KEYS = frozenset((_F.TYPE_DOUBLE, _F.TYPE_FLOAT, _F.TYPE_BYTES, _F.TYPE_MESSAGE, _F.TYPE_ENUM, _F.TYPE_GROUP))
_FIELD_META = "(confluent.field_meta)"


def message(schema: SchemaText, name: str = "", entries_are_maps: bool = True) -> Descriptor | None:
    """The message of a name, with or without the package; None if there is none; "" means the file's first message.

    A field whose type is not declared is left out. `entries_are_maps`: a list of a map's entries is a map, as Kafka
    Connect takes it. Raises ValueError if the schema is not valid.
    """
    pool = _pool(schema, entries_are_maps)
    file = pool.FindFileByName(_FILE)
    if not name:
        return next(iter(file.message_types_by_name.values()), None)
    for full in (name, f"{file.package}.{name}"):
        try:
            return pool.FindMessageTypeByName(full)
        except KeyError:
            continue
    return None


def messages(schema: SchemaText) -> list[str]:
    """The full names of the messages of the file that are not declared in others. Raises ValueError."""
    declared = _pool(schema, True).FindFileByName(_FILE).message_types_by_name
    return [message.full_name for message in declared.values()]


def are_alike(one: SchemaText, other: SchemaText) -> bool:
    """True if the first messages of two Protobuf schemas have the same fields, whatever the names of messages."""
    if one.kind != "PROTOBUF" or other.kind != "PROTOBUF":
        return False
    try:
        first, second = message(one), message(other)
    except ValueError:
        return False
    return first is not None and second is not None and _are_alike(first, second)


def _are_alike(one: Descriptor, other: Descriptor) -> bool:
    fields, others = (sorted(m.fields, key=lambda field: field.number) for m in (one, other))
    return len(fields) == len(others) and all(_is_alike(*pair) for pair in zip(fields, others, strict=True))


def _is_alike(one: FieldDescriptor, other: FieldDescriptor) -> bool:
    shapes = [(f.number, f.name, f.type, f.is_repeated, f.has_presence) for f in (one, other)]
    inner, counterpart = one.message_type, other.message_type
    return shapes[0] == shapes[1] and (inner is None or counterpart is None or _are_alike(inner, counterpart))


def oneofs(message: Descriptor) -> list[OneofDescriptor]:
    """The oneofs of a message, without those that stand for an `optional` of proto3."""
    declared = DescriptorProto()
    message.CopyToProto(declared)
    optional = {f.oneof_index for f in declared.field if f.proto3_optional}
    return [o for o in message.oneofs if o.index not in optional]


def is_map(field: FieldDescriptor) -> bool:
    """True for a map, and for a list of entries, which is how Kafka Connect, and so ksqlDB, writes a map's field."""
    entry = field.message_type
    return field.is_repeated and entry is not None and (has_plain_keys(entry) or _has_wrapped_keys(entry))


def has_plain_keys(entry: Descriptor) -> bool:
    """True for the entry of a map<…>, which Google's library reads as one."""
    return bool(entry.GetOptions().map_entry)


def is_wrapper(message: Descriptor | None) -> bool:
    """True for Google's wrappers of single scalars, which are present or not: google.protobuf.Int32Value …."""
    return message is not None and message.full_name in _WRAPPERS


def _has_wrapped_keys(entry: Descriptor) -> bool:
    """True for an entry whose key is in a wrapper: ksqlDB writes it so where nulls are represented by wrappers."""
    names = [f.name for f in entry.fields]
    is_entry = (
        entry.name.endswith("Entry") and names == ["key", "value"] and not any(f.is_repeated for f in entry.fields)
    )
    return is_entry and is_wrapper(entry.fields[0].message_type)


def parameters(field: FieldDescriptor) -> dict[str, str]:
    """Kafka Connect's parameters of a field, e.g. a decimal's precision."""
    # The extension of google.protobuf.FieldOptions has the same bytes as a plain field.
    options: Any = _options().FromString(field.GetOptions().SerializeToString())
    return dict(options.field_meta.params)


@lru_cache(maxsize=256)
def _pool(schema: SchemaText, entries_are_maps: bool) -> DescriptorPool:
    """The descriptors of a schema, as the file schema.proto, and of the schemas that it refers to."""
    pool = DescriptorPool()
    files = list({file.name: file for file in (*_well_known(), *_files(schema, _FILE))}.values())
    if entries_are_maps:
        _mark_entries(files)
    declared = {name for file in files for name in _declared(file.message_type, file.enum_type, file.package)}
    for i, file in enumerate(files):
        for message in file.message_type:
            _prune(message, f"{file.package}.{message.name}", declared)
        # Imports may be missing that are not needed here; other files import for it.
        del file.public_dependency[:], file.weak_dependency[:]
        file.dependency[:] = [before.name for before in files[:i]]
        try:
            pool.Add(file)
        except TypeError as error:
            raise ValueError(f"the Protobuf schema is wrong: {error}") from error
    return pool


@cache
def _well_known() -> tuple[FileDescriptorProto, ...]:
    google = (FileDescriptorProto.FromString(module.DESCRIPTOR.serialized_pb) for module in _GOOGLE)
    return (*google, *(_parsed('syntax = "proto3"; ' + text, name) for name, text in _WELL_KNOWN.items()))


@cache
def _options() -> Any:
    """The class of field options, with Confluent's extensions."""
    return GetMessageClass(_pool(SchemaText("PROTOBUF", ""), False).FindMessageTypeByName("confluent.Options"))


def _files(schema: SchemaText, name: str) -> Iterator[FileDescriptorProto]:
    """The file of a schema's text, after the files that it refers to."""
    for reference in schema.references:
        yield from _files(reference.schema, reference.name)
    yield _described(schema.text, name) if _BASE64.fullmatch(schema.text) else _parsed(schema.text, name)


def _described(text: str, name: str) -> FileDescriptorProto:
    try:
        file = FileDescriptorProto.FromString(b64decode(text))
    except (DecodeError, ValueError) as error:
        raise ValueError(f"the Protobuf schema is neither text nor a descriptor: {error}") from error
    file.name = name
    return file


def _mark_entries(files: Iterable[FileDescriptorProto]) -> None:
    """Mark the messages that messages declare for the entries of their maps."""
    all_messages = [message for file in files for message in _nested(file.message_type)]
    fields = [f for message in all_messages for f in message.field]
    # The library fails where an entry is the value of a field that is not repeated.
    single = {f.type_name.rpartition(".")[2] for f in fields if f.label != _F.LABEL_REPEATED}
    for entry in (inner for message in all_messages for inner in message.nested_type):
        if _is_entry(entry) and entry.name not in single:
            entry.options.map_entry = True


def _nested(outer: Iterable[DescriptorProto]) -> Iterator[DescriptorProto]:
    """The messages, and all that are declared in them."""
    for message in outer:
        yield message
        yield from _nested(message.nested_type)


def _is_entry(message: DescriptorProto) -> bool:
    """True for a message of the form of a map's entry: `message MEntry { string key = 1; int32 value = 2; }`.

    Kafka Connect has no map<…> in its schemas, but takes a repeated message of this form for one.
    """
    names = [f.name for f in message.field]
    if not message.name.endswith("Entry") or names != ["key", "value"]:
        return False
    return message.field[0].type not in _NO_KEYS and all(f.label != _F.LABEL_REPEATED for f in message.field)


def _declared(messages: Any, enums: Any, scope: str) -> Iterator[str]:
    """The full names of messages and enums, including nested ones."""
    yield from (f"{scope}.{declared.name}".lstrip(".") for declared in (*messages, *enums))
    for message in messages:
        yield from _declared(message.nested_type, message.enum_type, f"{scope}.{message.name}")


def _prune(message: DescriptorProto, scope: str, declared: set[str]) -> None:
    """Remove the fields whose types are not declared in any scope around `scope`."""
    parts = scope.strip(".").split(".")
    around = ["", *(".".join(parts[: n + 1]) + "." for n in range(len(parts)))]
    for field in reversed(message.field):
        type = field.type_name
        names = {type[1:]} if type.startswith(".") else {outer + type for outer in around}
        if type and not names & declared:
            message.field.remove(field)
    for nested in message.nested_type:
        _prune(nested, f"{scope}.{nested.name}", declared)


# ---------------------------------------------------------------- a text


class _Refusal(ErrorListener):  # type: ignore[misc,no-any-unimported,unused-ignore]
    """Raises ValueError where the parser would print a message and continue."""

    def syntaxError(self, recognizer: Any, symbol: Any, line: int, column: int, msg: str, e: Any) -> None:
        """ANTLR calls it at a text that the grammar does not accept; `line` begins with 1, `column` with 0."""
        raise ValueError(f"the Protobuf schema cannot be parsed, line {line}, column {column + 1}: {msg}")


def _strict(recognizer: Any) -> None:
    recognizer.removeErrorListeners()
    recognizer.addErrorListener(_Refusal())


def _parsed(text: str, name: str) -> FileDescriptorProto:
    """The descriptor of a schema's text as the file `name`. Raises ValueError if it is not valid, or not proto2 or
    proto3.
    """
    # The parser reads decimal numbers only.
    decimal = _HEXADECIMAL.sub(lambda number: str(int(number[0], 16)), text)
    parsed = Parser(setup_lexer=_strict, setup_parser=_strict).parse(decimal)
    if parsed.edition:
        raise ValueError(f"the Protobuf schema is of edition {parsed.edition}: only proto2 and proto3 are known")
    file = FileDescriptorProto(name=name, syntax=parsed.syntax or "proto2")
    for element in parsed.file_elements:
        match element:
            case ast.Package():
                file.package = element.name
            case ast.Message():
                _message(element, file.message_type.add(), file.syntax)
            case ast.Enum():
                _enum(element, file.enum_type.add())
    return file


def _message(parsed: ast.Message, message: DescriptorProto, syntax: str) -> None:
    """Copy a parsed message, with the messages, enums and fields that it declares, into the descriptor `message`.

    `syntax` is that of the file: proto2 or proto3.
    """
    message.name = parsed.name
    optional, maps = [], []
    for element in parsed.elements:
        match element:
            case ast.Message():
                _message(element, message.nested_type.add(), syntax)
            case ast.Enum():
                _enum(element, message.enum_type.add())
            case ast.Field():
                field = _field(element, message.field.add())
                if syntax == "proto3" and element.cardinality == ast.FieldCardinality.OPTIONAL:
                    optional.append(field)
            case ast.MapField():
                maps.append((element, message.field.add()))
            case ast.OneOf():
                message.oneof_decl.add(name=element.name)
                for inner in element.elements:
                    if isinstance(inner, ast.Field):
                        _field(inner, message.field.add()).oneof_index = len(message.oneof_decl) - 1
            case ast.Option(name="map_entry", value=True):
                message.options.map_entry = True
    # The entry types of maps come after the nested messages of the text, because records refer to those by index.
    for parsed_map, field in maps:
        _map(parsed_map, field, message.nested_type.add())
    # proto3 represents `optional` as a oneof of a single field, after all other oneofs.
    for field in optional:
        field.proto3_optional, field.oneof_index = True, len(message.oneof_decl)
        message.oneof_decl.add(name=f"_{field.name}")


def _map(parsed: ast.MapField, field: FieldDescriptorProto, entry: DescriptorProto) -> None:
    entry.name = "".join(w[:1].upper() + w[1:] for w in parsed.name.split("_")) + "Entry"
    entry.options.map_entry = True
    _field(ast.Field("key", 1, parsed.key_type), entry.field.add())
    _field(ast.Field("value", 2, parsed.value_type), entry.field.add())
    _field(ast.Field(parsed.name, parsed.number, entry.name, ast.FieldCardinality.REPEATED, parsed.options), field)


def _field(parsed: ast.Field, field: FieldDescriptorProto) -> FieldDescriptorProto:
    field.name, field.number = parsed.name, parsed.number
    label = parsed.cardinality.name if parsed.cardinality else "OPTIONAL"
    field.label = FieldDescriptorProto.Label.Value(f"LABEL_{label}")
    scalar = f"TYPE_{parsed.type.upper()}"
    if parsed.type.islower() and scalar in _SCALARS:
        field.type = FieldDescriptorProto.Type.Value(scalar)
    else:
        field.type_name = parsed.type
    params = dict(pair for o in parsed.options if o.name.startswith(_FIELD_META) for pair in _pairs(o.value))
    if params:
        field.options.MergeFromString(_options()(field_meta={"params": params}).SerializeToString())
    return field


def _pairs(value: Any) -> Iterator[tuple[str, str]]:
    """The entries `{ key: "…", value: "…" }` of a map, anywhere in an option's value."""
    if isinstance(value, list):
        for each in value:
            yield from _pairs(each)
    elif isinstance(value, ast.MessageLiteral):
        members = [e for e in value.elements if isinstance(e, ast.MessageLiteralField)]
        entry = {m.name: m.value for m in members}
        if entry.keys() == {"key", "value"}:
            yield str(entry["key"]), str(entry["value"])
        else:
            yield from _pairs([m.value for m in members])


def _enum(parsed: ast.Enum, enum: EnumDescriptorProto) -> None:
    enum.name, enum.options.allow_alias = parsed.name, True
    for value in parsed.elements:
        if isinstance(value, ast.EnumValue):
            enum.value.add(name=value.name, number=value.number)
