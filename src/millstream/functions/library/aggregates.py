"""Aggregate functions, one row each: the initial state, how rows are added and removed, and the result."""

import operator
from collections.abc import Callable, Sequence
from dataclasses import replace

from millstream.functions.declare import (
    NEWER,
    OLDER,
    STATE,
    Accumulating,
    Accumulator,
    Signature,
    argument,
)
from millstream.functions.library.accumulators import (
    VALUE,
    Constants,
    Settings,
    Types,
    aggregate,
    at_least_one,
    empty,
    signature,
    unless_null,
)
from millstream.functions.library.by_offset import EARLIEST_BY_OFFSET, LATEST_BY_OFFSET
from millstream.functions.operator_expressions import (
    OperatorExpression,
    array,
    bigint,
    call,
    function,
    if_,
    integer,
    let,
    null,
    same_values,
    struct,
    struct_of,
)
from millstream.functions.rules import same_decimal
from millstream.functions.signatures import each
from millstream.functions.sparktype import OWN_ORDER, spark_type
from millstream.model.setting_kinds import INT_MAX
from millstream.model.types import Array, Decimal, Field, SqlType, Struct, computed

_NUMBERS = "INTEGER BIGINT DOUBLE"
_ORDERED = f"{_NUMBERS} STRING BYTES DATE TIME TIMESTAMP"


def _always(accumulator: Accumulator) -> Accumulating:
    return lambda types, constants, settings: accumulator


def _each(types: str, text: str, accumulating: Accumulating, constants: int = 0) -> tuple[Signature, ...]:
    return tuple(replace(s, accumulating=accumulating, constants=constants) for s in each(types, text, ""))


# ---------------------------------------------------------------- counts and sums

_ROWS = Accumulator("bigint", bigint(0), STATE + 1, undo=STATE - 1, merge=OLDER + NEWER)
_VALUES = Accumulator("bigint", bigint(0), unless_null(STATE + 1), undo=unless_null(STATE - 1), merge=OLDER + NEWER)


def _sum(types: Types, constants: Constants, settings: Settings) -> Accumulator:
    type = spark_type(types[0])
    zero = integer(0).cast(type)
    if isinstance(types[0], Decimal):
        add = _exact("ms_decimal_add", types[0], STATE, VALUE)
        undo = _exact("ms_decimal_subtract", types[0], STATE, VALUE)
        merge = _exact("ms_decimal_add", types[0], OLDER, NEWER)
        over_table = _sum_of_table(types[0])
        return Accumulator(type, zero, unless_null(add), undo=unless_null(undo), merge=merge, over_table=over_table)
    return Accumulator(type, zero, unless_null(STATE + VALUE), undo=unless_null(STATE - VALUE), merge=OLDER + NEWER)


def _sum_of_table(type: Decimal) -> Accumulator:
    """The sum of a table's rows, kept with any number of digits (ms_digits_add).

    Rows of a table are removed again, so a sum that does not fit the result type must not be lost: its result fails,
    and is NULL, until changed rows make the sum fit again.
    """
    size = computed(type)
    return Accumulator(
        "binary",
        null("binary"),
        unless_null(call("ms_digits_add", STATE, VALUE)),
        call("ms_digits_decimal", STATE, size.precision, size.scale),
        undo=unless_null(call("ms_digits_subtract", STATE, VALUE)),
    )


def _exact(name: str, type: Decimal, left: OperatorExpression, right: OperatorExpression) -> OperatorExpression:
    """Decimal arithmetic that fails if the result has too many digits."""
    size = computed(type)
    return call(name, left, right, size.precision, size.scale)


def _sum_list(types: Types, constants: Constants, settings: Settings) -> Accumulator:
    assert isinstance(types[0], Array)
    type = spark_type(types[0].element)
    zero = integer(0).cast(type)
    plus = function(("sum", "element"), lambda sum, element: (sum + call("coalesce", element, zero)).cast(type))
    total = call("aggregate", VALUE, zero, plus)
    return Accumulator(type, zero, unless_null(STATE + total), undo=unless_null(STATE - total), merge=OLDER + NEWER)


def _average(types: Types, constants: Constants, settings: Settings) -> Accumulator:
    type = spark_type(types[0])
    total, n = STATE.field("total"), STATE.field("n")
    return Accumulator(
        f"struct<total: {type}, n: bigint>",
        struct(total=integer(0).cast(type), n=0),
        unless_null(struct(total=(total + VALUE).cast(type), n=n + 1)),
        if_(n.equals(0), 0.0, total.cast("double") / n),
        unless_null(struct(total=(total - VALUE).cast(type), n=n - 1)),
        struct(total=(OLDER.field("total") + NEWER.field("total")).cast(type), n=OLDER.field("n") + NEWER.field("n")),
        nested=True,
    )


def _extreme(best: str) -> Accumulating:
    """MIN and MAX: `best` is the SQL function that chooses between two values, least or greatest."""

    def accumulating(types: Types, constants: Constants, settings: Settings) -> Accumulator:
        type = spark_type(types[0])

        def of(one: OperatorExpression, other: OperatorExpression) -> OperatorExpression:
            order = OWN_ORDER.get(types[0])
            return call(best, one, other) if order is None else call(f"{order}_{best}", array(one, other))

        return Accumulator(type, null(type), of(STATE, VALUE), merge=of(OLDER, NEWER))

    return accumulating


# ---------------------------------------------------------------- statistics


def _variance(result: OperatorExpression) -> Accumulator:
    """Welford's algorithm, with the update of Youngs and Cramer: sum, count and the sum of squared distances `m2`."""
    total, n, m2 = (STATE.field(name) for name in ("total", "n", "m2"))

    def add(x: OperatorExpression) -> OperatorExpression:
        moved = call("power", (n + 1) * x - (total + x), 2) / ((n + 1) * n)
        return struct(total=total + x, n=n + 1, m2=m2 + if_(n.equals(0), 0.0, moved))

    def undo(x: OperatorExpression) -> OperatorExpression:
        moved = call("power", n * x - total, 2) / (n * (n - 1))
        return struct(total=total - x, n=n - 1, m2=if_(n <= 2, 0.0, m2 - moved))

    x = VALUE.cast("double")
    return Accumulator(
        "struct<total: double, n: bigint, m2: double>",
        struct(total=0.0, n=0, m2=0.0),
        unless_null(let("x", x, add)),
        if_(n < 2, 0.0, result),
        unless_null(let("x", x, undo)),
        _merged_variance(),
        nested=True,
    )


def _merged_variance() -> OperatorExpression:
    (total, n, m2), (total2, n2, m22) = ([s.field(name) for name in ("total", "n", "m2")] for s in (OLDER, NEWER))
    between = call("power", n * total2 - n2 * total, 2) / (n.cast("double") * n2 * (n + n2))
    one_empty = n.equals(0) | n2.equals(0)
    return struct(total=total + total2, n=n + n2, m2=m2 + m22 + if_(one_empty, 0.0, between))


_SAMPLE_VARIANCE = STATE.field("m2") / (STATE.field("n") - 1)


def _correlation() -> Accumulator:
    """The count, and the sums of both columns, of their squares and of their product."""
    moments = ("x", "y", "xx", "yy", "xy")

    def moved(sign: Callable[[OperatorExpression, OperatorExpression], OperatorExpression]) -> OperatorExpression:
        """The state with the row added (`sign` is +) or removed (-); a row with a null does not change it."""

        def by(x: OperatorExpression, y: OperatorExpression) -> OperatorExpression:
            """The state for a row with the values `x` and `y`, neither of which is null."""
            terms = dict(zip(moments, (x, y, x * x, y * y, x * y), strict=True))
            sums = {name: sign(STATE.field(name), term) for name, term in terms.items()}
            return struct_of({"n": sign(STATE.field("n"), bigint(1)), **sums})

        x, y = VALUE.cast("double"), argument(1).cast("double")
        missing = VALUE.is_null() | argument(1).is_null()
        return if_(missing, STATE, let("x", x, lambda x: let("y", y, lambda y: by(x, y))))

    n, x, y, xx, yy, xy = (STATE.field(name) for name in ("n", *moments))
    return Accumulator(
        f"struct<n: bigint, {', '.join(f'{name}: double' for name in moments)}>",
        struct_of({"n": 0, **dict.fromkeys(moments, 0.0)}),
        moved(operator.add),
        call("ms_divide", n * xy - x * y, call("sqrt", (n * xx - x * x) * (n * yy - y * y))),
        moved(operator.sub),
        struct_of({name: OLDER.field(name) + NEWER.field(name) for name in ("n", *moments)}),
        nested=True,
    )


# ---------------------------------------------------------------- collections


def _most_values(limit: str) -> int:
    """How many values a collection keeps, by its setting: if that is negative, there is no limit."""
    return int(limit) if int(limit) >= 0 else INT_MAX


def _list(types: Types, constants: Constants, settings: Settings) -> Accumulator:
    """COLLECT_LIST: the values in order of arrival, up to the setting's number; `undo` removes the last equal value."""
    type, most = f"array<{spark_type(types[0])}>", _most_values(settings["ksql.functions.collect_list.limit"])

    def place(element: OperatorExpression, i: OperatorExpression) -> OperatorExpression:
        return if_(same_values(types[0], element, VALUE), i, integer(-1))

    def without(last: OperatorExpression) -> OperatorExpression:
        return call("filter", STATE, function(("element", "i"), lambda element, i: i.differs(last)))

    last = call("array_max", call("transform", STATE, function(("element", "i"), place)))
    return Accumulator(
        type,
        empty(type),
        if_(call("size", STATE) >= most, STATE, call("array_append", STATE, VALUE)),
        undo=let("last", last, without),
        merge=call("slice", call("concat", OLDER, NEWER), 1, most),
        nested=True,
    )


def _set(types: Types, constants: Constants, settings: Settings) -> Accumulator:
    type, most = f"array<{spark_type(types[0])}>", _most_values(settings["ksql.functions.collect_set.limit"])
    known = STATE.exists("element", lambda element: same_values(types[0], element, VALUE))
    new = NEWER.filter("y", lambda y: ~OLDER.exists("x", lambda x: same_values(types[0], x, y)))
    return Accumulator(
        type,
        empty(type),
        if_((call("size", STATE) >= most) | known, STATE, call("array_append", STATE, VALUE)),
        merge=call("slice", call("concat", OLDER, new), 1, most),
        nested=True,
    )


_DISTINCT = Accumulator(
    "binary",
    null("binary"),
    unless_null(call("ms_sketch_add", STATE, call("struct", VALUE))),
    call("coalesce", call("hll_sketch_estimate", STATE), bigint(0)),
    merge=call("coalesce", call("hll_union", OLDER, NEWER), OLDER, NEWER),
    nested=True,
)

# The most texts that HISTOGRAM counts.
_MOST_TEXTS = 1000


def _counted(counts: OperatorExpression, text: OperatorExpression) -> OperatorExpression:
    """How often a text has occurred."""
    return call("coalesce", call("try_element_at", counts, text), bigint(0))


def _with_count(count: OperatorExpression) -> OperatorExpression:
    """The counts, with the count of the current row's text replaced."""
    with_other_text = function(("text", "count"), lambda text, count: text.differs(VALUE))
    return call("map_concat", call("map_filter", STATE, with_other_text), call("map", VALUE, count))


def _histogram() -> Accumulator:
    full = (call("size", STATE) >= _MOST_TEXTS) & ~call("map_contains_key", STATE, VALUE)
    positive = function(("text", "count"), lambda text, count: count > 0)
    alone = function(("text", "count"), lambda text, count: ~call("map_contains_key", NEWER, text))
    both = function(("text", "count"), lambda text, count: count + _counted(OLDER, text))
    return Accumulator(
        "map<string, bigint>",
        call("map").cast("map<string, bigint>"),
        if_(VALUE.is_null() | full, STATE, _with_count(_counted(STATE, VALUE) + 1)),
        undo=unless_null(call("map_filter", _with_count(_counted(STATE, VALUE) - 1), positive)),
        merge=call("map_concat", call("map_filter", OLDER, alone), call("transform_values", NEWER, both)),
        nested=True,
    )


# ---------------------------------------------------------------- the greatest


def _top(types: Types, constants: Constants, settings: Settings) -> Accumulator:
    """The k greatest values; with more columns, structs in the order of the first column."""
    k, columns = at_least_one("TOPK", constants[-1]), types[:-1]
    if len(columns) == 1:
        return _greatest(spark_type(columns[0]), VALUE, k)
    row = struct_of({f"F{i}": argument(i) for i in range(len(columns))})
    return _greatest(spark_type(_top_row(columns)), row, k)


def _greatest(element: str, value: OperatorExpression, k: int) -> Accumulator:
    """The k greatest values, the greatest first; structs are compared by their first field alone."""
    return Accumulator(
        f"array<{element}>",
        empty(f"array<{element}>"),
        unless_null(call("ms_merge_descending", STATE, array(value), k)),
        merge=call("ms_merge_descending", OLDER, NEWER, k),
        nested=True,
    )


def _top_row(columns: Types) -> Struct:
    names = ["sort_col", *(f"col{i}" for i in range(len(columns) - 1))]
    return Struct(tuple(Field(name, t) for name, t in zip(names, columns, strict=True)))


def _top_rows(types: Sequence[SqlType | None]) -> SqlType:
    return Array(_top_row([t for t in types[:-1] if t is not None]))


def _top_distinct(types: Types, constants: Constants, settings: Settings) -> Accumulator:
    k, type = at_least_one("TOPKDISTINCT", constants[-1]), f"array<{spark_type(types[0])}>"
    return Accumulator(
        type,
        empty(type),
        unless_null(
            if_(call("array_contains", STATE, VALUE), STATE, call("ms_merge_descending", STATE, array(VALUE), k))
        ),
        merge=call("ms_merge_descending", OLDER, call("array_except", NEWER, OLDER), k),
        nested=True,
    )


def _decimals(types: Sequence[SqlType | None]) -> SqlType:
    return Array(same_decimal(types))


# ---------------------------------------------------------------- agreement of all rows


def _agreed(types: Types, constants: Constants, settings: Settings) -> Accumulator:
    """The distinct values with their counts."""
    type = spark_type(types[0])
    entries = f"array<struct<v: {type}, n: bigint>>"

    def is_value(entry: OperatorExpression) -> OperatorExpression:
        return same_values(types[0], entry.field("v"), VALUE)

    def counted(by: int) -> OperatorExpression:
        """The state in which the count of the row's value has changed by `by`."""

        def moved(entry: OperatorExpression) -> OperatorExpression:
            return if_(is_value(entry), struct(v=entry.field("v"), n=entry.field("n") + by), entry)

        return STATE.map_each("entry", moved)

    new = call("array_append", STATE, struct(v=VALUE, n=1))
    return Accumulator(
        entries,
        empty(entries),
        if_(STATE.exists("entry", is_value), counted(1), new),
        if_(call("size", STATE).equals(1), STATE.item(0).field("v"), null(type)),
        call("filter", counted(-1), function(("entry",), lambda entry: entry.field("n") > 0)),
        _merged_counts(types[0]),
        nested=True,
    )


def _merged_counts(type: SqlType) -> OperatorExpression:
    def same(x: OperatorExpression, y: OperatorExpression) -> OperatorExpression:
        return same_values(type, x.field("v"), y.field("v"))

    def newer_count(x: OperatorExpression) -> OperatorExpression:
        plus = function(("n", "y"), lambda n, y: n + if_(same(x, y), y.field("n"), 0))
        return call("aggregate", NEWER, bigint(0), plus)

    both = OLDER.map_each("x", lambda x: struct(v=x.field("v"), n=x.field("n") + newer_count(x)))
    return call("concat", both, NEWER.filter("y", lambda y: ~OLDER.exists("x", lambda x: same(x, y))))


AGGREGATES = (
    aggregate(
        "ATTR",
        "The value that all rows have in common; NULL if they differ.",
        "ATTR(X) over X = 4, 4, 4",
        "4",
        signature("(value T) -> T", _agreed),
    ),
    aggregate(
        "AVG",
        "The mean of the values that are not NULL; 0 if there are none.",
        "AVG(X) over X = 1, NULL, 2",
        "1.5",
        *_each(_NUMBERS, "(value N) -> DOUBLE", _average),
    ),
    aggregate(
        "COLLECT_LIST",
        "All values in order of arrival, including NULLs.",
        "COLLECT_LIST(X) over X = 3, NULL, 1, 3",
        "[3, null, 1, 3]",
        signature("(value T) -> ARRAY<T>", _list),
    ),
    aggregate(
        "COLLECT_SET",
        "The distinct values in the order of their first occurrence.",
        "COLLECT_SET(X) over X = 3, NULL, 1, 3",
        "[3, null, 1]",
        signature("(value T) -> ARRAY<T>", _set),
    ),
    aggregate(
        "CORRELATION",
        "The Pearson correlation of two columns; NaN for fewer than two pairs.",
        "CORRELATION(X, Y) over X = 1, 2, 3; Y = 2, 4, 6",
        "1.0",
        *_each(_NUMBERS, "(x N, y N) -> DOUBLE", _always(_correlation())),
    ),
    aggregate(
        "COUNT",
        "The number of rows, or of the rows whose argument is not NULL.",
        "COUNT(X) over X = 'a', NULL, 'b'",
        "2",
        signature("() -> BIGINT", _always(_ROWS)),
        signature("(value ANY) -> BIGINT", _always(_VALUES)),
    ),
    aggregate(
        "COUNT_DISTINCT",
        "The approximate number of distinct values, without NULL.",
        "COUNT_DISTINCT(X) over X = 'a', 'b', NULL, 'a'",
        "2",
        signature("(value ANY) -> BIGINT", _always(_DISTINCT)),
    ),
    EARLIEST_BY_OFFSET,
    aggregate(
        "HISTOGRAM",
        f"How often each text occurred; at most {_MOST_TEXTS} texts.",
        "HISTOGRAM(X) over X = 'a', NULL, 'a'",
        "{a=2}",
        signature("(value STRING) -> MAP<STRING, BIGINT>", _always(_histogram())),
    ),
    LATEST_BY_OFFSET,
    aggregate(
        "MAX",
        "The greatest value.",
        "MAX(X) over X = 3, NULL, 9",
        "9",
        *_each(_ORDERED, "(value N) -> N", _extreme("greatest")),
        signature("(value DECIMAL) -> DECIMAL", _extreme("greatest"), same_decimal),
    ),
    aggregate(
        "MIN",
        "The least value.",
        "MIN(X) over X = 3, NULL, 9",
        "3",
        *_each(_ORDERED, "(value N) -> N", _extreme("least")),
        signature("(value DECIMAL) -> DECIMAL", _extreme("least"), same_decimal),
    ),
    aggregate(
        "STDDEV_SAMP",
        "The sample variance (a name kept for compatibility); 0 for fewer than two values.",
        "STDDEV_SAMP(X) over X = 2, 4, 6",
        "4.0",
        *_each(_NUMBERS, "(value N) -> DOUBLE", _always(_variance(_SAMPLE_VARIANCE))),
    ),
    aggregate(
        "STDDEV_SAMPLE",
        "The sample standard deviation; 0 for fewer than two values.",
        "STDDEV_SAMPLE(X) over X = 2, 4, 6",
        "2.0",
        *_each(_NUMBERS, "(value N) -> DOUBLE", _always(_variance(call("sqrt", _SAMPLE_VARIANCE)))),
    ),
    aggregate(
        "SUM",
        "The sum of the values; 0 if there are none.",
        "SUM(X) over X = 1, NULL, 2",
        "3",
        *_each(_NUMBERS, "(value N) -> N", _sum),
        signature("(value DECIMAL) -> DECIMAL", _sum, same_decimal),
    ),
    aggregate(
        "SUM_LIST",
        "The sum of the elements of all arrays.",
        "SUM_LIST(X) over X = ARRAY[1, 2], NULL, ARRAY[4]",
        "7",
        *_each(_NUMBERS, "(values ARRAY<N>) -> N", _sum_list),
    ),
    aggregate(
        "TOPK",
        "The k greatest values, or structs of the rows with the k greatest values in the first column.",
        "TOPK(X, 2) over X = 3, 9, 1, 9",
        "[9, 9]",
        *_each(f"{_NUMBERS} STRING", "(value N, k INTEGER) -> ARRAY<N>", _top, 1),
        signature("(value DECIMAL, k INTEGER) -> ARRAY<DECIMAL>", _top, _decimals, 1),
        *(
            signature(f"(value {name}, first ANY, more ANY..., k INTEGER) -> ARRAY<ANY>", _top, _top_rows, constants=1)
            for name in (*_NUMBERS.split(), "STRING", "DECIMAL")
        ),
    ),
    aggregate(
        "TOPKDISTINCT",
        "The k greatest distinct values.",
        "TOPKDISTINCT(X, 2) over X = 3, 9, 1, 9",
        "[9, 3]",
        *_each(_ORDERED, "(value N, k INTEGER) -> ARRAY<N>", _top_distinct, 1),
        signature("(value DECIMAL, k INTEGER) -> ARRAY<DECIMAL>", _top_distinct, _decimals, 1),
    ),
)
