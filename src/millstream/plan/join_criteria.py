"""One join of a chain: which kinds of sources it may join, the two sides of its ON, and its WITHIN.

Rules: docs/reference/joins.md. `ON o.id = s.order_id` and `ON s.order_id = o.id`, where s is joined to the rows so far,
are both (O.ID, S.ORDER_ID): the expression over the rows so far comes first.
"""

from collections.abc import Sequence

from millstream.analysis import typed_expressions as typed
from millstream.analysis.coercion import cast_hint
from millstream.analysis.expressions import type_expression
from millstream.analysis.scope import NameScope
from millstream.analysis.serdes import map_key_error
from millstream.catalog.catalog import RelationKind
from millstream.model.errors import StatementError
from millstream.model.names import identifier
from millstream.model.units import DAY
from millstream.plan.join_sides import JoinSide
from millstream.plan.nodes import JoinWindow, PlanNode
from millstream.syntax import tree
from millstream.syntax.printer import to_sql


def criterion(
    join: tree.JoinClause, scope: NameScope, visible: Sequence[JoinSide]
) -> tuple[typed.TypedExpression, typed.TypedExpression]:
    """The two sides of the condition: the expression over the rows so far, and the one over the new source."""
    condition, new_alias = join.condition, visible[-1].alias
    if not isinstance(condition, tree.Comparison) or condition.operator != "=":
        fact, hint = "only one equality is supported", "ON a.id = b.id; other conditions are put into WHERE"
        if isinstance(condition, tree.Logical):
            fact = "joins on multiple conditions are not yet supported"
        raise StatementError(f"Invalid join condition: {fact}. Got {to_sql(condition)}.", condition.span, hint)
    scope = scope.inside("JOIN ON")
    sides = [(type_expression(e, scope), e) for e in (condition.left, condition.right)]
    aliases = [_alias(expression, e, condition, visible) for expression, e in sides]
    if new_alias not in aliases or aliases[0] == aliases[1]:
        raise StatementError(
            f"A join criteria is expected to reference the source ({identifier(new_alias)}) in the FROM clause, "
            f"instead the right source references {identifier(aliases[1])} and the left source references "
            f"{identifier(aliases[0])}",
            condition.span,
        )
    (left, _), (right, _) = sides if aliases[1] == new_alias else reversed(sides)
    return left, right


def _alias(
    expression: typed.TypedExpression,
    written: tree.Expression,
    condition: tree.Expression,
    visible: Sequence[JoinSide],
) -> str:
    """The alias of the only source that an expression refers to."""
    owners: dict[typed.TypedExpression, str] = {c.ref: s.alias for s in visible for c in s.columns if c.ref.index >= 0}
    aliases = {owners[r] for r in expression.walk() if r in owners}
    if len(aliases) != 1:
        raise StatementError(
            f"Invalid comparison expression '{to_sql(written)}' in join '({to_sql(condition)})'. Each side of the join "
            "comparision must contain references from exactly one source.",
            written.span,
        )
    return aliases.pop()


def check_types(join: tree.JoinClause, left: typed.TypedExpression, right: typed.TypedExpression) -> None:
    """Raises StatementError for an ON whose sides have different types, or a type that no key can have."""
    if left.type != right.type:
        assert isinstance(join.condition, tree.Comparison)
        raise StatementError(
            f"Invalid join condition: types don't match. Got {to_sql(join.condition.left)}{{{left.type}}} = "
            f"{to_sql(join.condition.right)}{{{right.type}}}.",
            join.condition.span,
            cast_hint(left.type, right.type),
        )
    if left.type is not None and left.type.contains_map:
        raise map_key_error(f"Key column: {to_sql(join.condition)}. Column type: {left.type}.", join.condition.span)


def check_kinds(join: tree.JoinClause, left: PlanNode, first: JoinSide, right: JoinSide) -> None:
    """Raises StatementError for a kind of join that a stream and a table, in this order, do not have.

    `left` has the rows so far, which begin with those of the source `first`.
    """
    if left.kind is RelationKind.TABLE and right.node.kind is RelationKind.STREAM:
        kind = "[INNER]" if join.kind is tree.JoinKind.INNER else f"{join.kind.value} [OUTER]"
        raise StatementError(
            "Invalid join order: table-stream joins are not supported; only stream-table joins. "
            f"Got {first.alias} {kind} JOIN {right.alias}.",
            join.span,
            "put the stream at the left",
        )
    mixed = left.kind is RelationKind.STREAM and right.node.kind is RelationKind.TABLE
    if mixed and join.kind not in (tree.JoinKind.INNER, tree.JoinKind.LEFT):
        raise StatementError(
            f"{join.kind.value} OUTER joins between streams and tables (stream: {first.alias}, table: {right.alias}) "
            "are not supported.",
            join.span,
            "a row of the table alone makes no event: INNER or LEFT",
        )


def join_window(join: tree.JoinClause, left: RelationKind, right: RelationKind) -> JoinWindow | None:
    """The window of a stream-stream join, None for joins with a table. Raises StatementError for a WITHIN that is
    missing, and for one that is not allowed."""
    within = join.within
    if RelationKind.TABLE in (left, right):
        if within is not None:
            kinds = f"{left.value.capitalize()}-{right.value.capitalize()}"
            raise StatementError(
                f"A window definition was provided for a {kinds} join. These joins are not windowed.",
                within.span,
                "leave WITHIN out",
            )
        return None
    if within is None:
        raise StatementError(
            "Stream-Stream joins must have a WITHIN clause specified. None was provided.",
            join.span,
            "… JOIN s WITHIN 1 HOUR ON …",
        )
    grace = within.grace.milliseconds if within.grace else DAY
    return JoinWindow(within.before.milliseconds, within.after.milliseconds, grace, within.grace is None)
