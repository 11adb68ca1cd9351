"""Lowers operator expressions to Spark SQL text.

A value bound by a let is evaluated once, by `ms_let`, if it is read more than once; it is written inline if it is read
once, or is only a name, a field of one, or a literal.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import singledispatch

from millstream.functions.operator_expressions import (
    NamedValue,
    OperatorExpression,
    SparkSql,
    SqlBranch,
    SqlCall,
    SqlCase,
    SqlCast,
    SqlColumn,
    SqlConstant,
    SqlField,
    SqlIf,
    SqlItem,
    SqlLambda,
    SqlLet,
    SqlNull,
    SqlOperator,
    SqlPostfix,
    SqlPrefix,
    SqlText,
    SqlVariable,
    StructLiteral,
)


def spark_sql(node: OperatorExpression) -> SparkSql:
    """The Spark SQL text of an expression; its columns are those of the environment that it is evaluated over.

    Raises KeyError for an unbound variable.
    """
    columns = frozenset(inner.name for inner in node.walk() if isinstance(inner, SqlColumn))
    return SparkSql(_text(node, _Scope({}, columns)))


@dataclass(frozen=True, slots=True)
class _Bound:
    """A variable's text, and True if reading it again is free."""

    text: str
    cheap: bool = True


@dataclass(frozen=True, slots=True)
class _Scope:
    """The variables in scope, and the names that are in use."""

    variables: Mapping[str, _Bound]
    used_names: frozenset[str]

    def with_variables(self, names: Sequence[str]) -> "tuple[_Scope, list[str]]":
        """A scope with these variables bound, and the names that they get in the text."""
        variables, used_names, texts = dict(self.variables), set(self.used_names), []
        for name in names:
            text = next(t for t in _names(name) if t not in used_names)
            variables[name] = _Bound(text)
            used_names.add(text)
            texts.append(text)
        return _Scope(variables, frozenset(used_names)), texts


def _names(name: str) -> Iterator[str]:
    yield name
    number = 2
    while True:
        yield f"{name}{number}"
        number += 1


@singledispatch
def _text(node: OperatorExpression, scope: _Scope) -> str:
    raise TypeError(f"no Spark SQL for {type(node).__name__}")


@_text.register
def _(node: SqlColumn, scope: _Scope) -> str:
    return node.name


@_text.register
def _(node: SqlVariable, scope: _Scope) -> str:
    return scope.variables[node.name].text


@_text.register(SqlConstant)
@_text.register(SqlText)
def _(node: SqlConstant | SqlText, scope: _Scope) -> str:
    return node.text


@_text.register
def _(node: SqlNull, scope: _Scope) -> str:
    return f"cast(null as {node.type})"


@_text.register
def _(node: SqlField, scope: _Scope) -> str:
    return f"{_text(node.base, scope)}.{node.name}"


@_text.register
def _(node: SqlItem, scope: _Scope) -> str:
    return f"{_text(node.base, scope)}[{node.index}]"


@_text.register
def _(node: SqlCast, scope: _Scope) -> str:
    return f"cast({_text(node.operand, scope)} as {node.type})"


@_text.register
def _(node: SqlPrefix, scope: _Scope) -> str:
    return f"({node.symbol} {_text(node.operand, scope)})"


@_text.register
def _(node: SqlPostfix, scope: _Scope) -> str:
    return f"({_text(node.operand, scope)} {node.symbol})"


@_text.register
def _(node: SqlOperator, scope: _Scope) -> str:
    return f"({_text(node.left, scope)} {node.symbol} {_text(node.right, scope)})"


@_text.register
def _(node: SqlCall, scope: _Scope) -> str:
    return f"{node.function}({', '.join(_text(a, scope) for a in node.arguments)})"


@_text.register
def _(node: SqlIf, scope: _Scope) -> str:
    return f"if({', '.join(_text(part, scope) for part in node.children())})"


@_text.register
def _(node: SqlBranch, scope: _Scope) -> str:
    return f"when {_text(node.condition, scope)} then {_text(node.value, scope)}"


@_text.register
def _(node: SqlCase, scope: _Scope) -> str:
    branches = " ".join(_text(branch, scope) for branch in node.branches)
    return f"(case {branches} else {_text(node.otherwise, scope)} end)"


@_text.register
def _(node: NamedValue, scope: _Scope) -> str:
    return f"'{node.name}', {_text(node.value, scope)}"


@_text.register
def _(node: StructLiteral, scope: _Scope) -> str:
    return f"named_struct({', '.join(_text(value, scope) for value in node.values)})"


@_text.register
def _(node: SqlLambda, scope: _Scope) -> str:
    inner, names = scope.with_variables(node.parameters)
    head = names[0] if len(names) == 1 else f"({', '.join(names)})"
    return f"{head} -> {_text(node.body, inner)}"


@_text.register
def _(node: SqlLet, scope: _Scope) -> str:
    texts = {b.name: _text(b.value, scope) for b in node.bindings}
    cheap = {b.name: _is_cheap(b.value, scope) for b in node.bindings}
    in_place = {n: _Bound(t, cheap[n]) for n, t in texts.items() if cheap[n] or _reads(n, node.body) <= 1}
    named = [name for name in texts if name not in in_place]
    inner, names = _Scope({**scope.variables, **in_place}, scope.used_names).with_variables(named)
    text = _text(node.body, inner)
    for name, variable in reversed(list(zip(named, names, strict=True))):
        text = f"ms_let({texts[name]}, {variable} -> {text})"
    return text


def _is_cheap(node: OperatorExpression, scope: _Scope) -> bool:
    """True if a value may be repeated inline: a name, a field of one, or a literal."""
    match node:
        case SqlColumn() | SqlConstant() | SqlNull():
            return True
        case SqlVariable(name):
            return scope.variables[name].cheap
        case SqlField(base, _):
            return _is_cheap(base, scope)
    return False


def _reads(name: str, node: OperatorExpression) -> int:
    """How often a variable is read; a read in a lambda counts twice, since a lambda may run more than once."""
    match node:
        case SqlVariable():
            return int(node.name == name)
        case SqlLambda(parameters, body):
            return 0 if name in parameters else 2 * _reads(name, body)
        case SqlLet(bindings, body) if any(binding.name == name for binding in bindings):
            return sum(_reads(name, binding) for binding in bindings)
    return sum(_reads(name, part) for part in node.children())
