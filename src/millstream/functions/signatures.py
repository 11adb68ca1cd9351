"""Signatures as text: `shape("(text STRING, parts T...) -> ARRAY<T>", "array({*})")` gives a Signature.

A single capital letter is a generic, DECIMAL any decimal, `…` stands behind the parameter that repeats,
and `(K, V) => T` is a lambda.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from millstream.functions.declare import (
    ANY,
    ANY_DECIMAL,
    UNIT,
    Function,
    FunctionKind,
    Generic,
    LambdaType,
    Lowering,
    Parameter,
    Signature,
    TypeRule,
)
from millstream.model.types import PRIMITIVES, Array, Field, Map, SqlType, Struct

_TOKEN = re.compile(r"\w+|=>|->|\.\.\.|[(),<>]")
_PATTERNS = {str(t): t for t in (ANY, ANY_DECIMAL, UNIT)} | dict(PRIMITIVES)


class _Reader:
    """Reads types and parameters off a list of tokens."""

    def __init__(self, text: str) -> None:
        self.tokens = _TOKEN.findall(text)

    def take(self, expected: str = "") -> str:
        token: str = self.tokens.pop(0)
        if expected and token != expected:
            raise ValueError(f"expected {expected}, got {token}")
        return token

    def has(self, token: str) -> bool:
        """Whether the next token is `token`; takes it where it is."""
        if self.tokens[:1] != [token]:
            return False
        self.tokens.pop(0)
        return True

    def type(self) -> SqlType:
        """A type, a pattern or a lambda."""
        if self.has("("):
            return self._lambda(self._until(")"))
        name = self.take()
        if name == "ARRAY":
            return Array(self._inside()[0])
        if name == "MAP":
            key, value = self._inside()
            return Map(key, value)
        if name == "STRUCT":
            return self._struct()
        found = _PATTERNS.get(name) or Generic(name)
        return self._lambda((found,)) if self.tokens[:1] == ["=>"] else found

    def _lambda(self, parameters: tuple[SqlType, ...]) -> SqlType:
        self.take("=>")
        return LambdaType(parameters, self.type())

    def _until(self, end: str) -> tuple[SqlType, ...]:
        types = [self.type()]
        while not self.has(end):
            self.take(",")
            types.append(self.type())
        return tuple(types)

    def _inside(self) -> tuple[SqlType, ...]:
        self.take("<")
        return self._until(">")

    def _struct(self) -> SqlType:
        self.take("<")
        fields = []
        while not self.has(">"):
            fields.append(Field(self.take(), self.type()))
            self.has(",")
        return Struct(tuple(fields))

    def parameters(self) -> tuple[tuple[Parameter, ...], int | None]:
        """The parameters in parentheses, and which of them repeats."""
        self.take("(")
        read: list[Parameter] = []
        variadic = None
        while not self.has(")"):
            read.append(Parameter(self.take(), self.type()))
            if self.has("..."):
                variadic = len(read) - 1
            self.has(",")
        return tuple(read), variadic


@dataclass(frozen=True, slots=True)
class ResultTypeRule:
    """A rule for the type of a result, and the pattern that the result is `shown` as."""

    shown: SqlType
    rule: TypeRule

    def __str__(self) -> str:
        return str(self.shown)

    def __call__(self, types: Sequence[SqlType | None]) -> SqlType:
        return self.rule(types)


def parse_signature(text: str, spark: str | Lowering, returns: TypeRule | None = None) -> Signature:
    """The signature that `text` says, computed by `spark`; `returns` tells the result where `text` cannot quite."""
    reader = _Reader(text)
    parameters, variadic = reader.parameters()
    reader.take("->")
    result = reader.type()
    return Signature(parameters, ResultTypeRule(result, returns) if returns else result, spark, variadic)


def each(types: str, text: str, spark: str | Lowering) -> tuple[Signature, ...]:
    """One signature for each of the `types` (separated by blanks), put where `text` says N."""
    return tuple(parse_signature(re.sub(r"\bN\b", name, text), spark) for name in types.split())


def fill(template: str, texts: Sequence[str], **names: str) -> str:
    """`template` with {0}, {1} … and {*} (all, by commas) and the `names` replaced."""
    values = {str(i): text for i, text in enumerate(texts)} | {"*": ", ".join(texts)} | names
    return re.sub(r"\{(\w+|\*)\}", lambda found: values[found[1]], template)


def scalar(
    name: str, category: str, description: str, signatures: Sequence[Signature], example: str, answer: str
) -> Function:
    """A row of a family's table."""
    return Function(name, FunctionKind.SCALAR, category, description, tuple(signatures), example, answer)
