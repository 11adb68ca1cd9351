"""Spark SQL text that writes a value of any SQL type as JSON text (TO_JSON_STRING), names in order."""

import json
from collections.abc import Sequence

from millstream.functions.operator_expressions import quoted
from millstream.model.types import (
    BYTES,
    DATE,
    DOUBLE,
    STRING,
    TIME,
    TIMESTAMP,
    Array,
    Decimal,
    Field,
    Map,
    SqlType,
    Struct,
)

# JSON has no such numbers, so they are written as text. \\u0024 is a dollar, which would begin a variable in Spark.
_NO_NUMBER = """'^(NaN|-?Infinity)\\u0024', '"\\u00241"'"""


def json_text(texts: Sequence[str], types: Sequence[SqlType | None], result: SqlType) -> str:
    """The lowering of TO_JSON_STRING; never NULL, since NULL is written as the text null."""
    return _or_null(texts[0], types[0], 0)


def _or_null(value: str, t: SqlType | None, depth: int) -> str:
    return "'null'" if t is None else f"coalesce({_json(value, t, depth)}, 'null')"


def _json(value: str, t: SqlType, depth: int) -> str:
    """JSON text of a value; null if the value is null. `depth` makes the names of nested lambdas distinct."""
    e = f"j{depth}"
    match t:
        case Array(element):
            inner = _or_null(e, element, depth + 1)
            return f"concat('[', array_join(transform({value}, {e} -> {inner}), ','), ']')"
        case Map(_, of):
            name = f"ms_json_quote(cast({e}.key as string))"
            inner = f"concat({name}, ':', {_or_null(f'{e}.value', of, depth + 1)})"
            return f"concat('{{', array_join(transform({_sorted_entries(value, depth)}, {e} -> {inner}), ','), '}}')"
        case Struct(fields):
            parts = [
                f"concat({quoted(json.dumps(f.name, ensure_ascii=False) + ':')},"
                f" {_or_null(f'{e}.F{i}', f.type, depth + 1)})"
                for i, f in sorted(enumerate(fields), key=_utf_16)
            ]
            texts = ", ".join(["','", *parts])
            body = f"concat('{{', concat_ws({texts}), '}}')"
            return f"element_at(transform(array({value}), {e} -> if({e} is null, null, {body})), 1)"
    return _plain(value, t)


def _utf_16(numbered: tuple[int, Field]) -> bytes:
    """Sorts numbered fields by their names as Java does."""
    return numbered[1].name.encode("utf-16-be")


def _sorted_entries(value: str, depth: int) -> str:
    """The entries of a map by their keys as text, in Java's order."""
    one, other = f"k{depth}", f"l{depth}"
    order = f"ms_text_order(cast({one}.key as string), cast({other}.key as string))"
    return f"array_sort(map_entries({value}), ({one}, {other}) -> {order})"


def _plain(value: str, t: SqlType) -> str:
    """JSON text of a value that is not nested; `value` is Spark SQL, and null gives null."""
    if t == STRING:
        return f"ms_json_quote({value})"
    if t == BYTES:
        return f"ms_json_quote(ms_from_bytes({value}, 'base64'))"
    if t == DATE:
        return f"ms_json_quote(cast({value} as string))"
    if t == TIME:
        return f"ms_json_quote(ms_time_text({value}))"
    if t == TIMESTAMP:
        return f"ms_json_quote(date_format({value}, \"yyyy-MM-dd'T'HH:mm:ss.SSS\"))"
    if isinstance(t, Decimal):
        return f"ms_plain({value})"
    if t == DOUBLE:
        return f"ms_regexp_replace(cast({value} as string), {_NO_NUMBER})"
    return f"cast({value} as string)"
