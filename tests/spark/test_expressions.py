"""Every line of expressions/*.txt: an expression, its type, and what it gives over the file's row."""

from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, Row, SparkSession

from millstream.analysis.coercion import coerce
from millstream.analysis.expressions import type_expression
from millstream.analysis.scope import NameScope, ScopeColumn
from millstream.analysis.typed_expressions import ColumnPlace, ColumnReference, Constant, TypedCast, TypedExpression
from millstream.model.errors import StatementError
from millstream.model.types import SqlType
from millstream.spark.lower import guarded, to_sql
from millstream.syntax.parser import parse_columns, parse_expression, parse_type

FILES = sorted((Path(__file__).parent / "expressions").glob("*.txt"))


@dataclass(frozen=True, slots=True)
class Line:
    """`expression => type = expected`, or `fails`, or `rejected`."""

    expression: str
    type: SqlType
    outcome: str
    constant: str = ""


@dataclass(frozen=True, slots=True)
class Case:
    """A file: the columns of its row as (name, type, constant), and its lines."""

    columns: tuple[tuple[str, SqlType, str], ...]
    lines: tuple[Line, ...]

    @property
    def scope(self) -> NameScope:
        named = enumerate(self.columns)
        return NameScope(
            tuple(ScopeColumn(n, "T", ColumnReference(t, ColumnPlace.VALUE, i, n)) for i, (n, t, _) in named)
        )


def read(path: Path) -> Case:
    texts = [line for line in path.read_text().splitlines() if line.strip() and not line.startswith("#")]
    columns = tuple(_column(t) for t in texts if " => " not in t)
    return Case(columns, tuple(_line(t) for t in texts if " => " in t))


def _column(text: str) -> tuple[str, SqlType, str]:
    declared, constant = text.split(" = ", 1)
    (column,) = parse_columns(declared)
    return column.name, column.type, constant


def _line(text: str) -> Line:
    expression, rest = text.rsplit(" => ", 1)
    for outcome in ("fails", "rejected"):
        if rest.endswith(f" {outcome}"):
            return Line(expression, parse_type(rest.removesuffix(outcome)), outcome)
    type_text, constant = rest.split(" = ", 1)
    return Line(expression, parse_type(type_text), "gives", constant)


def _constant(text: str, type: SqlType, scope: NameScope) -> TypedExpression:
    expression = parse_expression(text)
    return coerce(type_expression(expression, scope), type, expression.span)


def _row(case: Case, spark: SparkSession) -> DataFrame:
    """The file's row behind a shuffle, with values that the optimizer cannot know."""
    texts = [to_sql(_constant(text, t, NameScope())) for _, t, text in case.columns]
    fields = ", ".join(f"'V{i}', if(id = 0, {text}, NULL)" for i, text in enumerate(texts))
    value = f"named_struct({fields}) AS value"
    rest = ("1234L AS rowtime", "3 AS partition", "42L AS offset")
    return spark.range(1).selectExpr("named_struct('K0', 0) AS key", value, *rest).repartition(1)


def _texts(line: Line, scope: NameScope) -> tuple[str, str, str]:
    """The actual value, the expected one, and True if it failed."""
    expression = type_expression(parse_expression(line.expression), scope)
    assert expression.type == line.type, line
    expected = _constant(line.constant, line.type, scope) if line.constant else Constant(line.type, None)
    # A CAST is guarded by itself if there is a label.
    label = None if isinstance(expression, TypedCast) else "test"
    failed = f"ms_guard(size(array({to_sql(expression, label)})), 'test', partition, offset) IS NULL"
    return guarded(expression, "test"), to_sql(expected), failed


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_what_expressions_give(path: Path, spark: SparkSession) -> None:
    case = read(path)
    lines = [line for line in case.lines if line.outcome != "rejected"]
    texts = [text for line in lines for text in _texts(line, case.scope)]
    row = _row(case, spark).selectExpr(*(f"{text} AS c{i}" for i, text in enumerate(texts))).collect()[0]
    assert [bad for i, line in enumerate(lines) if (bad := _wrong(line, row, i))] == []


def _wrong(line: Line, row: Row, number: int) -> str:
    actual, expected, failed = row[3 * number : 3 * number + 3]
    if (actual, failed) == (expected, line.outcome == "fails"):
        return ""
    return f"{line.expression} gives {actual!r}{' (failed)' if failed else ''}, not {expected!r}"


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_what_expressions_are_refused(path: Path) -> None:
    case = read(path)
    for line in case.lines:
        if line.outcome == "rejected":
            with pytest.raises(StatementError):
                type_expression(parse_expression(line.expression), case.scope)


def test_a_cast_that_cannot_fail_has_no_guard() -> None:
    scope = read(FILES[0].with_name("casts.txt")).scope
    texts = [
        guarded(type_expression(parse_expression(f"CAST({cast}) IS NULL"), scope), "test")
        for cast in ("A AS BIGINT", "A AS STRING", "B AS DOUBLE", "S AS BOOLEAN", "M AS DECIMAL(6, 3)", "WHEN_ AS DATE")
    ]
    assert [text for text in texts if "ms_guard" in text] == []
