"""Data files: the type that an expression has, or why it is refused."""

from pathlib import Path

import pytest

from millstream.analysis.expressions import type_expression
from millstream.analysis.scope import NameScope, ScopeColumn
from millstream.analysis.typed_expressions import ColumnPlace, ColumnReference
from millstream.model.errors import StatementError
from millstream.model.types import Decimal
from millstream.syntax.parser import parse_columns, parse_expression
from support import golden

COLUMNS = parse_columns(
    "I INTEGER, L BIGINT, D DOUBLE, M DECIMAL(6, 2), S STRING, T BOOLEAN, B BOOLEAN, BIN BYTES, DAY DATE, CLOCK TIME,"
    "TS TIMESTAMP, A ARRAY<INTEGER>, MP MAP<STRING, BIGINT>, ST STRUCT<ID INTEGER, NAME STRING>, SAME INTEGER,"
    "DEEP STRUCT<A STRUCT<B ARRAY<STRUCT<C DOUBLE>>>>"
)
SCOPE = NameScope(
    (
        *(
            ScopeColumn(c.name, "T1", ColumnReference(c.type, ColumnPlace.VALUE, i, c.name))
            for i, c in enumerate(COLUMNS)
        ),
        ScopeColumn("SAME", "T2", ColumnReference(COLUMNS[0].type, ColumnPlace.VALUE, 99, "SAME")),
    ),
    types={"MONEY": Decimal(10, 2)},
)


def test_types_and_refusals() -> None:
    golden.check(Path(__file__).parent / "texts" / "expressions.sql", _answer)


def test_lambdas_inside_each_other_are_typed_once() -> None:
    """Each twice would be 2³⁰ times."""
    nested = "TRANSFORM(A, x => " * 30 + "x" + ")" * 30
    assert str(type_expression(parse_expression(nested), SCOPE).type) == "ARRAY<" * 30 + "INTEGER" + ">" * 30


@pytest.mark.parametrize(
    "around", ["CASE WHEN {} BETWEEN 1 AND 2 THEN 3 END", "CASE {} WHEN 1 THEN 4 WHEN 2 THEN 5 WHEN 3 THEN 6 END"]
)
def test_operands_that_are_repeated_are_limited(around: str) -> None:
    """Each level doubles or triples the operand below it; the first of fifty levels that is too large is refused."""
    few = many = "I"
    for _ in range(7):
        few = around.format(few)
    for _ in range(50):
        many = around.format(many)
    assert type_expression(parse_expression(few), SCOPE).type == COLUMNS[0].type
    with pytest.raises(StatementError, match="repeat this operand to more than 20000 parts"):
        type_expression(parse_expression(many), SCOPE)


def _answer(text: str) -> str:
    try:
        return str(type_expression(parse_expression(text), SCOPE).type or "NULL")
    except StatementError as error:
        return f"{type(error).__name__}: {error}"
