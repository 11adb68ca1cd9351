"""Plans the joins of relational pull queries: finds the equalities in ON that can serve as hash keys.

For `ON a.x = b.y AND a.v > b.v` the hash keys are A.X and B.Y; the whole condition is then evaluated for each pair of
rows with equal keys. Without such an equality it is evaluated for every pair (a nested-loop join).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from millstream.analysis.expressions import resolved_condition
from millstream.analysis.scope import NameScope, unresolved
from millstream.analysis.typed_expressions import (
    ColumnPlace,
    ColumnReference,
    TypedComparison,
    TypedExpression,
    TypedLogical,
)
from millstream.model.errors import StatementError
from millstream.model.types import BIGINT, BOOLEAN, BYTES, DATE, DOUBLE, INTEGER, STRING, TIME, TIMESTAMP, Decimal
from millstream.plan.joins import OUTER_SIDES
from millstream.plan.relational_nodes import RelationalNode, RowJoin
from millstream.syntax import tree
from millstream.syntax.printer import to_sql

# Types for which values that are equal under = have equal bytes, and so equal hashes (DOUBLE after -0 is made 0).
_HASHED = (BIGINT, BOOLEAN, BYTES, DATE, DOUBLE, INTEGER, STRING, TIME, TIMESTAMP)


@dataclass(frozen=True, slots=True)
class JoinedSource:
    """A source of FROM.

    `node` gives its rows, `alias` is its name in the query (None if it has none), `visible` are the indexes of the
    columns that `*` expands to, and `parts` has for each column the part of the record it comes from (key or value),
    None for pseudo-columns and for columns of inner queries.
    """

    node: RelationalNode
    alias: str | None
    visible: tuple[int, ...]
    parts: tuple[str | None, ...]


def join_tables(query: tree.SelectQuery, sources: Sequence[JoinedSource], scope: NameScope) -> RelationalNode:
    """The sources joined from left to right (a left-deep tree); `scope` has the columns of all of them.

    Raises StatementError for WITHIN, for two sources of one name, and for a condition that is not allowed.
    """
    names = [source.alias for source in sources]
    node = sources[0].node
    for join, source, place in zip(query.joins, sources[1:], range(1, len(sources)), strict=True):
        if join.within is not None:
            raise StatementError("WITHIN is for joins of streams: tables are joined as they are now", join.within.span)
        if source.alias in names[:place]:
            raise StatementError(f"two sources are named {source.alias}", join.source.span, "give one of them an alias")
        node = _joined(join, node, source.node, scope)
    return node


def _joined(join: tree.JoinClause, left: RelationalNode, right: RelationalNode, scope: NameScope) -> RowJoin:
    width = len(left.columns)
    visible = tuple(c for c in scope.columns if c.ref.index < width + len(right.columns))
    typed_condition = resolved_condition(join.condition, replace(scope, columns=visible), "JOIN ON")
    for part in typed_condition.walk():
        if isinstance(part, ColumnReference) and part.where is not ColumnPlace.VALUE:
            raise StatementError(unresolved("JOIN ON", part.name), join.condition.span)
    conditions = conjuncts(typed_condition, join.condition)
    pairs = [pair for typed, _ in conditions if (pair := _equal(typed, width)) is not None]
    left_keys, right_keys = (tuple(keys) for keys in (zip(*pairs, strict=True) if pairs else ((), ())))
    return RowJoin(left, right, OUTER_SIDES[join.kind], left_keys, right_keys, typed_condition, to_sql(join.condition))


def conjuncts(typed: TypedExpression, written: tree.Expression) -> list[tuple[TypedExpression, tree.Expression]]:
    """The conditions that AND combines in the statement, each typed and as written.

    A BETWEEN stays one condition, although it is typed as an AND.
    """
    if isinstance(typed, TypedLogical) and isinstance(written, tree.Logical) and typed.operator == "AND":
        return [*conjuncts(typed.left, written.left), *conjuncts(typed.right, written.right)]
    return [(typed, written)]


def _equal(typed: TypedExpression, width: int) -> tuple[TypedExpression, TypedExpression] | None:
    """The operands of an equality between the left and the right side, in this order; None for anything else."""
    if not isinstance(typed, TypedComparison) or typed.operator != "=":
        return None
    if typed.left.type != typed.right.type or not (typed.left.type in _HASHED or isinstance(typed.left.type, Decimal)):
        return None
    match side_of(typed.left, width), side_of(typed.right, width):
        case "left", "right":
            return typed.left, moved(typed.right, -width)
        case "right", "left":
            return typed.right, moved(typed.left, -width)
    return None


def side_of(typed: TypedExpression, width: int) -> str:
    """The side of a join whose columns an expression reads: "left", "right", or "both" if it reads both or none.

    `width` is the number of columns of the left side.
    """
    indexes = [part.index for part in typed.walk() if isinstance(part, ColumnReference)]
    if indexes and all(i < width for i in indexes):
        return "left"
    return "right" if indexes and all(i >= width for i in indexes) else "both"


def moved(typed: TypedExpression, by: int) -> TypedExpression:
    """A copy of an expression in which `by` is added to the index of each column reference."""
    return typed.transform(
        lambda part: replace(part, index=part.index + by) if isinstance(part, ColumnReference) else None
    )
