"""Checks which clauses a query may combine, and what they may contain, independently of types."""

from collections.abc import Mapping
from dataclasses import replace

from millstream.analysis.scope import WINDOW
from millstream.catalog.catalog import RelationKind
from millstream.functions import Library
from millstream.functions.declare import FunctionKind
from millstream.model.errors import StatementError
from millstream.model.settings import is_on
from millstream.model.types import BOOLEAN
from millstream.plan.aggregation import aggregate_calls, is_aggregate
from millstream.syntax import tree

SUPPRESS = "ksql.suppress.enabled"
# The setting that allows joins, GROUP BY, ORDER BY and so on in pull queries on tables.
RELATIONAL = "millstream.pull.relational"
PUSH_ONLY = ("ROWPARTITION", "ROWOFFSET")


def in_one_group(query: tree.SelectQuery, functions: Library) -> tree.SelectQuery:
    """Adds GROUP BY TRUE to a push query that has aggregates but no GROUP BY: all rows form one group.

    Any other query is returned unchanged.
    """
    if query.emit is None or query.group_by is not None:
        return query
    calls = any(is_aggregate(e, functions) for item in query.items for e in item.walk())
    return replace(query, group_by=(tree.Literal(True, BOOLEAN),)) if calls else query


def check_pull(query: tree.SelectQuery) -> None:
    """Raises StatementError for clauses that only push queries support, in the query or in an inner one."""
    push = "add EMIT CHANGES if you intended to issue a push query"
    if query.joins:
        raise StatementError("Pull queries don't support JOIN clauses.", query.joins[0].span, push)
    clauses = {
        "WINDOW": query.window,
        "GROUP BY": query.group_by,
        "PARTITION BY": query.partition_by,
        "HAVING": query.having,
    }
    for name, clause in clauses.items():
        if clause is not None:
            hint = f"{push}, or query a table that CREATE TABLE … AS creates"
            raise StatementError(f"Pull queries don't support {name} clauses.", query.span, hint)
    if query.distinct:
        hint = f"{push}; pull queries on tables have it, if {RELATIONAL} is true"
        raise StatementError("Pull queries don't support DISTINCT clauses.", query.span, hint)
    check_only_plain(query, "Pull queries")
    check_places(query)
    for inner in query.inner():
        check_pull(inner)


def check_only_plain(query: tree.SelectQuery, queries: str) -> None:
    """Raises StatementError for a clause that only relational pull queries support.

    `queries` names the kind of query in the message, in the plural: "Pull queries".
    """
    clauses = {"ORDER BY": query.order_by, "OFFSET": query.offset}
    for name, clause in clauses.items():
        if clause:
            hint = f"pull queries on tables have it, if {RELATIONAL} is true"
            raise StatementError(f"{queries} don't support {name} clauses.", query.span, hint)


def check_places(query: tree.SelectQuery) -> None:
    """Raises StatementError for ROWPARTITION and ROWOFFSET, which pull queries do not support."""
    push = "add EMIT CHANGES if you intended to issue a push query"
    for place, parts in (("SELECT", query.items), ("WHERE", (query.where,) if query.where else ())):
        for column in (e for part in parts for e in part.walk() if isinstance(e, tree.ColumnRef)):
            if column.name in PUSH_ONLY:
                fact = f"Pull queries don't support the following columns in {place} clauses: `{column.name}`"
                raise StatementError(fact, column.span, push)


def check_clauses(query: tree.SelectQuery, functions: Library) -> None:
    """Raises StatementError for a clause that requires another one, or that has no columns."""
    for name, expressions, hint in (
        ("PARTITION BY", query.partition_by, "PARTITION BY NULL removes the key"),
        ("GROUP BY", query.group_by, "a constant puts all rows in one group"),
    ):
        if expressions == ():
            raise StatementError(f"{name} does not name an expression", query.span, hint)
    if query.window is not None and query.group_by is None:
        raise StatementError("WINDOW clause requires a GROUP BY clause.", query.window.span)
    if query.having is not None and query.group_by is None:
        raise StatementError("HAVING needs GROUP BY", query.having.span)
    for expression in query.walk():
        if isinstance(expression, tree.Call) and is_aggregate(expression, functions) and query.group_by is None:
            raise StatementError(
                f"aggregate function {expression.name} without a GROUP BY clause",
                expression.span,
                "group by an expression; a constant puts all rows in one group",
            )


def check_final(query: tree.SelectQuery, settings: Mapping[str, str]) -> None:
    """Raises StatementError if EMIT FINAL is used without a windowed aggregate, or is switched off."""
    if query.emit is not tree.Emit.FINAL:
        return
    if not is_on(settings, SUPPRESS):
        fact = f"Suppression is currently disabled. You can enable it by setting {SUPPRESS} to true"
        raise StatementError(fact, query.span, f"set {SUPPRESS} to true, or use EMIT CHANGES")
    if query.window is None:
        hint = "use EMIT CHANGES, or group by WINDOW TUMBLING (SIZE 1 HOUR)"
        raise StatementError("EMIT FINAL is only supported for windowed aggregations.", query.span, hint)


def check_window_bounds(query: tree.SelectQuery, functions: Library) -> None:
    """Raises StatementError for WINDOWSTART or WINDOWEND of a query with WINDOW anywhere but in SELECT.

    They would be those of a windowed source's rows, where in SELECT they are those of the groups.
    """
    if query.window is None or query.joins:
        return
    clauses = [e for e in (query.where, query.having) if e is not None]
    calls = aggregate_calls(query.items, functions)
    for column in (e for part in (*calls, *clauses, *(query.group_by or ())) for e in part.walk()):
        if isinstance(column, tree.ColumnRef) and column.name in WINDOW:
            raise StatementError(
                f"Window bounds column {column.name} can only be used in the SELECT clause of windowed aggregations "
                "and can not be passed to aggregate functions.",
                column.span,
                "select it under another name, and filter the result by it",
            )


def table_calls(node: tree.SyntaxNode, functions: Library) -> tuple[tree.Call, ...]:
    """The distinct table function calls in an expression, `node` itself included."""
    calls = [e for e in node.walk() if isinstance(e, tree.Call)]
    functions_called = [(call, functions.lookup(call.name)) for call in calls]
    return tuple(dict.fromkeys(call for call, f in functions_called if f is not None and f.kind is FunctionKind.TABLE))


def check_table_functions(query: tree.SelectQuery, kind: RelationKind, functions: Library) -> None:
    """Raises StatementError for a table function where it is not allowed; argument types are not checked here."""
    calls = table_calls(query, functions)
    if calls and query.group_by is not None:
        raise StatementError(
            "Table functions cannot be used with aggregations.",
            calls[0].span,
            "make a stream of the rows first, and aggregate that",
        )
    if calls and kind is RelationKind.TABLE:
        raise StatementError("Table source is not supported with table functions", calls[0].span)
    for call in calls:
        _check_table_function(call, query, functions)


def _check_table_function(call: tree.Call, query: tree.SelectQuery, functions: Library) -> None:
    inside = [c for c in table_calls(call, functions) if c is not call]
    if inside:
        raise StatementError("Table functions cannot be nested", inside[0].span)
    for place, name in ((query.where, "WHERE"), (query.partition_by, "PARTITION BY")):
        parts = place if isinstance(place, tuple) else (place,)
        if any(part is not None and call in part.walk() for part in parts):
            raise StatementError(f"Table functions cannot be used in {name}", call.span)
    for expression in query.walk():
        if isinstance(expression, tree.Case) and call in expression.walk():
            raise StatementError("Table functions cannot be used in CASE", call.span)
