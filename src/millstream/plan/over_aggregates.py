"""Aggregates with OVER: a value for each row of a stream, of the rows before it and itself, which ksqlDB does not have.

Rules: docs/reference/queries.md#rows-before-a-row. The calls become columns behind those of the rows, as table
functions do. So `SELECT id, LAG(price) OVER (PARTITION BY item ORDER BY ROWOFFSET) AS previous FROM bids` becomes

    Select ID KEY, LAG(PRICE) OVER (PARTITION BY ITEM ORDER BY ROWOFFSET) AS PREVIOUS
      Over all rows with the same ITEM before a row: LAG(PRICE)
        Read STREAM BIDS …

    row         after OverAggregate
    1: a, 10    1: a, 10, NULL
    2: b, 70    2: b, 70, NULL
    3: a, 12    3: a, 12, 10

Calls with equal OVER clauses share a node, and its states.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from millstream.analysis.expressions import type_expression
from millstream.analysis.scope import NameScope
from millstream.catalog.catalog import RelationKind
from millstream.functions import Library
from millstream.functions.declare import FunctionKind
from millstream.functions.library.over import MOST_ROWS, with_over_functions
from millstream.model.errors import StatementError
from millstream.model.units import DAY
from millstream.plan.aggregation import aggregate_call, aggregate_calls
from millstream.plan.nodes import LastRows, LastTime, NamedExpression, OverAggregate
from millstream.plan.projection import Relation, with_values
from millstream.syntax import tree
from millstream.syntax.printer import to_sql

# The most milliseconds for which a row is stored; a difference of such times is a BIGINT.
MOST_MS = 2**62
_INNER = "SELECT it in an inner query: FROM (SELECT …, ROW_NUMBER() OVER (…) AS n FROM a) WHERE n = 1"


def over_calls(node: tree.SyntaxNode) -> tuple[tree.Call, ...]:
    """The distinct calls with OVER in a part of a query, itself and inner queries included."""
    return tuple(dict.fromkeys(e for e in node.walk() if isinstance(e, tree.Call) and e.over is not None))


def with_over_aggregates(query: tree.SelectQuery, relation: Relation) -> Relation:
    """The relation whose rows have the values of the query's calls with OVER, as hidden columns.

    Without such calls it is the relation itself. Raises StatementError.
    """
    calls_by_clause: dict[tree.OverClause, list[tree.Call]] = {}
    for call in over_calls(query):
        if call.over is not None:
            calls_by_clause.setdefault(call.over, []).append(call)
    for clause, calls in calls_by_clause.items():
        relation = _with_clause(clause, calls, relation)
    return relation


def _with_clause(clause: tree.OverClause, calls: Sequence[tree.Call], relation: Relation) -> Relation:
    """The relation with the values of calls that have one OVER clause."""
    scope = relation.scope
    _check_clause(clause)
    keys = tuple(_partition_key(e, scope) for e in clause.partition_by)
    over = replace(scope, functions=with_over_functions(scope.functions))
    for call in calls:
        _check_call(call, over.functions)
    aggregations = tuple(aggregate_call(replace(c, over=None), over, RelationKind.STREAM) for c in calls)
    frame = _frame(clause.frame)
    ttl_ms = frame.stored_for if isinstance(frame, LastTime) else None
    return with_values(relation, OverAggregate(relation.node, keys, aggregations, frame, ttl_ms), calls)


def _partition_key(written: tree.Expression, scope: NameScope) -> NamedExpression:
    text = to_sql(written)
    key = type_expression(written, scope.inside("PARTITION BY"))
    if key.type is None or key.type.contains_map:
        fact = f"OVER cannot be PARTITION BY {text}, which is {'NULL' if key.type is None else key.type}"
        raise StatementError(fact, written.span, "a constant has all rows in one partition: PARTITION BY 1")
    return NamedExpression(text, key, text)


def _check_clause(clause: tree.OverClause) -> None:
    if not clause.partition_by:
        fact = "OVER has no PARTITION BY"
        raise StatementError(fact, clause.span, "PARTITION BY 1 has all rows in one partition, and uses one core")
    frame = clause.frame
    if isinstance(frame, tree.RowsFrame) and frame.preceding > MOST_ROWS:
        fact = f"ROWS {frame.preceding} PRECEDING is too many, as each row is stored: the most is {MOST_ROWS}"
        raise StatementError(fact, clause.span, "leave ROWS out for all rows before, or GROUP BY with a WINDOW")


def _frame(written: tree.RowsFrame | tree.RangeFrame | None) -> LastRows | LastTime | None:
    """The frame of a clause. Without GRACE PERIOD rows may be as late as the frame is long, up to a day."""
    match written:
        case tree.RowsFrame(preceding=count):
            return LastRows(count)
        case tree.RangeFrame(preceding=length, grace=grace):
            ms = length.milliseconds
            frame = LastTime(ms, grace.milliseconds if grace is not None else min(ms, DAY))
            if frame.stored_for > MOST_MS:
                raise StatementError("RANGE and GRACE PERIOD are too long", written.span, f"the most are {MOST_MS} ms")
            return frame
        case None:
            return None


def _check_call(call: tree.Call, functions: Library) -> None:
    function = functions.lookup(call.name)
    if function is not None and function.kind is not FunctionKind.AGGREGATE:
        fact = f"{call.name} is not an aggregate function: OVER requires one"
        raise StatementError(fact, call.span, "e.g. SUM(v), COUNT(*), LAG(v), ROW_NUMBER(); others need no OVER")
    if call.distinct:
        raise StatementError(f"{call.name}(DISTINCT …) cannot have OVER", call.span, "COUNT_DISTINCT estimates")
    if call.over is not None and call.over.frame is not None and call.name in ("LAG", "ROW_NUMBER"):
        fact = f"{call.name} is of all rows before, without ROWS or RANGE"
        raise StatementError(fact, call.over.span, "leave it out: ORDER BY ROWOFFSET")


def check_places(query: tree.SelectQuery, relation: Relation) -> None:
    """Raises StatementError for calls with OVER outside of SELECT, inside each other, over a table, and in a group."""
    calls = over_calls(query)
    if calls and relation.node.kind is RelationKind.TABLE:
        fact = "OVER is only supported on streams, and this is a table"
        raise StatementError(fact, calls[0].span, "use it on the stream that the table is computed from")
    if calls and query.group_by is not None:
        hint = "GROUP BY around it: FROM (SELECT …, LAG(v) OVER (…) AS before FROM a) GROUP BY …"
        raise StatementError("OVER and GROUP BY cannot be in one query", calls[0].span, hint)
    selected = {call for item in query.items for call in over_calls(item)}
    for call in calls:
        if call not in selected:
            raise StatementError("OVER is only allowed in SELECT", call.span, _INNER)
        for inner in _calls_inside(call, relation.scope.functions):
            raise StatementError(f"{inner.name} cannot be inside of a call with OVER", inner.span, _INNER)


def _calls_inside(call: tree.Call, functions: Library) -> Iterator[tree.Call]:
    """The calls of aggregates, and those with OVER, in the arguments and clauses of a call."""
    for part in call.children():
        yield from over_calls(part)
        yield from aggregate_calls([part], functions)
