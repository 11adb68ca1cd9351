"""Pull queries on tables: compute keys, read rows from the store, and apply the plan to each in the driver's JVM."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal as Number
from functools import cached_property
from itertools import chain, islice, product
from typing import Any

from millstream.analysis.typed_expressions import ColumnPlace, Constant, TypedCast, TypedExpression
from millstream.catalog.catalog import Source
from millstream.functions.sparktype import sorts_alike
from millstream.model.decimals import exact
from millstream.model.types import BIGINT, BOOLEAN, DOUBLE, INTEGER, STRING, Decimal, SqlType
from millstream.plan.index_lookups import IndexAccess
from millstream.plan.nodes import ClientOutput
from millstream.plan.pull_queries import Access, FullScan, IndexLookup, KeyBound, KeyLookup, KeyRange
from millstream.spark.bounded import Bounded, Record
from millstream.spark.codec import record_codec
from millstream.spark.evaluate import EvaluationFailed
from millstream.spark.pipeline import side_spec
from millstream.tables.indexes import encoded, index_types
from millstream.tables.keys import SIGN_BIT, StoreKeys, keys_of
from millstream.tables.plain_rows import NotPlain, plain_key, plain_rows
from millstream.tables.store import BY_KEY, Change, KeyOrder, Store, WindowBounds
from millstream.tables.store_indexes import IndexRange

# The number of rows that are evaluated together; the first ones are fewer.
BATCH = 500
_WIDTHS = {INTEGER: 2**31, BIGINT: 2**63}
_PLAIN = (BOOLEAN, INTEGER, BIGINT, DOUBLE, STRING)


class NoSuchKey(ValueError):
    """A constant that cannot equal any key of the column's type."""


class ConstantFailed(EvaluationFailed):
    """A constant of a WHERE that selects keys or windows, and that cannot be computed."""


class TableReader:
    """A plan over the rows of a table, ready to be applied to those that an access reaches; thread-safe.

    A batch of rows that are all plain is evaluated in Python (tables/plain_rows.py), any other in the JVM.
    """

    def __init__(self, source: Source, plan: ClientOutput, bounded: Bounded) -> None:
        self._source, self._plan, self._bounded = source, plan, bounded
        self._keys, self._plain = TableKeys(source), plain_rows(plan)

    @property
    def is_plain(self) -> bool:
        """True if plain rows are evaluated in Python."""
        return self._plain is not None

    def rows(self, accesses: Sequence[Access], store: Store) -> Iterator[list[Any]]:
        """The rows of a pull query in wire form (types.wire_writer), at most as many as its LIMIT.

        Raises ConstantFailed if a constant of an access cannot be computed.
        """
        changes = _all_reached(accesses, self._keys, store, self._bounded)
        return islice((row for batch in _batches(changes) for row in self._evaluated(batch)), self._plan.limit)

    def _evaluated(self, changes: Sequence[Change]) -> list[list[Any]]:
        stored = self._keys.stored
        if self._plain is not None:
            try:
                return [self._plain.row(change, stored.bare(change.key)) for change in changes]
            except NotPlain:
                pass
        return self._in_jvm([_record(c, i, stored) for i, c in enumerate(changes)])

    @cached_property
    def _in_jvm(self) -> Callable[[Sequence[Record]], list[list[Any]]]:
        """The plan as the JVM applies it, prepared when the first row needs it."""
        return self._bounded.answering(self._plan)


def _batches(changes: Iterable[Change]) -> Iterator[Sequence[Change]]:
    """Small batches first, so that a small LIMIT is cheap, then large ones."""
    changes = iter(changes)
    yield tuple(islice(changes, BATCH // 10))
    while batch := tuple(islice(changes, BATCH)):
        yield batch


def _record(change: Change, offset: int, keys: StoreKeys) -> Record:
    key = keys.joined(change.key, change.start, change.end)
    return Record(key, change.value, change.time, change.headers, 0, offset)


def reached(accesses: Sequence[Access], source: Source, store: Store, bounded: Bounded) -> Iterator[Change]:
    """The distinct rows of all accesses, which may overlap in keys and windows.

    Raises ConstantFailed if a constant of an access cannot be computed.
    """
    return _all_reached(accesses, TableKeys(source), store, bounded)


def _all_reached(accesses: Sequence[Access], keys: "TableKeys", store: Store, bounded: Bounded) -> Iterator[Change]:
    if len(accesses) == 1:
        yield from _reached(accesses[0], keys, store, bounded)
        return
    seen: set[tuple[bytes, int, int]] = set()
    for access in accesses:
        for change in _reached(access, keys, store, bounded):
            row = (change.key, change.start, change.end)
            if row not in seen:
                seen.add(row)
                yield change


def _reached(access: Access, keys: "TableKeys", store: Store, bounded: Bounded) -> Iterator[Change]:
    windows = _windows(access, bounded)
    match access:
        case KeyLookup():
            return store.of(_lookup(access, keys, bounded), windows)
        case KeyRange() if keys.stored.ordered is not None:
            low, high = _between(access, keys, bounded)
            return store.between(low, high, windows)
        case IndexLookup(indexed, by_key):
            order = BY_KEY if by_key else _scan_order(keys.stored)
            return store.indexed(_range(indexed, keys.source, bounded), windows, order)
        case _:
            return _scanned(store, windows, keys.stored)


def with_complete_indexes(accesses: tuple[Access, ...], store: Store) -> tuple[Access, ...]:
    """The accesses, but a full scan instead of an index that does not have all rows of the store yet."""
    first = accesses[0]
    if not isinstance(first, IndexLookup) or store.has_index(first.access.index.name):
        return accesses
    return (FullScan(first.windows),)


def _scan_order(keys: StoreKeys) -> KeyOrder:
    return KeyOrder(SIGN_BIT, keys.inverted) if keys.signed else BY_KEY


def _scanned(store: Store, windows: WindowBounds, keys: StoreKeys) -> Iterator[Change]:
    """All rows in the order of their keys' bytes, as in ksqlDB's store: negative numbers come last."""
    if not keys.signed:
        return store.between(None, None, windows)
    zero = (SIGN_BIT, True), (SIGN_BIT, False)
    return chain(store.between(zero[0], None, windows), store.between(None, zero[1], windows, keys.inverted))


# ---------------------------------------------------------------- keys


class TableKeys:
    """The keys of one table: from the values of their columns to their stored form."""

    def __init__(self, source: Source) -> None:
        self.source, self.columns, self._serde = source, source.schema.key, source.key
        self.stored, self._plain = keys_of(source), plain_key(source)

    def of(self, values: Sequence[Any]) -> bytes | None:
        """The stored form of the key with these values; None if the format cannot hold it."""
        try:
            key = self._plain(values[0]) if self._plain is not None else self._encoded(values)
        except ValueError:
            return None
        return None if key is None else self.stored.stored(key)

    def _encoded(self, values: Sequence[Any]) -> bytes | None:
        """The key as the JVM encodes it; None if the format writes a null payload. Raises UnreadableRecord."""
        codec = record_codec(side_spec(self._serde, self.columns, "K"), self.columns)
        return codec.encode({c.name: value for c, value in zip(self.columns, values, strict=True)})


def named_keys(lookups: Sequence[KeyLookup], source: Source, bounded: Bounded) -> list[bytes]:
    """The distinct keys that look-ups name, as records have them; constants that cannot be keys are left out.

    Raises ConstantFailed if a constant cannot be computed.
    """
    keys = TableKeys(source)
    stored = [key for lookup in lookups for key in _lookup(lookup, keys, bounded)]
    return [keys.stored.bare(key) for key in dict.fromkeys(stored)]


def _lookup(access: KeyLookup, keys: TableKeys, bounded: Bounded) -> list[bytes]:
    """The distinct keys to look up, as they are stored; constants that cannot be keys are left out."""
    values = [_key_values(candidates, c.type, bounded) for candidates, c in zip(access.keys, keys.columns, strict=True)]
    stored = map(keys.of, product(*values))
    return list(dict.fromkeys(k for k in stored if k is not None))


def _key_values(constants: Sequence[TypedExpression], type: SqlType, bounded: Bounded) -> list[Any]:
    key_values = []
    for value in _values(constants, bounded):
        try:
            key_values.append(_as_key(value, type))
        except NoSuchKey:
            continue
    return key_values


def _as_key(value: Any, type: SqlType) -> Any:
    """A constant converted to a key's value. Raises NoSuchKey."""
    if value is None:
        raise NoSuchKey("NULL is not a key")
    if type in _WIDTHS:
        # NaN is outside the bounds, and int() does not accept infinity.
        if not -_WIDTHS[type] <= value < _WIDTHS[type] or value != int(value):
            raise NoSuchKey(f"{value} is not a valid {type}")
        return int(value)
    if isinstance(type, Decimal):
        # A DOUBLE counts by its shortest digits, as in ksqlDB: 0.1E0 is 0.1.
        key = exact(Number(repr(value) if isinstance(value, float) else value), type)
        if key is None:
            raise NoSuchKey(f"{value} is not a valid {type}")
        return key
    return float(value) if type == DOUBLE else value


def _between(
    access: KeyRange, keys: TableKeys, bounded: Bounded
) -> tuple[tuple[bytes, bool] | None, tuple[bytes, bool] | None]:
    """The lowest and highest stored key within the limits, in the form of Store.between's arguments."""
    column = keys.columns[0]
    lows: list[tuple[bytes, bool]] = []
    highs: list[tuple[bytes, bool]] = []
    for limit, value in zip(access.limits, _values([li.constant for li in access.limits], bounded), strict=True):
        try:
            key = keys.of([_as_key(value, column.type)]) if not isinstance(value, str) or sorts_alike(value) else None
        except NoSuchKey:
            key = None
        # A limit that is not a key cannot narrow the range; the plan checks the condition for each row anyway.
        if key is not None:
            (lows if limit.operator in (">", ">=") else highs).append((key, "=" in limit.operator))
    low = max(lows, key=lambda k: (k[0], not k[1]), default=None)
    return low, min(highs, key=lambda k: (k[0], k[1]), default=None)


# ---------------------------------------------------------------- indexes


def _range(access: IndexAccess, source: Source, bounded: Bounded) -> IndexRange:
    """The encoded values to look up in an index; constants that no value of a column equals are left out."""
    name, types = access.index.name, index_types(access.index, source)
    if access.values:
        combinations = (
            product(*(_key_values(candidates, type, bounded) for candidates, type in zip(values, types, strict=True)))
            for values in access.values
        )
        keys = (encoded(values, types) for combination in combinations for values in combination)
        return IndexRange(name, tuple(dict.fromkeys(key for key in keys if key is not None)))
    lows, highs = list[bytes](), list[bytes]()
    for limit, value in zip(access.limits, _values([li.constant for li in access.limits], bounded), strict=True):
        try:
            key = encoded([_as_key(value, types[0])], types)
        except NoSuchKey:
            # A limit that is not a value of the column cannot narrow the range; the plan checks each row anyway.
            continue
        if key is not None:
            (lows if limit.operator in (">", ">=") else highs).append(key)
    return IndexRange(name, None, max(lows, default=None), min(highs, default=None))


# ---------------------------------------------------------------- windows


def _windows(access: Access, bounded: Bounded) -> WindowBounds:
    limits = access.windows
    values = _values([li.constant for li in limits], bounded)
    constants = [(li, v) for li, v in zip(limits, values, strict=True) if isinstance(v, int)]
    return WindowBounds(_inclusive(constants, ColumnPlace.WINDOWSTART), _inclusive(constants, ColumnPlace.WINDOWEND))


def _inclusive(limits: Sequence[tuple[KeyBound, int]], where: ColumnPlace) -> tuple[int | None, int | None]:
    of = [(li.operator, value) for li, value in limits if li.where is where]
    lows = [v + (op == ">") for op, v in of if op in (">", ">=", "=")]
    highs = [v - (op == "<") for op, v in of if op in ("<", "<=", "=")]
    return max(lows, default=None), min(highs, default=None)


# ---------------------------------------------------------------- constants


def _values(constants: Sequence[TypedExpression], bounded: Bounded) -> list[Any]:
    """The values of constant expressions; Spark evaluates only those that are not literals. Raises ConstantFailed."""
    values = [_literal(c) for c in constants]
    open = [i for i, value in enumerate(values) if value is _UNKNOWN]
    if open:
        for i, value in zip(open, _computed([constants[i] for i in open], bounded), strict=True):
            values[i] = value
    return values


def _computed(constants: Sequence[TypedExpression], bounded: Bounded) -> Sequence[Any]:
    try:
        return bounded.values(constants)
    except EvaluationFailed as failure:
        raise ConstantFailed(f"a constant of the WHERE clause cannot be computed: {failure}") from failure


_UNKNOWN = object()


def _literal(expression: TypedExpression) -> Any:
    """The value of a literal, or of a literal widened to another number type; _UNKNOWN for anything else."""
    if (
        isinstance(expression, TypedCast)
        and isinstance(expression.operand, Constant)
        and _number(expression.operand.value)
    ):
        return (
            expression.operand.value if expression.type in (BIGINT, DOUBLE) or _decimal(expression.type) else _UNKNOWN
        )
    plain = isinstance(expression, Constant) and (expression.type in _PLAIN or _decimal(expression.type))
    return expression.value if plain and isinstance(expression, Constant) else _UNKNOWN


def _decimal(type: SqlType | None) -> bool:
    return isinstance(type, Decimal)


def _number(value: object) -> bool:
    return isinstance(value, int | Number) and not isinstance(value, bool)
