"""The declaration of a function: its name, its signatures, and the Spark SQL text that computes it.

A signature's types are SQL types or patterns of them: `Generic("T")` (the same type at each T), `ANY_DECIMAL` (any
DECIMAL), `ANY` (any type), `UNIT` (a bare time unit), `LambdaType` (a lambda). No other part of the engine refers to
a function by name.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from millstream.functions.operator_expressions import OperatorExpression, SqlVariable
from millstream.model.types import Primitive, SqlType


class FunctionKind(Enum):
    """What a function computes: a value for each row, a value for a group of rows, or several rows for each row."""

    SCALAR = "SCALAR"
    TABLE = "TABLE"
    AGGREGATE = "AGGREGATE"


@dataclass(frozen=True, slots=True)
class Generic(SqlType):
    """Any type, but the same one at each use of `name` in a signature."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class LambdaType(SqlType):
    """A lambda from `parameters` to `result`; both may contain generics."""

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


# From the argument types (patterns bound, None for NULL literals) to the type of the result.
TypeRule = Callable[[Sequence[SqlType | None]], SqlType]
# From the SQL texts of the arguments, their types, and the result type, to Spark SQL text.
# A lambda argument's text is `(v0, v1) -> body`; a UNIT argument's text is the bare unit, e.g. DAYS.
Lowering = Callable[[Sequence[str], Sequence[SqlType | None], SqlType], str]


# The variables of an accumulator's expressions.
STATE, OLDER, NEWER, LABEL, ARRIVAL = map(SqlVariable, ("accumulator", "older", "newer", "label", "arrival"))


def argument(index: int) -> SqlVariable:
    """The argument of an aggregate in the current row, as a variable of an accumulator's expressions."""
    return SqlVariable(f"argument{index}")


@dataclass(frozen=True, slots=True)
class Accumulator:
    """How an aggregate is computed: the Spark type of its state, and the expressions that change it.

    `add` (over STATE and the arguments of a row) adds a row; `undo` removes one (None: not possible); `result` (over
    STATE) is the aggregate's value; `merge` (over OLDER and NEWER) merges two states (None: not possible). LABEL is the
    aggregate's label in the processing log, the column `row` the current row. `nested`: a format without nested types
    cannot store the state. `over_table` replaces it over a table if `add` can fail: a row that was not
    added must not be removed later. `in_sessions` replaces it in session windows if the order of rows counts: sessions
    merge in the order of their times, not in that of arrival. It is `by_arrival`: its `add` reads ARRIVAL, the number
    of rows of the group that arrived before.
    """

    state: str
    initial: OperatorExpression
    add: OperatorExpression
    result: OperatorExpression = STATE
    undo: OperatorExpression | None = None
    merge: OperatorExpression | None = None
    nested: bool = False
    over_table: "Accumulator | None" = None
    in_sessions: "Accumulator | None" = None
    by_arrival: bool = False


# The arguments: argument types, the values of constant arguments (None for others), and the session's settings.
Accumulating = Callable[[Sequence[SqlType], Sequence[object], Mapping[str, str]], Accumulator]


@dataclass(frozen=True, slots=True)
class Signature:
    """One way to call a function.

    `variadic` is the index of the parameter that may be repeated (zero or more times); None if there is none. `spark`
    is Spark SQL text with {0}, {1} for arguments and {*} for all of them joined by commas, or a Lowering. At run time a
    call may fail only by throwing: the engine's guard turns that into null and a log entry. An aggregate's signature
    has `accumulating` instead of `spark`; its last `constants` arguments must be constants.
    """

    parameters: tuple[Parameter, ...]
    returns: SqlType | TypeRule
    spark: str | Lowering
    variadic: int | None = None
    accumulating: Accumulating | None = None
    constants: int = 0


@dataclass(frozen=True, slots=True)
class Function:
    """A function of the language, with its documentation.

    `example` is a call, and `answer` its result as CAST(… AS STRING) prints it. An aggregate's example gives the values
    of columns in each row, as in `SUM(X) over X = 1, 2`; the answer of a table function is the array of its rows.
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
    """A resolved call: the signature, the type each argument must be cast to (None: no cast), and the result type.

    For a lambda argument the entry of `arguments` is the LambdaType with its generics bound.
    """

    function: Function
    signature: Signature
    arguments: tuple[SqlType | None, ...]
    returns: SqlType


# The resolver calls this for the lambda argument at an index, with the types of its parameters; the result is the type
# of its body. Raises StatementError if the body has no valid type.
LambdaTyper = Callable[[int, tuple[SqlType, ...]], SqlType]


@dataclass(frozen=True, slots=True)
class LambdaArgument(SqlType):
    """The type of a lambda argument before it is resolved: only its number of parameters is known."""

    arity: int

    def __str__(self) -> str:
        return f"LAMBDA({self.arity})"
