"""How a function is declared: its name, its signatures, and the Spark SQL text that computes it.

A signature's types are SQL types or patterns of them: `Generic("T")` (the same type wherever T stands),
`ANY_DECIMAL` (any DECIMAL), `ANY` (anything), `UNIT` (a bare time unit), `LambdaType` (a lambda).
Nothing else in the engine knows a function by name.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from millstream.functions.operator_expressions import OperatorExpression, SqlVariable
from millstream.model.types import Primitive, SqlType


class FunctionKind(Enum):
    """What a function makes of its rows."""

    SCALAR = "SCALAR"
    TABLE = "TABLE"
    AGGREGATE = "AGGREGATE"


@dataclass(frozen=True, slots=True)
class Generic(SqlType):
    """Any type, the same one wherever `name` stands in a signature."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class LambdaType(SqlType):
    """A lambda taking `parameters` and giving `result`; both may hold generics."""

    parameters: tuple[SqlType, ...]
    result: SqlType

    def __str__(self) -> str:
        return f"LAMBDA ({', '.join(map(str, self.parameters))}) => {self.result}"


ANY = Primitive("ANY")
ANY_DECIMAL = Primitive("DECIMAL")
UNIT = Primitive("INTERVALUNIT")


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a signature; `type` may be a pattern."""

    name: str
    type: SqlType
    doc: str = ""


# From the argument types (patterns bound, NULL literals None) to the type of the result.
TypeRule = Callable[[Sequence[SqlType | None]], SqlType]
# From the SQL texts of the arguments, their types, and the result type, to Spark SQL text.
# A lambda argument's text is `(v0, v1) -> body`; a UNIT argument's text is the bare unit, e.g. DAYS.
Lowering = Callable[[Sequence[str], Sequence[SqlType | None], SqlType], str]


# The parameters of an accumulator's expressions.
STATE, OLDER, NEWER, LABEL = map(SqlVariable, ("accumulator", "older", "newer", "label"))


def argument(index: int) -> SqlVariable:
    """The argument of an aggregate at a row, as a parameter of an accumulator's expressions."""
    return SqlVariable(f"argument{index}")


@dataclass(frozen=True, slots=True)
class Accumulator:
    """How an aggregate is computed: the Spark type of its state, and an expression for what happens to it.

    `add` (over STATE and the arguments of a row) takes a row in; `undo` takes one back (None: it cannot); `result`
    (over STATE) is the aggregate's value; `merge` (over OLDER and NEWER) makes one state of two (None: it cannot).
    LABEL is what names the aggregate in the processing log, the column `row` the row at hand. `nested`: a format
    without nested types has no room for the state. `over_table` is used over a table, where `add` can fail: there what
    was not added must not be taken back.
    """

    state: str
    initial: OperatorExpression
    add: OperatorExpression
    result: OperatorExpression = STATE
    undo: OperatorExpression | None = None
    merge: OperatorExpression | None = None
    nested: bool = False
    over_table: "Accumulator | None" = None


# From the argument types, the values of the constant arguments (None for the others) and the session's settings.
Accumulating = Callable[[Sequence[SqlType], Sequence[object], Mapping[str, str]], Accumulator]


@dataclass(frozen=True, slots=True)
class Signature:
    """One way to call a function.

    `variadic` is the index of the parameter that may be repeated (zero or more times), None where none may.
    `spark` is Spark SQL text with {0}, {1} for arguments and {*} for all of them joined by commas, or a Lowering.
    A signature may fail at run time only by throwing: the engine's guard turns that into null and a log entry.
    An aggregate's has `accumulating` in place of `spark`; its last `constants` arguments have to be constants.
    """

    parameters: tuple[Parameter, ...]
    returns: SqlType | TypeRule
    spark: str | Lowering
    variadic: int | None = None
    accumulating: Accumulating | None = None
    constants: int = 0


@dataclass(frozen=True, slots=True)
class Function:
    """A function of the language, with everything that its documentation says.

    `example` is a call, and `answer` what it gives, as CAST(… AS STRING) prints it. An aggregate's example names its
    rows by columns, as in `SUM(X) over X = 1, 2`; the answer of a table function's is the array of its rows.
    """

    name: str
    kind: FunctionKind
    category: str
    description: str
    signatures: tuple[Signature, ...]
    example: str = ""
    answer: str = ""


@dataclass(frozen=True, slots=True)
class ResolvedCall:
    """A call resolved: the signature, the type each argument must be cast to (None: as it is), and the result.

    For a lambda argument the entry of `arguments` is the LambdaType with its generics bound.
    """

    function: Function
    signature: Signature
    arguments: tuple[SqlType | None, ...]
    returns: SqlType


# What the resolver asks of the caller for the lambda argument at an index: given the types of its
# parameters, the type of its body. Raises StatementError where the body does not type.
LambdaTyper = Callable[[int, tuple[SqlType, ...]], SqlType]


@dataclass(frozen=True, slots=True)
class LambdaArgument(SqlType):
    """Stands for a lambda among the argument types given to the resolver: only its arity is known."""

    arity: int

    def __str__(self) -> str:
        return f"LAMBDA({self.arity})"
