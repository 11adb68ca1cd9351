"""Aggregate functions: a row each, with how the state begins, takes a row, gives it back, and becomes the result."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from millstream.functions.declare import Accumulating, Accumulator, Function, FunctionKind, Signature, TypeRule
from millstream.functions.rules import same_decimal
from millstream.functions.signatures import each, parse_signature
from millstream.functions.sparktype import spark_type
from millstream.model.errors import StatementError
from millstream.model.types import STRING, Array, Decimal, Field, SqlType, Struct, computed

Types = Sequence[SqlType]
Constants = Sequence[object]
Settings = Mapping[str, str]

_NUMBERS = "INTEGER BIGINT DOUBLE"
_ORDERED = f"{_NUMBERS} STRING BYTES DATE TIME TIMESTAMP"


def _always(made: Accumulator) -> Accumulating:
    return lambda types, constants, settings: made


def _aggregate(name: str, description: str, example: str, answer: str, *signatures: Signature) -> Function:
    """A row of the table; its `example` says over which rows: `SUM(X) over X = 1, 2`."""
    return Function(name, FunctionKind.AGGREGATE, "aggregate", description, signatures, example, answer)


def _shape(text: str, making: Accumulating, returns: TypeRule | None = None, constants: int = 0) -> Signature:
    """A signature of an aggregate; its last `constants` arguments have to be constants."""
    return replace(parse_signature(text, "", returns), accumulating=making, constants=constants)


def _each(types: str, text: str, making: Accumulating, constants: int = 0) -> tuple[Signature, ...]:
    return tuple(replace(s, accumulating=making, constants=constants) for s in each(types, text, ""))


def _if_there(value: str, otherwise: str = "{s}") -> str:
    """A row whose argument is null changes nothing."""
    return f"if({{0}} is null, {otherwise}, {value})"


def _same(t: SqlType, one: str, other: str) -> str:
    """Whether two values are the same, nulls too; Spark compares no maps."""
    if t.holds_map:
        return f"coalesce(ms_same({one}, {other}), {one} is null and {other} is null)"
    return f"{one} <=> {other}"


# ---------------------------------------------------------------- counts and sums

_ROWS = Accumulator("bigint", "0L", "{s} + 1L", undo="{s} - 1L", merge="{a} + {b}")
_VALUES = Accumulator("bigint", "0L", _if_there("{s} + 1L"), undo=_if_there("{s} - 1L"), merge="{a} + {b}")


def _sum(types: Types, constants: Constants, settings: Settings) -> Accumulator:
    of, held = types[0], spark_type(types[0])
    plus, minus = ("({0} + {1})", "({0} - {1})")
    if isinstance(of, Decimal):
        size = computed(of)
        plus, minus = (f"ms_decimal_{w}({{0}}, {{1}}, {size.precision}, {size.scale})" for w in ("add", "subtract"))
    add, undo = (_if_there(text.format("{s}", "{0}")) for text in (plus, minus))
    return Accumulator(held, f"cast(0 as {held})", add, undo=undo, merge=plus.format("{a}", "{b}"))


def _sum_list(types: Types, constants: Constants, settings: Settings) -> Accumulator:
    assert isinstance(types[0], Array)
    held = spark_type(types[0].element)
    total = f"aggregate({{0}}, cast(0 as {held}), (x, y) -> cast(x + coalesce(y, cast(0 as {held})) as {held}))"
    add, undo = (_if_there(f"{{s}} {sign} {total}") for sign in "+-")
    return Accumulator(held, f"cast(0 as {held})", add, undo=undo, merge="{a} + {b}")


def _average(types: Types, constants: Constants, settings: Settings) -> Accumulator:
    held = spark_type(types[0])

    def moved(sign: str) -> str:
        total = f"cast({{s}}.total {sign} {{0}} as {held})"
        return _if_there(f"named_struct('total', {total}, 'n', {{s}}.n {sign} 1L)")

    return Accumulator(
        f"struct<total: {held}, n: bigint>",
        f"named_struct('total', cast(0 as {held}), 'n', 0L)",
        moved("+"),
        "if({s}.n = 0, 0.0D, cast({s}.total as double) / {s}.n)",
        moved("-"),
        f"named_struct('total', cast({{a}}.total + {{b}}.total as {held}), 'n', {{a}}.n + {{b}}.n)",
        nested=True,
    )


def _extreme(best: str) -> Accumulating:
    def made(types: Types, constants: Constants, settings: Settings) -> Accumulator:
        held = spark_type(types[0])
        made = f"ms_text_{best}(array({{0}}, {{1}}))" if types[0] == STRING else f"{best}({{0}}, {{1}})"
        return Accumulator(held, f"cast(null as {held})", made.format("{s}", "{0}"), merge=made.format("{a}", "{b}"))

    return made


# ---------------------------------------------------------------- statistics


def _variance(result: str) -> Accumulating:
    """Welford's way, as Youngs and Cramer update it: sum, count and the sum of squared distances."""

    def made(types: Types, constants: Constants, settings: Settings) -> Accumulator:
        x = "cast({0} as double)"
        more = (
            f"power(({{s}}.n + 1) * {x} - ({{s}}.total + {x}), 2) / (({{s}}.n + 1) * {{s}}.n)",
            f"power({{s}}.n * {x} - {{s}}.total, 2) / ({{s}}.n * ({{s}}.n - 1))",
        )
        add = f"named_struct('total', {{s}}.total + {x}, 'n', {{s}}.n + 1L, 'm2', "
        add += f"{{s}}.m2 + if({{s}}.n = 0, 0.0D, {more[0]}))"
        undo = f"named_struct('total', {{s}}.total - {x}, 'n', {{s}}.n - 1L, 'm2', "
        undo += f"if({{s}}.n <= 2, 0.0D, {{s}}.m2 - {more[1]}))"
        between = "power({a}.n * {b}.total - {b}.n * {a}.total, 2) / (cast({a}.n as double) * {b}.n * ({a}.n + {b}.n))"
        merge = "named_struct('total', {a}.total + {b}.total, 'n', {a}.n + {b}.n, 'm2', "
        merge += f"{{a}}.m2 + {{b}}.m2 + if({{a}}.n = 0 or {{b}}.n = 0, 0.0D, {between}))"
        return Accumulator(
            "struct<total: double, n: bigint, m2: double>",
            "named_struct('total', 0.0D, 'n', 0L, 'm2', 0.0D)",
            _if_there(add),
            f"if({{s}}.n < 2, 0.0D, {result})",
            _if_there(undo),
            merge,
            nested=True,
        )

    return made


_MOMENTS = ("x", "y", "xx", "yy", "xy")


def _correlation(types: Types, constants: Constants, settings: Settings) -> Accumulator:
    x, y = "cast({0} as double)", "cast({1} as double)"
    terms = {"x": x, "y": y, "xx": f"{x} * {x}", "yy": f"{y} * {y}", "xy": f"{x} * {y}"}

    def moved(sign: str) -> str:
        sums = ", ".join(f"'{name}', {{s}}.{name} {sign} {terms[name]}" for name in _MOMENTS)
        return f"if({{0}} is null or {{1}} is null, {{s}}, named_struct('n', {{s}}.n {sign} 1L, {sums}))"

    merged = ", ".join(f"'{name}', {{a}}.{name} + {{b}}.{name}" for name in _MOMENTS)
    zeros = ", ".join(f"'{name}', 0.0D" for name in _MOMENTS)
    spread = "sqrt(({s}.n * {s}.xx - {s}.x * {s}.x) * ({s}.n * {s}.yy - {s}.y * {s}.y))"
    return Accumulator(
        f"struct<n: bigint, {', '.join(f'{name}: double' for name in _MOMENTS)}>",
        f"named_struct('n', 0L, {zeros})",
        moved("+"),
        f"ms_divide({{s}}.n * {{s}}.xy - {{s}}.x * {{s}}.y, {spread})",
        moved("-"),
        f"named_struct('n', {{a}}.n + {{b}}.n, {merged})",
        nested=True,
    )


# ---------------------------------------------------------------- collections


def _list(types: Types, constants: Constants, settings: Settings) -> Accumulator:
    held, most = spark_type(types[0]), settings["ksql.functions.collect_list.limit"]
    at = (
        f"array_max(filter(transform({{s}}, (x, i) -> if({_same(types[0], 'x', '{0}')}, i, null)), i -> i is not null))"
    )
    return Accumulator(
        f"array<{held}>",
        f"cast(array() as array<{held}>)",
        f"if(size({{s}}) >= {most}, {{s}}, array_append({{s}}, {{0}}))",
        undo=f"if({at} is null, {{s}}, filter({{s}}, (x, i) -> i <> {at}))",
        merge=f"slice(concat({{a}}, {{b}}), 1, {most})",
        nested=True,
    )


def _set(types: Types, constants: Constants, settings: Settings) -> Accumulator:
    held, most = spark_type(types[0]), settings["ksql.functions.collect_set.limit"]
    there = f"exists({{s}}, x -> {_same(types[0], 'x', '{0}')})"
    new = f"filter({{b}}, y -> not exists({{a}}, x -> {_same(types[0], 'x', 'y')}))"
    return Accumulator(
        f"array<{held}>",
        f"cast(array() as array<{held}>)",
        f"if(size({{s}}) >= {most} or {there}, {{s}}, array_append({{s}}, {{0}}))",
        merge=f"slice(concat({{a}}, {new}), 1, {most})",
        nested=True,
    )


_DISTINCT = Accumulator(
    "binary",
    "cast(null as binary)",
    _if_there("ms_sketch_add({s}, struct({0}))"),
    "coalesce(hll_sketch_estimate({s}), 0L)",
    merge="coalesce(hll_union({a}, {b}), {a}, {b})",
    nested=True,
)

_MOST_TEXTS = 1000


def _moved_count(sign: str) -> str:
    others = "map_filter({s}, (k, v) -> k <> {0})"
    return f"map_concat({others}, map({{0}}, coalesce(try_element_at({{s}}, {{0}}), 0L) {sign} 1L))"


_HISTOGRAM = Accumulator(
    "map<string, bigint>",
    "cast(map() as map<string, bigint>)",
    f"if({{0}} is null or (size({{s}}) >= {_MOST_TEXTS} and not map_contains_key({{s}}, {{0}})), {{s}}, "
    f"{_moved_count('+')})",
    undo=_if_there(f"map_filter({_moved_count('-')}, (k, v) -> v > 0)"),
    merge="map_concat(map_filter({a}, (k, v) -> not map_contains_key({b}, k)), "
    "transform_values({b}, (k, v) -> v + coalesce(try_element_at({a}, k), 0L)))",
    nested=True,
)


# ---------------------------------------------------------------- the greatest


def _top(types: Types, constants: Constants, settings: Settings) -> Accumulator:
    """The k greatest; with more columns, structs in the order of the first of them."""
    k, columns = _at_least_one("TOPK", constants[-1]), types[:-1]
    if len(columns) == 1:
        return _greatest(spark_type(columns[0]), "{0}", k, _downwards(columns[0]), undo=True)
    made = ", ".join(f"'F{i}', {{{i}}}" for i in range(len(columns)))
    return _greatest(
        spark_type(_top_row(columns)), f"named_struct({made})", k, _downwards(columns[0], ".F0"), undo=True
    )


def _downwards(of: SqlType, by: str = "") -> str:
    """A comparison that puts the greater value first."""
    if of == STRING:
        return f"(x, y) -> ms_text_order(y{by}, x{by})"
    return f"(x, y) -> case when x{by} < y{by} then 1 when x{by} > y{by} then -1 else 0 end"


def _greatest(held: str, value: str, k: int, order: str, undo: bool) -> Accumulator:
    at = f"array_position({{s}}, {value})"
    return Accumulator(
        f"array<{held}>",
        f"cast(array() as array<{held}>)",
        _if_there(f"slice(array_sort(array_append({{s}}, {value}), {order}), 1, {k})"),
        undo=_if_there(f"filter({{s}}, (x, i) -> i + 1 <> {at})") if undo else None,
        merge=f"slice(array_sort(concat({{a}}, {{b}}), {order}), 1, {k})",
        nested=True,
    )


def _top_row(columns: Types) -> Struct:
    names = ["sort_col", *(f"col{i}" for i in range(len(columns) - 1))]
    return Struct(tuple(Field(name, t) for name, t in zip(names, columns, strict=True)))


def _top_rows(types: Sequence[SqlType | None]) -> SqlType:
    return Array(_top_row([t for t in types[:-1] if t is not None]))


def _top_distinct(types: Types, constants: Constants, settings: Settings) -> Accumulator:
    k, held = _at_least_one("TOPKDISTINCT", constants[-1]), spark_type(types[0])
    order = _downwards(types[0])
    return Accumulator(
        f"array<{held}>",
        f"cast(array() as array<{held}>)",
        _if_there(
            f"if(array_contains({{s}}, {{0}}), {{s}}, slice(array_sort(array_append({{s}}, {{0}}), {order}), 1, {k}))"
        ),
        merge=f"slice(array_sort(array_union({{a}}, {{b}}), {order}), 1, {k})",
        nested=True,
    )


def _decimals(types: Sequence[SqlType | None]) -> SqlType:
    return Array(same_decimal(types))


def _at_least_one(name: str, value: object) -> int:
    if not isinstance(value, int) or value < 1:
        raise StatementError(f"{name} wants a number of at least 1, as a constant; this is {value}")
    return value


# ---------------------------------------------------------------- first and last


def _by_offset(name: str, first: bool, counted: bool, flagged: bool) -> Accumulating:
    """The first or last value, or the first or last n; nulls count only where the flag says so."""

    def made(types: Types, constants: Constants, settings: Settings) -> Accumulator:
        skip = constants[-1] is not False if flagged else True
        n = _at_least_one(name, constants[1]) if counted else 1
        held = spark_type(types[0])
        if first:
            add, merge = (
                f"if(size({{s}}) >= {n}, {{s}}, array_append({{s}}, {{0}}))",
                f"slice(concat({{a}}, {{b}}), 1, {n})",
            )
        else:
            add, merge = _last("array_append({s}, {0})", n), _last("concat({a}, {b})", n)
        return Accumulator(
            f"array<{held}>",
            f"cast(array() as array<{held}>)",
            _if_there(add) if skip else add,
            "{s}" if counted else "try_element_at({s}, 1)",
            merge=merge,
            nested=True,
        )

    return made


def _last(values: str, n: int) -> str:
    return f"slice({values}, -greatest(1, least(size({values}), {n})), {n})" if n > 1 else f"slice({values}, -1, 1)"


def _both_ends(name: str, first: bool, description: str, answer: str) -> Function:
    return _aggregate(
        name,
        description,
        f"{name}(X, 2) over X = 'a', NULL, 'b', 'c'",
        answer,
        _shape("(value T) -> T", _by_offset(name, first, False, False)),
        _shape("(value T, ignoreNulls BOOLEAN) -> T", _by_offset(name, first, False, True), constants=1),
        _shape("(value T, n INTEGER) -> ARRAY<T>", _by_offset(name, first, True, False), constants=1),
        _shape(
            "(value T, n INTEGER, ignoreNulls BOOLEAN) -> ARRAY<T>", _by_offset(name, first, True, True), constants=2
        ),
    )


# ---------------------------------------------------------------- whether all agree


def _agreed(types: Types, constants: Constants, settings: Settings) -> Accumulator:
    """The distinct values and how often each is there."""
    held = spark_type(types[0])
    entry = f"struct<v: {held}, n: bigint>"
    same = _same(types[0], "x.v", "{0}")
    more = f"transform({{s}}, x -> if({same}, named_struct('v', x.v, 'n', x.n + 1L), x))"
    less = f"filter(transform({{s}}, x -> if({same}, named_struct('v', x.v, 'n', x.n - 1L), x)), x -> x.n > 0)"
    new = "array_append({s}, named_struct('v', {0}, 'n', 1L))"
    return Accumulator(
        f"array<{entry}>",
        f"cast(array() as array<{entry}>)",
        f"if(exists({{s}}, x -> {same}), {more}, {new})",
        "if(size({s}) = 1, {s}[0].v, null)",
        less,
        _merged_counts(types[0]),
        nested=True,
    )


def _merged_counts(of: SqlType) -> str:
    same = _same(of, "x.v", "y.v")
    seen = f"aggregate({{b}}, 0L, (n, y) -> n + if({same}, y.n, 0L))"
    return (
        f"concat(transform({{a}}, x -> named_struct('v', x.v, 'n', x.n + {seen})), "
        f"filter({{b}}, y -> not exists({{a}}, x -> {same})))"
    )


AGGREGATES = (
    _aggregate(
        "ATTR",
        "The value that all rows agree on; NULL where they do not.",
        "ATTR(X) over X = 4, 4, 4",
        "4",
        _shape("(value T) -> T", _agreed),
    ),
    _aggregate(
        "AVG",
        "The mean of the values that are not NULL; 0 where there are none.",
        "AVG(X) over X = 1, NULL, 2",
        "1.5",
        *_each(_NUMBERS, "(value N) -> DOUBLE", _average),
    ),
    _aggregate(
        "COLLECT_LIST",
        "All values in order of arrival, NULLs among them.",
        "COLLECT_LIST(X) over X = 3, NULL, 1, 3",
        "[3, null, 1, 3]",
        _shape("(value T) -> ARRAY<T>", _list),
    ),
    _aggregate(
        "COLLECT_SET",
        "The distinct values in the order they were first seen.",
        "COLLECT_SET(X) over X = 3, NULL, 1, 3",
        "[3, null, 1]",
        _shape("(value T) -> ARRAY<T>", _set),
    ),
    _aggregate(
        "CORRELATION",
        "The Pearson correlation of two columns; NaN of fewer than two pairs.",
        "CORRELATION(X, Y) over X = 1, 2, 3; Y = 2, 4, 6",
        "1.0",
        *_each(_NUMBERS, "(x N, y N) -> DOUBLE", _correlation),
    ),
    _aggregate(
        "COUNT",
        "The number of rows, or of rows where the argument is not NULL.",
        "COUNT(X) over X = 'a', NULL, 'b'",
        "2",
        _shape("() -> BIGINT", _always(_ROWS)),
        _shape("(value ANY) -> BIGINT", _always(_VALUES)),
    ),
    _aggregate(
        "COUNT_DISTINCT",
        "About how many distinct values there are, NULL not counted.",
        "COUNT_DISTINCT(X) over X = 'a', 'b', NULL, 'a'",
        "2",
        _shape("(value ANY) -> BIGINT", _always(_DISTINCT)),
    ),
    _both_ends(
        "EARLIEST_BY_OFFSET",
        True,
        "The first value, or the first n values, that arrived; NULLs count only where ignoreNulls is FALSE.",
        "[a, b]",
    ),
    _aggregate(
        "HISTOGRAM",
        f"How often each text was seen; at most {_MOST_TEXTS} texts.",
        "HISTOGRAM(X) over X = 'a', NULL, 'a'",
        "{a=2}",
        _shape("(value STRING) -> MAP<STRING, BIGINT>", _always(_HISTOGRAM)),
    ),
    _both_ends(
        "LATEST_BY_OFFSET",
        False,
        "The last value, or the last n values, that arrived; NULLs count only where ignoreNulls is FALSE.",
        "[b, c]",
    ),
    _aggregate(
        "MAX",
        "The greatest value.",
        "MAX(X) over X = 3, NULL, 9",
        "9",
        *_each(_ORDERED, "(value N) -> N", _extreme("greatest")),
        _shape("(value DECIMAL) -> DECIMAL", _extreme("greatest"), same_decimal),
    ),
    _aggregate(
        "MIN",
        "The least value.",
        "MIN(X) over X = 3, NULL, 9",
        "3",
        *_each(_ORDERED, "(value N) -> N", _extreme("least")),
        _shape("(value DECIMAL) -> DECIMAL", _extreme("least"), same_decimal),
    ),
    _aggregate(
        "STDDEV_SAMP",
        "The sample variance (a name kept for compatibility); 0 of fewer than two values.",
        "STDDEV_SAMP(X) over X = 2, 4, 6",
        "4.0",
        *_each(_NUMBERS, "(value N) -> DOUBLE", _variance("{s}.m2 / ({s}.n - 1)")),
    ),
    _aggregate(
        "STDDEV_SAMPLE",
        "The sample standard deviation; 0 of fewer than two values.",
        "STDDEV_SAMPLE(X) over X = 2, 4, 6",
        "2.0",
        *_each(_NUMBERS, "(value N) -> DOUBLE", _variance("sqrt({s}.m2 / ({s}.n - 1))")),
    ),
    _aggregate(
        "SUM",
        "The sum of the values; 0 where there are none.",
        "SUM(X) over X = 1, NULL, 2",
        "3",
        *_each(_NUMBERS, "(value N) -> N", _sum),
        _shape("(value DECIMAL) -> DECIMAL", _sum, same_decimal),
    ),
    _aggregate(
        "SUM_LIST",
        "The sum of the elements of all arrays.",
        "SUM_LIST(X) over X = ARRAY[1, 2], NULL, ARRAY[4]",
        "7",
        *_each(_NUMBERS, "(values ARRAY<N>) -> N", _sum_list),
    ),
    _aggregate(
        "TOPK",
        "The k greatest values, or structs of the rows with the k greatest values in the first column.",
        "TOPK(X, 2) over X = 3, 9, 1, 9",
        "[9, 9]",
        *_each(f"{_NUMBERS} STRING", "(value N, k INTEGER) -> ARRAY<N>", _top, 1),
        *(
            _shape(f"(value {name}, first ANY, more ANY..., k INTEGER) -> ARRAY<ANY>", _top, _top_rows, constants=1)
            for name in (*_NUMBERS.split(), "STRING")
        ),
    ),
    _aggregate(
        "TOPKDISTINCT",
        "The k greatest distinct values.",
        "TOPKDISTINCT(X, 2) over X = 3, 9, 1, 9",
        "[9, 3]",
        *_each(_ORDERED, "(value N, k INTEGER) -> ARRAY<N>", _top_distinct, 1),
        _shape("(value DECIMAL, k INTEGER) -> ARRAY<DECIMAL>", _top_distinct, _decimals, 1),
    ),
)
