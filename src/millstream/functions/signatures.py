"""Parses signatures: `parse_signature("(text STRING, parts T...) -> ARRAY<T>", "array({*})")` is a Signature.

Types are those of the language (syntax/types.py). In addition, a single capital letter is a generic, ANY any type,
DECIMAL any decimal, INTERVALUNIT a time unit, `...` follows a parameter that repeats, and `(K, V) => T` is a lambda.
For example

>>> keep = parse_signature("(map MAP<K, V>, keep (K, V) => BOOLEAN) -> MAP<K, V>", "map_filter({0}, {1})")
>>> from millstream.model.types import BOOLEAN
>>> keep.parameters[1] == Parameter("keep", LambdaType((Generic("K"), Generic("V")), BOOLEAN))
True
>>> call_sql(keep, ["value.V0", "(v0, v1) -> (v1 > 1)"], [], keep.returns)
'map_filter(value.V0, (v0, v1) -> (v1 > 1))'
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
from millstream.functions.operator_expressions import SparkSql
from millstream.model.types import CustomType, SqlType
from millstream.syntax.cursor import Cursor
from millstream.syntax.tokens import tokens
from millstream.syntax.types import sql_type

_PATTERNS: dict[str, SqlType] = {str(t): t for t in (ANY, UNIT)}


def _type(c: Cursor) -> SqlType:
    """A type, a pattern or a lambda."""
    if c.at("("):
        return _lambda(c, c.in_parentheses(_type))
    pattern = _pattern(c)
    return _lambda(c, (pattern,)) if c.at("=>") else pattern


def _pattern(c: Cursor) -> SqlType:
    """A type in which a name that is not a type of the language is a pattern, as is a bare DECIMAL."""
    if c.at("DECIMAL"):
        c.take()
        return ANY_DECIMAL
    return sql_type(c, _pattern).transform(lambda t: _named(t.name) if isinstance(t, CustomType) else None)


def _named(name: str) -> SqlType:
    return _PATTERNS.get(name) or Generic(name)


def _lambda(c: Cursor, parameters: tuple[SqlType, ...]) -> SqlType:
    c.expect("=>")
    return LambdaType(parameters, _type(c))


def _parameter(c: Cursor) -> tuple[Parameter, bool]:
    """A parameter, whose name may be any word, and True if it repeats."""
    name = c.take().text
    return Parameter(name, _type(c)), c.accept(".", ".", ".")


@dataclass(frozen=True, slots=True)
class ResultTypeRule:
    """A rule for a result's type, and the `pattern` that the documentation shows for it."""

    pattern: SqlType
    rule: TypeRule

    def __str__(self) -> str:
        return str(self.pattern)

    def __call__(self, types: Sequence[SqlType | None]) -> SqlType:
        """The type of the result for arguments of these types (None: NULL)."""
        return self.rule(types)


def parse_signature(text: str, spark: str | Lowering, returns: TypeRule | None = None) -> Signature:
    """The signature in `text`, computed by `spark`; `returns` computes the result's type if a pattern cannot express
    it.

    Raises SqlSyntaxError if `text` is not a signature.
    """
    c = Cursor(list(tokens(text)))
    items = () if c.accept("(", ")") else c.in_parentheses(_parameter)
    c.expect("->")
    result = _type(c)
    parameters = tuple(parameter for parameter, _ in items)
    variadic = next((i for i, (_, repeats) in enumerate(items) if repeats), None)
    return Signature(parameters, ResultTypeRule(result, returns) if returns else result, spark, variadic)


def each(types: str, text: str, spark: str | Lowering) -> tuple[Signature, ...]:
    """One signature for each of the `types` (separated by blanks), in place of N in `text`."""
    return tuple(parse_signature(re.sub(r"\bN\b", name, text), spark) for name in types.split())


def fill(template: str, texts: Sequence[str], **names: str) -> str:
    """`template` with {0}, {1} … and {*} (all, by commas) and the `names` replaced."""
    values = {str(i): text for i, text in enumerate(texts)} | {"*": ", ".join(texts)} | names
    return re.sub(r"\{(\w+|\*)\}", lambda match: values[match[1]], template)


def call_sql(signature: Signature, texts: Sequence[str], types: Sequence[SqlType | None], returns: SqlType) -> SparkSql:
    """Spark SQL text of a call: `texts` are the arguments' texts, already cast, `types` their types.

    A template's holes are filled with the texts; a Lowering is called with them.
    """
    spark = signature.spark
    return SparkSql(fill(spark, texts) if isinstance(spark, str) else spark(texts, types, returns))


def scalar(
    name: str, category: str, description: str, signatures: Sequence[Signature], example: str, answer: str
) -> Function:
    """A row of a family's table: a function of single rows."""
    return Function(name, FunctionKind.SCALAR, category, description, tuple(signatures), example, answer)
