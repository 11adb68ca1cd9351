"""CAST as Spark SQL text that throws where the language's cast fails, and formats values as the language does."""

from collections.abc import Callable

from millstream.functions.operator_expressions import quoted
from millstream.functions.sparktype import spark_type
from millstream.model.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INTEGER,
    STRING,
    TIME,
    TIMESTAMP,
    Array,
    Decimal,
    Map,
    SqlType,
    Struct,
    computed,
)
from millstream.spark.constants import constant

_FROM_TEXT: dict[SqlType, str] = {
    BOOLEAN: "ms_boolean",
    INTEGER: "ms_int",
    BIGINT: "ms_bigint",
    DOUBLE: "ms_double",
    DATE: "ms_date",
    TIME: "ms_time",
    TIMESTAMP: "ms_timestamp",
    BYTES: "ms_base64",
}
_TO_TEXT: dict[SqlType, str] = {
    TIME: "ms_time_text({})",
    TIMESTAMP: "date_format({}, \"yyyy-MM-dd'T'HH:mm:ss.SSS\")",
    BYTES: "ms_from_bytes({}, 'base64')",
}
_INTEGER_DIGITS: dict[SqlType, int] = {INTEGER: 10, BIGINT: 19}


def cast(text: str, source: SqlType, target: SqlType, depth: int = 0) -> str:
    """Spark SQL text of CAST(text AS target); `depth` makes the variables of nested collections distinct."""
    if source == target:
        return text
    if target == STRING:
        return _to_text(text, source, depth)
    if isinstance(target, Decimal):
        return _to_decimal(text, source, target)
    if isinstance(target, Array | Map | Struct):
        return _inside(text, source, target, depth)
    if source == STRING:
        return f"{_FROM_TEXT[target]}({text})"
    if (source, target) == (TIMESTAMP, TIME):
        return f"pmod(unix_millis({text}), 86400000L)"
    return f"CAST({text} AS {spark_type(target)})"


def exact_decimal(text: str, target: Decimal) -> str:
    """Spark SQL text of a DECIMAL as another DECIMAL, which throws where it would round: a sum is never rounded."""
    stored = computed(target)
    return f"ms_decimal_add({text}, 0BD, {stored.precision}, {stored.scale})"


def fails(source: SqlType, target: SqlType) -> bool:
    """True if some value of `source` cannot be converted to `target`."""
    match source, target:
        case Array(a), Array(b):
            return fails(a, b)
        case Map(), Map():
            return True
        case Struct(), Struct():
            types = {f.name: f.type for f in source.fields}
            return any(fails(types[f.name], f.type) for f in target.fields if f.name in types)
    if isinstance(target, Decimal):
        return source != target and not _always_fits(source, target)
    return source == STRING and target not in (STRING, BOOLEAN)


# ---------------------------------------------------------------- decimals


def _to_decimal(text: str, source: SqlType, target: Decimal) -> str:
    stored = computed(target)
    size = f"{stored.precision}, {stored.scale}"
    if _always_fits(source, target):
        return f"CAST({text} AS {spark_type(target)})"
    if source == STRING:
        return f"ms_decimal_of_text({text}, {size})"
    if source == DOUBLE:
        return f"ms_decimal_of_double({text}, {size})"
    if isinstance(source, Decimal):
        return f"ms_decimal_of_decimal({text}, {size})"
    return f"ms_decimal_of_bigint(CAST({text} AS BIGINT), {size})"


def _always_fits(source: SqlType, target: Decimal) -> bool:
    """True if every value of `source` fits `target`."""
    stored = computed(target)
    integer_digits = stored.precision - stored.scale
    if isinstance(source, Decimal):
        source_size = computed(source)
        return source_size.scale <= stored.scale and source_size.precision - source_size.scale <= integer_digits
    return _INTEGER_DIGITS.get(source, 100) <= integer_digits


# ---------------------------------------------------------------- text


def _to_text(text: str, source: SqlType, depth: int) -> str:
    match source:
        case Decimal():
            return f"ms_plain({text})"
        case Array(element):
            return f"concat('[', array_join({_texts(text, element, depth)}, ', '), ']')"
        case Map(key, value):
            entries = f"ms_hashed_entries({text})"
            return f"concat('{{', array_join({_entry_texts(entries, key, value, depth)}, ', '), '}}')"
        case Struct():
            return _struct_text(text, source, depth)
    return _TO_TEXT.get(source, "CAST({} AS STRING)").format(text)


def _texts(text: str, element: SqlType, depth: int) -> str:
    item = f"e{depth}"
    return f"transform({text}, {item} -> {_word(item, element, depth + 1)})"


def _entry_texts(entries: str, key: SqlType, value: SqlType, depth: int) -> str:
    item = f"e{depth}"
    words = _word(f"{item}.key", key, depth + 1), _word(f"{item}.value", value, depth + 1)
    return f"transform({entries}, {item} -> concat({words[0]}, '=', {words[1]}))"


def _word(text: str, source: SqlType, depth: int) -> str:
    return f"coalesce({cast(text, source, STRING, depth)}, 'null')"


def _struct_text(text: str, source: Struct, depth: int) -> str:
    """`Struct{A=1,B=x}`, without the fields that are null."""

    def shown(item: str, depth: int) -> str:
        """Spark SQL of the struct `item` as text; concat_ws leaves out the fields that are null."""
        fields = (
            f"concat({quoted(f.name + '=')}, {cast(f'{item}.F{i}', f.type, STRING, depth)})"
            for i, f in enumerate(source.fields)
        )
        texts = ", ".join(["','", *fields])
        return f"concat('Struct{{', concat_ws({texts}), '}}')"

    return _once(text, shown, depth)


# ---------------------------------------------------------------- collections and structs


def _inside(text: str, source: SqlType, target: SqlType, depth: int) -> str:
    item = f"e{depth}"
    match source, target:
        case Array(a), Array(b):
            return f"transform({text}, {item} -> {cast(item, a, b, depth + 1)})"
        case Map(), Map():
            key = cast(f"{item}.key", source.key, target.key, depth + 1)
            value = cast(f"{item}.value", source.value, target.value, depth + 1)
            entries = f"transform(map_entries({text}), {item} -> struct({key} AS key, {value} AS value))"
            return f"map_from_entries({entries})"
        case Struct(), Struct():
            return _once(text, lambda value, depth: _struct(value, source, target, depth), depth)
    raise TypeError(f"no cast of {source} to {target}")


def _struct(text: str, source: Struct, target: Struct, depth: int) -> str:
    fields = (f"'F{i}', {_field(text, source, f.name, f.type, depth)}" for i, f in enumerate(target.fields))
    return f"named_struct({', '.join(fields)})"


def _field(text: str, source: Struct, name: str, target: SqlType, depth: int) -> str:
    index = source.index(name)
    if index is None:
        return constant(None, target)
    return cast(f"{text}.F{index}", source.fields[index].type, target, depth)


def _once(text: str, make: Callable[[str, int], str], depth: int) -> str:
    """The text that `make` returns for a variable bound to `text`, so that it is computed once; null if that is
    null."""
    if text.replace(".", "").isalnum():
        return f"if({text} IS NULL, NULL, {make(text, depth)})"
    item = f"e{depth}"
    return f"transform(array({text}), {item} -> if({item} IS NULL, NULL, {make(item, depth + 1)}))[0]"
