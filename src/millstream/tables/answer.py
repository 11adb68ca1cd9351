"""Pull queries on tables: compute keys, read rows from the store, and apply the plan to each in the driver's JVM."""

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal as Number
from itertools import chain, islice, product
from typing import Any

from millstream.analysis.typed_expressions import ColumnPlace, Constant, TypedCast, TypedExpression
from millstream.catalog.catalog import Source
from millstream.model.decimals import exact
from millstream.model.types import BIGINT, BOOLEAN, DOUBLE, INTEGER, STRING, Decimal, SqlType
from millstream.plan.pull_queries import Access, KeyBound, KeyLookup, KeyRange, PullPlan
from millstream.spark.bounded import Bounded, Record
from millstream.spark.codec import UnreadableRecord, one_record
from millstream.spark.pipeline import side_spec
from millstream.tables.keys import SIGN_BIT, StoreKeys, keys_of
from millstream.tables.store import Change, Store, WindowBounds

BATCH = 500
_WIDTHS = {INTEGER: 2**31, BIGINT: 2**63}
_PLAIN = (BOOLEAN, INTEGER, BIGINT, DOUBLE, STRING)


class NoSuchKey(ValueError):
    """A constant that cannot equal any key of the column's type."""


def rows(pulled: PullPlan, store: Store, bounded: Bounded) -> Iterator[bytes]:
    """The rows of a pull query, as pipeline.as_records writes them, at most as many as its LIMIT.

    Raises EvaluationFailed if a constant of the WHERE cannot be computed.
    """
    answer, keys = bounded.answering(pulled.plan), keys_of(pulled.source)
    changes = reached(pulled.accesses, pulled.source, store, bounded)
    answers = (row for some in _batches(changes) for row in answer([_record(c, i, keys) for i, c in enumerate(some)]))
    return islice(answers, pulled.plan.limit)


def _batches(changes: Iterable[Change]) -> Iterator[Sequence[Change]]:
    """Small batches first, so that a small LIMIT is cheap, then large ones."""
    changes = iter(changes)
    yield tuple(islice(changes, BATCH // 10))
    while some := tuple(islice(changes, BATCH)):
        yield some


def _record(change: Change, offset: int, keys: StoreKeys) -> Record:
    key = keys.joined(change.key, change.start, change.end)
    return Record(key, change.value, change.time, change.headers, 0, offset)


def reached(accesses: Sequence[Access], source: Source, store: Store, bounded: Bounded) -> Iterator[Change]:
    """The distinct rows of all accesses, which may overlap in keys and windows.

    Raises EvaluationFailed if a constant of an access cannot be computed.
    """
    keys = keys_of(source)
    if len(accesses) == 1:
        yield from _reached(accesses[0], source, store, bounded, keys)
        return
    seen: set[tuple[bytes, int, int]] = set()
    for access in accesses:
        for change in _reached(access, source, store, bounded, keys):
            row = (change.key, change.start, change.end)
            if row not in seen:
                seen.add(row)
                yield change


def _reached(access: Access, source: Source, store: Store, bounded: Bounded, keys: StoreKeys) -> Iterator[Change]:
    windows = _windows(access, bounded)
    match access:
        case KeyLookup():
            return store.of(_lookup(access, source, bounded, keys), windows)
        case KeyRange() if keys.ordered is not None:
            low, high = _between(access, source, bounded, keys)
            return store.between(low, high, windows)
        case _:
            return _scanned(store, windows, keys)


def _scanned(store: Store, windows: WindowBounds, keys: StoreKeys) -> Iterator[Change]:
    """All rows in the order of their keys' bytes, as in ksqlDB's store: negative numbers come last."""
    if not keys.signed:
        return store.between(None, None, windows)
    zero = (SIGN_BIT, True), (SIGN_BIT, False)
    return chain(store.between(zero[0], None, windows), store.between(None, zero[1], windows, keys.inverted))


# ---------------------------------------------------------------- keys


def _lookup(access: KeyLookup, source: Source, bounded: Bounded, keys: StoreKeys) -> list[bytes]:
    """The distinct keys to look up, as they are stored; constants that cannot be keys are left out."""
    columns = source.schema.key
    values = [_fitting(some, c.type, bounded) for some, c in zip(access.keys, columns, strict=True)]
    names = [c.name for c in columns]
    stored = (_stored(dict(zip(names, row, strict=True)), source, keys) for row in product(*values))
    return list(dict.fromkeys(k for k in stored if k is not None))


def _stored(row: dict[str, Any], source: Source, keys: StoreKeys) -> bytes | None:
    codec = one_record(side_spec(source.key, source.schema.key, "K"), source.schema.key)
    try:
        key = codec.encode(row)
    except UnreadableRecord:
        return None
    return None if key is None else keys.stored(key)


def _fitting(constants: Sequence[TypedExpression], type: SqlType, bounded: Bounded) -> list[Any]:
    fitting = []
    for value in _values(constants, bounded):
        try:
            fitting.append(_as_key(value, type))
        except NoSuchKey:
            continue
    return fitting


def _as_key(value: Any, type: SqlType) -> Any:
    """A constant converted to a key's value. Raises NoSuchKey."""
    if value is None:
        raise NoSuchKey("NULL is no key")
    if type in _WIDTHS:
        # NaN is outside the bounds, and int() does not accept infinity.
        if not -_WIDTHS[type] <= value < _WIDTHS[type] or value != int(value):
            raise NoSuchKey(f"{value} is no {type}")
        return int(value)
    if isinstance(type, Decimal):
        key = exact(Number(value), type)
        if key is None:
            raise NoSuchKey(f"{value} is no {type}")
        return key
    return float(value) if type == DOUBLE else value


def _between(
    access: KeyRange, source: Source, bounded: Bounded, keys: StoreKeys
) -> tuple[tuple[bytes, bool] | None, tuple[bytes, bool] | None]:
    """The lowest and highest stored key within the limits, in the form of Store.between's arguments."""
    column = source.schema.key[0]
    lows: list[tuple[bytes, bool]] = []
    highs: list[tuple[bytes, bool]] = []
    for limit, value in zip(access.limits, _values([li.constant for li in access.limits], bounded), strict=True):
        try:
            key = _stored({column.name: _as_key(value, column.type)}, source, keys)
        except NoSuchKey:
            # This limit excludes nothing here; the plan checks it for each row.
            continue
        if key is not None:
            (lows if limit.operator in (">", ">=") else highs).append((key, "=" in limit.operator))
    low = max(lows, key=lambda k: (k[0], not k[1]), default=None)
    return low, min(highs, key=lambda k: (k[0], k[1]), default=None)


# ---------------------------------------------------------------- windows


def _windows(access: Access, bounded: Bounded) -> WindowBounds:
    limits = access.windows
    values = _values([li.constant for li in limits], bounded)
    known = [(li, v) for li, v in zip(limits, values, strict=True) if isinstance(v, int)]
    return WindowBounds(_inclusive(known, ColumnPlace.WINDOWSTART), _inclusive(known, ColumnPlace.WINDOWEND))


def _inclusive(limits: Sequence[tuple[KeyBound, int]], where: ColumnPlace) -> tuple[int | None, int | None]:
    of = [(li.operator, value) for li, value in limits if li.where is where]
    lows = [v + (op == ">") for op, v in of if op in (">", ">=", "=")]
    highs = [v - (op == "<") for op, v in of if op in ("<", "<=", "=")]
    return max(lows, default=None), min(highs, default=None)


# ---------------------------------------------------------------- constants


def _values(constants: Sequence[TypedExpression], bounded: Bounded) -> list[Any]:
    """The values of constant expressions; Spark evaluates only those that are not literals."""
    values = [_literal(c) for c in constants]
    open = [i for i, value in enumerate(values) if value is _UNKNOWN]
    if open:
        for i, value in zip(open, bounded.values([constants[i] for i in open]), strict=True):
            values[i] = value
    return values


_UNKNOWN = object()


def _literal(meaning: TypedExpression) -> Any:
    """The value of a literal, or of a literal widened to another number type; _UNKNOWN for anything else."""
    if isinstance(meaning, TypedCast) and isinstance(meaning.operand, Constant) and _number(meaning.operand.value):
        return meaning.operand.value if meaning.type in (BIGINT, DOUBLE) or _decimal(meaning.type) else _UNKNOWN
    plain = isinstance(meaning, Constant) and (meaning.type in _PLAIN or _decimal(meaning.type))
    return meaning.value if plain and isinstance(meaning, Constant) else _UNKNOWN


def _decimal(type: SqlType | None) -> bool:
    return isinstance(type, Decimal)


def _number(value: object) -> bool:
    return isinstance(value, int | Number) and not isinstance(value, bool)
