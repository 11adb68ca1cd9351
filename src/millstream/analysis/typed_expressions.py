"""Typed expressions: an expression of the tree resolved against one relation.

A relation has a key struct, a value struct and pseudo-columns (docs/reference/execution.md); user names are gone,
positions stay.
Header columns are part of the value struct once a source is read.
"""

from dataclasses import dataclass, replace
from enum import Enum

from millstream.functions.declare import ResolvedCall
from millstream.model.treenode import TreeNode
from millstream.model.types import SqlType


class ColumnPlace(Enum):
    """The place in a relation that a reference points to."""

    KEY = "key"
    VALUE = "value"
    ROWTIME = "rowtime"
    ROWPARTITION = "partition"
    ROWOFFSET = "offset"
    WINDOWSTART = "wstart"
    WINDOWEND = "wend"


@dataclass(frozen=True, slots=True)
class TypedExpression(TreeNode["TypedExpression"]):
    """A typed expression; `type` is None only for a bare NULL."""

    type: SqlType | None


@dataclass(frozen=True, slots=True)
class ColumnReference(TypedExpression):
    """A column of the relation: key or value column number `index`, or a pseudo-column. `name` is for messages."""

    where: ColumnPlace
    index: int
    name: str


@dataclass(frozen=True, slots=True)
class Constant(TypedExpression):
    """A constant: bool, int, decimal.Decimal, float, str, bytes or None."""

    value: object


@dataclass(frozen=True, slots=True)
class LambdaVariable(TypedExpression):
    """A parameter of the lambda around it, by a name that no other lambda around has (v0, v1, …)."""

    name: str


@dataclass(frozen=True, slots=True)
class TypedLambda(TypedExpression):
    """A lambda as an argument; `type` is the LambdaType that the function gave it."""

    parameters: tuple[LambdaVariable, ...]
    body: TypedExpression


@dataclass(frozen=True, slots=True)
class TypedUnit(TypedExpression):
    """A bare time unit as an argument."""

    name: str


@dataclass(frozen=True, slots=True)
class TypedCast(TypedExpression):
    """`operand` as a value of `type`; fails at run time where the value has none. Conversions are casts too."""

    operand: TypedExpression


@dataclass(frozen=True, slots=True)
class TypedArithmetic(TypedExpression):
    """`left operator right`, operator one of + - * / %; fails where an operand is null. Strings are joined by +.

    Both operands have the type in which the engine computes: that of the result, or decimals of their own.
    """

    operator: str
    left: TypedExpression
    right: TypedExpression


@dataclass(frozen=True, slots=True)
class TypedNegation(TypedExpression):
    """`-operand`; fails where it is null."""

    operand: TypedExpression


@dataclass(frozen=True, slots=True)
class TypedComparison(TypedExpression):
    """`left operator right` of one type; false where an operand is null, save for IS [NOT] DISTINCT FROM."""

    operator: str
    left: TypedExpression
    right: TypedExpression


@dataclass(frozen=True, slots=True)
class TypedLogical(TypedExpression):
    """`left AND right` or `left OR right`; `right` counts only where `left` does not decide."""

    operator: str
    left: TypedExpression
    right: TypedExpression


@dataclass(frozen=True, slots=True)
class TypedNot(TypedExpression):
    """`NOT operand`."""

    operand: TypedExpression


@dataclass(frozen=True, slots=True)
class TypedIsNull(TypedExpression):
    """Whether `operand` is null."""

    operand: TypedExpression


@dataclass(frozen=True, slots=True)
class TypedInList(TypedExpression):
    """Whether `operand` equals one of `items`, all of one type; false where it is null."""

    operand: TypedExpression
    items: tuple[TypedExpression, ...]


@dataclass(frozen=True, slots=True)
class TypedLike(TypedExpression):
    """Whether the whole of `operand` matches `pattern` (% and _, `escape` takes their meaning); false where null."""

    operand: TypedExpression
    pattern: TypedExpression
    escape: str | None


@dataclass(frozen=True, slots=True)
class TypedCase(TypedExpression):
    """The result of the first of `whens` (condition, result) that holds, else `otherwise`; no other is computed."""

    whens: tuple[tuple[TypedExpression, TypedExpression], ...]
    otherwise: TypedExpression


@dataclass(frozen=True, slots=True)
class TypedArray(TypedExpression):
    """An array of `items`; `whole` where one that fails fails the array, else it is null by itself."""

    items: tuple[TypedExpression, ...]
    whole: bool = False


@dataclass(frozen=True, slots=True)
class TypedMap(TypedExpression):
    """A map of `entries`; `whole` as in TypedArray."""

    entries: tuple[tuple[TypedExpression, TypedExpression], ...]
    whole: bool = False


@dataclass(frozen=True, slots=True)
class TypedStruct(TypedExpression):
    """A struct of `values` in the order of the type's fields; `whole` as in TypedArray."""

    values: tuple[TypedExpression, ...]
    whole: bool = False


@dataclass(frozen=True, slots=True)
class TypedField(TypedExpression):
    """Field number `index` of the struct `base`; null where the struct is. `name` is for messages."""

    base: TypedExpression
    index: int
    name: str


@dataclass(frozen=True, slots=True)
class TypedElement(TypedExpression):
    """`base[index]`: of an array by position from 1 (from -1 backwards), of a map by key; null where there is none."""

    base: TypedExpression
    index: TypedExpression


@dataclass(frozen=True, slots=True)
class TypedCall(TypedExpression):
    """A call of a resolved signature; the arguments already have its parameters' types."""

    resolved: ResolvedCall
    arguments: tuple[TypedExpression, ...]


def bare(expression: TypedExpression) -> TypedExpression:
    """The expression without the names by which columns were reached, which are only for messages."""
    return expression.transform(lambda part: replace(part, name="") if isinstance(part, ColumnReference) else None)
