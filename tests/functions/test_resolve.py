"""Which signature a call resolves to, and the message if there is none."""

from collections.abc import Sequence

import pytest

from millstream.functions.declare import (
    ANY_DECIMAL,
    UNIT,
    Function,
    FunctionKind,
    LambdaArgument,
    LambdaType,
    ResolvedCall,
)
from millstream.functions.resolve import call_text, resolve, resolve_among
from millstream.functions.signatures import parse_signature
from millstream.model.errors import Span, StatementError
from millstream.model.types import (
    BIGINT,
    DATE,
    DOUBLE,
    INTEGER,
    STRING,
    TIMESTAMP,
    Array,
    Decimal,
    Map,
    SqlType,
)

HERE = Span(1, 8)


def overloaded(*signatures: str) -> Function:
    """A function of these signatures."""
    return Function("F", FunctionKind.SCALAR, "", "", tuple(parse_signature(s, "") for s in signatures))


def resolved_call(function: Function, *arguments: SqlType | None) -> str:
    """The call that is meant."""
    return call_text("F", resolve_among(function, arguments, None, HERE).signature)


@pytest.mark.parametrize(
    ("signatures", "arguments", "best"),
    [
        (["(a INTEGER) -> STRING", "(a BIGINT) -> STRING"], [INTEGER], "F(a INTEGER)"),
        (["(a STRING) -> STRING", "(a DOUBLE) -> STRING"], [INTEGER], "F(a DOUBLE)"),
        (
            ["(a STRING, b INTEGER) -> STRING", "(a BIGINT, b INTEGER) -> STRING"],
            [BIGINT, None],
            "F(a BIGINT, b INTEGER)",
        ),
        (["(a STRING) -> STRING", "(a STRING...) -> STRING"], [STRING], "F(a STRING)"),
        (["(a STRING...) -> STRING"], [], "F(a STRING...)"),
        (
            ["(a STRING...) -> STRING", "(a STRING, b STRING...) -> STRING"],
            [STRING, STRING],
            "F(a STRING, b STRING...)",
        ),
        (["(a T) -> STRING", "(a STRING) -> STRING"], [STRING], "F(a STRING)"),
        (["(a T) -> STRING", "(a STRING) -> STRING"], [DATE], "F(a T)"),
        (["(a DECIMAL) -> STRING", "(a DOUBLE) -> STRING"], [Decimal(4, 2)], "F(a DECIMAL)"),
        (["(a INTEGER, b STRING..., c INTEGER) -> STRING"], [INTEGER, STRING, STRING, INTEGER], None),
        (["(a ARRAY<BIGINT>) -> STRING"], [Array(INTEGER)], "F(a ARRAY<BIGINT>)"),
        (["(a DATE) -> STRING"], [STRING], "F(a DATE)"),
    ],
)
def test_the_best_of_what_fits(signatures: list[str], arguments: Sequence[SqlType | None], best: str | None) -> None:
    function = overloaded(*signatures)
    assert resolved_call(function, *arguments) == (best or call_text("F", function.signatures[0]))


@pytest.mark.parametrize(
    ("signatures", "arguments"),
    [
        (["(a BIGINT) -> STRING", "(a DOUBLE) -> STRING"], [INTEGER]),
        (["(a BIGINT) -> STRING", "(a STRING) -> STRING"], [None]),
    ],
)
def test_what_is_ambiguous(signatures: list[str], arguments: Sequence[SqlType | None]) -> None:
    with pytest.raises(StatementError, match="ambiguous method parameters"):
        resolved_call(overloaded(*signatures), *arguments)


@pytest.mark.parametrize(
    ("signature", "arguments"),
    [
        ("(a INTEGER) -> STRING", [BIGINT]),
        ("(a INTEGER) -> STRING", [STRING]),
        ("(a DOUBLE) -> STRING", [STRING]),
        ("(a STRING) -> STRING", [INTEGER]),
        ("(a BIGINT) -> STRING", [TIMESTAMP]),
        ("(a T, b T) -> STRING", [STRING, INTEGER]),
        ("(a ARRAY<T>, b T) -> T", [Array(STRING), INTEGER]),
        ("(a STRING, b STRING...) -> STRING", []),
        ("(a INTERVALUNIT) -> STRING", [DATE]),
        ("(a DATE) -> STRING", [UNIT]),
        ("(a T, f T => U) -> U", [INTEGER, LambdaArgument(2)]),
        ("(a T, f T => U) -> U", [INTEGER, INTEGER]),
        ("(a T) -> T", [LambdaArgument(1)]),
    ],
)
def test_what_does_not_fit(signature: str, arguments: Sequence[SqlType | None]) -> None:
    with pytest.raises(StatementError, match="does not accept parameters"):
        resolved_call(overloaded(signature), *arguments)


def called(name: str, *arguments: SqlType | None) -> ResolvedCall:
    return resolve(name, arguments, None, HERE)


def test_arguments_are_cast_to_their_parameters() -> None:
    assert called("SUBSTRING", STRING, None).arguments == (None, INTEGER)
    assert called("POWER", INTEGER, DOUBLE).arguments == (DOUBLE, None)
    assert called("SQRT", Decimal(4, 2)).arguments == (DOUBLE,)
    assert called("FORMAT_DATE", STRING, STRING).arguments == (DATE, None)


@pytest.mark.parametrize(
    ("name", "types"),
    [
        ("COALESCE", (INTEGER, None, BIGINT)),
        ("COALESCE", (Decimal(4, 1), Decimal(4, 3))),
        ("IFNULL", (BIGINT, INTEGER)),
        ("NULLIF", (DOUBLE, Decimal(2, 1))),
        ("ARRAY_CONTAINS", (Array(INTEGER), BIGINT)),
        ("ARRAY_CONCAT", (Array(INTEGER), Array(BIGINT))),
    ],
)
def test_uses_of_a_generic_have_one_type(name: str, types: tuple[SqlType | None, ...]) -> None:
    with pytest.raises(StatementError, match=r"does not accept parameters .*\n.*T is one type: CAST one of them"):
        called(name, *types)


@pytest.mark.parametrize(("name", "types"), [("AVG", (Decimal(4, 1),)), ("CORRELATION", (INTEGER, DOUBLE))])
def test_arguments_of_aggregate_functions_are_not_widened(name: str, types: tuple[SqlType, ...]) -> None:
    with pytest.raises(StatementError, match="does not accept parameters"):
        called(name, *types)


def test_the_common_type_of_decimals_has_room_for_both() -> None:
    assert called("GREATEST", Decimal(4, 1), Decimal(4, 3)).returns == Decimal(6, 3)
    assert called("ROUND", Decimal(33, 16)).returns == Decimal(17, 0)


def test_a_lambda_is_typed_by_the_arguments_before_it() -> None:
    typed: list[tuple[int, tuple[SqlType, ...]]] = []

    def typer(index: int, parameters: tuple[SqlType, ...]) -> SqlType:
        typed.append((index, parameters))
        return (STRING, DOUBLE)[index - 1]

    two = LambdaArgument(2)
    call = resolve("TRANSFORM", [Map(STRING, INTEGER), two, two], typer, HERE)
    assert typed == [(1, (STRING, INTEGER)), (2, (STRING, INTEGER))]
    assert call.returns == Map(STRING, DOUBLE)
    assert call.arguments == (None, LambdaType((STRING, INTEGER), STRING), LambdaType((STRING, INTEGER), DOUBLE))


def test_a_lambda_must_give_what_is_needed() -> None:
    with pytest.raises(StatementError, match="a lambda gives STRING where BOOLEAN is needed"):
        resolve("FILTER", [Array(STRING), LambdaArgument(1)], lambda i, p: STRING, HERE)
    wider = resolve("REDUCE", [Array(INTEGER), BIGINT, LambdaArgument(2)], lambda i, p: INTEGER, HERE)
    assert wider.returns == BIGINT


def test_a_result_of_nothing_but_null() -> None:
    with pytest.raises(StatementError, match="cannot be derived from NULL"):
        called("COALESCE", None, None)


def test_an_aggregate_may_take_more_columns() -> None:
    """The greatest of one column, or rows by the first of several; the last argument is how many."""
    assert resolve("TOPK", (BIGINT, INTEGER), None, HERE).returns == Array(BIGINT)
    assert str(resolve("TOPK", (BIGINT, STRING, INTEGER), None, HERE).returns) == (
        "ARRAY<STRUCT<`sort_col` BIGINT, `col0` STRING>>"
    )


def test_any_decimal_shows_without_its_size() -> None:
    assert str(ANY_DECIMAL) == "DECIMAL"
