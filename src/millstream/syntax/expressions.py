"""Parses expressions: from `a OR b`, which binds least, to names and constants, which bind most.

A *value* is an operand of comparison operators; a *predicate* (a = b, x IS NULL, …) is not a value, so `a = b = c` is
refused and `(a = b) = c` is not.
"""

from collections.abc import Callable
from typing import TypeVar

from millstream.model import types
from millstream.syntax import tree
from millstream.syntax.cursor import Cursor
from millstream.syntax.errors import SqlSyntaxError
from millstream.syntax.literals import at_number, duration, optional_literal, whole_number
from millstream.syntax.tokens import Token, TokenKind
from millstream.syntax.types import sql_type

T = TypeVar("T")

# The precedence of the operators between values; all associate to the left.
_STRENGTH = {"||": 1, "+": 2, "-": 2, "*": 3, "/": 3, "%": 3}
_COMPARE = {"=": "=", "<>": "<>", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
# Words for bare units that cannot be columns; DAY, HOUR and other singulars can, and are parsed as columns.
_UNITS = {"MILLISECOND": "MILLISECONDS"} | {
    u: u for u in ("MILLISECONDS", "SECONDS", "MINUTES", "HOURS", "DAYS", "MONTHS", "YEARS")
}


def expression(c: Cursor) -> tree.Expression:
    """Parse an expression, from OR downwards. Raises SqlSyntaxError."""
    left = _conjunction(c)
    while c.at("OR"):
        c.take()
        left = tree.Logical("OR", left, _conjunction(c), span=left.span)
    return left


def _conjunction(c: Cursor) -> tree.Expression:
    left = _negation(c)
    while c.at("AND"):
        c.take()
        left = tree.Logical("AND", left, _negation(c), span=left.span)
    return left


def _negation(c: Cursor) -> tree.Expression:
    negations = [c.take() for _ in iter(lambda: c.at("NOT"), False)]
    operand = _predicate(c)
    for token in reversed(negations):
        operand = tree.Not(operand, span=token.span)
    return operand


# ---------------------------------------------------------------- predicates


def _predicate(c: Cursor) -> tree.Expression:
    """Parses a value, and the comparison or test (IS, LIKE, BETWEEN, IN …) that may follow it."""
    left = value(c)
    key = c.token.key
    if key in _COMPARE:
        c.take()
        return tree.Comparison(_COMPARE[key], left, value(c), span=left.span)
    if key == "IS":
        return _is(c, left)
    negated = key == "NOT" and c.ahead(1).key in _TESTS
    test = _TESTS.get(c.ahead(1).key if negated else key)
    if test is None:
        return left
    if negated:
        c.take()
    c.take()
    return test(c, left, negated)


def _is(c: Cursor, left: tree.Expression) -> tree.Expression:
    c.take()
    negated = c.accept("NOT")
    if c.accept("NULL"):
        return tree.IsNull(left, negated, span=left.span)
    c.expect("DISTINCT", "FROM")
    operator = "IS NOT DISTINCT FROM" if negated else "IS DISTINCT FROM"
    return tree.Comparison(operator, left, value(c), span=left.span)


def _between(c: Cursor, left: tree.Expression, negated: bool) -> tree.Expression:
    low = value(c)
    c.expect("AND")
    return tree.Between(left, low, value(c), negated, span=left.span)


def _in(c: Cursor, left: tree.Expression, negated: bool) -> tree.Expression:
    return tree.InList(left, c.in_parentheses(expression), negated, span=left.span)


def _like(c: Cursor, left: tree.Expression, negated: bool) -> tree.Expression:
    pattern, escape = value(c), None
    if c.at("ESCAPE") and c.ahead(1).kind is TokenKind.STRING:
        c.take()
        token = c.take()
        escape = token.value
        if len(escape) != 1:
            raise SqlSyntaxError(f"an escape is one character, not {token.text}", token.span)
    return tree.Like(left, pattern, escape, negated, span=left.span)


_TESTS = {"BETWEEN": _between, "IN": _in, "LIKE": _like}


# ---------------------------------------------------------------- values


def value(c: Cursor, at_least: int = 1) -> tree.Expression:
    """A value whose operators have at least the precedence `at_least`."""
    left = _operand(c)
    while (strength := _STRENGTH.get(c.token.key, 0)) >= at_least:
        operator = c.take().key
        right = value(c, strength + 1)
        if operator == "||":
            left = tree.Concatenation(left, right, span=left.span)
        else:
            left = tree.Arithmetic(operator, left, right, span=left.span)
    return left


def _operand(c: Cursor) -> tree.Expression:
    if (c.at("-") or c.at("+")) and not at_number(c):
        sign = c.take()
        return tree.Sign(sign.key, c.nested(_operand), span=sign.span)
    operand = c.nested(primary)
    while c.at("AT"):
        c.expect("AT", "TIME", "ZONE")
        token = c.expect_kind(TokenKind.STRING, "the name of a time zone")
        zone = tree.Literal(token.value, types.STRING, span=token.span)
        operand = tree.AtTimeZone(operand, zone, span=operand.span)
    return operand


def primary(c: Cursor) -> tree.Expression:
    """A constant, name, call, constructor or parenthesised expression, with the `[i]` and `->f` that follow it."""
    base = _simple(c)
    while True:
        if c.at("["):
            c.take()
            base = tree.Subscript(base, value(c), span=base.span)
            c.expect("]")
        elif c.at("->") and c.ahead(1).key != "*":
            c.take()
            base = tree.Deref(base, c.name("a field name"), span=base.span)
        else:
            return base


def _simple(c: Cursor) -> tree.Expression:
    if (constant := optional_literal(c)) is not None:
        return constant
    if (read := _FORMS.get((c.token.key, c.ahead(1).key)) or _FORMS.get((c.token.key, ""))) is not None:
        return read(c)
    token, after = c.token, c.ahead(1)
    if after.kind is TokenKind.STRING and (token.is_name or token.key == "DECIMAL"):
        return tree.TypedText(c.take().value, c.take().value, span=token.span)
    name = c.name("an expression")
    if after.key == "(":
        return _call(c, name, token)
    if c.at(".") and not c.at(".", "*"):
        c.take()
        return _qualified(c, name, token)
    return tree.ColumnRef(name, span=token.span)


def _qualified(c: Cursor, source: str, at: Token) -> tree.Expression:
    name = c.name("a column")
    if name in tree.PARTS and c.at(".") and c.ahead(1).key != "*":
        c.take()
        return tree.ColumnRef(c.name("a column"), source, name, span=at.span)
    return tree.ColumnRef(name, source, span=at.span)


def _parenthesised(c: Cursor) -> tree.Expression:
    c.take()
    inner = expression(c)
    c.expect(")")
    return inner


def _case(c: Cursor) -> tree.Expression:
    at = c.take().span
    operand = None if c.at("WHEN") else value(c)
    whens = [_when(c)]
    while c.at("WHEN"):
        whens.append(_when(c))
    otherwise = expression(c) if c.accept("ELSE") else None
    c.expect("END")
    return tree.Case(tuple(whens), otherwise, operand, span=at)


def _when(c: Cursor) -> tree.When:
    at = c.expect("WHEN").span
    condition = expression(c)
    c.expect("THEN")
    return tree.When(condition, expression(c), span=at)


def _cast(c: Cursor) -> tree.Expression:
    at = c.expect("CAST", "(").span
    operand = expression(c)
    c.expect("AS")
    target = sql_type(c)
    c.expect(")")
    return tree.Cast(operand, target, span=at)


def _array(c: Cursor) -> tree.Expression:
    return tree.ArrayOf(span=c.span, items=_enclosed(c, expression, "]"))


def _map(c: Cursor) -> tree.Expression:
    return tree.MapOf(span=c.span, entries=_enclosed(c, _entry, ")"))


def _struct(c: Cursor) -> tree.Expression:
    return tree.StructOf(span=c.span, fields=_enclosed(c, _field, ")"))


def _enclosed(c: Cursor, item: Callable[[Cursor], T], closing: str) -> tuple[T, ...]:
    """The items between a word's opening bracket and `closing`; possibly none."""
    c.take()
    c.take()
    items = () if c.at(closing) else c.list_of(item)
    c.expect(closing)
    return items


def _entry(c: Cursor) -> tuple[tree.Expression, tree.Expression]:
    key = expression(c)
    c.expect(":=")
    return key, expression(c)


def _field(c: Cursor) -> tuple[str, tree.Expression]:
    name = c.name("a field name")
    c.expect(":=")
    return name, expression(c)


# By the word that begins them and the symbol after it; "" if any token may follow.
_FORMS: dict[tuple[str, str], Callable[[Cursor], tree.Expression]] = {
    ("(", ""): _parenthesised,
    ("CASE", ""): _case,
    ("CAST", ""): _cast,
    ("ARRAY", "["): _array,
    ("MAP", "("): _map,
    ("STRUCT", "("): _struct,
}


# ---------------------------------------------------------------- calls


def _call(c: Cursor, name: str, at: Token) -> tree.Expression:
    c.expect("(")
    if c.at("*", ")"):
        c.expect("*", ")")
        return tree.Call(name, (), star=True, filter=_filter(c), over=_over(c), span=at.span)
    distinct = c.accept("DISTINCT")
    arguments = () if c.at(")") and not distinct else c.list_of(_argument)
    c.expect(")")
    return tree.Call(name, arguments, distinct=distinct, filter=_filter(c), over=_over(c), span=at.span)


def _filter(c: Cursor) -> tree.Expression | None:
    """The condition of FILTER (WHERE condition) after a call; None if no such clause follows.

    The word FILTER alone may be the alias of the column.
    """
    if not c.at("FILTER", "(", "WHERE"):
        return None
    c.expect("FILTER", "(", "WHERE")
    condition = expression(c)
    c.expect(")")
    return condition


def _over(c: Cursor) -> tree.OverClause | None:
    """The clause OVER (…) after a call; None if no such clause follows. OVER alone may be the alias of the column."""
    if not c.at("OVER", "("):
        return None
    at = c.expect("OVER", "(").span
    partition_by = c.list_of(expression) if c.accept("PARTITION", "BY") else ()
    frame = _frame(c, _by_time(c))
    c.expect(")")
    return tree.OverClause(partition_by, frame, span=at)


def _by_time(c: Cursor) -> bool:
    """Takes ORDER BY ROWOFFSET [ASC] or ORDER BY ROWTIME [ASC] before RANGE; True for the latter.

    Raises SqlSyntaxError for other orders.
    """
    at = c.span
    if c.accept("ORDER", "BY"):
        at, order = c.span, expression(c)
        c.accept("ASC")
        if order == tree.ColumnRef("ROWTIME") and c.at("RANGE"):
            return True
        if order == tree.ColumnRef("ROWOFFSET") and not (c.at("DESC") or c.at(",")):
            return False
    fact = "the rows of OVER are in the order in which they arrive: ORDER BY ROWOFFSET"
    hint = "a query that keeps running does not hold a row back until all with earlier times are there"
    raise SqlSyntaxError(fact, at, f"{hint}; ORDER BY ROWTIME RANGE 1 HOUR PRECEDING takes those of the last hour")


def _frame(c: Cursor, by_time: bool) -> tree.RowsFrame | tree.RangeFrame | None:
    """The frame that comes next: RANGE if `by_time`, else ROWS. None without one, and for ROWS UNBOUNDED PRECEDING."""
    at = c.span
    if by_time:
        c.expect("RANGE")
        time = _preceding(c, duration)
        return tree.RangeFrame(time, duration(c) if c.accept("GRACE", "PERIOD") else None, span=at)
    if c.at("RANGE"):
        hint = "ORDER BY ROWTIME RANGE 1 HOUR PRECEDING, or ORDER BY ROWOFFSET ROWS 9 PRECEDING"
        raise SqlSyntaxError("RANGE is a range of times: ORDER BY ROWTIME", at, hint)
    if not c.accept("ROWS"):
        return None
    count = _preceding(c, _count)
    return None if count is None else tree.RowsFrame(count, span=at)


def _count(c: Cursor) -> int | None:
    return None if c.accept("UNBOUNDED") else whole_number(c, "a number of rows")


def _preceding(c: Cursor, bound: Callable[[Cursor], T]) -> T:
    """The bound of `bound PRECEDING`, or of the same with BETWEEN before and AND CURRENT ROW after it."""
    between = c.accept("BETWEEN")
    first = bound(c)
    c.expect("PRECEDING")
    if between:
        c.expect("AND", "CURRENT", "ROW")
    return first


def _argument(c: Cursor) -> tree.Expression:
    if c.at_any(_UNITS.keys()):
        token = c.take()
        return tree.Unit(_UNITS[token.key], span=token.span)
    return _lambda(c) if _at_lambda(c) else expression(c)


def _at_lambda(c: Cursor) -> bool:
    if c.token.is_name:
        return c.ahead(1).key == "=>"
    distance = 1
    while c.at("(") and c.ahead(distance).is_name:
        if c.ahead(distance + 1).key == ")":
            return c.ahead(distance + 2).key == "=>"
        if c.ahead(distance + 1).key != ",":
            return False
        distance += 2
    return False


def _lambda(c: Cursor) -> tree.Expression:
    at = c.span
    parameters = c.in_parentheses(_parameter) if c.at("(") else (_parameter(c),)
    c.expect("=>")
    return tree.Lambda(parameters, expression(c), span=at)


def _parameter(c: Cursor) -> str:
    return c.name("a parameter")
