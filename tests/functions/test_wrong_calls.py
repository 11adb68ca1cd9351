"""Wrong calls of every function: another number of arguments, other types, lambdas where none fits, names misspelt."""

from collections.abc import Sequence

import pytest

from functions.calling import typed_call
from functions.samples import bound, is_generic
from millstream.analysis import typed_expressions as typed
from millstream.analysis.scope import NameScope, ScopeColumn
from millstream.functions import FUNCTIONS
from millstream.functions.declare import ANY_DECIMAL, UNIT, Function, LambdaType, Signature
from millstream.functions.resolve import call_text
from millstream.model.errors import StatementError
from millstream.model.types import INTEGER, Decimal, Field, SqlType, Struct

ROW = Struct((Field("A", INTEGER),))
LAMBDA = "(a, b, c, d, e) => a"
each_function = pytest.mark.parametrize("function", FUNCTIONS.values(), ids=lambda f: f.name)


def refusal(name: str, arguments: Sequence[SqlType | str]) -> StatementError:
    """The message for a call with arguments of these types, or with these texts."""
    columns = [
        ScopeColumn(f"C{i}", None, typed.ColumnReference(t, typed.ColumnPlace.VALUE, i, f"C{i}"))
        for i, t in enumerate(arguments)
        if not isinstance(t, str)
    ]
    texts = [t if isinstance(t, str) else f"C{i}" for i, t in enumerate(arguments)]
    with pytest.raises(StatementError) as raised:
        typed_call(f"{name}({', '.join(texts)})", NameScope(tuple(columns)))
    return raised.value


def right(signature: Signature) -> list[SqlType | str]:
    """Arguments that the signature takes."""
    return [_right(p.type) for p in signature.parameters]


def _right(pattern: SqlType) -> SqlType | str:
    if isinstance(pattern, LambdaType):
        names = [f"p{i}" for i in range(len(pattern.parameters))]
        return f"({', '.join(names)}) => true"
    if pattern == UNIT:
        return "DAYS"
    return Decimal(4, 2) if pattern == ANY_DECIMAL else bound(pattern, INTEGER)


def takes(signature: Signature, count: int) -> bool:
    own = len(signature.parameters)
    return count == own if signature.variadic is None else count >= own - 1


def is_refused(error: StatementError, function: Function) -> bool:
    """The error says that the arguments don't fit, where, and every way to call the function."""
    fact = f"Function '{function.name}' does not accept parameters"
    calls = [call_text(function.name, s) for s in function.signatures]
    return error.fact.startswith(fact) and all(call in error.hint for call in calls) and error.at is not None


@each_function
def test_another_number_of_arguments(function: Function) -> None:
    wrong = next(n for n in range(9) if not any(takes(s, n) for s in function.signatures))
    assert is_refused(refusal(function.name, [INTEGER] * wrong), function)


@each_function
def test_an_argument_of_another_type(function: Function) -> None:
    for signature in function.signatures:
        for i, parameter in enumerate(signature.parameters):
            if not is_generic(parameter.type) or isinstance(parameter.type, LambdaType):
                arguments = right(signature)
                arguments[i] = ROW
                assert is_refused(refusal(function.name, arguments), function), (signature, i)


@each_function
def test_a_lambda_where_none_fits(function: Function) -> None:
    for signature in function.signatures:
        for i in range(len(signature.parameters)):
            arguments = right(signature)
            arguments[i] = LAMBDA
            assert is_refused(refusal(function.name, arguments), function), (signature, i)


@each_function
def test_a_name_misspelt(function: Function) -> None:
    error = refusal(f"{function.name}{function.name[-1]}", [INTEGER])
    assert error.fact.startswith("there is no function named")
    assert error.hint.removeprefix("did you mean ").removesuffix("?") in FUNCTIONS
