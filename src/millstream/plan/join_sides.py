"""The sides of a query's joins: each source, reduced to the columns that the query uses.

In `SELECT o.id, item FROM orders o JOIN shipments s … ON o.id = s.order_id`, over `orders (id INT KEY, item STRING,
place STRING)` and `shipments (id INT KEY, order_id INT)`, the joined value is ID, ITEM, ID, ORDER_ID:

    side   rows                          columns in the joined value
    O      Select ID KEY, ID, ITEM       O.ID = 0, O.ITEM = 1; O.PLACE = -1, which is not used
    S      Select ID KEY, ID, ORDER_ID   S.ID = 2, S.ORDER_ID = 3
"""

from collections.abc import Sequence
from dataclasses import dataclass

from millstream.analysis import typed_expressions as typed
from millstream.analysis.record_views import part_of
from millstream.analysis.scope import PSEUDO, ScopeColumn
from millstream.analysis.typed_expressions import bare
from millstream.catalog.catalog import Source, Windowed
from millstream.formats.registry import find
from millstream.model.errors import Span, StatementError
from millstream.model.names import identifier
from millstream.plan.aggregation import WINDOW_COLUMNS, check_value_formats
from millstream.plan.nodes import PlanNode, Select, named_column, named_keys, reads, refs, windowed
from millstream.syntax import tree


@dataclass(frozen=True, slots=True)
class JoinInput:
    """An item of FROM: the node that produces its rows, its name in the query, and its position."""

    node: PlanNode
    alias: str
    at: Span

    @property
    def origins(self) -> tuple[Source, ...]:
        """The sources whose rows it has: one, or those of an inner query."""
        return reads(self.node)

    @property
    def windows(self) -> Windowed | None:
        """The windows in the keys of its rows; None if the keys have no windows."""
        return windowed(self.node)


@dataclass(frozen=True, slots=True)
class JoinSide:
    """A source as a side of a join: the columns that the query uses, as references to the joined value."""

    input: JoinInput
    node: Select
    columns: tuple[ScopeColumn, ...]

    @property
    def alias(self) -> str:
        """The source's name in the query."""
        return self.input.alias

    @property
    def keys(self) -> tuple[ScopeColumn, ...]:
        """The key columns of the source, as names that refer to columns of the joined value."""
        names = [c.name for c in self.input.node.schema.key]
        return tuple(c for c in self.columns if c.name in names and c.part == "ROWKEY")

    @property
    def key(self) -> tuple[tuple[typed.TypedExpression], ...]:
        """The expressions that equal each column of the key: the column alone."""
        return tuple((bare(c.ref),) for c in self.keys)


def join_sides(query: tree.SelectQuery, inputs: Sequence[JoinInput]) -> tuple[JoinSide, ...]:
    """The sides of the query's joins, in the order of FROM; the columns of each follow those before."""
    names = {e.name for e in query.walk() if isinstance(e, tree.ColumnRef)}
    sides, width = [], 0
    for i in inputs:
        selects_all = any(isinstance(s, tree.SelectAll) and s.source in (None, i.alias) for s in query.items)
        used = _used(i.node, names, selects_all, selects_all and query.partition_by is not None)
        sides.append(_side(i, used, width))
        width += len(used)
    return tuple(sides)


def _used(node: PlanNode, names: set[str], selects_all: bool, pseudo: bool) -> tuple[typed.ColumnReference, ...]:
    """The columns that the query uses; the others are dropped before the joins."""
    bounds = WINDOW_COLUMNS if windowed(node) is not None else ()
    columns = [r for r in refs(node.schema) if selects_all or r.name in names]
    pseudo_columns = [r for r in PSEUDO.values() if pseudo or r.name in names]
    return (*columns, *pseudo_columns, *(r for r in bounds if selects_all or r.name in names))


def _side(source: JoinInput, used: tuple[typed.ColumnReference, ...], width: int) -> JoinSide:
    """A source as a side: its rows reduced to the columns `used`, which follow `width` others in the joined value."""
    schema, alias = source.node.schema, source.alias
    node = Select(source.node, named_keys(schema), tuple(map(named_column, used)))
    places = {bare(r): width + i for i, r in enumerate(used)}
    bounds = WINDOW_COLUMNS if source.windows is not None else ()
    # A column that the query does not use has no position; it is only here for hints in errors.
    parts = {bare(r): part_of(c) for r, c in zip(refs(schema), schema, strict=True)}
    columns = tuple(
        ScopeColumn(
            r.name,
            alias,
            typed.ColumnReference(r.type, typed.ColumnPlace.VALUE, places.get(bare(r), -1), r.name),
            parts.get(bare(r)),
        )
        for r in (*refs(schema), *PSEUDO.values(), *bounds)
    )
    return JoinSide(source, node, columns)


def check_sources(inputs: Sequence[JoinInput]) -> None:
    """Raises StatementError for sources that cannot be joined: by their names, their formats or their windows."""
    for i, source in enumerate(inputs):
        names = [origin.name for origin in source.origins]
        repeated = next((o.name for other in inputs[:i] for o in other.origins if o.name in names), None)
        if repeated is not None:
            if len(inputs) > 2:
                fact = f"N-way joins do not support multiple occurrences of the same source. Source: '{repeated}'"
            else:
                fact = f"Can not join '{repeated}' to '{repeated}': self joins are not yet supported."
            raise StatementError(fact, source.at, "make a second source over the same topic")
        if any(o.alias == source.alias for o in inputs[:i]):
            raise StatementError(
                f"two sources are called {identifier(source.alias)}", source.at, "give one of them an alias"
            )
    check_value_formats([origin for i in inputs for origin in i.origins], "JOIN", inputs[1].at)
    _check_windows(inputs)


def _check_windows(inputs: Sequence[JoinInput]) -> None:
    """Raises StatementError if only some sources have windows, or the types or sizes of their windows do not allow a
    join.
    """
    windows = [i.windows for i in inputs]
    if any(windows) and not all(windows):
        windowed_input, unwindowed = (
            next(i for i, w in zip(inputs, windows, strict=True) if bool(w) is is_windowed)
            for is_windowed in (True, False)
        )
        window = windowed_input.windows
        assert window is not None
        raise StatementError(
            f"Can not join windowed source to non-windowed source. {identifier(windowed_input.alias)} is {window.type} "
            f"windowed, {identifier(unwindowed.alias)} is not windowed",
            inputs[1].at,
        )
    _check_window_types(inputs)
    if len(set(windows)) > 1 and not _add_join(inputs):
        raise windowed_repartition(inputs[1].at)


def _check_window_types(inputs: Sequence[JoinInput]) -> None:
    types = [i.windows.type for i in inputs if i.windows is not None]
    other = next((t for t in types if (t == "SESSION") is not (types[0] == "SESSION")), None)
    if other is not None:
        raise StatementError(
            f"Incompatible windowed sources. Left source: {types[0]}. Right source: {other}. Session windowed sources "
            "can only be joined to other session windowed sources, and may still not result in expected behaviour as "
            "session bounds must be an exact match for the join to work. Hopping and tumbling windowed sources can "
            "only be joined to other hopping and tumbling windowed sources.",
            inputs[1].at,
        )


def _add_join(inputs: Sequence[JoinInput]) -> bool:
    """True if windows of several sizes may be joined by their starts, as ksqlDB does for keys with a schema."""
    formats = [find(i.origins[0].key.format) for i in inputs]
    timed = all(i.windows is not None and i.windows.size_ms is not None for i in inputs)
    return timed and all(f is not None and f.infers for f in formats)


def windowed_repartition(at: Span, hint: str = "join them on their keys, of equal windows") -> StatementError:
    """The error for rows with windowed keys that would be repartitioned by other keys."""
    return StatementError("Implicit repartitioning of windowed sources is not supported.", at, hint)
