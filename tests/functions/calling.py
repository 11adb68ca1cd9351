"""Calls of functions, parsed, typed, lowered and computed by Spark; answers as CAST(… AS STRING) prints them."""

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import SparkSession

from millstream.analysis.expressions import typed
from millstream.analysis.scope import Scope
from millstream.functions import lookup
from millstream.functions.declare import FunctionKind
from millstream.functions.resolve import resolve
from millstream.functions.shapes import lowered
from millstream.model.types import STRING, Array, SqlType
from millstream.spark.casts import cast
from millstream.spark.lower import to_sql
from millstream.syntax import tree
from millstream.syntax.parser import parse_expression

FAILED = "fails"
NOTHING = Scope()


@dataclass(frozen=True, slots=True)
class Answer:
    """The type of a call and what it gave: text, `NULL`, or `fails`."""

    type: SqlType
    text: str

    def __str__(self) -> str:
        return f"{self.type} {FAILED}" if self.text == FAILED else f"{self.type} = {self.text}"


def answers(calls: Sequence[str], spark: SparkSession, scope: Scope = NOTHING) -> list[Answer]:
    """What each call gives, all computed as the columns of one row."""
    made = [lowered_call(call, scope) for call in calls]
    columns = (f"{_shown(t, text)} AS c{i}" for i, (t, text) in enumerate(made))
    row = spark.range(1).selectExpr("0 AS partition", "id AS offset").selectExpr(*columns).collect()[0]
    return [Answer(t, FAILED if given is None else given) for (t, _), given in zip(made, row, strict=True)]


def _shown(t: SqlType, text: str) -> str:
    return f"ms_guard(coalesce({cast(text, t, STRING)}, 'NULL'), 'test', partition, offset)"


def lowered_call(call: str, scope: Scope = NOTHING) -> tuple[SqlType, str]:
    """The type and the Spark SQL text; of a table function, those of the array of its rows."""
    expression = parse_expression(call)
    function = lookup(expression.name) if isinstance(expression, tree.Call) else None
    if function and function.kind is FunctionKind.TABLE:
        return _rows(expression)
    made = typed(expression, scope)
    assert made.type is not None
    return made.type, to_sql(made)


def _rows(expression: tree.Expression) -> tuple[SqlType, str]:
    assert isinstance(expression, tree.Call)
    given = [typed(a, Scope()) for a in expression.args]
    types = [a.type for a in given]
    chosen = resolve(expression.name, types, None, expression.span)
    return Array(chosen.returns), lowered(chosen.signature, list(map(to_sql, given)), types, chosen.returns)
