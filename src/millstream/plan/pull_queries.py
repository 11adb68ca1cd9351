"""Pull queries on tables: which keys a WHERE selects, and which conditions remain to be checked on each row.

A WHERE is converted to alternatives (OR) of conditions (AND). An alternative that gives every key column values, in not
too many combinations, is a lookup; one that bounds a single key column reads a range; another may be served by an index
(plan/index_lookups.py); any other reads the whole table (docs/reference/queries.md).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

from millstream.analysis.typed_expressions import (
    ColumnPlace,
    ColumnReference,
    Constant,
    TypedCast,
    TypedComparison,
    TypedExpression,
    TypedInList,
    TypedLike,
    TypedLogical,
)
from millstream.catalog.catalog import RelationKind, Source, TableIndex
from millstream.functions.widening import number_widens
from millstream.model.errors import Span, StatementError
from millstream.model.names import identifier
from millstream.model.schema import Column
from millstream.model.settings import is_on
from millstream.model.types import BIGINT, DOUBLE, INTEGER, STRING, Decimal
from millstream.plan.index_lookups import MOST_VALUES, RANGES, IndexAccess, index_access, orientations
from millstream.plan.key_types import check_key
from millstream.plan.nodes import ClientOutput, Filter, NamedExpression
from millstream.plan.steps import TransientQuery

# An AND of ORs with more alternatives than this is not converted.
ALTERNATIVES = 64
TABLE_SCAN = "ksql.query.pull.table.scan.enabled"
RANGE_SCAN = "ksql.query.pull.range.scan.enabled"
_BOUNDS = (ColumnPlace.WINDOWSTART, ColumnPlace.WINDOWEND)
_BOUND_NAMES = ("WINDOWSTART", "WINDOWEND")


@dataclass(frozen=True, slots=True)
class KeyBound:
    """A condition on a window's start or end, or a key column: `operator` (< <= > >= =) and a constant."""

    where: ColumnPlace
    operator: str
    constant: TypedExpression


@dataclass(frozen=True, slots=True)
class KeyLookup:
    """The rows with these keys: for each key column the constants that it may equal. `windows` bounds their windows."""

    keys: tuple[tuple[TypedExpression, ...], ...]
    windows: tuple[KeyBound, ...] = ()


@dataclass(frozen=True, slots=True)
class KeyRange:
    """The rows whose only key column is within `limits`."""

    limits: tuple[KeyBound, ...]
    windows: tuple[KeyBound, ...] = ()


@dataclass(frozen=True, slots=True)
class FullScan:
    """Every row of the table, within the bounds of `windows`."""

    windows: tuple[KeyBound, ...] = ()


@dataclass(frozen=True, slots=True)
class IndexLookup:
    """The rows that an index finds, in the order of their keys as a full scan has it.

    `by_key`: in the order that a KeyRange has instead. Where the index is not complete yet, every row is read.
    """

    access: IndexAccess
    by_key: bool = False
    windows: tuple[KeyBound, ...] = ()


Access = KeyLookup | KeyRange | IndexLookup | FullScan


@dataclass(frozen=True, slots=True)
class PullPlan:
    """A pull query on a table: `accesses` read its rows, `plan` is then applied to each row.

    `plan` does not contain conditions that an access guarantees.
    """

    source: Source
    accesses: tuple[Access, ...]
    plan: ClientOutput


@dataclass(slots=True)
class _Alternative:
    """One alternative of a WHERE, by kind of condition. `missed` has the conditions that no access can use."""

    equal: dict[int, tuple[TypedExpression, ...]] = field(default_factory=dict)
    ranges: list[KeyBound] = field(default_factory=list)
    windows: list[KeyBound] = field(default_factory=list)
    missed: list[TypedExpression] = field(default_factory=list)

    def names_keys(self, width: int) -> bool:
        """True if it only says which values each of `width` key columns may have, and within which windows."""
        return len(self.equal) == width and not (self.ranges or self.missed)

    def compares(self, width: int) -> bool:
        """True if it compares each of `width` key columns with constants."""
        return len(self.equal) == width or (width == 1 and bool(self.ranges))

    def is_lookup(self, width: int) -> bool:
        """True if it gives each of `width` key columns values, in not too many combinations to look each up."""
        return len(self.equal) == width and (width == 1 or prod(map(len, self.equal.values())) <= MOST_VALUES)

    def exact(self, width: int) -> bool:
        """True if a lookup of `width` key columns returns exactly the alternative's rows."""
        bounded = all(_is_whole_number(bound.constant) for bound in self.windows)
        return self.is_lookup(width) and self.names_keys(width) and bounded


def is_key_of_answer(column: NamedExpression, source: Source) -> bool:
    """True if a column of a pull query on a table is a key column of its answer.

    As in ksqlDB's QueryProjectNode its name decides, not its expression: that of a key column or of a window's bound. A
    value column that has a key column's name itself stays a value column.
    """
    if place_of_name(column) is ColumnPlace.VALUE:
        return False
    return column.name in _BOUND_NAMES or column.name in {key.name for key in source.schema.key}


def place_of_name(column: NamedExpression) -> ColumnPlace | None:
    """The side of the source's column that a projected column is, if it has that column's name; else None."""
    ref = column.expression
    return ref.where if isinstance(ref, ColumnReference) and ref.name == column.name else None


def check_enabled(query: TransientQuery, settings: Mapping[str, str], at: Span) -> None:
    """Raises StatementError for a pull query that the settings forbid."""
    if not is_on(settings, "ksql.pull.queries.enable"):
        raise StatementError("Pull queries are disabled", at, "ksql.pull.queries.enable=true allows them")
    if query.sources[0].kind is RelationKind.STREAM and not is_on(settings, "ksql.query.pull.stream.enabled"):
        raise StatementError("Pull queries on streams are disabled", at, "ksql.query.pull.stream.enabled allows them")
    if query.plan.limit is not None and not is_on(settings, "ksql.query.pull.limit.clause.enabled"):
        raise StatementError("LIMIT in pull queries is disabled", at, "ksql.query.pull.limit.clause.enabled allows it")


def plan_pull(
    query: TransientQuery, settings: Mapping[str, str], at: Span, indexes: Sequence[TableIndex] = ()
) -> PullPlan:
    """The plan of a pull query on a table that has these indexes.

    Raises StatementError if the table is not materialised, the settings forbid the scan that it needs, or a key is
    compared with a value that is none of its type.
    """
    source, node, plan = query.sources[0], query.plan.source, query.plan
    condition = node.condition if isinstance(node, Filter) else None
    accesses = table_accesses(source, condition, settings, at, indexes)
    check_keys(source, condition, at)
    if isinstance(node, Filter) and _has_one_encoding(source):
        alternatives = [_classified(a) for a in _alternatives(node.condition)]
        if all(alternative.exact(len(source.schema.key)) for alternative in alternatives):
            plan = ClientOutput(node.source, plan.columns, plan.limit)
    return PullPlan(source, accesses, plan)


def table_accesses(
    source: Source,
    condition: TypedExpression | None,
    settings: Mapping[str, str],
    at: Span,
    indexes: Sequence[TableIndex] = (),
) -> tuple[Access, ...]:
    """How to reach the rows of a table for which a condition, over its key and value, may hold; None = all rows.

    Raises StatementError where the table is not kept for reading, or needs a scan that the settings forbid.
    """
    check_queryable(source, at)
    conditions = [] if condition is None else _alternatives(condition)
    alternatives = [_classified(a) for a in conditions]
    by_key = _accesses_by_key(alternatives, source)
    lookup = _index_lookup(source, conditions, alternatives, by_key, indexes)
    if lookup is not None:
        return (lookup,)
    _check_scans(alternatives, source, settings, at)
    return by_key


def key_lookups(condition: TypedExpression, source: Source) -> tuple[KeyLookup, ...] | None:
    """The look-ups of exactly the keys for which a condition holds; None if it is about more than whole keys."""
    alternatives = [_classified(a) for a in _alternatives(condition)]
    width = len(source.schema.key)
    if not all(alternative.names_keys(width) for alternative in alternatives):
        return None
    return tuple(KeyLookup(tuple(a.equal[i] for i in range(width))) for a in alternatives)


def _accesses_by_key(alternatives: Sequence[_Alternative], source: Source) -> tuple[Access, ...]:
    if not alternatives or not _has_one_encoding(source):
        return (FullScan(),)
    return _merged([_access(a, len(source.schema.key)) for a in alternatives])


def _index_lookup(
    source: Source,
    conditions: Sequence[Sequence[TypedExpression]],
    alternatives: Sequence[_Alternative],
    by_key: tuple[Access, ...],
    indexes: Sequence[TableIndex],
) -> IndexLookup | None:
    """How an index finds the rows, if one does; keys to look up are preferred, and a range of keys to one of values."""
    access = index_access(source, conditions, indexes)
    ranged = isinstance(by_key[0], KeyRange) and source.key.format == "KAFKA"
    if access is None or isinstance(by_key[0], KeyLookup) or (ranged and not access.values):
        return None
    windows = tuple(alternatives[0].windows) if len(alternatives) == 1 else ()
    return IndexLookup(access, ranged, windows)


def _has_one_encoding(source: Source) -> bool:
    """True if equal keys have equal bytes, which is not certain for the topic of a SOURCE table: others write it."""
    return not source.read_only or source.key.format == "KAFKA"


def check_queryable(source: Source, at: Span) -> None:
    """Raises StatementError for a table that is only declared over a topic."""
    if source.kind is RelationKind.TABLE and source.created_by is None:
        name = identifier(source.name)
        raise StatementError(
            f"The {name} table isn't queryable. To derive a queryable table, you can do "
            f"'CREATE TABLE QUERYABLE_{source.name} AS SELECT * FROM {name}'",
            at,
            "or declare it as CREATE SOURCE TABLE",
        )


def check_keys(source: Source, condition: TypedExpression | None, at: Span) -> None:
    """Raises StatementError if keys are to be looked up by values of other types, as ksqlDB does.

    Its QueryFilterNode checks so where each alternative compares each key column, and compares columns only; else it
    reads the whole table, whose rows are compared as in any other query.
    """
    conditions = [] if condition is None else _alternatives(condition)
    alternatives, keys = [_classified(a) for a in conditions], source.schema.key
    direct = all(_compares_column(c) for conjuncts in conditions for c in conjuncts)
    if not direct or not all(a.compares(len(keys)) for a in alternatives):
        return
    for alternative in alternatives:
        for i, constants in alternative.equal.items():
            check_key(keys[i], constants, at)
        check_key(keys[0], [bound.constant for bound in alternative.ranges], at)


def _compares_column(condition: TypedExpression) -> bool:
    """True if a condition compares a column without a CAST with constants, or is a LIKE."""
    if isinstance(condition, TypedInList):
        return _is_column(condition.operand) and all(map(_is_constant, condition.items))
    sides = orientations(condition)
    return isinstance(condition, TypedLike) or any(_is_column(left) and _is_constant(right) for left, _, right in sides)


def _is_column(expression: TypedExpression) -> bool:
    """True for a column without a CAST, also where it is widened for the comparison."""
    cast = isinstance(expression, TypedCast) and expression.written
    return not cast and _column(expression) is not None


def _merged(accesses: Sequence[Access]) -> tuple[Access, ...]:
    """If one access reads the whole table, the others are redundant."""
    if len(accesses) > 1 and not all(isinstance(a, KeyLookup) for a in accesses):
        return (FullScan(),)
    return tuple(accesses)


# ---------------------------------------------------------------- the alternatives of a WHERE


def _alternatives(condition: TypedExpression) -> list[tuple[TypedExpression, ...]]:
    """The condition as an OR of ANDs; unchanged if that would be too long."""
    alternatives = _spread(condition)
    return alternatives if len(alternatives) <= ALTERNATIVES else [(condition,)]


def _spread(condition: TypedExpression) -> list[tuple[TypedExpression, ...]]:
    if not isinstance(condition, TypedLogical):
        return [(condition,)]
    left, right = _spread(condition.left), _spread(condition.right)
    if condition.operator == "OR":
        return left + right
    if len(left) * len(right) > ALTERNATIVES:
        return [(condition,)]
    return [(*left_part, *right_part) for left_part in left for right_part in right]


def _classified(conditions: Sequence[TypedExpression]) -> _Alternative:
    alternative = _Alternative()
    for condition in conditions:
        _place(condition, alternative)
    return alternative


def _place(condition: TypedExpression, alternative: _Alternative) -> None:
    """Add a condition of a WHERE to the alternative, by its kind; to `missed` if no access can use it."""
    if isinstance(condition, TypedInList):
        _place_list(condition, alternative)
        return
    limit = _limit(condition)
    if limit is None:
        alternative.missed.append(condition)
        return
    ref, operator, constant = limit
    if ref.where in _BOUNDS and operator in (*RANGES, "="):
        alternative.windows.append(KeyBound(ref.where, operator, constant))
        return
    if operator == "=" and ref.index not in alternative.equal:
        alternative.equal[ref.index] = (constant,)
    elif operator in RANGES and ref.index == 0:
        alternative.ranges.append(KeyBound(ColumnPlace.KEY, operator, constant))
    else:
        alternative.missed.append(condition)


def _place_list(condition: TypedInList, alternative: _Alternative) -> None:
    ref = _column(condition.operand)
    if ref is None or ref.where is not ColumnPlace.KEY or not all(map(_is_constant, condition.items)):
        alternative.missed.append(condition)
        return
    if ref.index in alternative.equal:
        alternative.missed.append(condition)
    else:
        alternative.equal[ref.index] = condition.items


def _limit(condition: TypedExpression) -> tuple[ColumnReference, str, TypedExpression] | None:
    """The compared key column or window bound, the operator with it on the left side, and the constant; else None."""
    for left, operator, right in orientations(condition):
        ref = _column(left)
        if ref is not None and ref.type == DOUBLE and isinstance(right.type, Decimal):
            continue
        if ref is not None and ref.where in (ColumnPlace.KEY, *_BOUNDS) and _is_constant(right):
            return ref, operator, right
    return None


def _column(expression: TypedExpression) -> ColumnReference | None:
    """The column that an expression is, ignoring conversions to a wider number; None if it is not a column."""
    while isinstance(expression, TypedCast) and _is_widening(expression):
        expression = expression.operand
    return expression if isinstance(expression, ColumnReference) else None


def _is_widening(cast: TypedCast) -> bool:
    source, target = cast.operand.type, cast.type
    return source is not None and target is not None and number_widens(source, target)


def _is_constant(expression: TypedExpression) -> bool:
    return not any(isinstance(p, ColumnReference) for p in expression.walk())


def _is_whole_number(constant: TypedExpression) -> bool:
    """True if a constant is a whole number without a computation: as a window's bound it is exact."""
    literal = constant.operand if isinstance(constant, TypedCast) and _is_widening(constant) else constant
    return isinstance(literal, Constant) and literal.type in (INTEGER, BIGINT) and constant.type in (INTEGER, BIGINT)


def _access(alternative: _Alternative, width: int) -> Access:
    windows = tuple(alternative.windows)
    if alternative.is_lookup(width):
        return KeyLookup(tuple(alternative.equal[i] for i in range(width)), windows)
    if alternative.ranges and width == 1:
        return KeyRange(tuple(alternative.ranges), windows)
    return FullScan(windows)


# ---------------------------------------------------------------- forbidden scans


def _check_scans(alternatives: Sequence[_Alternative], source: Source, settings: Mapping[str, str], at: Span) -> None:
    """If table scans are off, each alternative must be a lookup, or one bound of a single key column."""
    if is_on(settings, TABLE_SCAN):
        return
    # For a range of other key types, and of windows, ksqlDB reads the whole table too, and refuses it here.
    ordered = source.schema.key[0].type == STRING and source.windowed is None
    ranges = is_on(settings, RANGE_SCAN) and ordered and len(alternatives) == 1
    reason = (
        "Missing WHERE clause."
        if not alternatives
        else next(filter(None, (_why(a, source, ranges) for a in alternatives)), None)
    )
    if reason is not None:
        raise StatementError(reason, at, f"Query requires table scan to be enabled: {TABLE_SCAN}=true")


def _why(alternative: _Alternative, source: Source, ranges: bool) -> str | None:
    """Why an alternative needs the whole table; None if it does not."""
    keys = source.schema.key
    about = [
        m
        for m in alternative.missed
        if any(isinstance(p, ColumnReference) and p.where is ColumnPlace.KEY for p in m.walk())
    ]
    direct = [m for m in about if _about_key(m)]
    if (alternative.ranges and (alternative.equal or len(alternative.ranges) > 1)) or (
        alternative.equal and any(map(_fixed, direct))
    ):
        return (
            "A comparison condition on the key column cannot be combined with other comparisons such as an IN predicate"
        )
    if len(alternative.equal) == len(keys) and not alternative.is_lookup(len(keys)):
        return f"The WHERE clause names more than {MOST_VALUES} combinations of keys."
    if len(alternative.equal) == len(keys) or (len(alternative.ranges) == 1 and len(keys) == 1 and ranges):
        return None
    if any(map(_fixed, direct)) or alternative.ranges:
        return f"Bound on key columns '[{', '.join(map(_column_text, keys))}]' must currently be '='."
    if any(isinstance(m, TypedLike) for m in alternative.missed):
        return "A Like condition is evaluated for every row of the table."
    if direct:
        return "A comparison must be between a key column and a resolvable expression."
    if about:
        return "A comparison must directly reference a key column."
    if len(keys) > 1:
        return "Multi-column sources must specify every key in the WHERE clause."
    return "WHERE clause missing key column for disjunct."


def _about_key(condition: TypedExpression) -> bool:
    """True if one side of a comparison is a key column."""
    sides: tuple[TypedExpression, ...] = (
        (condition.left, condition.right) if isinstance(condition, TypedComparison) else ()
    )
    sides = (condition.operand,) if isinstance(condition, TypedInList) else sides
    columns = [_column(side) for side in sides]
    return any(ref is not None and ref.where is ColumnPlace.KEY for ref in columns)


def _fixed(condition: TypedExpression) -> bool:
    """True if a comparison is with constants only."""
    if isinstance(condition, TypedInList):
        return all(map(_is_constant, condition.items))
    return isinstance(condition, TypedComparison) and (_is_constant(condition.left) or _is_constant(condition.right))


def _column_text(column: Column) -> str:
    return f"`{column.name}` {column.type} KEY"
