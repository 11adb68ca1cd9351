"""Typed expressions: expressions of the tree, resolved against one relation.

A relation has a key struct, a value struct and pseudocolumns (docs/reference/execution.md). Typed expressions refer to
columns by position, not by the user's names. Header columns are part of the value struct once a source is read.
"""

from dataclasses import dataclass, field, replace
from enum import Enum

from millstream.functions.declare import ResolvedCall
from millstream.model.treenode import TreeNode
from millstream.model.types import DOUBLE, Decimal, SqlType


class ColumnPlace(Enum):
    """The part of a relation that contains a referenced column."""

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
    """A column of the relation: key or value column number `index`, or a pseudocolumn. `name` is for messages."""

    where: ColumnPlace
    index: int
    name: str


@dataclass(frozen=True, slots=True)
class Constant(TypedExpression):
    """A constant: bool, int, decimal.Decimal, float, str, bytes or None."""

    value: object


@dataclass(frozen=True, slots=True)
class LambdaVariable(TypedExpression):
    """A parameter of an enclosing lambda, with a name that is unique among the enclosing lambdas (v0, v1, …)."""

    name: str


@dataclass(frozen=True, slots=True)
class TypedLambda(TypedExpression):
    """A lambda as an argument; `type` is the LambdaType from the function's signature."""

    parameters: tuple[LambdaVariable, ...]
    body: TypedExpression


@dataclass(frozen=True, slots=True)
class TypedUnit(TypedExpression):
    """A bare time unit as an argument."""

    name: str


@dataclass(frozen=True, slots=True)
class TypedCast(TypedExpression):
    """`operand` cast to `type`; fails at run time if the value cannot be cast. Also used for implicit conversions.

    If a cast fails that is `alone`, it is null, and the expression around it is computed with that null; if another
    cast fails, the whole expression fails. An `exact` cast of a DECIMAL to a DECIMAL fails where it would round.
    `written` is True for a CAST of the statement, False for an implicit conversion.
    """

    operand: TypedExpression
    alone: bool = False
    exact: bool = False
    written: bool = field(default=False, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class TypedArithmetic(TypedExpression):
    """`left operator right`, operator one of + - * / %; fails if an operand is null. + concatenates strings.

    Both operands have the type in which the engine computes: that of the result, or their own DECIMAL types.
    """

    operator: str
    left: TypedExpression
    right: TypedExpression


@dataclass(frozen=True, slots=True)
class TypedNegation(TypedExpression):
    """`-operand`; fails if it is null."""

    operand: TypedExpression


@dataclass(frozen=True, slots=True)
class TypedComparison(TypedExpression):
    """`left operator right`; false if an operand is null, except with IS [NOT] DISTINCT FROM.

    Both are of one type, or one is a DECIMAL and the other a DOUBLE.
    """

    operator: str
    left: TypedExpression
    right: TypedExpression

    @property
    def mixed(self) -> bool:
        """True for a DECIMAL and a DOUBLE."""
        types = (self.left.type, self.right.type)
        return DOUBLE in types and any(isinstance(t, Decimal) for t in types)


@dataclass(frozen=True, slots=True)
class TypedLogical(TypedExpression):
    """`left AND right` or `left OR right`; `right` is evaluated only if `left` does not determine the result."""

    operator: str
    left: TypedExpression
    right: TypedExpression


@dataclass(frozen=True, slots=True)
class TypedNot(TypedExpression):
    """`NOT operand`."""

    operand: TypedExpression


@dataclass(frozen=True, slots=True)
class TypedIsNull(TypedExpression):
    """True if `operand` is null."""

    operand: TypedExpression


@dataclass(frozen=True, slots=True)
class TypedInList(TypedExpression):
    """True if `operand` equals one of `items`, which have one type; false if it is null."""

    operand: TypedExpression
    items: tuple[TypedExpression, ...]


@dataclass(frozen=True, slots=True)
class TypedLike(TypedExpression):
    """True if all of `operand` matches `pattern` (% and _ are wildcards unless after `escape`); a null one fails."""

    operand: TypedExpression
    pattern: TypedExpression
    escape: str | None


@dataclass(frozen=True, slots=True)
class TypedCase(TypedExpression):
    """The result of the first of `whens` (condition, result) that is true, else `otherwise`; others are not
    computed."""

    whens: tuple[tuple[TypedExpression, TypedExpression], ...]
    otherwise: TypedExpression


@dataclass(frozen=True, slots=True)
class TypedArray(TypedExpression):
    """An array of `items`. An item that fails makes a `strict` array fail; in any other it is null."""

    items: tuple[TypedExpression, ...]
    strict: bool = False


@dataclass(frozen=True, slots=True)
class TypedMap(TypedExpression):
    """A map of `entries`; `strict` as in TypedArray."""

    entries: tuple[tuple[TypedExpression, TypedExpression], ...]
    strict: bool = False


@dataclass(frozen=True, slots=True)
class TypedStruct(TypedExpression):
    """A struct of `values` in the order of the type's fields; `strict` as in TypedArray."""

    values: tuple[TypedExpression, ...]
    strict: bool = False


@dataclass(frozen=True, slots=True)
class TypedField(TypedExpression):
    """Field number `index` of the struct `base`; null if the struct is null. `name` is for messages."""

    base: TypedExpression
    index: int
    name: str


@dataclass(frozen=True, slots=True)
class TypedElement(TypedExpression):
    """`base[index]`: of an array by position from 1 (from -1 backwards), of a map by key; null if there is none."""

    base: TypedExpression
    index: TypedExpression


@dataclass(frozen=True, slots=True)
class TypedCall(TypedExpression):
    """A call of a resolved signature; the arguments already have its parameters' types."""

    resolved: ResolvedCall
    arguments: tuple[TypedExpression, ...]


def bare(expression: TypedExpression) -> TypedExpression:
    """The expression without column names, which are only for messages, so that it can be compared."""
    return expression.transform(lambda part: replace(part, name="") if isinstance(part, ColumnReference) else None)
