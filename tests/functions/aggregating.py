"""Aggregates over a few rows in one expression: `SUM(X) over X = 1, 2`; also in halves, and with rows taken back."""

from collections.abc import Mapping, Sequence

from functions.calling import shown, typed_call
from millstream.analysis import typed_expressions as typed
from millstream.analysis.scope import NameScope, ScopeColumn
from millstream.functions import BUILT_IN
from millstream.functions.declare import NEWER, OLDER, STATE, argument
from millstream.functions.library.over import with_over_functions
from millstream.functions.operator_expressions import (
    OperatorExpression,
    SqlText,
    SqlVariable,
    bound,
    column,
)
from millstream.functions.operator_sql import spark_sql
from millstream.functions.sparktype import spark_type
from millstream.model.settings import effective
from millstream.model.types import STRING
from millstream.spark.lower import to_sql

OVER = " over "
SETTINGS = effective({}, {})


class Aggregated:
    """An aggregate and its rows, read from `CALL over X = value, value; Y = value, value`."""

    def __init__(self, text: str) -> None:
        call, _, columns = text.partition(OVER)
        arrays = {
            name: typed_call(f"ARRAY[{values}]") for name, values in (c.split(" = ", 1) for c in columns.split("; "))
        }
        typed_aggregate = typed_call(
            call,
            NameScope(
                tuple(_column(i, name, a) for i, (name, a) in enumerate(arrays.items())),
                functions=with_over_functions(BUILT_IN),
            ),
        )
        assert isinstance(typed_aggregate, typed.TypedCall)
        assert typed_aggregate.type is not None
        self.call, self.type = typed_aggregate, typed_aggregate.type
        signature = typed_aggregate.resolved.signature
        self.arguments = [
            to_sql(a) for a in typed_aggregate.arguments[: len(typed_aggregate.arguments) - signature.constants]
        ]
        self.rows = _rows(list(arrays.values()))
        assert signature.accumulating is not None
        types = [a.type or STRING for a in typed_aggregate.arguments]
        constants = [a.value if isinstance(a, typed.Constant) else None for a in typed_aggregate.arguments]
        self.how = signature.accumulating(types, constants, SETTINGS)

    def added(self) -> str:
        """The result of all rows, one after another."""
        return self._result(self._state(self.rows))

    def merged(self) -> str:
        """The result of merging the states of the first half and of the rest."""
        half = len(self.rows) // 2
        assert self.how.merge is not None
        merge = self._lowered({OLDER: column("one"), NEWER: column("other")}, self.how.merge)
        one, other = self._state(self.rows[:half]), self._state(self.rows[half:])
        return self._result(f"aggregate(array({other}), {one}, (one, other) -> {merge})")

    def undone(self) -> str:
        """The result of all rows and the first of them once more, which is taken back."""
        assert self.how.undo is not None
        more = self._state([*self.rows, self.rows[0]])
        return self._result(self._steps(self.how.undo, more, self.rows[:1]))

    def _result(self, state: str) -> str:
        """The state is computed once."""
        result = spark_sql(bound({STATE: column("st")}, self.how.result))
        return shown(self.type, f"ms_let({state}, st -> {result})")

    def _state(self, rows: Sequence[str]) -> str:
        return self._steps(self.how.add, self._lowered({}, self.how.initial), rows)

    def _steps(self, change: OperatorExpression, state: str, rows: Sequence[str]) -> str:
        arguments = {argument(i): SqlText(text) for i, text in enumerate(self.arguments)}
        step = self._lowered({STATE: column("st"), **arguments}, change)
        return f"aggregate(array({', '.join(rows)}), {state}, (st, value) -> {step})" if rows else state

    def _lowered(self, values: Mapping[SqlVariable, OperatorExpression], change: OperatorExpression) -> str:
        return spark_sql(bound(values, change).cast(self.how.state))


def _column(index: int, name: str, values: typed.TypedExpression) -> ScopeColumn:
    assert isinstance(values, typed.TypedArray)
    return ScopeColumn(name, None, typed.ColumnReference(values.items[0].type, typed.ColumnPlace.VALUE, index, name))


def _rows(columns: Sequence[typed.TypedExpression]) -> list[str]:
    items = [column.items for column in columns if isinstance(column, typed.TypedArray)]
    return [f"named_struct({', '.join(_field(i, v) for i, v in enumerate(row))})" for row in zip(*items, strict=True)]


def _field(index: int, value: typed.TypedExpression) -> str:
    assert value.type is not None
    return f"'V{index}', cast({to_sql(value)} as {spark_type(value.type)})"
