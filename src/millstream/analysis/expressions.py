"""Types an expression of the tree: resolves names, checks types, and makes conversions explicit.

>>> from millstream.analysis.scope import ScopeColumn
>>> from millstream.syntax.parser import parse_expression
>>> amount = typed.ColumnReference(INTEGER, typed.ColumnPlace.VALUE, 0, "AMOUNT")
>>> scope = NameScope((ScopeColumn("AMOUNT", "S", amount),))
>>> product = type_expression(parse_expression("amount * 1.5"), scope)
>>> str(product.type)
'DECIMAL(13, 1)'
>>> product.left == typed.TypedCast(Decimal(10, 0), amount)
True
>>> type_expression(parse_expression("amount = TRUE"), scope)
Traceback (most recent call last):
millstream.model.errors.StatementError: line 1:1: Cannot compare AMOUNT (INTEGER) to TRUE (BOOLEAN) with EQUAL.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import singledispatch
from itertools import islice

from millstream.analysis import typed_expressions as typed
from millstream.analysis.calls import call
from millstream.analysis.coercion import (
    Operand,
    agreed_type,
    base_type,
    cast_hint,
    castable,
    check_digits,
    common_type,
    convert,
    decimal_constant,
    operand_text,
    to_decimal,
)
from millstream.analysis.comparisons import comparison, instant, is_bound, is_text
from millstream.analysis.scope import NameScope, check_names
from millstream.functions.declare import FunctionKind
from millstream.functions.widening import widened
from millstream.model.errors import NotSupported, Span, StatementError
from millstream.model.names import did_you_mean, identifier
from millstream.model.settings import is_on
from millstream.model.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    INTEGER,
    STRING,
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

_NULL = typed.Constant(None, None)
LAMBDAS = "ksql.lambdas.enabled"
# The most parts that an operand of BETWEEN or CASE x WHEN …, or the struct of ->*, is repeated to.
MOST_REPEATED = 20_000


@dataclass(frozen=True, slots=True)
class _ExpressionContext:
    """What an expression may refer to: the scope, and the parameters of the enclosing lambdas."""

    scope: NameScope
    variables: Mapping[str, typed.LambdaVariable] = field(default_factory=dict)
    depth: int = 0


def type_expression(expression: tree.Expression, scope: NameScope) -> typed.TypedExpression:
    """The typed form of `expression` in `scope`; its type is None only for a bare NULL. Raises StatementError."""
    return _typed(expression, _ExpressionContext(scope))


def function_call(expression: tree.Call, scope: NameScope, kind: FunctionKind) -> typed.TypedExpression:
    """The typed call of a table or aggregate function where one is allowed; its type is that of one row's value."""
    inside = _ExpressionContext(scope)
    return call(expression, lambda e: _typed(e, inside), lambda e, t: _bind_lambda(e, t, inside), scope.functions, kind)


def condition(expression: tree.Expression, scope: NameScope, clause: str) -> typed.TypedExpression:
    """The typed condition of `clause` (WHERE, HAVING, JOIN ON), whose names are checked (scope.check_names).

    Raises StatementError if it is not BOOLEAN.
    """
    try:
        typed_condition = type_expression(expression, scope.inside(clause))
    except StatementError as error:
        raise error.prefixed(f"Error in {clause} expression") from error
    if typed_condition.type != BOOLEAN:
        shown = _described(expression, typed_condition)
        fact = f"Type error in {clause} expression: Should evaluate to boolean but is {shown} instead."
        raise StatementError(fact, expression.span)
    return typed_condition


def resolved_condition(expression: tree.Expression, scope: NameScope, clause: str) -> typed.TypedExpression:
    """The typed condition of `clause`, whose names are checked first: they are reported before any error of types."""
    check_names(expression, scope.inside(clause))
    return condition(expression, scope, clause)


def _typed(expression: tree.Expression, inside: _ExpressionContext) -> typed.TypedExpression:
    computed = inside.scope.computed.get(expression) if inside.scope.computed else None
    return computed or _type_node(expression, inside)


@singledispatch
def _type_node(expression: tree.Expression, inside: _ExpressionContext) -> typed.TypedExpression:
    raise NotSupported(f"{type(expression).__name__} cannot be computed yet", expression.span)


# ---------------------------------------------------------------- constants and names


@_type_node.register
def _(expression: tree.Literal, inside: _ExpressionContext) -> typed.TypedExpression:
    if expression.type is not None:
        check_digits(expression.type, expression.span)
    return typed.Constant(expression.type, expression.value)


@_type_node.register
def _(expression: tree.TypedText, inside: _ExpressionContext) -> typed.TypedExpression:
    if expression.type != "DECIMAL":
        hint = f"CAST('…' AS {expression.type})"
        raise NotSupported(f"constants written {expression.type} '…' are not supported", expression.span, hint)
    return decimal_constant(expression.text, expression.span)


@_type_node.register
def _(expression: tree.ColumnRef, inside: _ExpressionContext) -> typed.TypedExpression:
    if expression.source is None and expression.part is None and expression.name in inside.variables:
        return inside.variables[expression.name]
    return inside.scope.lookup(expression)


@_type_node.register
def _(expression: tree.Deref, inside: _ExpressionContext) -> typed.TypedExpression:
    base = _typed(expression.base, inside)
    if not isinstance(base.type, Struct):
        fact = f"{_described(expression.base, base)} has no fields: -> reads a field of a STRUCT"
        raise StatementError(fact, expression.span)
    index = base.type.index(expression.field)
    if index is None:
        names = [f.name for f in base.type.fields]
        fact = f"Could not find field '{expression.field}' in '{to_sql(expression.base)}'."
        hint = did_you_mean(expression.field, names) or f"it is a {base.type}"
        raise StatementError(fact, expression.span, hint)
    return typed.TypedField(base.type.fields[index].type, base, index, expression.field)


@_type_node.register
def _(expression: tree.Subscript, inside: _ExpressionContext) -> typed.TypedExpression:
    base, index = _typed(expression.base, inside), _typed(expression.index, inside)
    if isinstance(base.type, Array):
        return typed.TypedElement(base.type.element, base, _index(index, INTEGER, expression.index))
    if isinstance(base.type, Map):
        return typed.TypedElement(base.type.value, base, _index(index, base.type.key, expression.index))
    hint = "the fields of a STRUCT are read with ->" if isinstance(base.type, Struct) else ""
    fact = f"[ ] reads an element of an ARRAY or a MAP, and {_described(expression.base, base)} is neither"
    raise StatementError(fact, expression.span, hint)


def _index(index: typed.TypedExpression, target: SqlType, written: tree.Expression) -> typed.TypedExpression:
    if index.type == BIGINT and target == INTEGER:
        return typed.TypedCast(INTEGER, index)
    if index.type is None or agreed_type(index.type, target) != target:
        fact = f"[ ] requires {target} here, and {_described(written, index)} is not"
        raise StatementError(fact, written.span)
    return convert(index, target, written.span)


# ---------------------------------------------------------------- arithmetic


@_type_node.register
def _(expression: tree.Arithmetic, inside: _ExpressionContext) -> typed.TypedExpression:
    left, right = _typed(expression.left, inside), _typed(expression.right, inside)
    operator, at = expression.operator, expression.span
    if operator == "+" and left.type == right.type == STRING:
        return typed.TypedArithmetic(STRING, operator, left, right)
    wide = widened(left.type, right.type) if left.type and right.type else None
    if wide is None:
        raise _no_arithmetic(expression, left.type, right.type)
    if not isinstance(wide, Decimal):
        return typed.TypedArithmetic(wide, operator, convert(left, wide, at), convert(right, wide, at))
    return _decimal_arithmetic(operator, to_decimal(left, at), to_decimal(right, at))


def _no_arithmetic(expression: tree.Arithmetic, left: SqlType | None, right: SqlType | None) -> StatementError:
    processing = f"Error processing expression: ({to_sql(expression)})."
    if left is None or right is None:
        both = f"{left or 'null'} and {right or 'null'}"
        fact = f"{processing} Arithmetic on types {both} are not supported."
        return StatementError(fact, expression.span, "the result would be NULL for every record")
    fact = f"{processing} Unsupported arithmetic types. {base_type(left)} {base_type(right)}"
    concatenates = expression.operator == "+" and STRING in (left, right)
    hint = "CAST the other to STRING, or use CONCAT" if concatenates else cast_hint(left, right)
    return StatementError(fact, expression.span, hint)


def _decimal_arithmetic(
    operator: str, left: typed.TypedExpression, right: typed.TypedExpression
) -> typed.TypedExpression:
    assert isinstance(left.type, Decimal)
    assert isinstance(right.type, Decimal)
    return typed.TypedArithmetic(_decimal_result(operator, left.type, right.type), operator, left, right)


def _decimal_result(operator: str, first: Decimal, second: Decimal) -> Decimal:
    """The type of a decimal result, wide enough that no digit is lost, except in a quotient."""
    p1, s1, p2, s2 = first.precision, first.scale, second.precision, second.scale
    if operator in "+-":
        return Decimal(max(s1, s2) + max(p1 - s1, p2 - s2) + 1, max(s1, s2))
    if operator == "*":
        return Decimal(p1 + p2 + 1, s1 + s2)
    if operator == "/":
        scale = max(6, s1 + p2 + 1)
        return Decimal(p1 - s1 + s2 + scale, scale)
    return Decimal(min(p1 - s1, p2 - s2) + max(s1, s2), max(s1, s2))


@_type_node.register
def _(expression: tree.Sign, inside: _ExpressionContext) -> typed.TypedExpression:
    operand = _typed(expression.operand, inside)
    if operand.type is None or not is_numeric(operand.type):
        fact = f"{expression.operator} does not apply to {_described(expression.operand, operand)}"
        raise StatementError(fact, expression.span)
    return operand if expression.operator == "+" else typed.TypedNegation(operand.type, operand)


@_type_node.register
def _(expression: tree.Concatenation, inside: _ExpressionContext) -> typed.TypedExpression:
    return _typed(tree.Call("CONCAT", tuple(_concatenated(expression)), span=expression.span), inside)


def _concatenated(expression: tree.Expression) -> list[tree.Expression]:
    if isinstance(expression, tree.Concatenation):
        return [*_concatenated(expression.left), *_concatenated(expression.right)]
    return [expression]


# ---------------------------------------------------------------- conditions


@_type_node.register
def _(expression: tree.Comparison, inside: _ExpressionContext) -> typed.TypedExpression:
    left, right = _operand(expression.left, inside), _operand(expression.right, inside)
    return comparison(expression.operator, left, right, expression.span)


@_type_node.register
def _(expression: tree.Logical, inside: _ExpressionContext) -> typed.TypedExpression:
    left = _boolean(expression.left, inside, expression.operator)
    right = _boolean(expression.right, inside, expression.operator)
    return typed.TypedLogical(BOOLEAN, expression.operator, left, right)


@_type_node.register
def _(expression: tree.Not, inside: _ExpressionContext) -> typed.TypedExpression:
    return typed.TypedNot(BOOLEAN, _boolean(expression.operand, inside, "NOT"))


def _boolean(expression: tree.Expression, inside: _ExpressionContext, operator: str) -> typed.TypedExpression:
    """The operand of AND, OR, NOT or WHEN. Raises StatementError if it is not BOOLEAN."""
    operand = _typed(expression, inside)
    if operand.type == BOOLEAN:
        return operand
    fact = f"{operator} requires a BOOLEAN, and {_described(expression, operand)} is not one"
    if operator == "WHEN":  # in ksqlDB's words
        fact = f"WHEN operand type should be boolean. Type for '{to_sql(expression)}' is {operand.type or 'NULL'}"
    raise StatementError(fact, expression.span, "compare it with a value, by = or >")


@_type_node.register
def _(expression: tree.IsNull, inside: _ExpressionContext) -> typed.TypedExpression:
    return _unless(typed.TypedIsNull(BOOLEAN, _typed(expression.operand, inside)), expression.negated)


@_type_node.register
def _(expression: tree.Between, inside: _ExpressionContext) -> typed.TypedExpression:
    operand = _repeated(expression.operand, 2, inside)
    low, high = _operand(expression.low, inside), _operand(expression.high, inside)
    least = comparison(">=", operand, low, expression.span)
    most = comparison("<=", operand, high, expression.span)
    return _unless(typed.TypedLogical(BOOLEAN, "AND", least, most), expression.negated)


@_type_node.register
def _(expression: tree.InList, inside: _ExpressionContext) -> typed.TypedExpression:
    operand = _operand(expression.operand, inside)
    items = [_operand(i, inside) for i in expression.items]
    if operand.value.type is None:
        raise StatementError("NULL IN (…) is always NULL", expression.span, "IS NULL is true for NULL")
    if is_bound(operand.value):
        items = [replace(i, value=instant(i)) if is_text(i.value) else i for i in items]
    try:
        target = common_type((operand, *items))
        assert target is not None
        value, *others = (convert(g.value, target, g.span) for g in (operand, *items))
    except StatementError as error:
        raise error.prefixed("Invalid Predicate") from error
    return _unless(typed.TypedInList(BOOLEAN, value, tuple(others)), expression.negated)


@_type_node.register
def _(expression: tree.Like, inside: _ExpressionContext) -> typed.TypedExpression:
    operand, pattern = _typed(expression.operand, inside), _typed(expression.pattern, inside)
    for written, operand_typed in ((expression.operand, operand), (expression.pattern, pattern)):
        if operand_typed.type != STRING:
            raise StatementError(
                f"LIKE requires a STRING, and {_described(written, operand_typed)} is not one", written.span
            )
    if isinstance(pattern, typed.Constant):
        _check_pattern(str(pattern.value), expression)
    return _unless(typed.TypedLike(BOOLEAN, operand, pattern, expression.escape), expression.negated)


def _check_pattern(pattern: str, expression: tree.Like) -> None:
    if expression.escape and pattern.replace(expression.escape * 2, "").endswith(expression.escape):
        raise StatementError("the pattern ends in its escape character", expression.pattern.span)


def _unless(positive: typed.TypedExpression, negated: bool) -> typed.TypedExpression:
    return typed.TypedNot(BOOLEAN, positive) if negated else positive


@_type_node.register
def _(expression: tree.Case, inside: _ExpressionContext) -> typed.TypedExpression:
    operand = None if expression.operand is None else _repeated(expression.operand, len(expression.whens), inside)
    conditions = [_when(operand, when, inside) for when in expression.whens]
    otherwise = expression.otherwise or tree.Literal(None, None, span=expression.span)
    results = [_operand(r, inside) for r in (*(w.result for w in expression.whens), otherwise)]
    target = common_type(results)
    if target is None:
        fact = "Invalid Case expression. All case branches have NULL type"
        raise StatementError(fact, expression.span, "CAST one: CAST(NULL AS INT)")
    *values, last = (convert(g.value, target, g.span) for g in results)
    return typed.TypedCase(target, tuple(zip(conditions, values, strict=True)), last)


def _when(operand: Operand | None, when: tree.When, inside: _ExpressionContext) -> typed.TypedExpression:
    if operand is None:
        return _boolean(when.condition, inside, "WHEN")
    return comparison("=", operand, _operand(when.condition, inside), when.condition.span)


# ---------------------------------------------------------------- casts and constructors


@_type_node.register
def _(expression: tree.Cast, inside: _ExpressionContext) -> typed.TypedExpression:
    operand = _typed(expression.operand, inside)
    target = inside.scope.expanded(expression.type, expression.span)
    if operand.type is not None and not castable(operand.type, target):
        raise StatementError(f"{operand.type} cannot be CAST to {target}", expression.span, _instead(operand.type))
    cast = typed.TypedCast(target, operand, alone=not _is_strict(inside), written=True)
    if target != STRING or is_on(inside.scope.settings, "ksql.cast.strings.preserve.nulls"):
        return operand if operand.type == target else cast
    return typed.TypedCase(STRING, ((typed.TypedIsNull(BOOLEAN, operand), typed.Constant(STRING, "null")),), cast)


def _instead(source: SqlType) -> str:
    return "FROM_BYTES turns BYTES into text" if source == BYTES else ""


@_type_node.register
def _(expression: tree.ArrayOf, inside: _ExpressionContext) -> typed.TypedExpression:
    if not expression.items:
        raise _empty("ARRAY", "ARRAY[1]", expression.span)
    element, items = _agreeing(expression.items, inside, expression.span, "an ARRAY", "elements")
    return typed.TypedArray(Array(element), items, _is_strict(inside))


@_type_node.register
def _(expression: tree.MapOf, inside: _ExpressionContext) -> typed.TypedExpression:
    if not expression.entries:
        raise _empty("MAP", "MAP('a' := 1)", expression.span)
    key, keys = _agreeing([k for k, _ in expression.entries], inside, expression.span, "a MAP", "keys")
    value, values = _agreeing([v for _, v in expression.entries], inside, expression.span, "a MAP", "values")
    return typed.TypedMap(Map(key, value), tuple(zip(keys, values, strict=True)), _is_strict(inside))


def _is_strict(inside: _ExpressionContext) -> bool:
    """True if a failing element makes the whole constructor fail, and a failing CAST the expression around it."""
    return not is_on(inside.scope.settings, "ksql.nested.error.set.null")


def _empty(kind: str, example: str, at: Span) -> StatementError:
    return StatementError(f"the {kind} constructor cannot be empty: its type would be unknown", at, f"e.g. {example}")


def _agreeing(
    items: Sequence[tree.Expression], inside: _ExpressionContext, at: Span, kind: str, parts: str
) -> tuple[SqlType, tuple[typed.TypedExpression, ...]]:
    """The common type of the elements of a constructor, and the elements converted to it."""
    elements = [_operand(i, inside) for i in items]
    element_type = common_type(elements)
    if element_type is None:
        raise StatementError(f"{kind} with all NULL {parts} has no type", at, "CAST one: CAST(NULL AS INT)")
    return element_type, tuple(convert(e.value, element_type, e.span) for e in elements)


@_type_node.register
def _(expression: tree.StructOf, inside: _ExpressionContext) -> typed.TypedExpression:
    values = [_typed(v, inside) for _, v in expression.fields]
    fields: list[Field] = []
    for (name, item), value in zip(expression.fields, values, strict=True):
        if value.type is None:
            raise StatementError(f"field {identifier(name)} is NULL and has no type", item.span, "CAST it")
        if any(f.name == name for f in fields):
            raise StatementError(f"field {identifier(name)} is repeated", item.span)
        fields.append(Field(name, value.type))
    return typed.TypedStruct(Struct(tuple(fields)), tuple(values), _is_strict(inside))


def _repeated(expression: tree.Expression, times: int, inside: _ExpressionContext) -> Operand:
    """An operand that is compared several times; each one inside another multiplies what is computed for a row."""
    operand = _operand(expression, inside)
    check_repeated(operand.value, times, "BETWEEN and CASE inside each other repeat this operand", expression.span)
    return operand


def check_repeated(expression: typed.TypedExpression, times: int, fact: str, at: Span) -> None:
    """Raises StatementError if an expression that is repeated so often has too many parts."""
    parts = sum(1 for _ in islice(expression.walk(), MOST_REPEATED + 1))
    if parts * times > MOST_REPEATED:
        hint = "split it: CREATE a stream for an inner part"
        raise StatementError(f"{fact} to more than {MOST_REPEATED} parts", at, hint)


def _operand(expression: tree.Expression, inside: _ExpressionContext) -> Operand:
    value = _typed(expression, inside)
    return Operand(value, isinstance(expression, tree.Literal), expression.span, expression)


# ---------------------------------------------------------------- calls


@_type_node.register
def _(expression: tree.Call, inside: _ExpressionContext) -> typed.TypedExpression:
    return call(
        expression, lambda e: _typed(e, inside), lambda e, t: _bind_lambda(e, t, inside), inside.scope.functions
    )


@_type_node.register
def _(expression: tree.Unit, inside: _ExpressionContext) -> typed.TypedExpression:
    raise StatementError(f"{expression.name} is a time unit, not a value", expression.span)


@_type_node.register
def _(expression: tree.Lambda, inside: _ExpressionContext) -> typed.TypedExpression:
    hint = "a column of that name is written in backticks"
    raise StatementError("a lambda can only be the argument of a function that takes one", expression.span, hint)


@_type_node.register
def _(expression: tree.AtTimeZone, inside: _ExpressionContext) -> typed.TypedExpression:
    hint = "CONVERT_TZ shifts a timestamp between zones"
    raise NotSupported("AT TIME ZONE is not supported", expression.span, hint)


def _bind_lambda(
    written: tree.Lambda, types: tuple[SqlType, ...], inside: _ExpressionContext
) -> tuple[tuple[typed.LambdaVariable, ...], typed.TypedExpression]:
    """The parameters of a lambda, under unique names, and its typed body."""
    if not is_on(inside.scope.settings, LAMBDAS):
        raise StatementError("Lambdas are not enabled at this time", written.span, f"set {LAMBDAS} to true")
    if len(set(written.parameters)) < len(written.parameters):
        raise StatementError("two parameters of this lambda have one name", written.span)
    variables = tuple(typed.LambdaVariable(t, f"v{inside.depth + i}") for i, t in enumerate(types))
    names = {**inside.variables, **dict(zip(written.parameters, variables, strict=True))}
    return variables, _typed(written.body, _ExpressionContext(inside.scope, names, inside.depth + len(variables)))


def _described(written: tree.Expression, value: typed.TypedExpression) -> str:
    """An expression's text and type, for messages."""
    return operand_text(Operand(value, False, written.span, written))
