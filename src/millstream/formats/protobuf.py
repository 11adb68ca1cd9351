"""PROTOBUF: from columns to the messages that ksqlDB would register, and from other messages to columns."""

import re
from collections.abc import Sequence

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from millstream.catalog.schemas import SchemaText
from millstream.formats import protofile, unfolding
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

KIND = "PROTOBUF"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
OPTIONAL, WRAPPER = "OPTIONAL", "WRAPPER"
UNNAMED = "ConnectDefault"
_PLAIN: dict[SqlType, str] = {
    BOOLEAN: "bool",
    INTEGER: "int32",
    BIGINT: "int64",
    DOUBLE: "double",
    STRING: "string",
    BYTES: "bytes",
}
_WRAPPERS: dict[SqlType, str] = {
    BOOLEAN: "BoolValue",
    INTEGER: "Int32Value",
    BIGINT: "Int64Value",
    DOUBLE: "DoubleValue",
    STRING: "StringValue",
    BYTES: "BytesValue",
}
_WELL_KNOWN: dict[SqlType, tuple[str, str]] = {
    DATE: ("google.type.Date", "google/type/date.proto"),
    TIME: ("google.type.TimeOfDay", "google/type/timeofday.proto"),
    TIMESTAMP: ("google.protobuf.Timestamp", "google/protobuf/timestamp.proto"),
}
_F = FieldDescriptor
_READ: dict[int, SqlType] = {
    _F.TYPE_BOOL: BOOLEAN,
    **dict.fromkeys((_F.TYPE_INT32, _F.TYPE_SINT32, _F.TYPE_SFIXED32), INTEGER),
    **dict.fromkeys((_F.TYPE_UINT32, _F.TYPE_FIXED32, _F.TYPE_INT64, _F.TYPE_SINT64, _F.TYPE_SFIXED64), BIGINT),
    **dict.fromkeys((_F.TYPE_UINT64, _F.TYPE_FIXED64), BIGINT),
    **dict.fromkeys((_F.TYPE_FLOAT, _F.TYPE_DOUBLE), DOUBLE),
    **dict.fromkeys((_F.TYPE_STRING, _F.TYPE_ENUM), STRING),
    _F.TYPE_BYTES: BYTES,
}
_READ_WELL_KNOWN: dict[str, SqlType] = {
    **{name: type for type, (name, _) in _WELL_KNOWN.items()},
    **{f"google.protobuf.{name}": type for type, name in _WRAPPERS.items()},
    "google.protobuf.UInt32Value": BIGINT,
    "google.protobuf.UInt64Value": BIGINT,
    "google.protobuf.FloatValue": DOUBLE,
}
DECIMAL = "confluent.type.Decimal"


# ---------------------------------------------------------------- columns to a schema


class _Writer:
    """Writes the messages of a file, and collects the imports that they need."""

    def __init__(self, representation: str | None) -> None:
        self.imports: set[str] = set()
        self._representation = representation
        self._unnamed = 0

    def unnamed(self, suffix: str = "") -> str:
        """The next of the names that Kafka Connect gives to messages without a name of their own."""
        self._unnamed += 1
        return f"{UNNAMED}{self._unnamed}{suffix}"

    def message(self, name: str, fields: Sequence[Field], indent: str) -> list[str]:
        """The lines of a message; nested messages follow its fields."""
        lines, inner = [f"{indent}message {name} {{"], []
        for number, f in enumerate(fields, 1):
            declared, nested = self._field(f.type, indent + "  ")
            lines.append(f"{indent}  {declared} {f.name} = {number}{self._parameters(f.type)};")
            if nested:
                inner += ["", *nested]
        return [*lines, *inner, f"{indent}}}"]

    def _field(self, type: SqlType, indent: str) -> tuple[str, list[str]]:
        match type:
            case Array(element):
                name, nested = self._type(element, indent)
                return f"repeated {name}", nested
            case Map(key, value):
                return self._map(key if key in _PLAIN else STRING, value, indent)
        name, nested = self._type(type, indent)
        return (f"optional {name}" if self._representation == OPTIONAL else name), nested

    def _map(self, key: SqlType, value: SqlType, indent: str) -> tuple[str, list[str]]:
        """A list of entries, as Kafka Connect writes a map, which has the bytes of `map<…>`."""
        name, inner = self.unnamed("Entry"), indent + "  "
        key_type, _ = self._type(key, inner)
        declared, nested = self._type(value, inner)
        lines = [f"{key_type} key = 1;", f"{declared} value = 2{self._parameters(value)};"]
        body = [f"{inner}{line}" for line in lines] + (["", *nested] if nested else [])
        return f"repeated {name}", [f"{indent}message {name} {{", *body, f"{indent}}}"]

    def _parameters(self, type: SqlType) -> str:
        """Kafka Connect's parameters of a decimal field, whose message does not contain the number of its digits."""
        inner = type.element if isinstance(type, Array) else type
        if not isinstance(inner, Decimal):
            return ""
        self.imports.add("confluent/meta.proto")
        parameters = (("precision", inner.precision), ("scale", inner.scale))
        shown = ", ".join(f'{{ key: "{key}", value: "{value}" }}' for key, value in parameters)
        return f" [(confluent.field_meta) = {{ params: [{shown}] }}]"

    def _type(self, type: SqlType, indent: str) -> tuple[str, list[str]]:
        if isinstance(type, Struct):
            name = self.unnamed()
            return name, self.message(name, type.fields, indent)
        if isinstance(type, Decimal):
            self.imports.add("confluent/type/decimal.proto")
            return DECIMAL, []
        if type in _WELL_KNOWN:
            name, file = _WELL_KNOWN[type]
            self.imports.add(file)
            return name, []
        if self._representation == WRAPPER:
            self.imports.add("google/protobuf/wrappers.proto")
            return f"google.protobuf.{_WRAPPERS[type]}", []
        return _PLAIN[type], []


def text(columns: Sequence[Column], wrapped: bool, name: str, representation: str | None = None) -> str:
    """The file of a side: one message of the columns called `name`; `representation` says how nulls are represented.

    A single unwrapped STRUCT is its own message. Any other single unwrapped column is a message of one field, since
    Protobuf has only messages; for a primitive its bytes equal those of its wrapper (google.protobuf.Int32Value …).
    """
    only = None if wrapped else columns[0].type
    fields = only.fields if isinstance(only, Struct) else tuple(Field(c.name, c.type) for c in columns)
    writer = _Writer(representation)
    # As in ksqlDB, a name that begins like those of unnamed messages does not count as chosen by the user.
    chosen = "" if name.startswith(UNNAMED) else name
    package, _, simple = (chosen or writer.unnamed()).rpartition(".")
    return _file(writer, writer.message(simple, fields, ""), package)


def answer_text(columns: Sequence[Column]) -> str:
    """The file of an answer's rows: one message of all columns."""
    writer = _Writer(None)
    return _file(writer, writer.message(writer.unnamed(), tuple(Field(c.name, c.type) for c in columns), ""))


def _file(writer: _Writer, lines: Sequence[str], package: str = "") -> str:
    """The text of a file with these messages, which `writer` has written."""
    head = ['syntax = "proto3";', *([f"package {package};"] if package else []), ""]
    imports = [f'import "{file}";' for file in sorted(writer.imports)]
    return "\n".join([*head, *imports, *([""] if imports else []), *lines]) + "\n"


def unnameable(format: str, columns: Sequence[Column]) -> str | None:
    """Why Protobuf does not allow a name, or two names that are equal in its JSON form; None if it does."""
    structs = [t for c in columns for t in c.type.walk() if isinstance(t, Struct)]
    for names in ([c.name for c in columns], *([f.name for f in s.fields] for s in structs)):
        wrong = next((n for n in names if not _NAME.fullmatch(n)), None)
        if wrong is not None:
            return f"Schema is not compatible with Protobuf: a name is a letter, then letters, digits and '_': {wrong}"
        first_names: dict[str, str] = {}
        for name in names:
            first = first_names.setdefault(_camel(name), name)
            if first != name:
                return f"Schema is not compatible with Protobuf: it cannot distinguish {first} from {name}"
    return None


def _camel(name: str) -> str:
    """The name in Protobuf's JSON form: without underscores, and with a capital after each."""
    first, *rest = name.split("_")
    return first + "".join(word[:1].upper() + word[1:] for word in rest)


def unrepeatable(format: str, columns: Sequence[Column]) -> str | None:
    """A Check: the reason to refuse a list or map directly inside another, which Protobuf has not; else None."""
    wrong = next((c for c in columns if _nested(c.type)), None)
    return f"{format} has no ARRAY or MAP directly inside another, column: `{wrong.name}`" if wrong else None


def _nested(type: SqlType) -> bool:
    match type:
        case Array(inner) | Map(_, inner):
            return isinstance(inner, Array | Map) or _nested(inner)
        case Struct(fields):
            return any(_nested(f.type) for f in fields)
    return False


# ---------------------------------------------------------------- a schema to columns


def root_type(schema: SchemaText, message: str = "") -> SqlType | None:
    """The STRUCT of a message of the file; None if there is no such message. Raises ValueError."""
    descriptor = protofile.message(schema, message)
    return _struct(descriptor, ()) if descriptor else None


def _struct(message: Descriptor, inside: tuple[str, ...]) -> Struct:
    """The STRUCT of a message: its oneofs, then its other fields.

    A oneof is a STRUCT of its fields, at most one of them not NULL, with its number in its name, as in Kafka
    Connect: the first oneof `choice` is `choice_0`. A message that contains itself, at any depth, is left out: SQL has
    no recursive types.
    """
    unfolding.count(len(message.fields))
    around = (*inside, message.full_name)
    oneofs = protofile.oneofs(message)
    choices = [(f"{o.name}_{o.index}", _fields(o.fields, around)) for o in oneofs]
    others = _fields([f for f in message.fields if f.containing_oneof not in oneofs], around)
    return Struct((*(Field(name, Struct(fields)) for name, fields in choices if fields), *others))


def _fields(fields: Sequence[FieldDescriptor], inside: tuple[str, ...]) -> tuple[Field, ...]:
    read = [(f.name, _read(f, inside)) for f in fields]
    return tuple(Field(name, type) for name, type in read if type is not None)


def _read(field: FieldDescriptor, inside: tuple[str, ...]) -> SqlType | None:
    message = field.message_type
    if field.type == FieldDescriptor.TYPE_GROUP:
        return None
    if message is not None and protofile.is_map(field):
        value = _read(message.fields_by_name["value"], inside)
        # Keys of other types are read as their text, as the formats hold MAPs with STRING keys only.
        return Map(STRING, value) if value else None
    type = _read_one(field, inside)
    return Array(type) if type and field.is_repeated else type


def _read_one(field: FieldDescriptor, inside: tuple[str, ...]) -> SqlType | None:
    if field.message_type is None:
        return _READ.get(field.type)
    name = field.message_type.full_name
    if name == DECIMAL:
        digits = protofile.parameters(field)
        return Decimal(int(digits.get("precision", 64)), int(digits.get("scale", 0)))
    if name in _READ_WELL_KNOWN:
        return _READ_WELL_KNOWN[name]
    return _struct(field.message_type, inside) if name not in inside else None
