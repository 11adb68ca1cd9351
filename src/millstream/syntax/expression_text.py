"""Expressions as statement text, with only the necessary parentheses."""

from decimal import Decimal
from functools import singledispatch

from millstream.model.names import identifier, literal, quoted
from millstream.model.types import STRING
from millstream.syntax import tree

# The precedence of each kind of expression; one with lower precedence inside another needs parentheses.
_ANY, _OR, _AND, _NOT, _PREDICATE, _VALUE, _SUM, _PRODUCT, _SIGN, _ZONE, _PRIMARY = range(11)
_ARITHMETIC = {"+": _SUM, "-": _SUM, "*": _PRODUCT, "/": _PRODUCT, "%": _PRODUCT}
_PREDICATES = (tree.Comparison, tree.IsNull, tree.Between, tree.InList, tree.Like)


def expression_text(e: tree.Expression) -> str:
    """`e` as statement text that parses back to an equal expression."""
    return _text(e, _ANY)


def value_text(e: tree.Expression) -> str:
    """`e` where the grammar expects a value, as in GROUP BY: predicates get parentheses."""
    return _text(e, _VALUE)


def primary_text(e: tree.Expression) -> str:
    """`e` in a form that `->` may follow."""
    return _text(e, _PRIMARY)


def _text(e: tree.Expression, at_least: int) -> str:
    text = _bare(e)
    return f"({text})" if _strength(e) < at_least else text


def _strength(e: tree.Expression) -> int:
    if isinstance(e, tree.Logical):
        return _OR if e.operator == "OR" else _AND
    if isinstance(e, tree.Arithmetic):
        return _ARITHMETIC[e.operator]
    if isinstance(e, _PREDICATES):
        return _PREDICATE
    return _STRENGTHS.get(type(e), _PRIMARY)


_STRENGTHS: dict[type[tree.Expression], int] = {
    tree.Not: _NOT,
    tree.Concatenation: _VALUE,
    tree.Sign: _SIGN,
    tree.AtTimeZone: _ZONE,
}


def _list(items: tuple[tree.Expression, ...]) -> str:
    return ", ".join(map(expression_text, items))


def _not(negated: bool) -> str:
    return "NOT " if negated else ""


@singledispatch
def _bare(e: tree.Expression) -> str:
    raise TypeError(f"{type(e).__name__} has no text")


@_bare.register
def _(e: tree.Literal) -> str:
    if isinstance(e.value, str):
        return literal(e.value)
    if isinstance(e.value, float):
        return _scientific(e.value)
    if isinstance(e.value, Decimal):
        text = format(e.value, "f")
        return text if "." in text else text + "."
    return "NULL" if e.value is None else str(e.value).upper()


def _scientific(number: float) -> str:
    """With an exponent, which makes a number a DOUBLE: 1E3, 1.5E-7."""
    sign, digits, exponent = Decimal(repr(number)).normalize().as_tuple()
    first, rest = digits[0], "".join(map(str, digits[1:]))
    power = int(exponent) + len(rest)
    return f"{'-' if sign else ''}{first}{'.' if rest else ''}{rest}E{power}"


@_bare.register
def _(e: tree.ColumnRef) -> str:
    return ".".join(identifier(name) for name in (e.source, e.part, e.name) if name is not None)


@_bare.register
def _(e: tree.Deref) -> str:
    return f"{primary_text(e.base)}->{identifier(e.field)}"


@_bare.register
def _(e: tree.Subscript) -> str:
    # ARRAY[…] is the constructor, so a column of that name has to be quoted here
    base = quoted("ARRAY") if e.base == tree.ColumnRef("ARRAY") else primary_text(e.base)
    return f"{base}[{value_text(e.index)}]"


@_bare.register
def _(e: tree.Call) -> str:
    name = quoted(e.name) if e.name in ("MAP", "STRUCT") else identifier(e.name)
    rows = f" FILTER (WHERE {expression_text(e.filter)})" if e.filter is not None else ""
    over = f" {_over(e.over)}" if e.over is not None else ""
    return f"{name}({'DISTINCT ' if e.distinct else ''}{'*' if e.star else _list(e.args)}){rows}{over}"


def _over(clause: tree.OverClause) -> str:
    by = f"PARTITION BY {_list(clause.partition_by)} " if clause.partition_by else ""
    return f"OVER ({by}ORDER BY {_frame(clause.frame)})"


def _frame(frame: tree.RowsFrame | tree.RangeFrame | None) -> str:
    match frame:
        case tree.RowsFrame(preceding=count):
            return f"ROWOFFSET ROWS {count} PRECEDING"
        case tree.RangeFrame(preceding=time, grace=grace):
            late = f" GRACE PERIOD {duration_text(grace)}" if grace is not None else ""
            return f"ROWTIME RANGE {duration_text(time)} PRECEDING{late}"
        case None:
            return "ROWOFFSET"


def duration_text(duration: tree.Duration) -> str:
    """A duration as statement text, e.g. `10 SECONDS`."""
    return f"{duration.count} {duration.unit}"


@_bare.register
def _(e: tree.Unit) -> str:
    return e.name


@_bare.register
def _(e: tree.Logical) -> str:
    return _chain(e)


@_bare.register
def _(e: tree.Arithmetic) -> str:
    return _chain(e)


@_bare.register
def _(e: tree.Concatenation) -> str:
    return _chain(e)


def _chain(e: tree.Logical | tree.Arithmetic | tree.Concatenation) -> str:
    """`a + b + c`, without recursion on the left side, which may have thousands of operands."""
    strength, parts = _strength(e), []
    left: tree.Expression = e
    while isinstance(left, (tree.Logical, tree.Arithmetic, tree.Concatenation)) and _strength(left) == strength:
        operator = "||" if isinstance(left, tree.Concatenation) else left.operator
        parts.append(f" {operator} {_text(left.right, strength + 1)}")
        left = left.left
    return _text(left, strength) + "".join(reversed(parts))


@_bare.register
def _(e: tree.Sign) -> str:
    operand = _text(e.operand, _SIGN)
    # "--" begins a comment, and a minus before a number belongs to the number
    return f"-({operand})" if e.operator == "-" and operand[0] in "-.0123456789" else e.operator + operand


@_bare.register
def _(e: tree.Comparison) -> str:
    return f"{value_text(e.left)} {e.operator} {value_text(e.right)}"


@_bare.register
def _(e: tree.Not) -> str:
    return f"NOT {_text(e.operand, _NOT)}"


@_bare.register
def _(e: tree.IsNull) -> str:
    return f"{value_text(e.operand)} IS {_not(e.negated)}NULL"


@_bare.register
def _(e: tree.Between) -> str:
    return f"{value_text(e.operand)} {_not(e.negated)}BETWEEN {value_text(e.low)} AND {value_text(e.high)}"


@_bare.register
def _(e: tree.InList) -> str:
    return f"{value_text(e.operand)} {_not(e.negated)}IN ({_list(e.items)})"


@_bare.register
def _(e: tree.Like) -> str:
    escape = "" if e.escape is None else f" ESCAPE {literal(e.escape)}"
    return f"{value_text(e.operand)} {_not(e.negated)}LIKE {value_text(e.pattern)}{escape}"


@_bare.register
def _(e: tree.Case) -> str:
    operand = "" if e.operand is None else f" {value_text(e.operand)}"
    whens = "".join(f" WHEN {expression_text(w.condition)} THEN {expression_text(w.result)}" for w in e.whens)
    otherwise = "" if e.otherwise is None else f" ELSE {expression_text(e.otherwise)}"
    return f"CASE{operand}{whens}{otherwise} END"


@_bare.register
def _(e: tree.Cast) -> str:
    return f"CAST({expression_text(e.operand)} AS {e.type})"


@_bare.register
def _(e: tree.ArrayOf) -> str:
    return f"ARRAY[{_list(e.items)}]"


@_bare.register
def _(e: tree.MapOf) -> str:
    entries = (f"{expression_text(key)} := {expression_text(value)}" for key, value in e.entries)
    return f"MAP({', '.join(entries)})"


@_bare.register
def _(e: tree.StructOf) -> str:
    fields = (f"{identifier(name)} := {expression_text(value)}" for name, value in e.fields)
    return f"STRUCT({', '.join(fields)})"


@_bare.register
def _(e: tree.Lambda) -> str:
    names = ", ".join(map(identifier, e.parameters))
    parameters = names if len(e.parameters) == 1 else f"({names})"
    return f"{parameters} => {expression_text(e.body)}"


@_bare.register
def _(e: tree.AtTimeZone) -> str:
    zone = e.zone.value if isinstance(e.zone, tree.Literal) and e.zone.type == STRING else None
    if not isinstance(zone, str):
        raise TypeError("a time zone is a string literal")
    return f"{_text(e.operand, _ZONE)} AT TIME ZONE {literal(zone)}"


@_bare.register
def _(e: tree.TypedText) -> str:
    return f"{e.type if e.type == 'DECIMAL' else identifier(e.type)} {literal(e.text)}"
