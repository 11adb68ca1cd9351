"""From an expression of the tree to its meaning: names found, types checked, conversions spelled out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import singledispatch

from millstream.analysis import meaning as m
from millstream.analysis.calls import call
from millstream.analysis.coercion import (
    CAST_ONE,
    TIMES,
    Given,
    agreed,
    as_decimal,
    castable,
    common_type,
    converted,
    decimal,
    read,
    shown,
    widened,
)
from millstream.analysis.scope import Scope
from millstream.functions.declare import FunctionKind
from millstream.model.errors import NotSupported, Span, StatementError
from millstream.model.names import did_you_mean, identifier
from millstream.model.settings import switched
from millstream.model.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    INTEGER,
    MOST_DIGITS,
    STRING,
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

_NULL = m.Const(None, None)
_EQUALITY = ("=", "<>", "IS DISTINCT FROM", "IS NOT DISTINCT FROM")
LAMBDAS = "ksql.lambdas.enabled"
_BOUNDS = (m.Where.ROWTIME, m.Where.WINDOWSTART, m.Where.WINDOWEND)


@dataclass(frozen=True, slots=True)
class _Inside:
    """Where an expression stands: the scope, and the parameters of the lambdas around it."""

    scope: Scope
    variables: Mapping[str, m.Variable] = field(default_factory=dict)
    depth: int = 0


def typed(expression: tree.Expression, scope: Scope) -> m.Meaning:
    """What `expression` means in `scope`; its type is None only for a bare NULL. Else a StatementError."""
    return _typed(expression, _Inside(scope))


def function_call(expression: tree.Call, scope: Scope, kind: FunctionKind) -> m.Meaning:
    """The meaning of a call of a table or aggregate function where one may stand; its type is that of a row's value."""
    inside = _Inside(scope)
    return call(expression, lambda e: _typed(e, inside), lambda e, t: _bound(e, t, inside), scope.functions, kind)


def condition(expression: tree.Expression, scope: Scope, clause: str) -> m.Meaning:
    """The meaning of the condition of `clause` (WHERE, HAVING), which has to be BOOLEAN."""
    return _boolean(expression, _Inside(scope), clause)


def default_name(expression: tree.Expression) -> str | None:
    """The name that a projected expression has by itself: that of its column or field; None where it has none."""
    if isinstance(expression, tree.ColumnRef):
        return expression.name
    return expression.field if isinstance(expression, tree.Deref) else None


def _typed(expression: tree.Expression, inside: _Inside) -> m.Meaning:
    known = inside.scope.known.get(expression) if inside.scope.known else None
    return known or _meaning(expression, inside)


@singledispatch
def _meaning(expression: tree.Expression, inside: _Inside) -> m.Meaning:
    raise NotSupported(f"{type(expression).__name__} cannot be computed yet", expression.span)


# ---------------------------------------------------------------- constants and names


@_meaning.register
def _(expression: tree.Literal, inside: _Inside) -> m.Meaning:
    if isinstance(expression.type, Decimal) and expression.type.precision > MOST_DIGITS:
        raise NotSupported(f"a constant of more than {MOST_DIGITS} digits", expression.span)
    return m.Const(expression.type, expression.value)


@_meaning.register
def _(expression: tree.TypedText, inside: _Inside) -> m.Meaning:
    if expression.type != "DECIMAL":
        hint = f"CAST('…' AS {expression.type})"
        raise NotSupported(f"constants written {expression.type} '…'", expression.span, hint)
    return decimal(expression.text, expression.span)


@_meaning.register
def _(expression: tree.ColumnRef, inside: _Inside) -> m.Meaning:
    if expression.source is None and expression.part is None and expression.name in inside.variables:
        return inside.variables[expression.name]
    return inside.scope.lookup(expression)


@_meaning.register
def _(expression: tree.Deref, inside: _Inside) -> m.Meaning:
    base = _typed(expression.base, inside)
    if not isinstance(base.type, Struct):
        fact = f"{_shown(expression.base, base)} has no fields: -> goes into a STRUCT"
        raise StatementError(fact, expression.span)
    index = base.type.index(expression.field)
    if index is None:
        names = [f.name for f in base.type.fields]
        fact = f"{base.type} has no field {identifier(expression.field)}"
        raise StatementError(fact, expression.span, did_you_mean(expression.field, names))
    return m.FieldOf(base.type.fields[index].type, base, index, expression.field)


@_meaning.register
def _(expression: tree.Subscript, inside: _Inside) -> m.Meaning:
    base, index = _typed(expression.base, inside), _typed(expression.index, inside)
    if isinstance(base.type, Array):
        return m.Element(base.type.element, base, _index(index, INTEGER, expression.index))
    if isinstance(base.type, Map):
        return m.Element(base.type.value, base, _index(index, base.type.key, expression.index))
    hint = "the fields of a STRUCT are read with ->" if isinstance(base.type, Struct) else ""
    fact = f"[ ] goes into an ARRAY or a MAP, and {_shown(expression.base, base)} is neither"
    raise StatementError(fact, expression.span, hint)


def _index(index: m.Meaning, wanted: SqlType, written: tree.Expression) -> m.Meaning:
    if index.type == BIGINT and wanted == INTEGER:
        return m.Cast(INTEGER, index)
    if index.type is None or agreed(index.type, wanted) != wanted:
        fact = f"[ ] wants {wanted} here, and {_shown(written, index)} is not"
        raise StatementError(fact, written.span)
    return converted(index, wanted, written.span)


# ---------------------------------------------------------------- arithmetic


@_meaning.register
def _(expression: tree.Arithmetic, inside: _Inside) -> m.Meaning:
    left, right = _typed(expression.left, inside), _typed(expression.right, inside)
    operator, at = expression.operator, expression.span
    if operator == "+" and left.type == right.type == STRING:
        return m.Arithmetic(STRING, operator, left, right)
    wide = widened(left.type, right.type) if left.type and right.type else None
    if wide is None:
        hint = "NULL makes every sum null" if left.type is None or right.type is None else ""
        both = f"{_shown(expression.left, left)} and {_shown(expression.right, right)}"
        raise StatementError(f"{operator} does not apply to {both}", at, hint)
    if not isinstance(wide, Decimal):
        return m.Arithmetic(wide, operator, converted(left, wide, at), converted(right, wide, at))
    return _decimal_arithmetic(operator, _to_decimal(left, at), _to_decimal(right, at))


def _to_decimal(value: m.Meaning, at: Span) -> m.Meaning:
    wanted = as_decimal(value.type) if value.type else None
    assert wanted is not None
    return converted(value, wanted, at)


def _decimal_arithmetic(operator: str, left: m.Meaning, right: m.Meaning) -> m.Meaning:
    assert isinstance(left.type, Decimal)
    assert isinstance(right.type, Decimal)
    return m.Arithmetic(_decimal_result(operator, left.type, right.type), operator, left, right)


def _decimal_result(operator: str, one: Decimal, other: Decimal) -> Decimal:
    """The type of a decimal result, wide enough that no digit is lost, save in a quotient."""
    p1, s1, p2, s2 = one.precision, one.scale, other.precision, other.scale
    if operator in "+-":
        return Decimal(max(s1, s2) + max(p1 - s1, p2 - s2) + 1, max(s1, s2))
    if operator == "*":
        return Decimal(p1 + p2 + 1, s1 + s2)
    if operator == "/":
        scale = max(6, s1 + p2 + 1)
        return Decimal(p1 - s1 + s2 + scale, scale)
    return Decimal(min(p1 - s1, p2 - s2) + max(s1, s2), max(s1, s2))


@_meaning.register
def _(expression: tree.Sign, inside: _Inside) -> m.Meaning:
    operand = _typed(expression.operand, inside)
    if operand.type is None or not is_numeric(operand.type):
        fact = f"{expression.operator} does not apply to {_shown(expression.operand, operand)}"
        raise StatementError(fact, expression.span)
    return operand if expression.operator == "+" else m.Negate(operand.type, operand)


@_meaning.register
def _(expression: tree.Concatenation, inside: _Inside) -> m.Meaning:
    return _typed(tree.Call("CONCAT", tuple(_joined(expression)), span=expression.span), inside)


def _joined(expression: tree.Expression) -> list[tree.Expression]:
    if isinstance(expression, tree.Concatenation):
        return [*_joined(expression.left), *_joined(expression.right)]
    return [expression]


# ---------------------------------------------------------------- conditions


@_meaning.register
def _(expression: tree.Comparison, inside: _Inside) -> m.Meaning:
    left, right = _given(expression.left, inside), _given(expression.right, inside)
    return _comparison(expression.operator, left, right, expression.span)


def _comparison(operator: str, left: Given, right: Given, at: Span) -> m.Meaning:
    if left.value.type is None or right.value.type is None:
        fact = f"{operator} with NULL says nothing"
        raise StatementError(fact, at, "IS NULL and IS NOT NULL ask for null")
    one, other = _comparable(operator, left, right, at)
    return m.Comparison(BOOLEAN, operator, one, other)


def _comparable(operator: str, left: Given, right: Given, at: Span) -> tuple[m.Meaning, m.Meaning]:
    """Both sides in the type in which they are compared."""
    one, other = left.value, right.value
    if _is_bound(one) and _is_text(other):
        return one, _instant(right)
    if _is_bound(other) and _is_text(one):
        return _instant(left), other
    wanted = _compared_as(operator, left, right)
    if wanted is None:
        fact = f"{shown(left)} cannot be compared with {shown(right)} by {operator}"
        raise StatementError(fact, at, _hint(one, other))
    if isinstance(wanted, Decimal):
        return _to_decimal(one, at), _to_decimal(other, at)
    return converted(one, wanted, left.span), converted(other, wanted, right.span)


def _hint(one: m.Meaning, other: m.Meaning) -> str:
    ordered = any(isinstance(v.type, Array | Map | Struct) or v.type == BOOLEAN for v in (one, other))
    return "such values are equal or not, none is greater" if ordered and one.type == other.type else CAST_ONE


def _is_bound(value: m.Meaning) -> bool:
    return isinstance(value, m.Ref) and value.where in _BOUNDS


def _is_text(value: m.Meaning) -> bool:
    return isinstance(value, m.Const) and isinstance(value.value, str)


def _instant(text: Given) -> m.Meaning:
    """ISO-8601 text beside ROWTIME and the window's bounds: epoch milliseconds."""
    assert isinstance(text.value, m.Const)
    return m.Const(BIGINT, read(str(text.value.value), TIMESTAMP, text.span).value)


def _compared_as(operator: str, left: Given, right: Given) -> SqlType | None:
    one, other = left.value.type, right.value.type
    assert one is not None
    assert other is not None
    if is_numeric(one) and is_numeric(other):
        return widened(one, other)
    if isinstance(one, Array | Map | Struct):
        same = type(one) is type(other) and operator in _EQUALITY
        return common_type((left, right)) if same else None
    if {one, other} == {DATE, TIMESTAMP}:
        return TIMESTAMP
    if STRING in (one, other) and (one in TIMES or other in TIMES):
        return other if one == STRING else one
    simple = one == other and (one != BOOLEAN or operator in _EQUALITY)
    return one if simple else None


@_meaning.register
def _(expression: tree.Logical, inside: _Inside) -> m.Meaning:
    left = _boolean(expression.left, inside, expression.operator)
    right = _boolean(expression.right, inside, expression.operator)
    return m.Logical(BOOLEAN, expression.operator, left, right)


@_meaning.register
def _(expression: tree.Not, inside: _Inside) -> m.Meaning:
    return m.Not(BOOLEAN, _boolean(expression.operand, inside, "NOT"))


def _boolean(expression: tree.Expression, inside: _Inside, operator: str) -> m.Meaning:
    made = _typed(expression, inside)
    if made.type != BOOLEAN:
        fact = f"{operator} wants a BOOLEAN, and {_shown(expression, made)} is none"
        raise StatementError(fact, expression.span)
    return made


@_meaning.register
def _(expression: tree.IsNull, inside: _Inside) -> m.Meaning:
    return _unless(m.IsNull(BOOLEAN, _typed(expression.operand, inside)), expression.negated)


@_meaning.register
def _(expression: tree.Between, inside: _Inside) -> m.Meaning:
    operand = _given(expression.operand, inside)
    low, high = _given(expression.low, inside), _given(expression.high, inside)
    least = _comparison(">=", operand, low, expression.span)
    most = _comparison("<=", operand, high, expression.span)
    return _unless(m.Logical(BOOLEAN, "AND", least, most), expression.negated)


@_meaning.register
def _(expression: tree.InList, inside: _Inside) -> m.Meaning:
    operand = _given(expression.operand, inside)
    items = [_given(i, inside) for i in expression.items]
    if operand.value.type is None:
        raise StatementError("NULL IN (…) says nothing", expression.span, "IS NULL asks for null")
    if _is_bound(operand.value):
        items = [replace(i, value=_instant(i)) if _is_text(i.value) else i for i in items]
    wanted = common_type((operand, *items))
    assert wanted is not None
    value, *others = (converted(g.value, wanted, g.span) for g in (operand, *items))
    return _unless(m.InList(BOOLEAN, value, tuple(others)), expression.negated)


@_meaning.register
def _(expression: tree.Like, inside: _Inside) -> m.Meaning:
    operand, pattern = _typed(expression.operand, inside), _typed(expression.pattern, inside)
    for written, made in ((expression.operand, operand), (expression.pattern, pattern)):
        if made.type != STRING:
            raise StatementError(f"LIKE wants a STRING, and {_shown(written, made)} is none", written.span)
    if isinstance(pattern, m.Const):
        _check_pattern(str(pattern.value), expression)
    return _unless(m.Like(BOOLEAN, operand, pattern, expression.escape), expression.negated)


def _check_pattern(pattern: str, expression: tree.Like) -> None:
    if expression.escape and pattern.replace(expression.escape * 2, "").endswith(expression.escape):
        raise StatementError("the pattern ends in its escape character", expression.pattern.span)


def _unless(made: m.Meaning, negated: bool) -> m.Meaning:
    return m.Not(BOOLEAN, made) if negated else made


@_meaning.register
def _(expression: tree.Case, inside: _Inside) -> m.Meaning:
    conditions = [_when(expression, when, inside) for when in expression.whens]
    otherwise = expression.otherwise or tree.Literal(None, None, span=expression.span)
    results = [_given(r, inside) for r in (*(w.result for w in expression.whens), otherwise)]
    wanted = common_type(results)
    if wanted is None:
        raise StatementError("every branch of this CASE is NULL", expression.span, "CAST one: CAST(NULL AS INT)")
    *values, last = (converted(g.value, wanted, g.span) for g in results)
    return m.Case(wanted, tuple(zip(conditions, values, strict=True)), last)


def _when(case: tree.Case, when: tree.When, inside: _Inside) -> m.Meaning:
    if case.operand is None:
        return _boolean(when.condition, inside, "WHEN")
    return _comparison("=", _given(case.operand, inside), _given(when.condition, inside), when.condition.span)


# ---------------------------------------------------------------- casts and constructors


@_meaning.register
def _(expression: tree.Cast, inside: _Inside) -> m.Meaning:
    operand = _typed(expression.operand, inside)
    wanted = inside.scope.expanded(expression.type, expression.span)
    if operand.type is not None and not castable(operand.type, wanted):
        raise StatementError(f"{operand.type} cannot be CAST to {wanted}", expression.span, _instead(operand.type))
    cast = m.Cast(wanted, operand)
    if wanted != STRING or switched(inside.scope.settings, "ksql.cast.strings.preserve.nulls"):
        return operand if operand.type == wanted else cast
    return m.Case(STRING, ((m.IsNull(BOOLEAN, operand), m.Const(STRING, "null")),), cast)


def _instead(source: SqlType) -> str:
    return "FROM_BYTES turns BYTES into text" if source == BYTES else ""


@_meaning.register
def _(expression: tree.ArrayOf, inside: _Inside) -> m.Meaning:
    if not expression.items:
        raise _empty("ARRAY", "ARRAY[1]", expression.span)
    element, items = _agreeing(expression.items, inside, expression.span, "an ARRAY", "elements")
    return m.ArrayOf(Array(element), items, _whole(inside))


@_meaning.register
def _(expression: tree.MapOf, inside: _Inside) -> m.Meaning:
    if not expression.entries:
        raise _empty("MAP", "MAP('a' := 1)", expression.span)
    key, keys = _agreeing([k for k, _ in expression.entries], inside, expression.span, "a MAP", "keys")
    value, values = _agreeing([v for _, v in expression.entries], inside, expression.span, "a MAP", "values")
    return m.MapOf(Map(key, value), tuple(zip(keys, values, strict=True)), _whole(inside))


def _whole(inside: _Inside) -> bool:
    """Whether an element that fails fails the constructor around it."""
    return not switched(inside.scope.settings, "ksql.nested.error.set.null")


def _empty(kind: str, example: str, at: Span) -> StatementError:
    return StatementError(f"the {kind} constructor cannot be empty: its type would be unknown", at, f"e.g. {example}")


def _agreeing(
    items: Sequence[tree.Expression], inside: _Inside, at: Span, what: str, parts: str
) -> tuple[SqlType, tuple[m.Meaning, ...]]:
    """The common type of the elements of a constructor, and the elements in it."""
    elements = [_given(i, inside) for i in items]
    wanted = common_type(elements)
    if wanted is None:
        raise StatementError(f"{what} with all NULL {parts} has no type", at, "CAST one: CAST(NULL AS INT)")
    return wanted, tuple(converted(e.value, wanted, e.span) for e in elements)


@_meaning.register
def _(expression: tree.StructOf, inside: _Inside) -> m.Meaning:
    values = [_typed(v, inside) for _, v in expression.fields]
    fields: list[Field] = []
    for (name, item), value in zip(expression.fields, values, strict=True):
        if value.type is None:
            raise StatementError(f"field {identifier(name)} is NULL and has no type", item.span, "CAST it")
        if any(f.name == name for f in fields):
            raise StatementError(f"field {identifier(name)} stands twice", item.span)
        fields.append(Field(name, value.type))
    return m.StructOf(Struct(tuple(fields)), tuple(values), _whole(inside))


def _given(expression: tree.Expression, inside: _Inside) -> Given:
    value = _typed(expression, inside)
    return Given(value, isinstance(expression, tree.Literal), expression.span, expression)


# ---------------------------------------------------------------- calls


@_meaning.register
def _(expression: tree.Call, inside: _Inside) -> m.Meaning:
    return call(expression, lambda e: _typed(e, inside), lambda e, t: _bound(e, t, inside), inside.scope.functions)


@_meaning.register
def _(expression: tree.Unit, inside: _Inside) -> m.Meaning:
    raise StatementError(f"{expression.name} is a time unit, not a value", expression.span)


@_meaning.register
def _(expression: tree.Lambda, inside: _Inside) -> m.Meaning:
    hint = "a column of that name would stand in backticks"
    raise StatementError("a lambda can only be the argument of a function that takes one", expression.span, hint)


@_meaning.register
def _(expression: tree.AtTimeZone, inside: _Inside) -> m.Meaning:
    raise NotSupported("AT TIME ZONE", expression.span, "CONVERT_TZ shifts a timestamp between zones")


def _bound(
    written: tree.Lambda, types: tuple[SqlType, ...], inside: _Inside
) -> tuple[tuple[m.Variable, ...], m.Meaning]:
    """The parameters of a lambda, under names of their own, and what its body means with them."""
    if not switched(inside.scope.settings, LAMBDAS):
        raise StatementError("Lambdas are not enabled at this time", written.span, f"set {LAMBDAS} to true")
    if len(set(written.parameters)) < len(written.parameters):
        raise StatementError("two parameters of this lambda have one name", written.span)
    variables = tuple(m.Variable(t, f"v{inside.depth + i}") for i, t in enumerate(types))
    names = {**inside.variables, **dict(zip(written.parameters, variables, strict=True))}
    return variables, _typed(written.body, _Inside(inside.scope, names, inside.depth + len(variables)))


def _shown(written: tree.Expression, value: m.Meaning) -> str:
    """An expression in a message: its text and type."""
    return shown(Given(value, False, written.span, written))
