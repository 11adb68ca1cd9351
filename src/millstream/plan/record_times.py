"""From which time on records can be in a query's result, so that a topic is read from there and not from its beginning.

SELECT * FROM s WHERE ROWTIME >= '2026-11-01' AND v > 5            1793491200000
SELECT * FROM s WHERE ROWTIME BETWEEN 1000 AND 2000 OR v > 5       None: a record of any time may have v > 5
"""

from millstream.analysis.typed_expressions import (
    ColumnPlace,
    ColumnReference,
    Constant,
    TypedComparison,
    TypedExpression,
    TypedLogical,
)
from millstream.catalog.catalog import RelationKind
from millstream.model.setting_kinds import LONG_MAX
from millstream.plan.nodes import Filter, PlanNode, leaves

# `constant operator ROWTIME` as `ROWTIME operator constant`.
_MIRRORED = {"<": ">", "<=": ">=", "=": "="}


def first_rowtime(plan: PlanNode) -> int | None:
    """The earliest time of records that pass the WHERE over the only stream of a plan, in epoch ms; None for any time.

    It is None, too, where a row's time is a column of it, as Kafka finds records by their own times.
    """
    reads = leaves(plan)
    if len(reads) != 1 or reads[0].kind is not RelationKind.STREAM or reads[0].origin.timestamp is not None:
        return None
    filters = (node for node in plan.walk() if isinstance(node, Filter) and node.source is reads[0])
    return next((_first(node.condition) for node in filters), None)


def _first(condition: TypedExpression) -> int | None:
    match condition:
        case TypedLogical(operator="AND", left=left, right=right):
            bounds = [bound for side in (left, right) if (bound := _first(side)) is not None]
            return max(bounds, default=None)
        case TypedComparison(operator=operator, left=ColumnReference() as column, right=Constant(value=value)):
            return _bound(column, operator, value)
        case TypedComparison(operator=operator, left=Constant(value=value), right=ColumnReference() as column):
            return _bound(column, _MIRRORED.get(operator, ""), value)
    return None


def _bound(column: ColumnReference, operator: str, value: object) -> int | None:
    if column.where is not ColumnPlace.ROWTIME or not isinstance(value, int):
        return None
    return {">=": value, "=": value, ">": min(value + 1, LONG_MAX)}.get(operator)
