"""From a typed expression to Spark SQL text, for expr() over a relation of key, value, rowtime, partition, offset.

What fails in the language throws here, and `guarded` turns that into null and a log entry. Null operands of
arithmetic fail too: arithmetic passes nulls on, so that one ms_need around the whole of it is enough.
"""

from collections.abc import Sequence
from decimal import Decimal as Number
from functools import singledispatch

from millstream.analysis import typed_expressions as typed
from millstream.functions.declare import LambdaType
from millstream.functions.signatures import call_sql
from millstream.model.types import (
    BIGINT,
    DOUBLE,
    INTEGER,
    STRING,
    Decimal,
    Map,
    SqlType,
    computed,
)
from millstream.spark.casts import cast, fails
from millstream.spark.constants import constant, quoted

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
# For quotients and results too wide for Spark's own operators; what loses a digit fails.
_DECIMALS = {
    "+": "ms_decimal_add",
    "-": "ms_decimal_subtract",
    "*": "ms_decimal_multiply",
    "/": "ms_decimal_divide",
    "%": "ms_decimal_remainder",
}
_ORDER = ("<", "<=", ">", ">=")
# From here on, characters of two units come before those of one.
_SURROGATE = "\ue000"


def to_sql(meaning: typed.TypedExpression, label: str | None = None) -> str:
    """Spark SQL text that computes `meaning`, throwing where it fails.

    With a label, elements of constructors and calls as arguments guard themselves: one that fails is null by itself,
    and the label names it in the processing log. Without one nothing is guarded, and no column is needed.
    """
    return _sql(meaning, label)


def guarded(meaning: typed.TypedExpression, label: str) -> str:
    """Spark SQL text that gives null, and an entry labelled `label` in the processing log, where `meaning` fails."""
    text = _sql(meaning, label)
    return f"ms_guard({text}, {quoted(label)}, partition, offset)" if may_fail(meaning) else text


def may_fail(meaning: typed.TypedExpression) -> bool:
    """Whether computing `meaning` can throw."""
    match meaning:
        case typed.TypedCall():
            return True
        case typed.TypedCast(wanted, operand):
            return may_fail(operand) or _cast_fails(operand.type, wanted)
        case typed.TypedArithmetic(made, operator, left, right):
            exact = made in (DOUBLE, STRING) or _is_exact(made, operator, right)
            return not exact or (made != STRING and _needs(meaning)) or may_fail(left) or may_fail(right)
        case typed.TypedNegation(_, operand):
            return may_be_null(operand) or may_fail(operand)
        case typed.TypedLogical() | typed.TypedNot() | typed.TypedCase():
            return any(may_be_null(c) for c in _conditions(meaning)) or any(map(may_fail, meaning.children()))
        case typed.TypedArray() | typed.TypedMap() | typed.TypedStruct() if not meaning.whole:
            return False
    return any(map(may_fail, meaning.children()))


def _is_exact(made: SqlType | None, operator: str, right: typed.TypedExpression) -> bool:
    """Whether integer or decimal arithmetic has a result whatever the operands."""
    if isinstance(made, Decimal):
        return computed(made) == made and operator in "+-*"
    return operator in "+-*" or _is_number(right)


def may_be_null(meaning: typed.TypedExpression) -> bool:
    """Whether `meaning`, where it does not fail, can be null."""
    match meaning:
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
        case typed.TypedCast(_, operand):
            return may_be_null(operand)
        case typed.TypedCase(_, whens, otherwise):
            return any(may_be_null(r) for r in (otherwise, *(result for _, result in whens)))
    return not isinstance(meaning, _BOOLEANS)


def _cast_fails(source: SqlType | None, wanted: SqlType | None) -> bool:
    return source is not None and wanted is not None and source != wanted and fails(source, wanted)


def _conditions(meaning: typed.TypedLogical | typed.TypedNot | typed.TypedCase) -> list[typed.TypedExpression]:
    """The operands that must be true or false."""
    match meaning:
        case typed.TypedLogical(_, _, left, right):
            return [left, right]
        case typed.TypedNot(_, operand):
            return [operand]
        case typed.TypedCase(_, whens, _):
            return [condition for condition, _ in whens]
    raise TypeError(meaning)


@singledispatch
def _sql(meaning: typed.TypedExpression, label: str | None) -> str:
    raise TypeError(f"no Spark SQL for {type(meaning).__name__}")


def _sure(meaning: typed.TypedExpression, label: str | None) -> str:
    """A value that fails where it is null."""
    text = _sql(meaning, label)
    return f"ms_need({text})" if may_be_null(meaning) else text


def _or_false(text: str, operands: Sequence[typed.TypedExpression]) -> str:
    return f"coalesce({text}, false)" if any(map(may_be_null, operands)) else text


# ---------------------------------------------------------------- names and constants


@_sql.register
def _(meaning: typed.ColumnReference, label: str | None) -> str:
    return _PLACES.get(meaning.where, meaning.where.value).format(meaning.index)


@_sql.register
def _(meaning: typed.Constant, label: str | None) -> str:
    return constant(meaning.value, meaning.type)


@_sql.register
def _(meaning: typed.LambdaVariable, label: str | None) -> str:
    return meaning.name


@_sql.register
def _(meaning: typed.TypedUnit, label: str | None) -> str:
    return meaning.name


@_sql.register
def _(meaning: typed.TypedLambda, label: str | None) -> str:
    names = [p.name for p in meaning.parameters]
    head = names[0] if len(names) == 1 else f"({', '.join(names)})"
    return f"{head} -> {_sql(meaning.body, label)}"


@_sql.register
def _(meaning: typed.TypedField, label: str | None) -> str:
    return f"{_sql(meaning.base, label)}.F{meaning.index}"


@_sql.register
def _(meaning: typed.TypedElement, label: str | None) -> str:
    base, index = _sql(meaning.base, label), _sql(meaning.index, label)
    if isinstance(meaning.base.type, Map):
        return f"element_at({base}, {index})"
    if not isinstance(meaning.index, typed.Constant):
        return f"try_element_at({base}, nullif({index}, 0))"
    position = meaning.index.value
    if not isinstance(position, int) or position == 0:
        return constant(None, meaning.type)
    return f"{base}[{position - 1}]" if position > 0 else f"element_at({base}, {position})"


# ---------------------------------------------------------------- arithmetic


@_sql.register
def _(meaning: typed.TypedArithmetic, label: str | None) -> str:
    if meaning.type == STRING:
        parts = (_text(_sql(p, label), may_be_null(p)) for p in (meaning.left, meaning.right))
        return f"concat({', '.join(parts)})"
    text = _arithmetic(meaning, label)
    return f"ms_need({text})" if _needs(meaning) else text


def _text(text: str, nullable: bool) -> str:
    """Text as Java joins it: null is the word."""
    return f"coalesce({text}, 'null')" if nullable else text


def _needs(meaning: typed.TypedExpression) -> bool:
    """Whether null can come out of arithmetic: from an operand, or from dividing by zero."""
    if isinstance(meaning, typed.TypedNegation):
        return _needs(meaning.operand)
    if not isinstance(meaning, typed.TypedArithmetic) or meaning.type == STRING:
        return may_be_null(meaning)
    if meaning.operator in "/%" and meaning.type != DOUBLE and not _is_number(meaning.right):
        return True
    return _needs(meaning.left) or _needs(meaning.right)


def _is_number(meaning: typed.TypedExpression) -> bool:
    """A constant that one can divide by."""
    return (
        isinstance(meaning, typed.Constant) and isinstance(meaning.value, int | float | Number) and meaning.value != 0
    )


def _arithmetic(meaning: typed.TypedExpression, label: str | None) -> str:
    """Arithmetic that passes nulls on."""
    if isinstance(meaning, typed.TypedNegation):
        return f"(-{_arithmetic(meaning.operand, label)})"
    if not isinstance(meaning, typed.TypedArithmetic) or meaning.type == STRING:
        return _sql(meaning, label)
    left, right = _arithmetic(meaning.left, label), _arithmetic(meaning.right, label)
    native = _is_number(meaning.right)
    if isinstance(meaning.type, Decimal) and (meaning.operator == "/" or computed(meaning.type) != meaning.type):
        held = computed(meaning.type)
        return f"{_DECIMALS[meaning.operator]}({left}, {right}, {held.precision}, {held.scale})"
    match meaning.operator, meaning.type:
        case "/", t if t == INTEGER:
            return f"CAST(({left} div {right}) AS INT)"
        case "/", t if t == BIGINT:
            return f"({left} div {right})"
        case "/", _ if not native:
            return f"ms_divide({left}, {right})"
        case "%", t if t == DOUBLE and not native:
            return f"ms_remainder({left}, {right})"
    return f"({left} {meaning.operator} {right})"


@_sql.register
def _(meaning: typed.TypedNegation, label: str | None) -> str:
    text = _arithmetic(meaning, label)
    return f"ms_need({text})" if _needs(meaning) else text


# ---------------------------------------------------------------- conditions


@_sql.register
def _(meaning: typed.TypedComparison, label: str | None) -> str:
    left, right = _sql(meaning.left, label), _sql(meaning.right, label)
    if meaning.left.type is not None and meaning.left.type.holds_map:
        return _compared_maps(meaning.operator, left, right)
    if meaning.operator == "IS NOT DISTINCT FROM":
        return f"({left} <=> {right})"
    if meaning.operator == "IS DISTINCT FROM":
        return f"(NOT ({left} <=> {right}))"
    text = f"({left} {meaning.operator} {right})"
    if meaning.left.type == STRING and meaning.operator in _ORDER and not _has_low(meaning):
        text = f"(ms_text_order({left}, {right}) {meaning.operator} 0)"
    if meaning.left.type == DOUBLE:
        text = _without_nan(text, meaning, left, right)
    return _or_false(text, (meaning.left, meaning.right))


def _has_low(meaning: typed.TypedComparison) -> bool:
    """Whether one side is a constant whose place is the same by Spark's order, that of UTF-8 bytes."""
    values = [side.value for side in (meaning.left, meaning.right) if isinstance(side, typed.Constant)]
    return any(isinstance(value, str) and max(value, default="") < _SURROGATE for value in values)


def _without_nan(text: str, meaning: typed.TypedComparison, left: str, right: str) -> str:
    """For Spark NaN is the greatest number and equals itself; in the language nothing is true of it but <>."""
    greater, operand = (right, meaning.right) if "<" in meaning.operator else (left, meaning.left)
    if isinstance(operand, typed.Constant) or (meaning.operator == "=" and isinstance(meaning.right, typed.Constant)):
        return text
    if meaning.operator == "<>":
        other = right if greater == left else left
        return f"({text} OR (isnan({greater}) AND {other} IS NOT NULL))"
    return f"({text} AND NOT isnan({greater}))"


def _compared_maps(operator: str, left: str, right: str) -> str:
    """Spark compares no maps."""
    same = f"ms_same({left}, {right})"
    match operator:
        case "=":
            return f"coalesce({same}, false)"
        case "<>":
            return f"coalesce((NOT {same}), false)"
        case "IS NOT DISTINCT FROM":
            return f"coalesce({same}, ({left} IS NULL AND {right} IS NULL))"
    return f"(NOT coalesce({same}, ({left} IS NULL AND {right} IS NULL)))"


@_sql.register
def _(meaning: typed.TypedLogical, label: str | None) -> str:
    return f"({_sure(meaning.left, label)} {meaning.operator} {_sure(meaning.right, label)})"


@_sql.register
def _(meaning: typed.TypedNot, label: str | None) -> str:
    if isinstance(meaning.operand, typed.TypedIsNull):
        return f"({_asked(meaning.operand.operand, label)} IS NOT NULL)"
    return f"(NOT {_sure(meaning.operand, label)})"


@_sql.register
def _(meaning: typed.TypedIsNull, label: str | None) -> str:
    return f"({_asked(meaning.operand, label)} IS NULL)"


def _asked(meaning: typed.TypedExpression, label: str | None) -> str:
    """What is asked for null; Spark would leave out what cannot be, though it can fail."""
    text = _sql(meaning, label)
    return f"ms_need({text})" if may_fail(meaning) and not may_be_null(meaning) else text


@_sql.register
def _(meaning: typed.TypedInList, label: str | None) -> str:
    operand, items = meaning.operand, meaning.items
    if operand.type is not None and operand.type.holds_map:
        equal = (_sql(typed.TypedComparison(meaning.type, "=", operand, i), label) for i in items)
        return f"({' OR '.join(equal)})"
    texts = ", ".join(_sql(i, label) for i in items)
    return _or_false(f"({_sql(operand, label)} IN ({texts}))", (operand, *items))


@_sql.register
def _(meaning: typed.TypedLike, label: str | None) -> str:
    operand, pattern = _sql(meaning.operand, label), _sql(meaning.pattern, label)
    text = f"ms_like({operand}, {pattern}, {quoted(meaning.escape or '')})"
    return _or_false(text, (meaning.operand, meaning.pattern))


@_sql.register
def _(meaning: typed.TypedCase, label: str | None) -> str:
    whens = (f"WHEN {_sure(c, label)} THEN {_sql(result, label)}" for c, result in meaning.whens)
    return f"(CASE {' '.join(whens)} ELSE {_sql(meaning.otherwise, label)} END)"


# ---------------------------------------------------------------- casts and constructors


@_sql.register
def _(meaning: typed.TypedCast, label: str | None) -> str:
    wanted, operand = meaning.type, meaning.operand
    assert wanted is not None
    if operand.type is None:
        return constant(None, wanted)
    return cast(_sql(operand, label), operand.type, wanted)


@_sql.register
def _(meaning: typed.TypedArray, label: str | None) -> str:
    inner = None if meaning.whole else label
    return f"array({', '.join(_part(i, inner) for i in meaning.items)})"


@_sql.register
def _(meaning: typed.TypedMap, label: str | None) -> str:
    inner = None if meaning.whole else label
    pairs = (f"{_key(k, inner)}, {_part(v, inner)}" for k, v in meaning.entries)
    return f"map({', '.join(pairs)})"


def _key(key: typed.TypedExpression, label: str | None) -> str:
    """Spark's maps have no null keys; where ksqlDB writes one, it is the word."""
    text = _part(key, label)
    return _text(text, may_be_null(key) or may_fail(key)) if key.type == STRING else f"ms_need({text})"


@_sql.register
def _(meaning: typed.TypedStruct, label: str | None) -> str:
    if not meaning.values:
        return "ms_empty()"
    inner = None if meaning.whole else label
    fields = (f"'F{i}', {_part(v, inner)}" for i, v in enumerate(meaning.values))
    return f"named_struct({', '.join(fields)})"


def _part(meaning: typed.TypedExpression, label: str | None) -> str:
    """A part that is null by itself where it fails."""
    return _sql(meaning, None) if label is None else guarded(meaning, label)


# ---------------------------------------------------------------- calls


@_sql.register
def _(meaning: typed.TypedCall, label: str | None) -> str:
    texts = [_argument(a, label) for a in meaning.arguments]
    types = [_argument_type(a) for a in meaning.arguments]
    assert meaning.type is not None
    return call_sql(meaning.resolved.signature, texts, types, meaning.type)


def _argument(argument: typed.TypedExpression, label: str | None) -> str:
    """A call, cast or field as an argument is null where it fails, so that IFNULL and COALESCE can replace it."""
    alone = isinstance(argument, typed.TypedCall | typed.TypedCast | typed.TypedField)
    return _part(argument, label) if alone else _sql(argument, label)


def _argument_type(argument: typed.TypedExpression) -> SqlType | None:
    return argument.type.result if isinstance(argument.type, LambdaType) else argument.type
