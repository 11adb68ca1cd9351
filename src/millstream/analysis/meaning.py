"""Typed expressions: what an expression of the tree means against one relation.

A relation has a key struct, a value struct and pseudo-columns (DESIGN.md §3); user names are gone, positions stay.
Header columns are part of the value struct once a source is read.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from millstream.functions.declare import Chosen
from millstream.model.types import SqlType


class Where(Enum):
    """The place in a relation that a reference points to."""

    KEY = "key"
    VALUE = "value"
    ROWTIME = "rowtime"
    ROWPARTITION = "partition"
    ROWOFFSET = "offset"
    WINDOWSTART = "wstart"
    WINDOWEND = "wend"


@dataclass(frozen=True, slots=True)
class Meaning:
    """A typed expression; `type` is None only for a bare NULL."""

    type: SqlType | None


@dataclass(frozen=True, slots=True)
class Ref(Meaning):
    """A column of the relation: key or value column number `index`, or a pseudo-column. `name` is for messages."""

    where: Where
    index: int
    name: str


@dataclass(frozen=True, slots=True)
class Const(Meaning):
    """A constant: bool, int, decimal.Decimal, float, str, bytes or None."""

    value: object


@dataclass(frozen=True, slots=True)
class Variable(Meaning):
    """A parameter of the lambda around it, by a name that no other lambda around has (v0, v1, …)."""

    name: str


@dataclass(frozen=True, slots=True)
class LambdaOf(Meaning):
    """A lambda as an argument; `type` is the LambdaType that the function gave it."""

    parameters: tuple[Variable, ...]
    body: Meaning


@dataclass(frozen=True, slots=True)
class UnitOf(Meaning):
    """A bare time unit as an argument."""

    name: str


@dataclass(frozen=True, slots=True)
class Cast(Meaning):
    """`operand` as a value of `type`; fails at run time where the value has none. Conversions are casts too."""

    operand: Meaning


@dataclass(frozen=True, slots=True)
class Arithmetic(Meaning):
    """`left operator right`, operator one of + - * / %; fails where an operand is null. Strings are joined by +.

    Both operands have the type in which the engine computes: that of the result, or decimals of their own.
    """

    operator: str
    left: Meaning
    right: Meaning


@dataclass(frozen=True, slots=True)
class Negate(Meaning):
    """`-operand`; fails where it is null."""

    operand: Meaning


@dataclass(frozen=True, slots=True)
class Comparison(Meaning):
    """`left operator right` of one type; false where an operand is null, save for IS [NOT] DISTINCT FROM."""

    operator: str
    left: Meaning
    right: Meaning


@dataclass(frozen=True, slots=True)
class Logical(Meaning):
    """`left AND right` or `left OR right`; `right` counts only where `left` does not decide."""

    operator: str
    left: Meaning
    right: Meaning


@dataclass(frozen=True, slots=True)
class Not(Meaning):
    """`NOT operand`."""

    operand: Meaning


@dataclass(frozen=True, slots=True)
class IsNull(Meaning):
    """Whether `operand` is null."""

    operand: Meaning


@dataclass(frozen=True, slots=True)
class InList(Meaning):
    """Whether `operand` equals one of `items`, all of one type; false where it is null."""

    operand: Meaning
    items: tuple[Meaning, ...]


@dataclass(frozen=True, slots=True)
class Like(Meaning):
    """Whether the whole of `operand` matches `pattern` (% and _, `escape` takes their meaning); false where null."""

    operand: Meaning
    pattern: Meaning
    escape: str | None


@dataclass(frozen=True, slots=True)
class Case(Meaning):
    """The result of the first of `whens` (condition, result) that holds, else `otherwise`; no other is computed."""

    whens: tuple[tuple[Meaning, Meaning], ...]
    otherwise: Meaning


@dataclass(frozen=True, slots=True)
class ArrayOf(Meaning):
    """An array of `items`; `whole` where one that fails fails the array, else it is null by itself."""

    items: tuple[Meaning, ...]
    whole: bool = False


@dataclass(frozen=True, slots=True)
class MapOf(Meaning):
    """A map of `entries`; `whole` as in ArrayOf."""

    entries: tuple[tuple[Meaning, Meaning], ...]
    whole: bool = False


@dataclass(frozen=True, slots=True)
class StructOf(Meaning):
    """A struct of `values` in the order of the type's fields; `whole` as in ArrayOf."""

    values: tuple[Meaning, ...]
    whole: bool = False


@dataclass(frozen=True, slots=True)
class FieldOf(Meaning):
    """Field number `index` of the struct `base`; null where the struct is. `name` is for messages."""

    base: Meaning
    index: int
    name: str


@dataclass(frozen=True, slots=True)
class Element(Meaning):
    """`base[index]`: of an array by position from 1 (from -1 backwards), of a map by key; null where there is none."""

    base: Meaning
    index: Meaning


@dataclass(frozen=True, slots=True)
class Call(Meaning):
    """A call of a function's chosen signature with arguments already of the types it asks for."""

    chosen: Chosen
    arguments: tuple[Meaning, ...]


def swapped(meaning: Meaning, swap: Callable[[Meaning], Meaning | None]) -> Meaning:
    """`meaning` with what `swap` gives in place of each expression in it, outermost first, None leaving it be."""
    other = swap(meaning)
    if other is not None:
        return other
    names = [name for name in meaning.__dataclass_fields__ if name != "type"]
    changed = {name: _swapped(getattr(meaning, name), swap) for name in names}
    return replace(meaning, **changed)


def _swapped(value: Any, swap: Callable[[Meaning], Meaning | None]) -> Any:
    if isinstance(value, Meaning):
        return swapped(value, swap)
    return tuple(_swapped(item, swap) for item in value) if isinstance(value, tuple) else value


def bare(meaning: Meaning) -> Meaning:
    """A meaning without the names by which columns were reached, which are only for messages."""
    return swapped(meaning, lambda part: replace(part, name="") if isinstance(part, Ref) else None)


def parts(meaning: Meaning) -> Iterator[Meaning]:
    """The expressions directly inside `meaning`."""
    for name in meaning.__dataclass_fields__:
        yield from _meanings(getattr(meaning, name))


def _meanings(value: object) -> Iterator[Meaning]:
    if isinstance(value, Meaning):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _meanings(item)
