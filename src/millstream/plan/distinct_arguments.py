"""DISTINCT in the aggregates of a query that keeps running: COUNT(DISTINCT user), which ksqlDB does not have.

An aggregate itself does not change: its rows have NULL in place of a value that their group has had before, and COUNT,
SUM and AVG leave out NULLs (Trino's MarkDistinct is the same idea). So `SELECT shop, COUNT(DISTINCT user), COUNT(*)
FROM visits GROUP BY shop` becomes

    Group by SHOP: COUNT(DISTINCT USER), COUNT(*)
      Each value once in its group: USER
        Select SHOP, USER
          Read STREAM VISITS …

    row        after DistinctArguments    groups
    a, ann     a, ann                     a: 1, 1
    a, ann     a, NULL                    a: 1, 2
    a, bob     a, bob                     a: 2, 3

`COUNT(DISTINCT user) FILTER (WHERE new)` is one more such column, for CASE WHEN new THEN user END.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import zip_longest

from millstream.analysis.typed_expressions import (
    ColumnPlace,
    ColumnReference,
    Constant,
    TypedCase,
    TypedExpression,
    bare,
)
from millstream.catalog.catalog import RelationKind
from millstream.model.errors import StatementError
from millstream.plan.nodes import Aggregate, AggregateCall, DistinctArguments, NamedExpression, Select, named_keys
from millstream.syntax import tree
from millstream.syntax.printer import to_sql

# The functions that leave out NULLs.
_FUNCTIONS = ("COUNT", "SUM", "AVG", "MIN", "MAX")


def with_distinct_arguments(group: Aggregate, calls: Sequence[tree.Call]) -> Aggregate:
    """The grouping of rows in which the arguments of those of its `calls` that have DISTINCT are new to their group.

    Without DISTINCT it is `group` itself. Raises StatementError for a function, a window or a source that DISTINCT is
    not for.
    """
    for call in calls:
        _check(call, group)
    if not any(map(_counts_once, calls)):
        return group
    paired = tuple(zip(group.aggregations, calls, strict=True))
    # The others need all values of an argument that both have.
    of_others = (e for a, call in paired if not _counts_once(call) for e in _arguments(a, call))
    plain = _Columns(0, [*group.keys, *of_others])
    of_distinct = [e for a, call in paired if _counts_once(call) for e in _arguments(a, call)]
    distinct = _Columns(len(plain.columns), of_distinct)
    rows = Select(group.source, named_keys(group.source.schema), (*plain.columns, *distinct.columns))
    by = tuple(plain.reference(key.expression) for key in group.keys)
    return replace(
        group,
        source=DistinctArguments(rows, by, distinct.by_value(), group.window),
        keys=tuple(replace(key, expression=column) for key, column in zip(group.keys, by, strict=True)),
        aggregations=tuple(_over(a, distinct if _counts_once(call) else plain) for a, call in paired),
    )


class _Columns:
    """The value columns from index `first` on that have these expressions, each once."""

    def __init__(self, first: int, expressions: Iterable[NamedExpression]) -> None:
        unique: dict[TypedExpression, NamedExpression] = {}
        for expression in expressions:
            unique.setdefault(bare(expression.expression), expression)
        self.columns = tuple(unique.values())
        self._references = {
            key: ColumnReference(column.expression.type, ColumnPlace.VALUE, first + i, column.name)
            for i, (key, column) in enumerate(unique.items())
        }

    def reference(self, expression: TypedExpression) -> ColumnReference:
        """The column that has an expression."""
        return self._references[bare(expression)]

    def by_value(self) -> tuple[tuple[ColumnReference, ...], ...]:
        """All columns; those that have one value or NULL in each row are together."""
        columns: dict[TypedExpression, list[ColumnReference]] = {}
        for column in self.columns:
            columns.setdefault(bare(_value(column.expression)), []).append(self.reference(column.expression))
        return tuple(map(tuple, columns.values()))


def _value(expression: TypedExpression) -> TypedExpression:
    """X of CASE WHEN condition THEN X END, which is what `without_filter` makes; any other expression unchanged."""
    match expression:
        case TypedCase(whens=((_, result),), otherwise=Constant(value=None)):
            return result
        case _:
            return expression


def _check_leaves_out_null(call: tree.Call, clause: str, hint: str) -> None:
    """Raises StatementError for a function that does not ignore NULLs, which replace values that must not count."""
    if call.name not in _FUNCTIONS:
        listed = f"{', '.join(_FUNCTIONS[:-1])} and {_FUNCTIONS[-1]}"
        raise StatementError(f"{clause} is for {listed}", call.span, hint)


def without_filter(call: tree.Call) -> tree.Call:
    """A call with DISTINCT and FILTER as one without filter: values that do not pass are NULL, and so not stored.

    COUNT(DISTINCT user) FILTER (WHERE amount > 1) is COUNT(DISTINCT CASE WHEN amount > 1 THEN user END). Raises
    StatementError.
    """
    if call.filter is None or not call.distinct:
        return call
    _check_leaves_out_null(call, "DISTINCT with FILTER", "a WHERE in an inner query")
    arguments = tuple(tree.Case((tree.When(call.filter, a),), span=a.span) for a in call.args)
    return replace(call, args=arguments, filter=None)


def _counts_once(call: tree.Call) -> bool:
    """True for a call whose result DISTINCT changes: the least and the greatest value are those of all."""
    return call.distinct and call.name not in ("MIN", "MAX")


def _arguments(aggregation: AggregateCall, call: tree.Call) -> Iterator[NamedExpression]:
    """The arguments that are computed for each row, and the filter, each named by its SQL text in the call.

    MAX() has the argument ROWTIME, which is not written in the call.
    """
    for argument, written in zip_longest(aggregation.arguments, call.args[: len(aggregation.arguments)]):
        text = to_sql(written) if written is not None else "ROWTIME"
        yield NamedExpression(text, argument, text)
    if aggregation.filter is not None and call.filter is not None:
        yield NamedExpression(to_sql(call.filter), aggregation.filter, to_sql(call.filter))


def _over(aggregation: AggregateCall, columns: _Columns) -> AggregateCall:
    condition = columns.reference(aggregation.filter) if aggregation.filter is not None else None
    return replace(aggregation, arguments=tuple(map(columns.reference, aggregation.arguments)), filter=condition)


def _check(call: tree.Call, group: Aggregate) -> None:
    if not call.distinct:
        return
    hint = "COLLECT_SET and TOPKDISTINCT have each value once"
    _check_leaves_out_null(call, "DISTINCT in a query that keeps running", hint)
    if group.source.kind is RelationKind.TABLE:
        fact = f"{call.name}(DISTINCT …) cannot be applied to a table source, only to a stream source."
        raise StatementError(fact, call.span, "a pull query can, over the table's rows of the moment")
    window = group.window
    if window is not None and window.type == "SESSION" and _counts_once(call):
        fact = f"{call.name}(DISTINCT …) cannot be computed in SESSION windows: two that merge may have the same values"
        raise StatementError(fact, call.span, "COUNT_DISTINCT estimates, in windows of each kind")
