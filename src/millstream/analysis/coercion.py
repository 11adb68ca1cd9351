"""Implicit conversions: common types, coercion to a target type, existing casts
(docs/reference/types-and-coercion.md)."""

import re
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
from millstream.model.decimals import exact
from millstream.model.errors import NotSupported, Span, StatementError
from millstream.model.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INTEGER,
    MOST_DIGITS,
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
    """An expression that needs a common type with others; `literal` if it is a constant in the text `written`."""

    value: TypedExpression
    literal: bool
    span: Span
    written: tree.Expression | None = None


def agreed_type(left: SqlType, right: SqlType) -> SqlType | None:
    """The type to which values of both convert implicitly (the strict rules); None if there is none."""
    if left == right:
        return left
    if STRING in (left, right):
        other = right if left == STRING else left
        return other if other in (*TIMES, BYTES) else None
    return _agreed_inside(left, right) or widened(left, right)


def _agreed_inside(left: SqlType, right: SqlType) -> SqlType | None:
    if isinstance(left, Array) and isinstance(right, Array):
        element = agreed_type(left.element, right.element)
        return Array(element) if element else None
    if isinstance(left, Map) and isinstance(right, Map):
        key, value = agreed_type(left.key, right.key), agreed_type(left.value, right.value)
        return Map(key, value) if key and value else None
    if isinstance(left, Struct) and isinstance(right, Struct):
        return _agreed_struct(left, right)
    return None


def _agreed_struct(left: Struct, right: Struct) -> Struct | None:
    """The fields of both structs, matched by exact name; None if two fields of one name have no common type."""
    fields = {f.name: f.type for f in left.fields}
    for field in right.fields:
        both = agreed_type(fields[field.name], field.type) if field.name in fields else field.type
        if both is None:
            return None
        fields[field.name] = both
    return Struct(tuple(Field(name, field_type) for name, field_type in fields.items()))


def common_type(operands: Sequence[Operand]) -> SqlType | None:
    """The common type of a list of expressions; None if all are NULL.

    Literals adapt to the others (numeric text to numbers, numbers to text); other expressions only widen. Raises
    StatementError if there is no common type.
    """
    common: SqlType | None = None
    for operand in operands:
        common = operand.value.type if common is None else _common_with(common, operand)
    return common


def _common_with(common: SqlType, operand: Operand) -> SqlType:
    source = operand.value.type
    if source is None or (isinstance(operand.value, Constant) and operand.value.value is None):
        return common
    joined = _common_with_constructor(common, operand)
    if joined is None and operand.literal:
        joined = _common_with_literal(common, operand)
    if joined is None:
        joined = agreed_type(common, source)
    if joined is None:
        text = to_sql(operand.written) if operand.written else ""
        shown = f" ({text})" if 0 < len(text) <= _MOST_SHOWN else ""
        hint = cast_hint(common, source)
        raise StatementError(f"operator does not exist: {common} = {source}{shown}", operand.span, hint)
    return joined


def _common_with_constructor(common: SqlType, operand: Operand) -> SqlType | None:
    """`common` adapted to the elements of an array, map or struct constructor, which count as literals too.

    None if `operand` is not a constructor, or is one of another kind of type than `common`.
    """
    constructor = operand.value
    if isinstance(constructor, TypedArray) and isinstance(common, Array):
        return Array(_common_with_items(common.element, constructor.items, operand.span))
    if isinstance(constructor, TypedMap) and isinstance(common, Map):
        key = _common_with_items(common.key, [k for k, _ in constructor.entries], operand.span)
        return Map(key, _common_with_items(common.value, [v for _, v in constructor.entries], operand.span))
    if isinstance(constructor, TypedStruct) and isinstance(common, Struct):
        return _common_with_struct(common, constructor, operand.span)
    return None


def _common_with_items(common: SqlType, items: Sequence[TypedExpression], at: Span) -> SqlType:
    for item in items:
        common = _common_with(common, element_operand(item, at))
    return common


def _common_with_struct(common: Struct, struct: TypedStruct, at: Span) -> Struct:
    fields = {f.name: f.type for f in common.fields}
    for name, value in zip(struct_names(struct), struct.values, strict=True):
        if name in fields:
            fields[name] = _common_with(fields[name], element_operand(value, at))
        elif value.type is not None:
            fields[name] = value.type
    return Struct(tuple(Field(name, kind) for name, kind in fields.items()))


def struct_names(struct: TypedStruct) -> list[str]:
    """The names of the fields of a struct constructor."""
    assert isinstance(struct.type, Struct)
    return [f.name for f in struct.type.fields]


def element_operand(value: TypedExpression, at: Span) -> Operand:
    """An element of a constructor as an operand; it is a literal if it is a constant."""
    return Operand(value, isinstance(value, Constant), at)


def _common_with_literal(common: SqlType, operand: Operand) -> SqlType | None:
    assert isinstance(operand.value, Constant)
    source, text = operand.value.type, operand.value.value
    if source == STRING and isinstance(text, str) and is_numeric(common):
        number = text_conversions.numeric_type(text)
        if number is None:
            raise _invalid(text, common, operand.span)
        target = widened(common, number)
        if isinstance(target, Decimal):
            check_digits(number, operand.span)
        return target
    if source == STRING and isinstance(text, str) and common == BOOLEAN:
        return common if _readable(text, BOOLEAN) else _refuse(text, common, operand.span)
    return STRING if common == STRING and source is not None and (source == BOOLEAN or is_numeric(source)) else None


def _readable(text: str, target: SqlType) -> bool:
    try:
        text_conversions.read(text, target)
    except ValueError:
        return False
    return True


def _refuse(text: str, target: SqlType, at: Span) -> SqlType:
    raise _invalid(text, target, at)


def _invalid(text: str, target: SqlType, at: Span) -> StatementError:
    return StatementError(
        f'invalid input syntax for type {base_type(target)}: "{text}".', at, _EXAMPLES.get(target, "")
    )


def base_type(type: SqlType) -> str:
    """The name of a type without its parameters: DECIMAL, ARRAY, STRUCT."""
    return re.split(r"\W", str(type), maxsplit=1)[0]


_EXAMPLES: dict[SqlType, str] = {
    DATE: "a date reads 2024-02-29",
    TIME: "a time reads 23:59:59.999",
    TIMESTAMP: "a timestamp reads 2024-02-29T23:59:59.999, and may end in a zone such as +0200",
    BOOLEAN: "true, false, yes, no and their beginnings are booleans",
    BYTES: "bytes are written in base64",
}


_MOST_SHOWN = 60


def operand_text(operand: Operand) -> str:
    """An expression's text and type, for messages."""
    if operand.value.type is None:
        return "NULL"
    text = to_sql(operand.written) if operand.written else ""
    return f"{text} ({operand.value.type})" if 0 < len(text) <= _MOST_SHOWN else str(operand.value.type)


def convert(value: TypedExpression, target: SqlType, at: Span, lossless: bool = False) -> TypedExpression:
    """`value` converted to `target`, if that is known to be allowed: constants now, others by a cast at run time.

    With `lossless` the cast fails where it would round a DECIMAL.
    """
    if value.type == target:
        return value
    if value.type is None:
        return Constant(target, None)
    if isinstance(value, Constant):
        return _constant(value, target, at)
    return _converted_inside(value, target, at, lossless) or TypedCast(target, value, exact=lossless)


def _converted_inside(value: TypedExpression, target: SqlType, at: Span, lossless: bool) -> TypedExpression | None:
    if isinstance(value, TypedArray) and isinstance(target, Array):
        return TypedArray(target, tuple(convert(i, target.element, at, lossless) for i in value.items), value.strict)
    if isinstance(value, TypedMap) and isinstance(target, Map):
        entries = (
            (convert(k, target.key, at, lossless), convert(v, target.value, at, lossless)) for k, v in value.entries
        )
        return TypedMap(target, tuple(entries), value.strict)
    if isinstance(value, TypedStruct) and isinstance(target, Struct):
        values_by_name = dict(zip(struct_names(value), value.values, strict=True))
        null = Constant(None, None)
        values = tuple(convert(values_by_name.get(f.name, null), f.type, at, lossless) for f in target.fields)
        return TypedStruct(target, values, value.strict)
    return None


def _constant(const: Constant, target: SqlType, at: Span) -> TypedExpression:
    """A constant converted to `target` at planning time; as a cast at run time where that alone knows the result.

    Raises StatementError if the type cannot hold the value.
    """
    value = const.value
    if value is None:
        return Constant(target, None)
    if isinstance(value, str):
        return read_constant(value, target, at)
    if target == STRING and (const.type == BOOLEAN or as_decimal(const.type or STRING)):
        return Constant(STRING, format(value, "f") if isinstance(value, Number) else str(value).lower())
    if target == DOUBLE and isinstance(value, int | Number):
        return Constant(DOUBLE, float(value))
    if isinstance(target, Decimal) and isinstance(value, int):
        if abs(value) >= 10 ** (target.precision - target.scale):
            raise StatementError(f"{value} does not fit into {target}", at)
        return Constant(target, Number(value))
    if (isinstance(target, Decimal) and isinstance(value, Number)) or (const.type, target) == (INTEGER, BIGINT):
        return Constant(target, value)
    return TypedCast(target, const)


def read_constant(text: str, target: SqlType, at: Span) -> Constant:
    """The constant of type `target` that `text` denotes. Raises StatementError if it does not denote one."""
    try:
        return Constant(target, text_conversions.read(text, target))
    except ValueError:
        raise _invalid(text, target, at) from None


def decimal_constant(text: str, at: Span) -> Constant:
    """The DECIMAL constant of the narrowest type that `text` denotes. Raises StatementError if it is not a number."""
    number = text_conversions.number(text)
    if number is None:
        raise StatementError(f"'{text}' is not a valid DECIMAL", at)
    return Constant(check_digits(text_conversions.literal_type(number), at), number)


def check_digits(type: SqlType, at: Span) -> SqlType:
    """The type of a constant. Raises NotSupported for a DECIMAL with more digits than can be computed with.

    Their number is not bounded by the length of the text: '1e999999999' has a thousand million.
    """
    if isinstance(type, Decimal) and type.precision > MOST_DIGITS:
        raise NotSupported(f"a constant of more than {MOST_DIGITS} digits is not supported", at)
    return type


def cast_hint(left: SqlType | None, right: SqlType | None) -> str:
    """The hint for two types without a common type; "" if neither can be CAST to the other."""
    if left is None or right is None or not (castable(left, right) or castable(right, left)):
        return ""
    return "CAST one to the other's type"


def castable(source: SqlType, target: SqlType) -> bool:
    """True if `source` can be CAST to `target`."""
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
    target_types = {f.name: f.type for f in target.fields}
    return all(castable(f.type, target_types[f.name]) for f in source.fields if f.name in target_types)


def _castable_decimal(source: SqlType, target: SqlType) -> bool:
    return all(is_numeric(t) or t == STRING for t in (source, target))


def coerce(value: TypedExpression, target: SqlType, at: Span) -> TypedExpression:
    """`value` converted to `target` by the strict rules of INSERT VALUES.

    Numbers widen, and a DECIMAL becomes any DECIMAL that holds its value; text becomes dates, times, timestamps and
    bytes, but never numbers or booleans; fields of a STRUCT that its type does not have are left out. Raises
    StatementError for any other conversion.
    """
    if value.type is None:
        return Constant(target, None)
    if not is_assignable(value, target):
        hint = "CAST it" if castable(value.type, target) else ""
        raise StatementError(f"{value.type} cannot be used where {target} is expected", at, hint)
    return convert(value, target, at, lossless=True)


def widened_to_decimal(value: TypedExpression, target: SqlType, at: Span) -> TypedExpression:
    """`value` converted to `target` if that is a DECIMAL that can hold it; INSERT INTO … SELECT does so implicitly.

    A number constant counts with its own digits. Any other value is returned unchanged.
    """
    number = value.value if isinstance(value, Constant) and not isinstance(value.value, bool) else None
    number = Number(repr(number)) if isinstance(number, float) else number
    source = text_conversions.decimal_type(Number(number)) if isinstance(number, int | Number) else None
    source = source or (as_decimal(value.type) if value.type is not None else None)
    if source is None or not isinstance(target, Decimal) or value.type == target:
        return value
    is_lossless = source.scale <= target.scale and source.precision - source.scale <= target.precision - target.scale
    return convert(value, target, at) if is_lossless else value


def to_decimal(value: TypedExpression, at: Span) -> TypedExpression:
    """An INTEGER, BIGINT or DECIMAL as the DECIMAL that holds every value of its type."""
    decimal_type = as_decimal(value.type) if value.type else None
    assert decimal_type is not None
    return convert(value, decimal_type, at)


def is_assignable(value: TypedExpression, target: SqlType) -> bool:
    """True if `coerce` converts `value` to `target`."""
    source = value.type
    if source is None or source == target:
        return True
    if isinstance(value, TypedArray) and isinstance(target, Array):
        return all(is_assignable(i, target.element) for i in value.items)
    if isinstance(value, TypedMap) and isinstance(target, Map):
        return all(is_assignable(k, target.key) and is_assignable(v, target.value) for k, v in value.entries)
    if isinstance(value, TypedStruct) and isinstance(target, Struct):
        return _assignable_struct(value, target)
    if isinstance(source, Decimal) and isinstance(target, Decimal):
        number = value.value if isinstance(value, Constant) else None
        return not isinstance(number, Number) or exact(number, target) is not None
    return agreed_type(source, target) == target or (as_decimal(source) is not None and isinstance(target, Decimal))


def _assignable_struct(value: TypedStruct, target: Struct) -> bool:
    types = {f.name: f.type for f in target.fields}
    pairs = zip(struct_names(value), value.values, strict=True)
    return all(name not in types or is_assignable(v, types[name]) for name, v in pairs)
