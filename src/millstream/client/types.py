"""The types of columns, parsed from the text in an answer's header or from a description's JSON schema."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from millstream.model.names import identifier, quoted

TOKEN = re.compile(r"\s*(`(?:[^`]|``)*`|[\w@$.-]+|[<>(),])")


@dataclass(frozen=True, slots=True)
class ColumnType:
    """A type with its `name` (`INTEGER`, `ARRAY` …) and its parts; `str` gives its SQL text, as an answer's header.

    `members` are an ARRAY's element type, or a MAP's key and value types; `fields` a STRUCT's names and types.
    """

    name: str
    members: tuple["ColumnType", ...] = ()
    fields: tuple[tuple[str, "ColumnType"], ...] = ()
    precision: int = 0
    scale: int = 0

    def __str__(self) -> str:
        return self._text(quoted)

    def short(self) -> str:
        """Its SQL text, with quotes around those names of fields only that need them."""
        return self._text(identifier)

    def _text(self, written: Callable[[str], str]) -> str:
        if self.name == "DECIMAL" and self.precision:
            return f"DECIMAL({self.precision}, {self.scale})"
        fields = [f"{written(name)} {type._text(written)}" for name, type in self.fields]
        inner = fields or [member._text(written) for member in self.members]
        return f"{self.name}<{', '.join(inner)}>" if inner or self.name == "STRUCT" else self.name


def parse_type(text: str) -> ColumnType:
    """A type from its SQL text, such as `MAP<STRING, ARRAY<DECIMAL(4, 2)>>`. Raises ValueError."""
    parser = TypeParser(text)
    parsed = parser.type()
    parser.expect_end()
    return parsed


def type_of_schema(schema: Mapping[str, Any]) -> ColumnType:
    """A type from its description: {"type", "fields", "memberSchema", "parameters"}."""
    name, parameters = schema.get("type") or "", schema.get("parameters") or {}
    fields = tuple((field["name"], type_of_schema(field["schema"])) for field in schema.get("fields") or ())
    member = schema.get("memberSchema")
    members = (type_of_schema(member),) if member else ()
    if name == "MAP":
        members = (ColumnType("STRING"), *members)
    return ColumnType(name, members, fields, parameters.get("precision", 0), parameters.get("scale", 0))


class TypeParser:
    """A parser of the text of one type by recursive descent."""

    def __init__(self, text: str) -> None:
        self._text, self._at = text, 0

    def type(self) -> ColumnType:
        """The type that begins at the current token. Raises ValueError if none does."""
        name = self._next().upper()
        if name == "DECIMAL" and self._peek() == "(":
            precision, scale = self._numbers()
            return ColumnType(name, precision=precision, scale=scale)
        if self._peek() != "<":
            return ColumnType(name)
        self._next()
        if name == "STRUCT":
            return ColumnType(name, fields=self._fields())
        members = [self.type()]
        while self._next() == ",":
            members.append(self.type())
        return ColumnType(name, tuple(members))

    def expect_end(self) -> None:
        """Raises ValueError if there is more text."""
        if self._text[self._at :].strip():
            raise ValueError(f"column {self._at + 1} of type {self._text}: {self._text[self._at :]!r} is not expected")

    def _fields(self) -> tuple[tuple[str, ColumnType], ...]:
        fields: list[tuple[str, ColumnType]] = []
        if self._peek() == ">":
            self._next()
            return ()
        while True:
            fields.append((_unquoted(self._next()), self.type()))
            if self._next() != ",":
                return tuple(fields)

    def _numbers(self) -> tuple[int, int]:
        _, precision, _, scale, _ = (self._next() for _ in range(5))
        return int(precision), int(scale)

    def _peek(self) -> str:
        token = TOKEN.match(self._text, self._at)
        return token[1] if token else ""

    def _next(self) -> str:
        token = TOKEN.match(self._text, self._at)
        if token is None:
            raise ValueError(f"column {self._at + 1} of type {self._text}: more is expected")
        self._at = token.end()
        return token[1]


def _unquoted(name: str) -> str:
    return name[1:-1].replace("``", "`") if name.startswith("`") else name
