"""Types calls of functions: chooses the signature by the arguments' types, and types lambdas by the signature."""

from collections.abc import Callable
from difflib import get_close_matches

from millstream.analysis import typed_expressions as typed
from millstream.analysis.coercion import convert
from millstream.functions import Library
from millstream.functions.declare import UNIT, Function, FunctionKind, LambdaArgument, LambdaType, ResolvedCall
from millstream.functions.resolve import look_up, resolve
from millstream.model.errors import NotSupported, StatementError
from millstream.model.types import SqlType
from millstream.model.units import MILLISECONDS, UNITS
from millstream.syntax import tree

# Returns the typed expression of an argument.
Typer = Callable[[tree.Expression], typed.TypedExpression]
BoundLambda = tuple[tuple[typed.LambdaVariable, ...], typed.TypedExpression]
# Returns the parameters and the typed body of a lambda whose parameters have these types.
Binder = Callable[[tree.Lambda, tuple[SqlType, ...]], BoundLambda]


def call(
    expression: tree.Call,
    type_argument: Typer,
    bind: Binder,
    library: Library,
    kind: FunctionKind = FunctionKind.SCALAR,
) -> typed.TypedExpression:
    """The typed call of a function of that kind. Raises StatementError if no signature takes its arguments."""
    if expression.distinct or expression.filter is not None:
        clause = "DISTINCT" if expression.distinct else "FILTER"
        raise StatementError(
            f"{clause} applies only to aggregate functions, and {expression.name} is not one", expression.span
        )
    # Looked up before the arguments are typed: the error of an unknown DATEDIFF(day, a, b) is about the function, not
    # about an unknown column DAY.
    function = look_up(expression.name, expression.span, library)
    arguments = [_typed_argument(argument, type_argument, function, i) for i, argument in enumerate(expression.args)]
    types = tuple(_type(a, value) for a, value in zip(expression.args, arguments, strict=True))
    # The lambdas by the indexes of their arguments. Each is bound once and used twice: binding it twice would double
    # the work at each level of nested lambdas.
    lambdas: dict[int, BoundLambda] = {}

    def body_type(index: int, parameters: tuple[SqlType, ...]) -> SqlType:
        """The type of the body of the lambda at an index; the bound lambda is kept for the call itself."""
        argument = expression.args[index]
        assert isinstance(argument, tree.Lambda)
        lambdas[index] = bind(argument, parameters)
        return _with_type(lambdas[index][1], argument)

    resolved = resolve(expression.name, types, body_type, expression.span, _units(expression), library)
    if kind is not resolved.function.kind:
        _check_scalar(expression, resolved)
    triples = enumerate(zip(expression.args, arguments, resolved.arguments, strict=True))
    converted = tuple(_argument(a, v, target, lambdas.get(i)) for i, (a, v, target) in triples)
    return typed.TypedCall(resolved.returns, resolved, converted)


def _typed_argument(
    argument: tree.Expression, type_argument: Typer, function: Function, index: int
) -> typed.TypedExpression | None:
    """The typed argument of that index; None for a lambda and a time unit, which are typed by the signature."""
    if isinstance(argument, tree.Lambda | tree.Unit):
        return None
    try:
        return type_argument(argument)
    except StatementError as error:
        if isinstance(argument, tree.ColumnRef) and takes_unit(function, index):
            raise StatementError(error.fact, error.at, _unit_hint(argument.name)) from error
        raise


def takes_unit(function: Function, index: int) -> bool:
    """True if the function has a signature with a time unit as the parameter of that index."""
    return any(i == index and p.type == UNIT for s in function.signatures for i, p in enumerate(s.parameters))


def _unit_hint(word: str) -> str:
    """What to write instead of a word that is not a time unit: DAYS for DAY."""
    unit = UNITS.get(word) or next(iter(get_close_matches(word, MILLISECONDS, 1, 0.6)), "")
    return f"as a unit it is written {unit}" if unit else f"units are {', '.join(MILLISECONDS)}"


def _units(expression: tree.Call) -> list[str | None]:
    return [a.name if isinstance(a, tree.Unit) else None for a in expression.args]


def _type(argument: tree.Expression, value: typed.TypedExpression | None) -> SqlType | None:
    if isinstance(argument, tree.Lambda):
        return LambdaArgument(len(argument.parameters))
    return value.type if value else UNIT


def _with_type(body: typed.TypedExpression, written: tree.Lambda) -> SqlType:
    if body.type is None:
        raise StatementError("this lambda returns NULL, which has no type", written.body.span, "CAST it")
    return body.type


def _check_scalar(expression: tree.Call, resolved: ResolvedCall) -> None:
    name = expression.name
    if resolved.function.kind is FunctionKind.AGGREGATE:
        hint = "an aggregate function is only allowed in the SELECT or HAVING of a query with GROUP BY"
        raise StatementError(f"the aggregate function {name} is not supported here", expression.span, hint)
    if resolved.function.kind is FunctionKind.TABLE:
        hint = "it is only allowed in the SELECT of a query on a stream, and not inside another of its kind"
        raise NotSupported(f"the table function {name} is not supported here", expression.span, hint)
    if expression.star:
        raise StatementError(f"{name} does not take *", expression.span)


def _argument(
    argument: tree.Expression,
    value: typed.TypedExpression | None,
    target: SqlType | None,
    bound_lambda: BoundLambda | None,
) -> typed.TypedExpression:
    if bound_lambda is not None:
        assert isinstance(target, LambdaType)
        variables, body = bound_lambda
        return typed.TypedLambda(target, variables, convert(body, target.result, argument.span))
    if isinstance(argument, tree.Unit):
        return typed.TypedUnit(UNIT, argument.name)
    assert value is not None
    return convert(value, target, argument.span) if target is not None else value
