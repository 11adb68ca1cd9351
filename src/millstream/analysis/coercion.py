"""Which types become which without being asked: widening, common types, casts that exist (features.md §4.4-4.5)."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal as Number

from millstream.analysis import text_conversions
from millstream.analysis.typed_expressions import (
    Constant,
    TypedArray,
    TypedCast,
    TypedExpression,
    TypedMap,
    TypedStruct,
)
from millstream.functions.widening import TIMES, as_decimal, widened
from millstream.model.errors import Span, StatementError
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
    Field,
    Map,
    SqlType,
    Struct,
    is_numeric,
)
from millstream.syntax import tree
from millstream.syntax.printer import to_sql

_PLAIN = (INTEGER, BIGINT, DOUBLE, BOOLEAN, STRING, BYTES, *TIMES)
_CASTS = {
    (BOOLEAN, STRING),
    *((STRING, to) for to in _PLAIN),
    *((number, to) for number in (INTEGER, BIGINT, DOUBLE) for to in (INTEGER, BIGINT, DOUBLE, STRING)),
    *((time, STRING) for time in TIMES),
    (DATE, TIMESTAMP),
    (TIMESTAMP, DATE),
    (TIMESTAMP, TIME),
}


@dataclass(frozen=True, slots=True)
class Operand:
    """An expression whose type is to agree with others; `literal` where it is a constant in the text `written`."""

    value: TypedExpression
    literal: bool
    span: Span
    written: tree.Expression | None = None


def agreed(left: SqlType, right: SqlType) -> SqlType | None:
    """The type that values of both become without being asked (the strict regime), None where there is none."""
    if left == right:
        return left
    if STRING in (left, right):
        other = right if left == STRING else left
        return other if other in (*TIMES, BYTES) else None
    return _agreed_inside(left, right) or widened(left, right)


def _agreed_inside(left: SqlType, right: SqlType) -> SqlType | None:
    if isinstance(left, Array) and isinstance(right, Array):
        element = agreed(left.element, right.element)
        return Array(element) if element else None
    if isinstance(left, Map) and isinstance(right, Map):
        key, value = agreed(left.key, right.key), agreed(left.value, right.value)
        return Map(key, value) if key and value else None
    if isinstance(left, Struct) and isinstance(right, Struct):
        return _agreed_struct(left, right)
    return None


def _agreed_struct(left: Struct, right: Struct) -> Struct | None:
    """All fields of both, by exact name."""
    fields = {f.name: f.type for f in left.fields}
    for field in right.fields:
        both = agreed(fields[field.name], field.type) if field.name in fields else field.type
        if both is None:
            return None
        fields[field.name] = both
    return Struct(tuple(Field(name, made) for name, made in fields.items()))


def common_type(given: Sequence[Operand]) -> SqlType | None:
    """The type on which a list of expressions agrees; None where all are NULL.

    Literals adapt to the others (text that is a number to numbers, numbers to text); other expressions only widen.
    Raises StatementError where they don't agree.
    """
    common: SqlType | None = None
    for one in given:
        common = one.value.type if common is None else _joined(common, one)
    return common


def _joined(common: SqlType, one: Operand) -> SqlType:
    own = one.value.type
    if own is None or (isinstance(one.value, Constant) and one.value.value is None):
        return common
    joined = _joined_constructor(common, one)
    if joined is None and one.literal:
        joined = _joined_literal(common, one)
    if joined is None:
        joined = agreed(common, own)
    if joined is None:
        raise StatementError(f"{common} and {shown(one)} have no common type", one.span, CAST_ONE)
    return joined


def _joined_constructor(common: SqlType, one: Operand) -> SqlType | None:
    """What `common` becomes with the elements of an array, map or struct that is spelled out: they are literals too."""
    made = one.value
    if isinstance(made, TypedArray) and isinstance(common, Array):
        return Array(_joined_all(common.element, made.items, one.span))
    if isinstance(made, TypedMap) and isinstance(common, Map):
        key = _joined_all(common.key, [k for k, _ in made.entries], one.span)
        return Map(key, _joined_all(common.value, [v for _, v in made.entries], one.span))
    if isinstance(made, TypedStruct) and isinstance(common, Struct):
        return _joined_struct(common, made, one.span)
    return None


def _joined_all(common: SqlType, items: Sequence[TypedExpression], at: Span) -> SqlType:
    for item in items:
        common = _joined(common, given(item, at))
    return common


def _joined_struct(common: Struct, made: TypedStruct, at: Span) -> Struct:
    fields = {f.name: f.type for f in common.fields}
    for name, value in zip(struct_names(made), made.values, strict=True):
        if name in fields:
            fields[name] = _joined(fields[name], given(value, at))
        elif value.type is not None:
            fields[name] = value.type
    return Struct(tuple(Field(name, kind) for name, kind in fields.items()))


def struct_names(made: TypedStruct) -> list[str]:
    """The names of the fields of a struct that is spelled out."""
    assert isinstance(made.type, Struct)
    return [f.name for f in made.type.fields]


def given(value: TypedExpression, at: Span) -> Operand:
    """An element of a constructor, which counts as a literal where it is a constant."""
    return Operand(value, isinstance(value, Constant), at)


def _joined_literal(common: SqlType, one: Operand) -> SqlType | None:
    assert isinstance(one.value, Constant)
    own, text = one.value.type, one.value.value
    if own == STRING and isinstance(text, str) and is_numeric(common):
        number = text_conversions.numeric_type(text)
        if number is None:
            raise _invalid(text, common, one.span)
        return widened(common, number)
    if own == STRING and isinstance(text, str) and common == BOOLEAN:
        return common if _readable(text, BOOLEAN) else _refuse(text, common, one.span)
    return STRING if common == STRING and own is not None and (own == BOOLEAN or is_numeric(own)) else None


def _readable(text: str, wanted: SqlType) -> bool:
    try:
        text_conversions.read(text, wanted)
    except ValueError:
        return False
    return True


def _refuse(text: str, wanted: SqlType, at: Span) -> SqlType:
    raise _invalid(text, wanted, at)


def _invalid(text: str, wanted: SqlType, at: Span) -> StatementError:
    return StatementError(f"'{text}' is no {wanted}", at, _SHAPES.get(wanted, ""))


_SHAPES: dict[SqlType, str] = {
    DATE: "a date reads 2024-02-29",
    TIME: "a time reads 23:59:59.999",
    TIMESTAMP: "a timestamp reads 2024-02-29T23:59:59.999, and may end in a zone such as +0200",
    BOOLEAN: "true, false, yes, no and their beginnings are booleans",
    BYTES: "bytes are written in base64",
}


CAST_ONE = "CAST one to the other's type"
_MOST_SHOWN = 60


def shown(one: Operand) -> str:
    """An expression in a message: its text and type."""
    if one.value.type is None:
        return "NULL"
    text = to_sql(one.written) if one.written else ""
    return f"{text} ({one.value.type})" if 0 < len(text) <= _MOST_SHOWN else str(one.value.type)


def converted(value: TypedExpression, wanted: SqlType, at: Span) -> TypedExpression:
    """`value` as `wanted`, where it is known to be allowed: constants now, others by a cast at run time."""
    if value.type == wanted:
        return value
    if value.type is None:
        return Constant(wanted, None)
    if isinstance(value, Constant):
        return _constant(value, wanted, at)
    return _converted_inside(value, wanted, at) or TypedCast(wanted, value)


def _converted_inside(value: TypedExpression, wanted: SqlType, at: Span) -> TypedExpression | None:
    if isinstance(value, TypedArray) and isinstance(wanted, Array):
        return TypedArray(wanted, tuple(converted(i, wanted.element, at) for i in value.items), value.whole)
    if isinstance(value, TypedMap) and isinstance(wanted, Map):
        entries = ((converted(k, wanted.key, at), converted(v, wanted.value, at)) for k, v in value.entries)
        return TypedMap(wanted, tuple(entries), value.whole)
    if isinstance(value, TypedStruct) and isinstance(wanted, Struct):
        mine = dict(zip(struct_names(value), value.values, strict=True))
        null = Constant(None, None)
        values = tuple(converted(mine.get(f.name, null), f.type, at) for f in wanted.fields)
        return TypedStruct(wanted, values, value.whole)
    return None


def _constant(const: Constant, wanted: SqlType, at: Span) -> TypedExpression:
    value = const.value
    if value is None:
        return Constant(wanted, None)
    if isinstance(value, str):
        return read(value, wanted, at)
    if wanted == STRING and (const.type == BOOLEAN or as_decimal(const.type or STRING)):
        return Constant(STRING, format(value, "f") if isinstance(value, Number) else str(value).lower())
    if wanted == DOUBLE and isinstance(value, int | Number):
        return Constant(DOUBLE, float(value))
    if isinstance(wanted, Decimal) and isinstance(value, int):
        return Constant(wanted, Number(value))
    if (isinstance(wanted, Decimal) and isinstance(value, Number)) or (const.type, wanted) == (INTEGER, BIGINT):
        return Constant(wanted, value)
    return TypedCast(wanted, const)


def read(text: str, wanted: SqlType, at: Span) -> Constant:
    """The constant of type `wanted` that `text` stands for; a StatementError where it stands for none."""
    try:
        return Constant(wanted, text_conversions.read(text, wanted))
    except ValueError:
        raise _invalid(text, wanted, at) from None


def decimal(text: str, at: Span) -> Constant:
    """The DECIMAL constant that `text` stands for, of the narrowest type; a StatementError where it is no number."""
    number = text_conversions.number(text)
    if number is None:
        raise StatementError(f"'{text}' is no DECIMAL", at)
    return Constant(text_conversions.decimal_type(number), number)


def castable(source: SqlType, target: SqlType) -> bool:
    """Whether CAST of `source` to `target` exists."""
    if source == target:
        return True
    if isinstance(source, Array) and isinstance(target, Array):
        return castable(source.element, target.element)
    if isinstance(source, Map) and isinstance(target, Map):
        return castable(source.key, target.key) and castable(source.value, target.value)
    if isinstance(source, Struct) and isinstance(target, Struct):
        return _castable_struct(source, target)
    if isinstance(source, Array | Map | Struct):
        return target == STRING
    if isinstance(source, Decimal) or isinstance(target, Decimal):
        return _castable_decimal(source, target)
    return (source, target) in _CASTS


def _castable_struct(source: Struct, target: Struct) -> bool:
    wanted = {f.name: f.type for f in target.fields}
    return all(castable(f.type, wanted[f.name]) for f in source.fields if f.name in wanted)


def _castable_decimal(source: SqlType, target: SqlType) -> bool:
    return all(is_numeric(t) or t == STRING for t in (source, target))


def coerced(value: TypedExpression, wanted: SqlType, at: Span) -> TypedExpression:
    """`value` as `wanted` in the strict regime of INSERT VALUES and key lookups: numbers widen, text becomes
    dates, times, timestamps and bytes; never text a number or a boolean. Raises StatementError for anything else.
    """
    if value.type is None:
        return Constant(wanted, None)
    if not _assignable(value, wanted):
        raise StatementError(f"{value.type} cannot stand where {wanted} is wanted", at, "CAST it")
    return converted(value, wanted, at)


def _assignable(value: TypedExpression, wanted: SqlType) -> bool:
    source = value.type
    if source is None or source == wanted:
        return True
    if isinstance(value, TypedArray) and isinstance(wanted, Array):
        return all(_assignable(i, wanted.element) for i in value.items)
    if isinstance(value, TypedMap) and isinstance(wanted, Map):
        return all(_assignable(k, wanted.key) and _assignable(v, wanted.value) for k, v in value.entries)
    if isinstance(value, TypedStruct) and isinstance(wanted, Struct):
        return _assignable_struct(value, wanted)
    if isinstance(source, Decimal) and isinstance(wanted, Decimal):
        return source.scale <= wanted.scale and source.precision - source.scale <= wanted.precision - wanted.scale
    return agreed(source, wanted) == wanted or (as_decimal(source) is not None and isinstance(wanted, Decimal))


def _assignable_struct(value: TypedStruct, wanted: Struct) -> bool:
    types = {f.name: f.type for f in wanted.fields}
    pairs = zip(struct_names(value), value.values, strict=True)
    return all(name in types and _assignable(v, types[name]) for name, v in pairs)
