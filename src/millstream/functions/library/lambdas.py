"""Functions that apply a lambda to each element or entry."""

from collections.abc import Sequence

from millstream.functions.signatures import parse_signature, scalar
from millstream.functions.sparktype import spark_type
from millstream.model.types import STRING, Map, SqlType

Types = Sequence[SqlType | None]


def _empty(t: SqlType | None, spark: str) -> str:
    return spark if t is None else f"cast({spark} as {spark_type(t)})"


def _reduce_array(texts: Sequence[str], types: Types, result: SqlType) -> str:
    elements = f"coalesce({texts[0]}, {_empty(types[0], 'array()')})"
    return _folded(texts[1], f"aggregate({elements}, first, {texts[2]})")


def _reduce_map(texts: Sequence[str], types: Types, result: SqlType) -> str:
    """Spark folds over elements, so each entry is passed as a map of one entry, from which key and value are read."""
    entries = f"ms_hashed_entries(coalesce({texts[0]}, {_empty(types[0], 'map()')}))"
    names, body = texts[2].split("->", 1)
    state, key, value = (name.strip() for name in names.strip().strip("()").split(","))
    opened = f"map_values(transform_values(map(e.key, e.value), ({key}, {value}) -> {body}))[0]"
    return _folded(texts[1], f"aggregate({entries}, first, ({state}, e) -> {opened})")


def _folded(state: str, fold: str) -> str:
    """A fold that begins with the state `first`, which is computed once; null if that is null."""
    return f"ms_let({state}, first -> if(first is null, null, {fold}))"


def _condition(function: str) -> str:
    """A lambda as a condition: it fails if it returns null."""
    names, body = function.split("->", 1)
    return f"{names}-> ms_need({body.strip()})"


def _filter_array(texts: Sequence[str], types: Types, result: SqlType) -> str:
    return f"filter({texts[0]}, {_condition(texts[1])})"


def _filter_map(texts: Sequence[str], types: Types, result: SqlType) -> str:
    """As in ksqlDB, which collects the entries into a new map, no value of it may be null."""
    kept = f"map_filter({texts[0]}, {_condition(texts[1])})"
    return f"ms_let({kept}, kept -> ms_new_map(map_keys(kept), map_values(kept)))"


def _transform_map(texts: Sequence[str], types: Types, result: SqlType) -> str:
    keys, values = (f"map_values(transform_values({texts[0]}, {function}))" for function in texts[1:])
    if isinstance(result, Map) and result.key == STRING:
        keys = f"transform({keys}, text -> coalesce(text, 'null'))"
    return f"ms_new_map({keys}, {values})"


LAMBDAS = (
    scalar(
        "TRANSFORM",
        "lambdas",
        "Applies the lambda to each element of an array, or two lambdas to the keys and values of a map.",
        (
            parse_signature("(array ARRAY<T>, each T => U) -> ARRAY<U>", "transform({0}, {1})"),
            parse_signature("(map MAP<K, V>, key (K, V) => R, value (K, V) => S) -> MAP<R, S>", _transform_map),
        ),
        "TRANSFORM(ARRAY[1, 2], x => x * 10)",
        "[10, 20]",
    ),
    scalar(
        "FILTER",
        "lambdas",
        "The elements or entries for which the lambda is true. It fails if that is NULL, or the value of a kept entry.",
        (
            parse_signature("(array ARRAY<T>, keep T => BOOLEAN) -> ARRAY<T>", _filter_array),
            parse_signature("(map MAP<K, V>, keep (K, V) => BOOLEAN) -> MAP<K, V>", _filter_map),
        ),
        "FILTER(ARRAY[1, 5, 9], x => x > 3)",
        "[5, 9]",
    ),
    scalar(
        "REDUCE",
        "lambdas",
        "Folds the elements or entries into a state, starting from a first state; that state for NULL.",
        (
            parse_signature("(array ARRAY<T>, state S, step (S, T) => S) -> S", _reduce_array),
            parse_signature("(map MAP<K, V>, state S, step (S, K, V) => S) -> S", _reduce_map),
        ),
        "REDUCE(ARRAY[1, 2, 3], 10, (s, x) => s + x)",
        "16",
    ),
)
