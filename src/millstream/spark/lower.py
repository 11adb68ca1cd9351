"""From a typed expression to Spark SQL text, for expr() over a relation of key, value, rowtime, partition, offset.

An expression that fails in the language throws here, and `guarded` turns that into null and a log entry. Null operands
of arithmetic are failures too; since arithmetic returns null for them, one ms_need around the whole of it is enough. So
is a divisor of zero, for which Spark's division returns null: ms_divisor throws before.
"""

from collections.abc import Sequence
from decimal import Decimal as Number
from functools import singledispatch

from millstream.analysis import typed_expressions as typed
from millstream.functions.declare import LambdaType
from millstream.functions.operator_expressions import SparkSql, quoted
from millstream.functions.signatures import call_sql
from millstream.functions.sparktype import OWN_ORDER, negated, sorts_alike
from millstream.model.types import (
    BIGINT,
    BYTES,
    DOUBLE,
    INTEGER,
    STRING,
    Array,
    Decimal,
    Map,
    SqlType,
    Struct,
    computed,
)
from millstream.spark.casts import cast, exact_decimal, fails
from millstream.spark.constants import constant

_PLACES = {typed.ColumnPlace.KEY: "key.K{}", typed.ColumnPlace.VALUE: "value.V{}"}
_NEVER_NULL = (typed.ColumnPlace.ROWTIME, typed.ColumnPlace.ROWPARTITION, typed.ColumnPlace.ROWOFFSET)
_BOOLEANS = (
    typed.TypedComparison,
    typed.TypedLogical,
    typed.TypedNot,
    typed.TypedIsNull,
    typed.TypedInList,
    typed.TypedLike,
)
# For quotients and results that are too wide for Spark's own operators; losing a digit is a failure.
_DECIMALS = {
    "+": "ms_decimal_add",
    "-": "ms_decimal_subtract",
    "*": "ms_decimal_multiply",
    "/": "ms_decimal_divide",
    "%": "ms_decimal_remainder",
}
# Division of doubles, which gives infinity or NaN for a divisor of zero.
_DOUBLES = {"/": "ms_divide", "%": "ms_remainder"}
# Functions that build large values; ours that repeat text check the size first (jvm/RowBudget.scala).
_GROWING = frozenset(
    (
        *("ARRAY_CONCAT", "ARRAY_JOIN", "ARRAY_UNION", "CONCAT", "CONCAT_WS", "ENCODE", "JSON_CONCAT"),
        *("MAP_UNION", "TO_JSON_STRING", "TRANSFORM"),
    )
)
_ORDER = ("<", "<=", ">", ">=")


def to_sql(expression: typed.TypedExpression, label: str | None = None) -> SparkSql:
    """Spark SQL text that computes `expression` and throws if it fails.

    With a label, each element of a constructor, each CAST and each argument that is a call is guarded by itself: if
    that fails, it is null and an entry with the label is logged. Without a label nothing is guarded, and no column is
    needed.
    """
    return SparkSql(_sql(expression, label))


def guarded(expression: typed.TypedExpression, label: str) -> SparkSql:
    """Spark SQL text that computes `expression`; if it fails, null and an entry labelled `label` in the processing
    log."""
    text = _sql(expression, label)
    return SparkSql(text if _is_lone_cast(expression) or not may_fail(expression) else _guard(text, label))


def _guard(text: str, label: str) -> str:
    return f"ms_guard({text}, {quoted(label)}, partition, offset)"


def _is_lone_cast(expression: typed.TypedExpression) -> bool:
    """True for a CAST that is guarded wherever it stands."""
    return isinstance(expression, typed.TypedCast) and expression.alone


def may_fail(expression: typed.TypedExpression) -> bool:
    """True if computing `expression` can throw."""
    match expression:
        case typed.TypedCall() | typed.TypedLike():
            return True
        case typed.TypedComparison() if expression.mixed:
            return True
        case typed.TypedCast(target, operand, _):
            return may_fail(operand) or _cast_fails(operand.type, target)
        case typed.TypedArithmetic(type, operator, left, right):
            exact = type in (DOUBLE, STRING) or _is_exact(type, operator, right)
            return not exact or (type != STRING and _needs(expression)) or may_fail(left) or may_fail(right)
        case typed.TypedNegation(_, operand):
            return may_be_null(operand) or may_fail(operand)
        case typed.TypedLogical() | typed.TypedNot() | typed.TypedCase():
            return any(may_be_null(c) for c in _conditions(expression)) or any(map(may_fail, expression.children()))
        case typed.TypedMap(_, entries, strict) if not strict:
            return any(key.type != STRING and (may_be_null(key) or may_fail(key)) for key, _ in entries)
        case typed.TypedArray() | typed.TypedStruct() if not expression.strict:
            return False
    return any(map(may_fail, expression.children()))


def _is_exact(type: SqlType | None, operator: str, right: typed.TypedExpression) -> bool:
    """True if integer or decimal arithmetic has a result for all operands."""
    if isinstance(type, Decimal):
        return computed(type) == type and operator in "+-*"
    return operator in "+-*" or _is_number(right)


def may_be_null(expression: typed.TypedExpression) -> bool:
    """True if `expression` can be null without failing."""
    match expression:
        case typed.Constant(_, value):
            return value is None
        case typed.ColumnReference(_, where):
            return where not in _NEVER_NULL
        case (
            typed.TypedArithmetic()
            | typed.TypedNegation()
            | typed.TypedArray()
            | typed.TypedMap()
            | typed.TypedStruct()
        ):
            return False
        case typed.TypedCast(_, operand, alone):
            return may_be_null(operand) or (alone and may_fail(expression))
        case typed.TypedCase(_, whens, otherwise):
            return any(may_be_null(r) for r in (otherwise, *(result for _, result in whens)))
    return not isinstance(expression, _BOOLEANS)


def _cast_fails(source: SqlType | None, target: SqlType | None) -> bool:
    return source is not None and target is not None and source != target and fails(source, target)


def _conditions(expression: typed.TypedLogical | typed.TypedNot | typed.TypedCase) -> list[typed.TypedExpression]:
    """The operands that must be true or false."""
    match expression:
        case typed.TypedLogical(_, _, left, right):
            return [left, right]
        case typed.TypedNot(_, operand):
            return [operand]
        case typed.TypedCase(_, whens, _):
            return [condition for condition, _ in whens]
    raise TypeError(expression)


@singledispatch
def _sql(expression: typed.TypedExpression, label: str | None) -> str:
    raise TypeError(f"no Spark SQL for {type(expression).__name__}")


def _not_null(expression: typed.TypedExpression, label: str | None) -> str:
    """SQL of a value that must not be null: evaluating it throws if it is."""
    text = _sql(expression, label)
    return f"ms_need({text})" if may_be_null(expression) else text


def _or_false(text: str, operands: Sequence[typed.TypedExpression]) -> str:
    return f"coalesce({text}, false)" if any(map(may_be_null, operands)) else text


# ---------------------------------------------------------------- names and constants


@_sql.register
def _(expression: typed.ColumnReference, label: str | None) -> str:
    return _PLACES.get(expression.where, expression.where.value).format(expression.index)


@_sql.register
def _(expression: typed.Constant, label: str | None) -> str:
    return constant(expression.value, expression.type)


@_sql.register
def _(expression: typed.LambdaVariable, label: str | None) -> str:
    return expression.name


@_sql.register
def _(expression: typed.TypedUnit, label: str | None) -> str:
    return expression.name


@_sql.register
def _(expression: typed.TypedLambda, label: str | None) -> str:
    names = [p.name for p in expression.parameters]
    head = names[0] if len(names) == 1 else f"({', '.join(names)})"
    return f"{head} -> ms_step({_bounded(_sql(expression.body, label), expression.body.type)})"


def _bounded(text: str, type: SqlType | None) -> str:
    """A value that fails if it is larger than a function's result may be; numbers are not checked."""
    return f"ms_bounded({text})" if type in (STRING, BYTES) or isinstance(type, Array | Map | Struct) else text


@_sql.register
def _(expression: typed.TypedField, label: str | None) -> str:
    return f"{_sql(expression.base, label)}.F{expression.index}"


@_sql.register
def _(expression: typed.TypedElement, label: str | None) -> str:
    base, index = _sql(expression.base, label), _sql(expression.index, label)
    if isinstance(expression.base.type, Map):
        return f"element_at({base}, {index})"
    if not isinstance(expression.index, typed.Constant):
        return f"try_element_at({base}, nullif({index}, 0))"
    position = expression.index.value
    if not isinstance(position, int) or position == 0:
        return constant(None, expression.type)
    return f"{base}[{position - 1}]" if position > 0 else f"element_at({base}, {position})"


# ---------------------------------------------------------------- arithmetic


@_sql.register
def _(expression: typed.TypedArithmetic, label: str | None) -> str:
    if expression.type == STRING:
        parts = (_text(_sql(p, label), may_be_null(p)) for p in (expression.left, expression.right))
        return f"concat({', '.join(parts)})"
    text = _arithmetic(expression, label)
    return f"ms_need({text})" if _needs(expression) else text


def _text(text: str, nullable: bool) -> str:
    """Text as Java concatenates it: a null is the word null."""
    return f"coalesce({text}, 'null')" if nullable else text


def _needs(expression: typed.TypedExpression) -> bool:
    """True if arithmetic can return null: for a null operand."""
    if isinstance(expression, typed.TypedNegation):
        return _needs(expression.operand)
    if not isinstance(expression, typed.TypedArithmetic) or expression.type == STRING:
        return may_be_null(expression)
    return _needs(expression.left) or _needs(expression.right)


def _is_number(expression: typed.TypedExpression) -> bool:
    """True for a constant that is not zero, a safe divisor."""
    return (
        isinstance(expression, typed.Constant)
        and isinstance(expression.value, int | float | Number)
        and expression.value != 0
    )


def _arithmetic(expression: typed.TypedExpression, label: str | None) -> str:
    """Arithmetic that returns null for null operands."""
    if isinstance(expression, typed.TypedNegation):
        return negated(_arithmetic(expression.operand, label), expression.type)
    if not isinstance(expression, typed.TypedArithmetic) or expression.type == STRING:
        return _sql(expression, label)
    left, right = _arithmetic(expression.left, label), _arithmetic(expression.right, label)
    if isinstance(expression.type, Decimal) and (
        expression.operator == "/" or computed(expression.type) != expression.type
    ):
        stored = computed(expression.type)
        return f"{_DECIMALS[expression.operator]}({left}, {right}, {stored.precision}, {stored.scale})"
    if expression.operator in _DOUBLES and not _is_number(expression.right):
        if expression.type == DOUBLE:
            return f"{_DOUBLES[expression.operator]}({left}, {right})"
        right = f"ms_divisor({right})"
    match expression.operator, expression.type:
        case "/", t if t == INTEGER:
            return f"CAST(({left} div {right}) AS INT)"
        case "/", t if t == BIGINT:
            return f"({left} div {right})"
    return f"({left} {expression.operator} {right})"


@_sql.register
def _(expression: typed.TypedNegation, label: str | None) -> str:
    text = _arithmetic(expression, label)
    return f"ms_need({text})" if _needs(expression) else text


# ---------------------------------------------------------------- conditions


@_sql.register
def _(expression: typed.TypedComparison, label: str | None) -> str:
    texts = {"one": _sql(expression.left, label), "other": _sql(expression.right, label)}
    if not _reads_twice(expression) or not any(map(_is_guarded, texts.values())):
        return _compared(expression, *texts.values())
    text = _compared(expression, *texts)
    for name, value in texts.items():
        text = f"ms_let({value}, {name} -> {text})"
    return text


def _is_guarded(text: str) -> bool:
    """True if evaluating the text twice could log a failure twice."""
    return "ms_guard(" in text


def _reads_twice(expression: typed.TypedComparison) -> bool:
    """True if the text of the comparison contains that of an operand twice."""
    type = expression.left.type
    distinct = expression.mixed and expression.operator.startswith("IS ")
    return distinct or (type == DOUBLE and not expression.mixed) or (type is not None and type.contains_map)


def _compared(expression: typed.TypedComparison, left: str, right: str) -> str:
    """A comparison as Spark SQL in the language's order and equality; false if an operand is null, but for IS DISTINCT
    FROM.
    """
    if expression.left.type is not None and expression.left.type.contains_map:
        return _compared_same(expression.operator, f"ms_same({left}, {right})", left, right)
    if expression.mixed:
        return _compared_numbers(expression, left, right)
    if expression.operator == "IS NOT DISTINCT FROM":
        return f"({left} <=> {right})"
    if expression.operator == "IS DISTINCT FROM":
        return f"(NOT ({left} <=> {right}))"
    text = f"({left} {expression.operator} {right})"
    order = OWN_ORDER.get(expression.left.type)
    if order is not None and expression.operator in _ORDER and not _sorts_alike(expression):
        text = f"({order}_order({left}, {right}) {expression.operator} 0)"
    if expression.left.type == DOUBLE:
        text = _without_nan(text, expression, left, right)
    return _or_false(text, (expression.left, expression.right))


def _sorts_alike(expression: typed.TypedComparison) -> bool:
    """True if one side is a constant that sorts the same in Spark's order, by UTF-8 bytes."""
    values = [side.value for side in (expression.left, expression.right) if isinstance(side, typed.Constant)]
    return any(isinstance(value, str) and sorts_alike(value) for value in values)


def _without_nan(text: str, expression: typed.TypedComparison, left: str, right: str) -> str:
    """In Spark NaN is the greatest number and equals itself; in the language every comparison with it is false, also
    that by <>, which ksqlDB computes as `a < b || a > b`."""
    sides = ((left, expression.left), (right, expression.right))
    if expression.operator == "<>":
        return f"({' AND '.join((text, *(f'NOT isnan({side})' for side, e in sides if not _is_constant(e))))})"
    greater, operand = sides["<" in expression.operator]
    if _is_constant(operand) or (expression.operator == "=" and _is_constant(expression.right)):
        return text
    return f"({text} AND NOT isnan({greater}))"


def _is_constant(expression: typed.TypedExpression) -> bool:
    return isinstance(expression, typed.Constant)


def _compared_numbers(expression: typed.TypedComparison, left: str, right: str) -> str:
    """A DECIMAL and a DOUBLE, by the number that the DOUBLE is written as: Spark may have no type for both."""
    turned = expression.left.type == DOUBLE
    order = f"ms_double_order({left}, {right})" if turned else f"(-ms_double_order({right}, {left}))"
    if expression.operator.startswith("IS "):
        return _compared_same(expression.operator, f"({order} = 0)", left, right)
    return _or_false(f"({order} {expression.operator} 0)", (expression.left, expression.right))


def _compared_same(operator: str, same: str, left: str, right: str) -> str:
    """A comparison of equality by the text `same`, which is null if an operand is: Spark cannot compare maps, so their
    entries are compared."""
    match operator:
        case "=":
            return f"coalesce({same}, false)"
        case "<>":
            return f"coalesce((NOT {same}), false)"
        case "IS NOT DISTINCT FROM":
            return f"coalesce({same}, ({left} IS NULL AND {right} IS NULL))"
    return f"(NOT coalesce({same}, ({left} IS NULL AND {right} IS NULL)))"


@_sql.register
def _(expression: typed.TypedLogical, label: str | None) -> str:
    return f"({_not_null(expression.left, label)} {expression.operator} {_not_null(expression.right, label)})"


@_sql.register
def _(expression: typed.TypedNot, label: str | None) -> str:
    if isinstance(expression.operand, typed.TypedIsNull):
        return f"({_null_operand(expression.operand.operand, label)} IS NOT NULL)"
    return f"(NOT {_not_null(expression.operand, label)})"


@_sql.register
def _(expression: typed.TypedIsNull, label: str | None) -> str:
    return f"({_null_operand(expression.operand, label)} IS NULL)"


def _null_operand(expression: typed.TypedExpression, label: str | None) -> str:
    """The operand of IS NULL; Spark would remove one that cannot be null, even if it can fail."""
    text = _sql(expression, label)
    return f"ms_need({text})" if may_fail(expression) and not may_be_null(expression) else text


@_sql.register
def _(expression: typed.TypedInList, label: str | None) -> str:
    operand, items = expression.operand, expression.items
    if operand.type is not None and operand.type.contains_map:
        equal = (_sql(typed.TypedComparison(expression.type, "=", operand, i), label) for i in items)
        return f"({' OR '.join(equal)})"
    texts = ", ".join(_sql(i, label) for i in items)
    return _or_false(f"({_sql(operand, label)} IN ({texts}))", (operand, *items))


@_sql.register
def _(expression: typed.TypedLike, label: str | None) -> str:
    operand, pattern = _sql(expression.operand, label), _sql(expression.pattern, label)
    text = f"ms_like({operand}, {pattern}, {quoted(expression.escape or '')})"
    return f"ms_need({text})" if any(map(may_be_null, (expression.operand, expression.pattern))) else text


@_sql.register
def _(expression: typed.TypedCase, label: str | None) -> str:
    whens = (f"WHEN {_not_null(c, label)} THEN {_sql(result, label)}" for c, result in expression.whens)
    return f"(CASE {' '.join(whens)} ELSE {_sql(expression.otherwise, label)} END)"


# ---------------------------------------------------------------- casts and constructors


@_sql.register
def _(expression: typed.TypedCast, label: str | None) -> str:
    target, operand = expression.type, expression.operand
    assert target is not None
    if operand.type is None:
        return constant(None, target)
    inner = _sql(operand, label)
    if expression.exact and isinstance(operand.type, Decimal) and isinstance(target, Decimal):
        return exact_decimal(inner, target)
    text = cast(inner, operand.type, target)
    return _guard(text, label) if label is not None and expression.alone and may_fail(expression) else text


@_sql.register
def _(expression: typed.TypedArray, label: str | None) -> str:
    inner = None if expression.strict else label
    return f"array({', '.join(_element(i, inner) for i in expression.items)})"


@_sql.register
def _(expression: typed.TypedMap, label: str | None) -> str:
    inner = None if expression.strict else label
    pairs = (f"{_key(k, inner)}, {_element(v, inner)}" for k, v in expression.entries)
    return f"map({', '.join(pairs)})"


def _key(key: typed.TypedExpression, label: str | None) -> str:
    """A map's key: Spark's maps have no null keys; ksqlDB writes the word null for one."""
    text = _element(key, label)
    return _text(text, may_be_null(key) or may_fail(key)) if key.type == STRING else f"ms_need({text})"


@_sql.register
def _(expression: typed.TypedStruct, label: str | None) -> str:
    if not expression.values:
        return "ms_empty()"
    inner = None if expression.strict else label
    fields = (f"'F{i}', {_element(v, inner)}" for i, v in enumerate(expression.values))
    return f"named_struct({', '.join(fields)})"


def _element(expression: typed.TypedExpression, label: str | None) -> str:
    """An element of a constructor, guarded by itself."""
    return _sql(expression, None) if label is None else guarded(expression, label)


# ---------------------------------------------------------------- calls


@_sql.register
def _(expression: typed.TypedCall, label: str | None) -> str:
    texts = [_argument(a, label) for a in expression.arguments]
    types = [_argument_type(a) for a in expression.arguments]
    assert expression.type is not None
    text = call_sql(expression.resolved.signature, texts, types, expression.type)
    return _bounded(text, expression.type) if expression.resolved.function.name in _GROWING else text


def _argument(argument: typed.TypedExpression, label: str | None) -> str:
    """A call, cast or field as an argument is guarded, so that IFNULL and COALESCE can replace the null of a
    failure."""
    alone = isinstance(argument, typed.TypedCall | typed.TypedCast | typed.TypedField)
    return _element(argument, label) if alone else _sql(argument, label)


def _argument_type(argument: typed.TypedExpression) -> SqlType | None:
    return argument.type.result if isinstance(argument.type, LambdaType) else argument.type
