"""Expressions over rows and states: a small typed tree in which stateful operators are written.

    latest = column("state").field("latest")
    let("age", column("clock") - latest, lambda age: if_(age > 10, age, bigint(0)))

is lowered by `spark_sql` (operator_sql.py) to `ms_let((clock - state.latest), age -> if((age > 10L), age, 0L))`.
A Python int is a BIGINT next to an operator and an INT among the arguments of a call; a float is a DOUBLE.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import NewType, TypeAlias

from millstream.model.treenode import TreeNode
from millstream.model.types import SqlType

# Text that Spark parses. Only constructors create it, here and in operator_sql.py, spark/lower.py and
# spark/constants.py, so that mypy refuses any other string where an operator expects such a text.
SparkSql = NewType("SparkSql", str)


class OperatorExpression(TreeNode["OperatorExpression"]):
    """A node of the tree: a frozen dataclass, compared by value."""

    __slots__ = ()

    def field(self, name: str) -> "SqlField":
        """The field of a struct."""
        return SqlField(self, name)

    def item(self, index: int) -> "SqlItem":
        """The element of an array at `index`, counted from 0; null if there is none."""
        return SqlItem(self, index)

    def cast(self, type: str) -> "SqlCast":
        """The value cast to a Spark type."""
        return SqlCast(self, type)

    def is_null(self) -> "SqlPostfix":
        """The expression `self is null`, a BOOLEAN that is never null."""
        return SqlPostfix(self, "is null")

    def is_not_null(self) -> "SqlPostfix":
        """True if it is not null."""
        return SqlPostfix(self, "is not null")

    def equals(self, other: "SqlOperand") -> "SqlOperator":
        """SQL's =: null if an operand is null."""
        return _operator(self, "=", other)

    def same_as(self, other: "SqlOperand") -> "SqlOperator":
        """True if both are equal, or both null."""
        return _operator(self, "<=>", other)

    def differs(self, other: "SqlOperand") -> "SqlOperator":
        """SQL's <>: null if an operand is null."""
        return _operator(self, "<>", other)

    def __add__(self, other: "SqlOperand") -> "SqlOperator":
        return _operator(self, "+", other)

    def __sub__(self, other: "SqlOperand") -> "SqlOperator":
        return _operator(self, "-", other)

    def __mul__(self, other: "SqlOperand") -> "SqlOperator":
        return _operator(self, "*", other)

    def __truediv__(self, other: "SqlOperand") -> "SqlOperator":
        return _operator(self, "/", other)

    def __mod__(self, other: "SqlOperand") -> "SqlOperator":
        return _operator(self, "%", other)

    def __lt__(self, other: "SqlOperand") -> "SqlOperator":
        return _operator(self, "<", other)

    def __le__(self, other: "SqlOperand") -> "SqlOperator":
        return _operator(self, "<=", other)

    def __gt__(self, other: "SqlOperand") -> "SqlOperator":
        return _operator(self, ">", other)

    def __ge__(self, other: "SqlOperand") -> "SqlOperator":
        return _operator(self, ">=", other)

    def __and__(self, other: "SqlOperand") -> "SqlOperator":
        return _operator(self, "and", other)

    def __or__(self, other: "SqlOperand") -> "SqlOperator":
        return _operator(self, "or", other)

    def __invert__(self) -> "SqlPrefix":
        return SqlPrefix("not", self)

    # ------------------------------------------------------------ arrays

    def map_each(self, name: str, body: "SqlBody") -> "SqlCall":
        """The array of the results of `body` for each element."""
        return SqlCall("transform", (self, function((name,), body)))

    def filter(self, name: str, body: "SqlBody") -> "SqlCall":
        """The elements for which `body` is true."""
        return SqlCall("filter", (self, function((name,), body)))

    def exists(self, name: str, body: "SqlBody") -> "SqlCall":
        """True if `body` is true for some element."""
        return SqlCall("exists", (self, function((name,), body)))


SqlOperand: TypeAlias = OperatorExpression | int | float
SqlBody: TypeAlias = Callable[..., OperatorExpression]


@dataclass(frozen=True, slots=True)
class SqlColumn(OperatorExpression):
    """A column of the environment that the text is evaluated over: `row`, `state` …"""

    name: str


@dataclass(frozen=True, slots=True)
class SqlVariable(OperatorExpression):
    """A variable that a SqlLet or a SqlLambda binds. Created by `let` and `function`, and as Accumulator parameters."""

    name: str


@dataclass(frozen=True, slots=True)
class SqlConstant(OperatorExpression):
    """A literal."""

    text: SparkSql


@dataclass(frozen=True, slots=True)
class SqlText(OperatorExpression):
    """A user's expression as Spark SQL text."""

    text: SparkSql


@dataclass(frozen=True, slots=True)
class SqlNull(OperatorExpression):
    """A null of a Spark type."""

    type: str


@dataclass(frozen=True, slots=True)
class SqlField(OperatorExpression):
    """A field of a struct."""

    base: OperatorExpression
    name: str


@dataclass(frozen=True, slots=True)
class SqlItem(OperatorExpression):
    """An element of an array."""

    base: OperatorExpression
    index: int


@dataclass(frozen=True, slots=True)
class SqlCast(OperatorExpression):
    """A value cast to a Spark type."""

    operand: OperatorExpression
    type: str


@dataclass(frozen=True, slots=True)
class SqlPrefix(OperatorExpression):
    """An operator before its operand."""

    symbol: str
    operand: OperatorExpression


@dataclass(frozen=True, slots=True)
class SqlPostfix(OperatorExpression):
    """An operator after its operand."""

    operand: OperatorExpression
    symbol: str


@dataclass(frozen=True, slots=True)
class SqlOperator(OperatorExpression):
    """An operator between its operands."""

    left: OperatorExpression
    symbol: str
    right: OperatorExpression


@dataclass(frozen=True, slots=True)
class SqlCall(OperatorExpression):
    """A call of a function of Spark or of the Scala module."""

    function: str
    arguments: tuple[OperatorExpression, ...]


@dataclass(frozen=True, slots=True)
class SqlIf(OperatorExpression):
    """One of two values; a condition that is null counts as false."""

    condition: OperatorExpression
    then: OperatorExpression
    otherwise: OperatorExpression


@dataclass(frozen=True, slots=True)
class SqlBranch(OperatorExpression):
    """A condition and a value: a branch of a SqlCase."""

    condition: OperatorExpression
    value: OperatorExpression


@dataclass(frozen=True, slots=True)
class SqlCase(OperatorExpression):
    """The value of the first branch whose condition is true."""

    branches: tuple[SqlBranch, ...]
    otherwise: OperatorExpression


@dataclass(frozen=True, slots=True)
class NamedValue(OperatorExpression):
    """A name and a value: a field of a StructLiteral, or a binding of a SqlLet."""

    name: str
    value: OperatorExpression


@dataclass(frozen=True, slots=True)
class StructLiteral(OperatorExpression):
    """A struct of these fields, in their order."""

    values: tuple[NamedValue, ...]


@dataclass(frozen=True, slots=True)
class SqlLambda(OperatorExpression):
    """A function of one or more variables, as an argument of a SqlCall."""

    parameters: tuple[str, ...]
    body: OperatorExpression


@dataclass(frozen=True, slots=True)
class SqlLet(OperatorExpression):
    """A body with bound variables; a value cannot use the variables bound with it."""

    bindings: tuple[NamedValue, ...]
    body: OperatorExpression


# ---------------------------------------------------------------- constructors


def quoted(text: str) -> SparkSql:
    """`text` as a Spark string literal, whatever its characters."""
    return SparkSql("'" + "".join(map(_character, text)) + "'")


def _character(char: str) -> str:
    """Escapes a dollar, which would begin a variable in Spark, and a quote."""
    if char in "'\\$\"" or not char.isprintable():
        code = ord(char)
        return f"\\u{code:04x}" if code < 0x10000 else char
    return char


def text_constant(text: str) -> SqlConstant:
    """A STRING literal."""
    return SqlConstant(quoted(text))


def column(name: str) -> SqlColumn:
    """A column of the environment that the text is evaluated over: `row`, `state` …"""
    return SqlColumn(name)


def null(type: str) -> SqlNull:
    """A null of a Spark type."""
    return SqlNull(type)


def bigint(value: int) -> SqlConstant:
    """A BIGINT literal."""
    return SqlConstant(SparkSql(f"{value}L"))


def integer(value: int) -> SqlConstant:
    """An INT literal."""
    return SqlConstant(SparkSql(str(value)))


def double(value: float) -> SqlConstant:
    """A DOUBLE literal; the value is finite."""
    return SqlConstant(SparkSql(f"{value!r}D"))


def boolean(value: bool) -> SqlConstant:
    """A BOOLEAN literal."""
    return SqlConstant(SparkSql(str(value).lower()))


def call(function: str, *arguments: SqlOperand) -> SqlCall:
    """A call; a Python int among the arguments is an INT."""
    return SqlCall(function, tuple(integer(a) if type(a) is int else _operand(a) for a in arguments))


def array(*items: OperatorExpression) -> SqlCall:
    """An array of these items."""
    return SqlCall("array", items)


def if_(condition: OperatorExpression, then: SqlOperand, otherwise: SqlOperand) -> SqlIf:
    """One of two values; a condition that is null counts as false."""
    return SqlIf(condition, _operand(then), _operand(otherwise))


def case(*branches: tuple[OperatorExpression, SqlOperand], otherwise: SqlOperand) -> SqlCase:
    """The value of the first pair (condition, value) whose condition is true."""
    return SqlCase(tuple(SqlBranch(condition, _operand(value)) for condition, value in branches), _operand(otherwise))


def struct(**values: SqlOperand) -> StructLiteral:
    """A struct of these fields, in this order."""
    return struct_of(values)


def struct_of(values: Mapping[str, SqlOperand]) -> StructLiteral:
    """A struct of these fields, in this order."""
    return StructLiteral(tuple(NamedValue(name, _operand(value)) for name, value in values.items()))


def let(name: str, value: OperatorExpression, body: SqlBody) -> SqlLet:
    """The result of `body` for a variable that is bound to `value`."""
    lambda_ = function((name,), body)
    return SqlLet((NamedValue(lambda_.parameters[0], value),), lambda_.body)


def bound(values: Mapping[SqlVariable, OperatorExpression], body: OperatorExpression) -> SqlLet:
    """`body` with its variables bound to values."""
    return SqlLet(tuple(NamedValue(variable.name, value) for variable, value in values.items()), body)


def same_values(type: SqlType, left: OperatorExpression, right: OperatorExpression) -> OperatorExpression:
    """True if two values of a type are equal or both null; by ms_same for maps, which Spark does not compare."""
    if type.contains_map:
        return call("coalesce", call("ms_same", left, right), left.is_null() & right.is_null())
    return left.same_as(right)


def function(names: tuple[str, ...], body: SqlBody) -> SqlLambda:
    """A lambda with variables of these names; a name that an expression inside binds is replaced by another."""
    result = body(*map(SqlVariable, names))
    inner = set(_bound_names(result))
    if inner.isdisjoint(names):
        return SqlLambda(names, result)
    return function(tuple(f"{name}_" if name in inner else name for name in names), body)


def _operator(left: OperatorExpression, symbol: str, right: SqlOperand) -> SqlOperator:
    return SqlOperator(left, symbol, _operand(right))


def _operand(value: SqlOperand) -> OperatorExpression:
    match value:
        case bool():
            return boolean(value)
        case int():
            return bigint(value)
        case float():
            return double(value)
    return value


# ---------------------------------------------------------------- layouts


@dataclass(frozen=True, slots=True)
class StructLayout:
    """The fields of a struct and their Spark types, in order: for a state, a row, an output."""

    types: Mapping[str, str]

    @property
    def type(self) -> str:
        """The struct as a Spark type name."""
        return f"struct<{', '.join(f'{name}: {type}' for name, type in self.types.items())}>"

    def new(self, values: Mapping[str, SqlOperand]) -> StructLiteral:
        """A struct of this layout. Raises ValueError unless `values` has exactly its fields."""
        if values.keys() != self.types.keys():
            raise ValueError(f"a struct of {', '.join(self.types)} cannot be created from {', '.join(values)}")
        return struct_of({name: values[name] for name in self.types})

    def null(self) -> SqlNull:
        """A null of this struct type."""
        return SqlNull(self.type)

    def complete(self, struct: OperatorExpression) -> OperatorExpression:
        """True if no field of a struct of this layout is null; false for a null struct."""
        return all_of([struct.field(name).is_not_null() for name in self.types])


def all_of(conditions: Sequence[OperatorExpression]) -> OperatorExpression:
    """The conditions, at least one, joined by AND."""
    return reduce(lambda left, right: left & right, conditions)


def _bound_names(node: OperatorExpression) -> Iterator[str]:
    for inner in node.walk():
        match inner:
            case SqlLambda(parameters, _):
                yield from parameters
            case SqlLet(bindings, _):
                yield from (binding.name for binding in bindings)
