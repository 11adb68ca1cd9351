"""Columns as JSON field descriptions, read from the SQL text of their types."""

import re
from typing import Any

from millstream.engine.api import Rows

WORD = re.compile(r"\s*(`(?:[^`]|``)*`|[A-Za-z_]\w*|\d+|[<>(),])")
NAMES = {"INT": "INTEGER", "VARCHAR": "STRING"}


def fields(rows: Rows) -> list[dict[str, Any]]:
    """The columns of an answer: [{"name", "schema": {"type", "fields", "memberSchema"}}, …]."""
    return [{"name": name, "schema": schema(text)} for name, text in zip(rows.names, rows.types, strict=True)]


def schema(text: str) -> dict[str, Any]:
    """A type's SQL text as the API describes types: ARRAY<INTEGER> has a memberSchema, STRUCT<…> has fields."""
    return _Reader(WORD.findall(text)).type()


class _Reader:
    """Reads the words of a type from left to right."""

    def __init__(self, words: list[str]) -> None:
        self._words = [*words, ""]

    def type(self) -> dict[str, Any]:
        name = self._next().upper()
        told: dict[str, Any] = {"type": NAMES.get(name, name), "fields": None, "memberSchema": None}
        if name == "ARRAY":
            told["memberSchema"] = self._inside(1)[0]
        elif name == "MAP":
            told["memberSchema"] = self._inside(2)[1]
        elif name == "STRUCT":
            told["fields"] = self._fields()
        elif name == "DECIMAL":
            told["parameters"] = self._parameters()
        return told

    def _inside(self, count: int) -> list[dict[str, Any]]:
        self._next()
        types = []
        for _ in range(count):
            types.append(self.type())
            self._next()
        return types

    def _fields(self) -> list[dict[str, Any]]:
        found = []
        while self._next() in ("<", ",") and self._words[0] != ">":
            name = self._next()
            found.append({"name": name[1:-1].replace("``", "`") if name[0] == "`" else name, "schema": self.type()})
        return found

    def _parameters(self) -> dict[str, int]:
        _, precision, _, scale, _ = (self._next() for _ in range(5))
        return {"precision": int(precision), "scale": int(scale)}

    def _next(self) -> str:
        return self._words.pop(0)
