"""Calls of functions, parsed, typed, lowered and computed by Spark; answers as CAST(… AS STRING) prints them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

from millstream.analysis import typed_expressions as typed
from millstream.analysis.expressions import function_call, type_expression
from millstream.analysis.scope import NameScope
from millstream.functions.declare import FunctionKind
from millstream.model.types import STRING, TIME, Array, SqlType
from millstream.spark.casts import cast
from millstream.spark.lower import to_sql
from millstream.syntax import tree
from millstream.syntax.parser import parse_expression

FAILED = "fails"
_FEW = 20
NOTHING = NameScope()


@dataclass(frozen=True, slots=True)
class Answer:
    """The type of a call and what it gave: text, `NULL`, or `fails`."""

    type: SqlType
    text: str

    def __str__(self) -> str:
        return f"{self.type} {FAILED}" if self.text == FAILED else f"{self.type} = {self.text}"


def answers(calls: Sequence[str], spark: SparkSession, scope: NameScope = NOTHING) -> list[Answer]:
    """What each call gives, all computed as the columns of one row."""
    return computed([(t, shown(t, text)) for t, text in (lowered_call(call, scope) for call in calls)], spark)


def computed(lowered: Sequence[tuple[SqlType, str]], spark: SparkSession) -> list[Answer]:
    """The values of guarded Spark SQL texts; evaluated in small groups, since long projections plan slowly."""
    texts = [text for _, text in lowered]
    row = [value for i in range(0, len(texts), _FEW) for value in _row(texts[i : i + _FEW], spark)]
    return [Answer(t, FAILED if value is None else value) for (t, _), value in zip(lowered, row, strict=True)]


def _row(texts: Sequence[str], spark: SparkSession) -> Sequence[str | None]:
    columns = (f"{text} AS c{i}" for i, text in enumerate(texts))
    return spark.range(1).selectExpr("0 AS partition", "id AS offset").selectExpr(*columns).collect()[0]


def shown(t: SqlType, text: str) -> str:
    """The value as text, guarded; a TIME with its milliseconds, which CAST leaves out."""
    clock = f"regexp_replace(date_format(timestamp_millis({text}), 'HH:mm:ss.SSS'), '(:00)?[.]000\\u0024', '')"
    return f"ms_guard(coalesce({clock if t == TIME else cast(text, t, STRING)}, 'NULL'), 'test', partition, offset)"


def cases_in(path: Path) -> list[tuple[str, str]]:
    """The calls of a file and what they give; comments begin with #."""
    texts = (line for line in path.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#"))
    return [(call, expected) for call, expected in (text.rsplit(" => ", 1) for text in texts)]


def lowered_call(call: str, scope: NameScope = NOTHING, label: str | None = None) -> tuple[SqlType, str]:
    """The type and the Spark SQL text; of a table function, those of the array of its rows. `label`: see to_sql.

    A CAST has none, so that it fails, as it would not if it were guarded by itself.
    """
    expression = typed_call(call, scope)
    assert expression.type is not None
    label = None if isinstance(expression, typed.TypedCast) else label
    if isinstance(expression, typed.TypedCall) and expression.resolved.function.kind is FunctionKind.TABLE:
        return Array(expression.type), to_sql(expression, label)
    return expression.type, to_sql(expression, label)


def typed_call(call: str, scope: NameScope = NOTHING) -> typed.TypedExpression:
    """What a call means, of any kind of function."""
    expression = parse_expression(call)
    function = scope.functions.lookup(expression.name) if isinstance(expression, tree.Call) else None
    if function and function.kind is not FunctionKind.SCALAR:
        assert isinstance(expression, tree.Call)
        return function_call(expression, scope, function.kind)
    return type_expression(expression, scope)


def calls_in(expression: typed.TypedExpression) -> Iterator[typed.TypedCall]:
    """The calls in an expression, those inside others too."""
    return (part for part in expression.walk() if isinstance(part, typed.TypedCall))
