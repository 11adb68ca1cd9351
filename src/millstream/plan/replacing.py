"""CREATE OR REPLACE of a query with state: checks that the new query can continue with the state of the old one.

The state of a group consists of the states of its aggregates, in their order. So the new query needs the same keys,
aggregates and windows; what precedes the groups (WHERE, the source) and follows them (HAVING, the projection) may
change. A WHERE over a table stores which rows have passed: its condition may change, but it cannot be added or removed.
"""

from collections.abc import Sequence

from millstream.catalog.catalog import Catalog, PersistentQuery
from millstream.model.errors import Span, StatementError
from millstream.model.names import identifier
from millstream.plan.nodes import Aggregate, PlanNode, groups, remembering
from millstream.plan.queries import plan_persistent
from millstream.syntax import parser, tree


def state_kept(old: PersistentQuery, new: PlanNode, catalog: Catalog, at: Span) -> str:
    """What happens to the state of the query `old` that `new` replaces, for the message; "" if neither groups.

    Raises StatementError if the new query cannot continue with the old query's state.
    """
    plan = _plan(old, catalog)
    if len(remembering(plan)) != len(remembering(new)):
        raise _filter_changes(old, bool(remembering(plan)), at)
    before, after = tuple(groups(plan)), tuple(groups(new))
    if [_layout(g) for g in before] != [_layout(g) for g in after]:
        raise StatementError(
            f"Cannot replace table {identifier(old.sink)}: its query keeps {_held(before)}, and the new one would keep "
            f"{_held(after)}",
            at,
            "the state that is there cannot become the other: DROP the table first, or make another one",
        )
    if not after:
        return ""
    return f"its {'windows' if after[0].window else 'groups'} go on with what they hold: {_held(after)}"


def _filter_changes(old: PersistentQuery, was_filtered: bool, at: Span) -> StatementError:
    passed, nothing = "which rows have passed its WHERE", "nothing of its rows"
    keeps, would = (passed, nothing) if was_filtered else (nothing, passed)
    return StatementError(
        f"Cannot replace table {identifier(old.sink)}: its query keeps {keeps}, and the new one would keep {would}",
        at,
        "a WHERE can become another one; to have it or not, DROP the table first, or make another one",
    )


def _plan(query: PersistentQuery, catalog: Catalog) -> PlanNode:
    statement = next(parser.split(query.statement)).statement
    assert isinstance(statement, tree.CreateAs)
    return plan_persistent(statement.query, query.sink, catalog, dict(query.settings))


def _layout(group: Aggregate) -> tuple[object, ...]:
    """Everything that determines the state of a group."""
    window = group.window
    shape = (window.type, window.size, window.advance, window.final) if window else None
    calls = tuple((call.text, call.accumulator.state) for call in group.aggregations)
    return shape, tuple((key.text, key.expression.type) for key in group.keys), calls


def _held(aggregates: Sequence[Aggregate]) -> str:
    return "; ".join(_described(group) for group in aggregates) or "no groups"


def _described(group: Aggregate) -> str:
    calls = ", ".join(call.text for call in group.aggregations)
    place = f" in {group.window.type} windows" if group.window else ""
    final = ", emitted when they close" if group.window and group.window.final else ""
    return f"{calls} by {', '.join(key.text for key in group.keys)}{place}{final}"
