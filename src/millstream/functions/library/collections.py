"""Functions of arrays and maps."""

from collections.abc import Sequence

from millstream.functions.declare import Function, Lowering, Signature
from millstream.functions.signatures import fill, parse_signature, scalar
from millstream.functions.sparktype import OWN_ORDER
from millstream.model.errors import StatementError
from millstream.model.types import BIGINT, BOOLEAN, DOUBLE, INTEGER, STRING, Array, Decimal, SqlType

Types = Sequence[SqlType | None]
# Spark's maps have no null keys: in place of a null key, which ksqlDB has, there is the text null.
_AS_MAP = "ms_map(transform({0}, text -> coalesce(text, 'null')), {1})"


def _row(name: str, description: str, signatures: Sequence[Signature], example: str, answer: str) -> Function:
    return scalar(name, "collections", description, signatures, example, answer)


def same(left: str, right: str, t: SqlType | None) -> str:
    """Spark SQL text of null-safe equality of two values of type `t`; Spark's own = does not compare maps."""
    return f"ms_equal({left}, {right})" if t is not None and t.contains_map else f"{left} <=> {right}"


def _element(t: SqlType | None) -> SqlType | None:
    return t.element if isinstance(t, Array) else None


def _by_equality(template: str) -> Lowering:
    """A lowering whose template contains {same} for the equality of an element `e` with {1}."""

    def lower(texts: Sequence[str], types: Types, result: SqlType) -> str:
        return fill(template, texts, same=same("e", texts[1], _element(types[0])))

    return lower


def _set(native: str, general: str) -> Lowering:
    """Spark's own function if it can compare the elements, else `general`, for elements that contain maps."""

    def lower(texts: Sequence[str], types: Types, result: SqlType) -> str:
        return fill(general if result.contains_map else native, texts)

    return lower


def _array(types: Types) -> Array:
    """The type of the first argument, which may not be a bare NULL."""
    array = types[0]
    if not isinstance(array, Array):
        raise StatementError("the type of the elements cannot be derived from NULL", hint="use CAST(NULL AS …)")
    return array


_PLAIN = (BOOLEAN, INTEGER, BIGINT, DOUBLE, STRING)


def _plain_elements(types: Types) -> SqlType:
    """ARRAY_JOIN returns STRING; its elements must print as one word."""
    element = _array(types).element
    if element not in _PLAIN and not isinstance(element, Decimal):
        raise StatementError(f"ARRAY_JOIN does not take an array of {element}", hint="numbers, text or BOOLEAN only")
    return STRING


def _joined(delimiter: str) -> Lowering:
    def lower(texts: Sequence[str], types: Types, result: SqlType) -> str:
        text = "ms_plain(e)" if isinstance(_element(types[0]), Decimal) else "cast(e as string)"
        return fill(f"array_join(transform({{0}}, e -> {text}), {delimiter}, 'null')", texts)

    return lower


def _searched(types: Types) -> SqlType:
    """ARRAY_CONTAINS returns BOOLEAN; how it compares depends on the array's type."""
    _array(types)
    return BOOLEAN


def _ordered(types: Types) -> Array:
    """The array's type; its elements must have an order."""
    array = _array(types)
    if array.contains_map:
        raise StatementError(f"values of {array.element} have no order", hint="maps cannot be compared by <")
    return array


def _by_order(native: str, own: str) -> Lowering:
    """Spark's own function, or `own` for elements whose {order} is not Spark's."""

    def lower(texts: Sequence[str], types: Types, result: SqlType) -> str:
        order = OWN_ORDER.get(_element(types[0]))
        return fill(native, texts) if order is None else fill(own, texts, order=order)

    return lower


def _element_in_order(types: Types) -> SqlType:
    return _ordered(types).element


_UPWARDS = ("array_sort({0})", "{order}_sort({0}, false)")
_DOWNWARDS = ("sort_array({0}, false)", "{order}_sort({0}, true)")
_DIRECTED = (
    "ms_let({{0}}, elements -> ms_let(upper({{1}}), direction -> case "
    "when direction in ('ASC', 'ASCENDING') then {} when direction in ('DESC', 'DESCENDING') then {} end))"
)


def _directed(upwards: str, downwards: str) -> str:
    """Spark SQL that sorts in the direction of the second argument; either argument is evaluated once."""
    return _DIRECTED.format(upwards.replace("{0}", "elements"), downwards.replace("{0}", "elements"))


def _entries() -> tuple[Signature, ...]:
    """ENTRIES; unsorted they are in the order of ksqlDB's maps (ms_hashed_entries)."""
    values = ("INTEGER", "BIGINT", "DOUBLE", "BOOLEAN", "STRING")
    pairs = "transform(ms_hashed_entries({0}), e -> named_struct('F0', e.key, 'F1', e.value))"
    order = "array_sort(pairs, (a, b) -> ms_text_order(a.F0, b.F0))"
    chosen = f"ms_let({{1}}, sorted -> case when sorted then {order} when not sorted then pairs end)"
    spark = f"ms_let({pairs}, pairs -> {chosen})"
    return tuple(
        parse_signature(f"(map MAP<STRING, {v}>, sorted BOOLEAN) -> ARRAY<STRUCT<K STRING, V {v}>>", spark)
        for v in values
    )


def _elt(texts: Sequence[str], types: Types, result: SqlType) -> str:
    return f"elt({', '.join((*texts, 'cast(null as string)'))})"


def _field(texts: Sequence[str], types: Types, result: SqlType) -> str:
    among = ", ".join((*texts[1:], "cast(null as string)"))
    return f"cast(coalesce(array_position(array({among}), {texts[0]}), 0) as int)"


COLLECTIONS = (
    _row(
        "ARRAY_CONTAINS",
        "Whether the value is an element of the array; NULL can be an element too. False for a NULL array.",
        (
            parse_signature(
                "(array ARRAY<T>, value T) -> BOOLEAN",
                _by_equality("coalesce(exists({0}, e -> {same}), false)"),
                _searched,
            ),
        ),
        "ARRAY_CONTAINS(ARRAY[1, 2, 3], 3)",
        "true",
    ),
    _row(
        "ARRAY_CONCAT",
        "The elements of the first array, then those of the second; a NULL array counts as empty.",
        (parse_signature("(left ARRAY<T>, right ARRAY<T>) -> ARRAY<T>", "ms_concat({0}, {1})"),),
        "ARRAY_CONCAT(ARRAY[1, 2], ARRAY[2, 3])",
        "[1, 2, 2, 3]",
    ),
    _row(
        "ARRAY_DISTINCT",
        "The distinct elements, each at its first position.",
        (parse_signature("(array ARRAY<T>) -> ARRAY<T>", _set("array_distinct({0})", "ms_distinct({0})")),),
        "ARRAY_DISTINCT(ARRAY[1, 2, 1])",
        "[1, 2]",
    ),
    _row(
        "ARRAY_EXCEPT",
        "The distinct elements of the first array that are not in the second.",
        (
            parse_signature(
                "(left ARRAY<T>, right ARRAY<T>) -> ARRAY<T>",
                _set(
                    "array_except({0}, {1})",
                    "if({1} is null, null, ms_distinct(filter({0}, e -> not exists({1}, f -> ms_equal(e, f)))))",
                ),
            ),
        ),
        "ARRAY_EXCEPT(ARRAY[1, 2, 3, 1], ARRAY[3])",
        "[1, 2]",
    ),
    _row(
        "ARRAY_INTERSECT",
        "The distinct elements of the first array that are also in the second.",
        (
            parse_signature(
                "(left ARRAY<T>, right ARRAY<T>) -> ARRAY<T>",
                _set(
                    "array_intersect({0}, {1})",
                    "if({1} is null, null, ms_distinct(filter({0}, e -> exists({1}, f -> ms_equal(e, f)))))",
                ),
            ),
        ),
        "ARRAY_INTERSECT(ARRAY[1, 2, 3, 1], ARRAY[3, 1])",
        "[1, 3]",
    ),
    _row(
        "ARRAY_UNION",
        "The distinct elements of both arrays.",
        (
            parse_signature(
                "(left ARRAY<T>, right ARRAY<T>) -> ARRAY<T>",
                _set("array_union({0}, {1})", "ms_distinct(concat({0}, {1}))"),
            ),
        ),
        "ARRAY_UNION(ARRAY[1, 2, 1], ARRAY[3, 2])",
        "[1, 2, 3]",
    ),
    _row(
        "ARRAY_JOIN",
        "The elements as text, with the delimiter (by default a comma) between them; NULL is written null.",
        (
            parse_signature("(array ARRAY<T>) -> STRING", _joined("','"), _plain_elements),
            parse_signature(
                "(array ARRAY<T>, delimiter STRING) -> STRING", _joined("coalesce({1}, '')"), _plain_elements
            ),
        ),
        "ARRAY_JOIN(ARRAY[1, NULL, 3], '; ')",
        "1; null; 3",
    ),
    _row(
        "ARRAY_LENGTH",
        "The number of elements.",
        (parse_signature("(array ARRAY<T>) -> INTEGER", "array_size({0})"),),
        "ARRAY_LENGTH(ARRAY['a', NULL])",
        "2",
    ),
    _row(
        "ARRAY_MAX",
        "The greatest element; NULLs are ignored.",
        (
            parse_signature(
                "(array ARRAY<T>) -> T", _by_order("array_max({0})", "{order}_greatest({0})"), _element_in_order
            ),
        ),
        "ARRAY_MAX(ARRAY[3, NULL, 9])",
        "9",
    ),
    _row(
        "ARRAY_MIN",
        "The least element; NULLs are ignored.",
        (
            parse_signature(
                "(array ARRAY<T>) -> T", _by_order("array_min({0})", "{order}_least({0})"), _element_in_order
            ),
        ),
        "ARRAY_MIN(ARRAY[3, NULL, 9])",
        "3",
    ),
    _row(
        "ARRAY_REMOVE",
        "The elements that are not the value.",
        (parse_signature("(array ARRAY<T>, value T) -> ARRAY<T>", _by_equality("filter({0}, e -> not ({same}))")),),
        "ARRAY_REMOVE(ARRAY['a', 'b', 'a'], 'a')",
        "[b]",
    ),
    _row(
        "ARRAY_SORT",
        "The elements in order, NULLs last: ASC (the default) or DESC.",
        (
            parse_signature("(array ARRAY<T>) -> ARRAY<T>", _by_order(*_UPWARDS), _ordered),
            parse_signature(
                "(array ARRAY<T>, direction STRING) -> ARRAY<T>",
                _by_order(*map(_directed, _UPWARDS, _DOWNWARDS)),
                _ordered,
            ),
        ),
        "ARRAY_SORT(ARRAY[2, 3, 1], 'DESC')",
        "[3, 2, 1]",
    ),
    _row(
        "SLICE",
        "The elements from one position to another, inclusive and counted from 1; a NULL bound is open.",
        (
            parse_signature(
                "(array ARRAY<T>, from INTEGER, to INTEGER) -> ARRAY<T>",
                "ms_slice({0}, coalesce({1}, 1), coalesce({2}, 2147483647))",
            ),
        ),
        "SLICE(ARRAY['a', 'b', 'c', 'd'], 2, 3)",
        "[b, c]",
    ),
    _row(
        "ENTRIES",
        "The entries of the map as an array of structs: sorted by key, or in the order of a Java HashMap.",
        _entries(),
        "ENTRIES(MAP('b' := 2, 'a' := 1), true)",
        "[Struct{K=a,V=1}, Struct{K=b,V=2}]",
    ),
    _row(
        "AS_MAP",
        "The map from each key to the value at the same position; NULL if there is none.",
        (parse_signature("(keys ARRAY<STRING>, values ARRAY<T>) -> MAP<STRING, T>", _AS_MAP),),
        "AS_MAP(ARRAY['a', 'b'], ARRAY[1, 2])",
        "{a=1, b=2}",
    ),
    _row(
        "MAP_KEYS",
        "The keys of the map, in the order of a Java HashMap.",
        (parse_signature("(map MAP<K, V>) -> ARRAY<K>", "transform(ms_hashed_entries({0}), e -> e.key)"),),
        "MAP_KEYS(MAP('a' := 1))",
        "[a]",
    ),
    _row(
        "MAP_VALUES",
        "The values of the map, in the order of a Java HashMap.",
        (parse_signature("(map MAP<K, V>) -> ARRAY<V>", "transform(ms_hashed_entries({0}), e -> e.value)"),),
        "MAP_VALUES(MAP('a' := 1))",
        "[1]",
    ),
    _row(
        "MAP_UNION",
        "The entries of both maps; for equal keys those of the second. A NULL map counts as empty.",
        (
            parse_signature(
                "(left MAP<K, V>, right MAP<K, V>) -> MAP<K, V>",
                "ms_map_union({0}, {1})",
            ),
        ),
        "MAP_UNION(MAP('a' := 1, 'b' := 2), MAP('b' := 3))",
        "{a=1, b=3}",
    ),
    _row(
        "ELT",
        "The text at that position, counted from 1.",
        (
            parse_signature(
                "(position INTEGER, texts STRING...) -> STRING",
                _elt,
            ),
        ),
        "ELT(2, 'a', 'b')",
        "b",
    ),
    _row(
        "FIELD",
        "The position of the first text among the others, counted from 1; 0 if it is missing or NULL.",
        (
            parse_signature(
                "(text STRING, texts STRING...) -> INTEGER",
                _field,
            ),
        ),
        "FIELD('b', 'a', 'b')",
        "2",
    ),
)
