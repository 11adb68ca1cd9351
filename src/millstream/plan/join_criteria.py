"""One join of a chain: which kinds of sources it may join, the equalities of its ON, and its WITHIN.

Rules: docs/reference/joins.md. `ON o.id = s.order_id` and `ON s.order_id = o.id`, where s is joined to the rows so far,
are both (O.ID, S.ORDER_ID): the expression over the rows so far comes first. Beyond ksqlDB, several equalities are
joined by AND: `ON o.id = s.order_id AND o.day = s.day`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from millstream.analysis import typed_expressions as typed
from millstream.analysis.coercion import cast_hint
from millstream.analysis.expressions import type_expression
from millstream.analysis.scope import NameScope
from millstream.analysis.serdes import map_key_error
from millstream.analysis.typed_expressions import bare
from millstream.catalog.catalog import RelationKind
from millstream.model.errors import StatementError
from millstream.model.names import identifier
from millstream.model.units import DAY
from millstream.plan.join_sides import JoinSide
from millstream.plan.nodes import JoinWindow, PlanNode
from millstream.syntax import tree
from millstream.syntax.printer import to_sql

# ksqlDB's words for AND and OR; here they are left for what is not a list of equalities of different columns.
_MULTIPLE = "joins on multiple conditions are not yet supported"


@dataclass(frozen=True, slots=True)
class Equality:
    """One equality of a condition: the expression over the rows so far, and the one over the new source."""

    left: typed.TypedExpression
    right: typed.TypedExpression
    written: tree.Comparison


def equalities(join: tree.JoinClause, scope: NameScope, visible: Sequence[JoinSide]) -> tuple[Equality, ...]:
    """The equalities of ON, which are joined by AND, as written. Raises StatementError for any other condition."""
    scope = scope.inside("JOIN ON")
    compared = tuple(_equality(conjunct, join.condition, scope, visible) for conjunct in _conjuncts(join.condition))
    lefts, rights = {bare(equality.left) for equality in compared}, {bare(equality.right) for equality in compared}
    if len(compared) > min(len(lefts), len(rights)):
        raise _unsupported(join.condition, _MULTIPLE, "compare each column once")
    return compared


def _conjuncts(condition: tree.Expression) -> list[tree.Expression]:
    if isinstance(condition, tree.Logical) and condition.operator == "AND":
        return [*_conjuncts(condition.left), *_conjuncts(condition.right)]
    return [condition]


def _unsupported(condition: tree.Expression, fact: str, hint: str) -> StatementError:
    return StatementError(f"Invalid join condition: {fact}. Got {to_sql(condition)}.", condition.span, hint)


def _equality(
    comparison: tree.Expression, condition: tree.Expression, scope: NameScope, visible: Sequence[JoinSide]
) -> Equality:
    """A comparison of ON as an Equality; `visible` are the sources so far, the joined one last.

    Raises StatementError unless it is `=` between the new source and one of the others; `condition` is the whole ON.
    """
    if not isinstance(comparison, tree.Comparison) or comparison.operator != "=":
        fact = _MULTIPLE if isinstance(condition, tree.Logical) else "only equalities are supported"
        raise _unsupported(condition, fact, "ON a.id = b.id AND a.day = b.day; other conditions are put into WHERE")
    new_alias = visible[-1].alias
    sides = [(type_expression(e, scope), e) for e in (comparison.left, comparison.right)]
    aliases = [_alias(expression, e, comparison, visible) for expression, e in sides]
    if new_alias not in aliases or aliases[0] == aliases[1]:
        raise StatementError(
            f"A join criteria is expected to reference the source ({identifier(new_alias)}) in the FROM clause, "
            f"instead the right source references {identifier(aliases[1])} and the left source references "
            f"{identifier(aliases[0])}",
            comparison.span,
        )
    (left, _), (right, _) = sides if aliases[1] == new_alias else reversed(sides)
    return Equality(left, right, comparison)


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


def check_types(equality: Equality) -> None:
    """Raises StatementError for an equality whose sides have different types, or a type that no key can have."""
    left, right, written = equality.left, equality.right, equality.written
    if left.type != right.type:
        raise StatementError(
            f"Invalid join condition: types don't match. Got {to_sql(written.left)}{{{left.type}}} = "
            f"{to_sql(written.right)}{{{right.type}}}.",
            written.span,
            cast_hint(left.type, right.type),
        )
    if left.type is not None and left.type.contains_map:
        raise map_key_error(f"Key column: {to_sql(written)}. Column type: {left.type}.", written.span)


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
            "put the stream on the left",
        )
    mixed = left.kind is RelationKind.STREAM and right.node.kind is RelationKind.TABLE
    if mixed and join.kind not in (tree.JoinKind.INNER, tree.JoinKind.LEFT):
        raise StatementError(
            f"{join.kind.value} OUTER joins between streams and tables (stream: {first.alias}, table: {right.alias}) "
            "are not supported.",
            join.span,
            "a row of the table alone is not an event: use INNER or LEFT",
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
