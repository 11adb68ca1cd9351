"""The text of a .proto file, read: messages, enums and their fields, with names resolved through imports."""

import re
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from google.protobuf import descriptor_pb2
from google.protobuf.message import DecodeError

from millstream.catalog.schemas import SchemaText

_TOKEN = re.compile(
    r"""\s+|//[^\n]*|/\*.*?\*/|(?P<token>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[\w.]+|[-+{}\[\]()<>=;,:/])""", re.DOTALL
)
_BASE64 = re.compile(r"[A-Za-z0-9+/\s]+=*\s*")
_LABELS = ("optional", "required", "repeated")


@dataclass(frozen=True, slots=True)
class ProtoField:
    """A field: `type` as it is written; `key` the key's type where it is a map; `label` "" where none is written.

    `parameters` are those that Kafka Connect keeps with a field, e.g. a decimal's precision.
    """

    name: str
    number: int
    type: str
    label: str = ""
    key: str = ""
    oneof: str = ""
    parameters: tuple[tuple[str, str], ...] = ()


@dataclass(slots=True)
class Message:
    """A message by its full name, with a leading dot; `entry` marks one that stands for the entries of a map."""

    name: str
    fields: list[ProtoField] = field(default_factory=list)
    entry: bool = False


@dataclass(slots=True)
class ProtoFile:
    """What a file and those it imports declare, by full name; `own` are the file's outermost messages in order."""

    proto3: bool = False
    messages: dict[str, Message] = field(default_factory=dict)
    enums: dict[str, dict[str, int]] = field(default_factory=dict)
    own: list[str] = field(default_factory=list)
    # The messages as they stand in the file, inner ones too: what an index path leads through.
    inner: dict[str, list[str]] = field(default_factory=dict)

    def resolve(self, type: str, scope: str) -> str | None:
        """The full name that `type` means inside the message `scope`; None where it is no declared name."""
        if type.startswith("."):
            return type if type in self.messages or type in self.enums else None
        while True:
            full = f"{scope}.{type}"
            if full in self.messages or full in self.enums:
                return full
            if not scope:
                return None
            scope = scope.rpartition(".")[0]

    def indexes(self, full: str) -> list[int]:
        """The path of indexes that leads to a message of the file, outermost first."""
        outer = full.rpartition(".")[0]
        if full in self.own:
            return [self.own.index(full)]
        return [*self.indexes(outer), self.inner[outer].index(full)]


def parsed(schema: SchemaText) -> ProtoFile:
    """The file that a schema's text is, with the files that it refers to. Raises ValueError."""
    whole = ProtoFile()
    for reference in schema.references:
        other = parsed(reference.schema)
        whole.messages |= other.messages
        whole.enums |= other.enums
    if _BASE64.fullmatch(schema.text):
        _described(schema.text, whole)
    else:
        _Reader(schema.text, whole).file()
    return whole


def _described(text: str, into: ProtoFile) -> None:
    """Read a file that some clients register: its descriptor, as base64 text."""
    file = descriptor_pb2.FileDescriptorProto()
    try:
        file.ParseFromString(b64decode(text))
    except (DecodeError, ValueError) as error:
        raise ValueError(f"the Protobuf schema is neither text nor a descriptor: {error}") from error
    package = f".{file.package}" if file.package else ""
    into.proto3 = file.syntax == "proto3"
    for enum in file.enum_type:
        into.enums[f"{package}.{enum.name}"] = {v.name: v.number for v in enum.value}
    into.own += [_described_message(message, package, into) for message in file.message_type]


def _described_message(described: descriptor_pb2.DescriptorProto, outer: str, into: ProtoFile) -> str:
    message = Message(f"{outer}.{described.name}", entry=described.options.map_entry)
    into.messages[message.name] = message
    into.inner[message.name] = [_described_message(m, message.name, into) for m in described.nested_type]
    for enum in described.enum_type:
        into.enums[f"{message.name}.{enum.name}"] = {v.name: v.number for v in enum.value}
    for f in described.field:
        kind = f.type_name or descriptor_pb2.FieldDescriptorProto.Type.Name(f.type).removeprefix("TYPE_").lower()
        optional = f.proto3_optional or f.HasField("oneof_index")
        label = "repeated" if f.label == f.LABEL_REPEATED else "optional" if optional else ""
        message.fields.append(ProtoField(f.name, f.number, kind, label))
    return message.name


def _tokens(text: str) -> Iterator[str]:
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if not found:
            raise ValueError(f"unexpected {text[at]!r} in the Protobuf schema")
        at = found.end()
        if found["token"]:
            yield found["token"]
    yield ""


class _Reader:
    """Goes through the tokens of one file."""

    def __init__(self, text: str, into: ProtoFile) -> None:
        self._tokens = list(_tokens(text))
        self._at = 0
        self._into = into
        self._package = ""

    def file(self) -> None:
        """Read the whole file."""
        while self._peek():
            word = self._next()
            match word:
                case "syntax":
                    self._into.proto3 = "proto3" in self._statement()
                case "package":
                    self._package = "." + self._statement()[0]
                case "message":
                    self._into.own.append(self._message(self._package))
                case "enum":
                    self._enum(self._package)
                case ";":
                    pass
                case _:
                    self._pass()

    def _peek(self) -> str:
        return self._tokens[self._at]

    def _next(self) -> str:
        token = self._tokens[self._at]
        if not token:
            raise ValueError("the Protobuf schema ends too early")
        self._at += 1
        return token

    def _expect(self, token: str) -> None:
        found = self._next()
        if found != token:
            raise ValueError(f"expected '{token}' and not '{found}' in the Protobuf schema")

    def _statement(self) -> list[str]:
        """The tokens up to the next semicolon."""
        taken = []
        while (token := self._next()) != ";":
            if token != "=":
                taken.append(token)
        return taken

    def _pass(self) -> None:
        """Go past a statement or block that says nothing of data: option, import, service, extend, reserved."""
        while (token := self._next()) != ";":
            if token == "{":
                self._block()
                return

    def _options(self) -> tuple[tuple[str, str], ...]:
        """Go past a field's options to its end; the parameters among them, written `{ key: "…", value: "…" }`."""
        taken = self._statement()
        keys = [i for i, token in enumerate(taken[:-5]) if token == "key" and taken[i + 1] == ":"]
        # Between the key and its value stand a comma or nothing.
        found = []
        for i in keys:
            rest = [t for t in taken[i + 2 : i + 7] if t not in (",", ":")]
            found.append((rest[0].strip("\"'"), rest[2].strip("\"'")))
        return tuple(found)

    def _block(self) -> None:
        depth = 1
        while depth:
            token = self._next()
            depth += (token == "{") - (token == "}")

    def _body(self, statement: Callable[[str], None]) -> None:
        self._expect("{")
        while (word := self._next()) != "}":
            if word != ";":
                statement(word)

    def _message(self, outer: str) -> str:
        message = Message(f"{outer}.{self._next()}")
        self._into.messages[message.name] = message
        self._into.inner[message.name] = []
        self._body(lambda word: self._member(word, message, ""))
        return message.name

    def _member(self, word: str, message: Message, oneof: str) -> None:
        ahead = self._peek()
        if word == "message" and ahead != "=":
            self._into.inner[message.name].append(self._message(message.name))
        elif word == "enum":
            self._enum(message.name)
        elif word == "oneof":
            name = self._next()
            self._body(lambda inner: self._member(inner, message, name))
        elif word == "option":
            message.entry |= self._statement()[:2] == ["map_entry", "true"]
        elif word in ("reserved", "extensions"):
            self._statement()
        elif word == "extend":
            self._pass()
        else:
            message.fields.append(self._field(word, oneof))

    def _field(self, word: str, oneof: str) -> ProtoField:
        label = word if word in _LABELS else ""
        type = self._next() if label else word
        key = ""
        if type == "map" and self._peek() == "<":
            self._expect("<")
            key = self._next()
            self._expect(",")
            type = self._next()
            self._expect(">")
        name = self._next()
        self._expect("=")
        number = int(self._next(), 0)
        return ProtoField(name, number, type, label, key, oneof, self._options())

    def _enum(self, outer: str) -> None:
        symbols: dict[str, int] = {}
        self._into.enums[f"{outer}.{self._next()}"] = symbols
        self._body(lambda word: self._symbol(word, symbols))

    def _symbol(self, word: str, symbols: dict[str, int]) -> None:
        if word in ("option", "reserved"):
            self._pass()
            return
        self._expect("=")
        text = self._next()
        symbols[word] = int(text + self._next() if text == "-" else text, 0)
        self._pass()


def chosen(file: ProtoFile, message: str) -> Message | None:
    """The message that is meant: the one of that name, with or without the package; the first where none is named."""
    names: Mapping[str, Message] = file.messages
    if not message:
        return names[file.own[0]] if file.own else None
    full = file.resolve(message, file.own[0].rpartition(".")[0] if file.own else "")
    return names.get(full or "." + message)
