"""GROUP BY: from grouped expressions, aggregate calls and a WINDOW to an Aggregate node (docs/reference/queries.md).

The node's key is the grouped expressions, its value the distinct aggregate calls of SELECT and HAVING. The SELECT is
typed over the source's rows and then rewritten to these columns; HAVING is a filter above the node. So the last
statement of
    CREATE STREAM orders (id INT KEY, item STRING, amount INT)
      WITH (kafka_topic='orders', value_format='JSON', partitions=1);
    CREATE TABLE sold AS
      SELECT UCASE(item) AS item, SUM(amount) / COUNT(*) AS mean FROM orders WINDOW TUMBLING (SIZE 1 HOUR)
      GROUP BY UCASE(item) HAVING COUNT(*) > 1;

becomes

    Select UCASE(ITEM) AS ITEM KEY, SUM(AMOUNT) / COUNT(*) AS MEAN
      Filter COUNT(*) > 1 (other rows become tombstones)
        Group by UCASE(ITEM) in TUMBLING windows of 3600000 ms, grace 82800000 ms, emitted at each row:
            SUM(AMOUNT), COUNT(*)
          Read STREAM ORDERS from topic orders (key KAFKA, value JSON)

in which UCASE(ITEM) is key column 0, SUM(AMOUNT) value column 0 and COUNT(*) value column 1.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from millstream.analysis import typed_expressions as typed
from millstream.analysis.expressions import condition, function_call, type_expression
from millstream.analysis.scope import NameScope, ScopeColumn
from millstream.analysis.typed_expressions import bare
from millstream.catalog.catalog import RelationKind, Source
from millstream.functions import Library
from millstream.functions.declare import Accumulator, FunctionKind
from millstream.model.errors import Span, StatementError
from millstream.model.names import identifier
from millstream.model.types import BIGINT, STRING, SqlType
from millstream.model.units import DAY
from millstream.plan.distinct_arguments import with_distinct_arguments, without_filter
from millstream.plan.nodes import Aggregate, AggregateCall, Filter, NamedExpression, PlanNode, Window, leaves
from millstream.syntax import tree
from millstream.syntax.printer import to_sql

# Formats that cannot hold nested values.
_UNGROUPED = ("KAFKA",)
_FLAT = ("DELIMITED",)
_BOUNDS = (typed.ColumnPlace.WINDOWSTART, typed.ColumnPlace.WINDOWEND)
WINDOW_COLUMNS = (
    typed.ColumnReference(BIGINT, typed.ColumnPlace.WINDOWSTART, 0, "WINDOWSTART"),
    typed.ColumnReference(BIGINT, typed.ColumnPlace.WINDOWEND, 0, "WINDOWEND"),
)


def is_aggregate(expression: tree.SyntaxNode, functions: Library) -> bool:
    """True if an expression is a call of an aggregate function, of a group: without OVER."""
    if not isinstance(expression, tree.Call) or expression.over is not None:
        return False
    function = functions.lookup(expression.name)
    return function is not None and function.kind is FunctionKind.AGGREGATE


@dataclass(frozen=True, slots=True)
class GroupColumns:
    """The columns of a group: `keys` by grouped expression; value columns from index `width` on are aggregates."""

    keys: dict[typed.TypedExpression, typed.ColumnReference]
    width: int
    bounds: bool
    functions: Library

    def check(
        self, row_expressions: Iterable[tuple[tree.Expression, typed.TypedExpression]], clause: str = "SELECT"
    ) -> None:
        """Raises StatementError if expressions of a clause use columns that are neither grouped nor aggregated."""
        used = ((written, self._not_grouped(row_expression)) for written, row_expression in row_expressions)
        wrong = [(written, columns) for written, columns in used if columns]
        if wrong:
            by_position = any(isinstance(key, typed.Constant) for key in self.keys)
            raise not_grouped(wrong, clause, self.functions, by_position)

    def _not_grouped(self, row_expression: typed.TypedExpression) -> list[typed.ColumnReference]:
        """The columns in an expression over the source's rows that no grouped or aggregated part of it contains."""
        columns = []

        def collect(part: typed.TypedExpression) -> typed.TypedExpression | None:
            in_group = self._in_group(part)
            if in_group is None and isinstance(part, typed.ColumnReference):
                columns.append(part)
            return in_group

        row_expression.transform(collect)
        return columns

    def over(self, row_expression: typed.TypedExpression) -> typed.TypedExpression:
        """An expression over the source's rows, that has been checked, rewritten to the group's columns."""
        return row_expression.transform(self._in_group)

    def _in_group(self, part: typed.TypedExpression) -> typed.TypedExpression | None:
        """The column of the group that is a part of an expression; None if none is."""
        key = self.keys.get(bare(part))
        if key is not None or not isinstance(part, typed.ColumnReference):
            return key
        if part.where is typed.ColumnPlace.VALUE and part.index >= self.width:
            return replace(part, index=part.index - self.width)
        return part if part.where in _BOUNDS and self.bounds else None


def not_grouped(
    wrong: Sequence[tuple[tree.Expression, Sequence[typed.ColumnReference]]],
    clause: str,
    functions: Library,
    by_position: bool = False,
) -> StatementError:
    """The error for expressions of SELECT or HAVING, each with the columns in it that are neither grouped nor
    aggregated; `by_position` = the query groups by a constant, as by the position of a column in other dialects."""
    columns = ", ".join(dict.fromkeys(identifier(column.name) for _, columns in wrong for column in columns))
    if clause == "HAVING":
        fact = f"Non-aggregate HAVING expression not part of GROUP BY: {columns}"
        return StatementError(fact, wrong[0][0].span, "a condition on single rows belongs in WHERE, before GROUP BY")
    plain = [e for e, _ in wrong if not aggregate_calls([e], functions)]
    if plain:
        fact = f"Non-aggregate SELECT expression(s) not part of GROUP BY: {', '.join(map(to_sql, plain))}"
        hint = "add it to the GROUP BY, or remove it"
        return StatementError(
            fact, plain[0].span, f"a number in GROUP BY is not a position: {hint}" if by_position else hint
        )
    fact = "Column used in aggregate SELECT expression(s) outside of aggregate functions not part of GROUP BY: "
    hint = "add it to the GROUP BY, or put it into an aggregate function"
    return StatementError(fact + columns, wrong[0][0].span, hint)


@dataclass(frozen=True, slots=True)
class GroupedRows:
    """Rows that are to be grouped: SELECT is typed in `selecting`, and `columns` rewrites it to those of `groups`.

    `calls` are the aggregate calls of SELECT and then those of HAVING; only the former have `aggregations` yet.
    """

    node: PlanNode
    scope: NameScope
    keys: tuple[NamedExpression, ...]
    calls: tuple[tree.Call, ...]
    aggregations: tuple[AggregateCall, ...]
    selecting: NameScope
    columns: GroupColumns

    def groups(self, query: tree.SelectQuery) -> PlanNode:
        """The groups, filtered by HAVING: it has no node of its own. Raises StatementError."""
        node, calls = self.node, self.calls
        having_scope = self.scope.inside("HAVING")
        of_having = (aggregate_call(c, having_scope, node.kind) for c in calls[len(self.aggregations) :])
        aggregations = (*self.aggregations, *of_having)
        having = None
        if query.having is not None:
            inside = _with_calls(self.scope, calls, aggregations, self.columns.width)
            having = condition(query.having, inside, "HAVING")
            self.columns.check([(query.having, having)], "HAVING")
        _check_undo(calls, aggregations, node)
        _check_states(calls, aggregations, node)
        if query.window is not None and query.window.kind is tree.WindowKind.SESSION:
            _check_merging(aggregations, calls)
            aggregations = tuple(map(_in_sessions, aggregations))
        group = Aggregate(node, self.keys, aggregations, _window(query, node))
        group = with_distinct_arguments(group, [without_filter(call) for call in calls])
        if query.having is None or having is None:
            return group
        return Filter(group, self.columns.over(having), to_sql(query.having))


def group_rows(query: tree.SelectQuery, node: PlanNode, scope: NameScope) -> GroupedRows:
    """The rows of a query with GROUP BY, with all that SELECT can refer to. Raises StatementError.

    HAVING is typed after SELECT, by `groups`: of errors in both, that of SELECT is reported, as in ksqlDB.
    """
    assert query.group_by is not None
    check_value_formats([leaf.origin for leaf in leaves(node)], "GROUP BY", query.span)
    calls = _calls(query, scope)
    _check_nested(calls, scope.functions)
    keys = _keys(query.group_by, node, scope)
    of_select = aggregate_calls(query.items, scope.functions)
    aggregations = tuple(aggregate_call(c, scope, node.kind) for c in of_select)
    width = len(node.schema.value)
    places = {
        bare(k.expression): typed.ColumnReference(k.expression.type, typed.ColumnPlace.KEY, i, k.name)
        for i, k in enumerate(keys)
    }
    columns = GroupColumns(places, width, query.window is not None, scope.functions)
    selecting = _with_calls(scope, calls, aggregations, width)
    if query.window is not None and not query.joins:
        sources = dict.fromkeys(c.source for c in scope.columns)
        bounds = tuple(ScopeColumn(r.name, source, r) for source in sources for r in WINDOW_COLUMNS)
        selecting = replace(selecting, columns=(*selecting.columns, *bounds))
    return GroupedRows(node, scope, keys, calls, aggregations, selecting, columns)


def _with_calls(
    scope: NameScope, calls: Sequence[tree.Call], aggregations: Sequence[AggregateCall], width: int
) -> NameScope:
    """The scope in which the first calls, whose aggregations are given, are columns after `width` others."""
    computed: dict[tree.Expression, typed.ColumnReference] = {
        c: typed.ColumnReference(a.type, typed.ColumnPlace.VALUE, width + i, a.name)
        for i, (c, a) in enumerate(zip(calls, aggregations, strict=False))
    }
    return replace(scope, computed={**scope.computed, **computed})


def aggregate_calls(places: Iterable[tree.SyntaxNode], functions: Library) -> tuple[tree.Call, ...]:
    """The aggregate calls in parts of a query, each once."""
    calls = (e for place in places for e in place.walk() if isinstance(e, tree.Call) and is_aggregate(e, functions))
    return tuple(dict.fromkeys(calls))


def _check_nested(calls: Iterable[tree.Call], functions: Library) -> None:
    """Raises StatementError for an aggregate call inside another one."""
    for call in calls:
        for inner in aggregate_calls(call.children(), functions):
            fact = f"Aggregate functions can not be nested: {call.name}({inner.name}())"
            raise StatementError(fact, inner.span, "group a first time in an inner query: FROM (SELECT … GROUP BY …)")


def _calls(query: tree.SelectQuery, scope: NameScope) -> tuple[tree.Call, ...]:
    """The distinct aggregate calls of the SELECT and HAVING."""
    calls = aggregate_calls([*query.items, *([query.having] if query.having else [])], scope.functions)
    if not calls:
        # An error inside an expression, such as an unknown function, is reported first.
        for item in query.items:
            if isinstance(item, tree.SelectOne):
                type_expression(item.expression, scope)
        raise StatementError(
            "GROUP BY requires aggregate functions in either the SELECT or HAVING clause.", query.span, "e.g. COUNT(*)"
        )
    return calls


def check_value_formats(sources: Sequence[Source], clause: str, at: Span) -> None:
    """Raises StatementError, as ksqlDB does, if the sources' values cannot be grouped or joined; `clause` says
    which."""
    refused = [s for s in sources if s.value.format in _UNGROUPED]
    if refused:
        raise StatementError(
            f"Source(s) {', '.join(identifier(s.name) for s in refused)} are using the '{refused[0].value.format}' "
            f"value format. This format does not yet support {clause}.",
            at,
        )


# ---------------------------------------------------------------- keys


def _keys(expressions: tuple[tree.Expression, ...], node: PlanNode, scope: NameScope) -> tuple[NamedExpression, ...]:
    keys: list[NamedExpression] = []
    seen: set[typed.TypedExpression] = set()
    for expression in expressions:
        key = NamedExpression(_name(expression), _key(expression, scope), to_sql(expression))
        compared = bare(key.expression)
        if compared in seen:
            raise StatementError(f"Duplicate GROUP BY expression: {to_sql(expression)}", expression.span)
        seen.add(compared)
        keys.append(key)
    return tuple(keys)


def _name(expression: tree.Expression) -> str:
    return expression.name if isinstance(expression, tree.ColumnRef) else to_sql(expression)


def _key(expression: tree.Expression, scope: NameScope) -> typed.TypedExpression:
    inner = next((e for e in expression.walk() if is_aggregate(e, scope.functions)), None)
    if isinstance(inner, tree.Call):
        raise StatementError(
            f"GROUP BY does not support aggregate functions: {inner.name} is an aggregate function.", inner.span
        )
    key = type_expression(expression, scope.inside("GROUP BY"))
    if key.type is None:
        raise StatementError("GROUP BY NULL does not form a group: a row without a key is left out", expression.span)
    return key


# ---------------------------------------------------------------- aggregates


def aggregate_call(call: tree.Call, scope: NameScope, kind: RelationKind) -> AggregateCall:
    """A call of an aggregate function over the rows of `scope`, of a stream or a table. Raises StatementError."""
    call, written = without_filter(call), call
    plain = replace(_with_argument(call, scope), distinct=False, filter=None)
    typed_call = function_call(plain, scope, FunctionKind.AGGREGATE)
    assert isinstance(typed_call, typed.TypedCall)
    assert typed_call.type is not None
    signature = typed_call.resolved.signature
    width = len(typed_call.arguments) - signature.constants
    rows, constants = typed_call.arguments[:width], typed_call.arguments[width:]
    accumulator = _accumulator(call, typed_call, scope, kind)
    arguments, category = tuple(map(_with_type, rows)), typed_call.resolved.function.category
    passes = condition(call.filter, scope, "FILTER") if call.filter is not None else None
    text = to_sql(written)
    return AggregateCall(call.name, typed_call.type, arguments, accumulator, text, category, constants, passes)


def _with_argument(call: tree.Call, scope: NameScope) -> tree.Call:
    """MAX() and MAX(*) become MAX(ROWTIME), as in ksqlDB, unless the function has a form without argument (COUNT)."""
    function = scope.functions.lookup(call.name)
    if call.args or function is None or any(not s.parameters for s in function.signatures):
        return call
    return replace(call, args=(tree.ColumnRef("ROWTIME", span=call.span),), star=False)


def _with_type(argument: typed.TypedExpression) -> typed.TypedExpression:
    return typed.Constant(STRING, None) if argument.type is None else argument


def _accumulator(call: tree.Call, typed_call: typed.TypedCall, scope: NameScope, kind: RelationKind) -> Accumulator:
    accumulating, count = typed_call.resolved.signature.accumulating, typed_call.resolved.signature.constants
    assert accumulating is not None
    first = len(typed_call.arguments) - count
    values = [_constant(call, i, a, i >= first) for i, a in enumerate(typed_call.arguments)]
    types: list[SqlType] = [_with_type(a).type or STRING for a in typed_call.arguments]
    try:
        accumulator = accumulating(types, values, scope.settings)
    except StatementError as error:
        raise error.located(call.span) from error
    return (kind is RelationKind.TABLE and accumulator.over_table) or accumulator


def _constant(call: tree.Call, i: int, argument: typed.TypedExpression, required: bool) -> object:
    """The value of argument `i` of the call; None if it is not constant. Raises StatementError if it must be."""
    if isinstance(argument, typed.Constant):
        return argument.value
    if required:
        fact = f"Parameter {i + 1} passed to function {call.name} must be a literal constant, but was expression: "
        raise StatementError(f"{fact}'{to_sql(call.args[i])}'", call.args[i].span)
    return None


def _check_undo(calls: Sequence[tree.Call], aggregations: Sequence[AggregateCall], node: PlanNode) -> None:
    """Raises StatementError, with all their names, for aggregates over a table that cannot take a row back."""
    refused = [c for c, a in zip(calls, aggregations, strict=True) if a.accumulator.undo is None]
    if node.kind is not RelationKind.TABLE or not refused:
        return
    names = tuple(dict.fromkeys(call.name for call in refused))
    listed = " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
    raise StatementError(
        f"The aggregation function{'s' if names[1:] else ''} {listed} cannot be applied to a table source, only to a "
        "stream source.",
        refused[0].span,
        f"{listed} cannot take a row back, which changes of a table require",
    )


def _check_states(calls: Sequence[tree.Call], aggregations: Sequence[AggregateCall], node: PlanNode) -> None:
    """Raises StatementError for an aggregate whose state a source's value format cannot hold, as ksqlDB does."""
    origins = [leaf.origin for leaf in leaves(node)]
    if not any(o.value.format in _FLAT for o in origins):
        return
    for call, aggregation in zip(calls, aggregations, strict=True):
        if aggregation.accumulator.nested:
            raise StatementError(
                "One of the functions used in the statement has an intermediate type that the value format can not "
                f"handle: {call.name} over {origins[0].value.format}",
                call.span,
                "remove the function or change the format",
            )


def _in_sessions(aggregation: AggregateCall) -> AggregateCall:
    return replace(aggregation, accumulator=aggregation.accumulator.in_sessions or aggregation.accumulator)


def _check_merging(aggregations: tuple[AggregateCall, ...], calls: tuple[tree.Call, ...]) -> None:
    """Raises StatementError for an aggregate that cannot merge two states, as merging sessions requires."""
    for call, aggregation in zip(calls, aggregations, strict=True):
        if aggregation.accumulator.merge is None:
            fact = f"{call.name} cannot be computed in SESSION windows: two of its states cannot be merged"
            raise StatementError(fact, call.span, "give its class a method merge(self, one, other)")


# ---------------------------------------------------------------- windows


def _window(query: tree.SelectQuery, node: PlanNode) -> Window | None:
    """The window of an aggregation, in ms, with the defaults for what WINDOW does not say; None without WINDOW.

    Raises StatementError for a window over a table, and for sizes that do not fit each other.
    """
    written = query.window
    if written is None:
        return None
    if node.kind is RelationKind.TABLE:
        raise StatementError("WINDOW clause is not supported on tables: only on streams", written.span)
    size = written.size.milliseconds
    advance = written.advance.milliseconds if written.advance else size
    offset = written.offset.milliseconds if written.offset else 0
    _check_window(written, size, advance, offset)
    grace = written.grace.milliseconds if written.grace else max(DAY - size, 0)
    retention = written.retention.milliseconds if written.retention else size + grace
    if retention < size + grace:
        raise StatementError(
            f"RETENTION is {retention} ms and has to be at least the window's size and grace period, {size + grace} ms",
            written.span,
            "give a longer RETENTION, or a shorter GRACE PERIOD",
        )
    final = query.emit is tree.Emit.FINAL
    # As in ksqlDB: when the window closes, its store may have dropped the window already. Without a grace period the
    # window closes before that.
    drops_expired = final and written.grace is not None and grace > 0
    return Window(written.kind.value, size, advance, grace, retention, final, drops_expired, offset)


def _check_window(written: tree.WindowClause, size: int, advance: int, offset: int) -> None:
    if size <= 0:
        raise StatementError("a window's size has to be longer than 0", written.span)
    if not 0 < advance <= size:
        raise StatementError("ADVANCE BY has to be longer than 0 and no longer than the window's SIZE", written.span)
    if offset >= advance:
        step = "SIZE" if written.advance is None else "ADVANCE BY"
        hint = "days that begin two hours before midnight UTC are SIZE 1 DAY, OFFSET 22 HOURS"
        raise StatementError(f"OFFSET has to be shorter than the window's {step}", written.span, hint)
