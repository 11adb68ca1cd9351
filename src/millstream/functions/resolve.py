"""Resolves a call to a signature of its function, by ksqlDB's rules for overloads.

Three passes are tried, and the first with a match decides: exact types; with widening (INTEGER to BIGINT to DECIMAL to
DOUBLE, text to DATE, TIME and TIMESTAMP); with widening also among the uses of a generic. Of several matches, the
better one has no repeated parameter, then more parameters, then fewer generics; if two are equally good, the call is
ambiguous. A bare NULL matches any type, but is neither a lambda nor a time unit.

Of ABS's signatures for INTEGER, BIGINT, DECIMAL and DOUBLE the exact one is taken; of ARRAY_CONTAINS's T the array's
element binds it, and the value is cast:

>>> from millstream.model.types import BIGINT, INTEGER
>>> here = Span(1, 1)
>>> str(resolve("ABS", [BIGINT], None, here).returns)
'BIGINT'
>>> call = resolve("ARRAY_CONTAINS", [Array(BIGINT), INTEGER], None, here)
>>> [str(t) for t in call.arguments], str(call.returns)
(['None', 'BIGINT'], 'BOOLEAN')
>>> resolve("ABS", [Array(BIGINT)], None, here)
Traceback (most recent call last):
millstream.model.errors.StatementError: line 1:1: Function 'ABS' does not accept parameters (ARRAY<BIGINT>).
  hint: valid calls are ABS(value INTEGER); ABS(value BIGINT); ABS(value DOUBLE); ABS(value DECIMAL)
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum

from millstream.functions import BUILT_IN, Library, foreign
from millstream.functions.declare import (
    ANY,
    ANY_DECIMAL,
    UNIT,
    Function,
    Generic,
    LambdaArgument,
    LambdaType,
    LambdaTyper,
    ResolvedCall,
    Signature,
    TypeRule,
)
from millstream.functions.widening import as_decimal, common, widens
from millstream.model.errors import Span, StatementError
from millstream.model.names import did_you_mean
from millstream.model.types import Array, Decimal, Map, SqlType
from millstream.model.units import MILLISECONDS

Types = Sequence[SqlType | None]


class _Leniency(IntEnum):
    """How far an argument's type may differ from its parameter's."""

    EXACT = 0
    WIDENING = 1
    WIDENING_GENERICS = 2


def resolve(
    name: str,
    arguments: Types,
    lambda_typer: LambdaTyper | None,
    at: Span,
    literals: Sequence[object] | None = None,
    library: Library = BUILT_IN,
) -> ResolvedCall:
    """The signature of a call `name(arguments)`, the types to cast its arguments to, and its result type.

    An argument's type is None for a bare NULL, LambdaArgument for a lambda, UNIT for a bare time unit.
    Raises StatementError if no signature matches, several do, or a lambda has no valid type. `literals` has the name of
    each bare time unit, by the index of its argument.
    """
    function = look_up(name, at, library)
    for unit in (value for t, value in zip(arguments, literals or (), strict=False) if t == UNIT):
        if unit not in MILLISECONDS:
            raise StatementError(f"{unit} is not a unit here", at, f"units are {', '.join(MILLISECONDS)}")
    return resolve_among(function, arguments, lambda_typer, at)


def look_up(name: str, at: Span, library: Library = BUILT_IN) -> Function:
    """The function of that name. Raises StatementError if it does not exist."""
    function = library.lookup(name)
    if function is None:
        known = did_you_mean(name.upper(), library.names)
        hint = foreign.HINTS.get(name.upper()) or known or "SHOW FUNCTIONS lists all"
        raise StatementError(f"there is no function named '{name}'", at, hint)
    return function


def resolve_among(function: Function, arguments: Types, lambda_typer: LambdaTyper | None, at: Span) -> ResolvedCall:
    """The same as `resolve`, for a function that was looked up already."""
    match = _choose(function, arguments, at)
    return _complete(function, match, arguments, lambda_typer, at)


@dataclass(frozen=True, slots=True)
class _Match:
    """A matching signature: a parameter type for each argument, and the generics that they bind."""

    signature: Signature
    parameters: tuple[SqlType, ...]
    generics: dict[str, SqlType] = field(default_factory=dict)

    @property
    def rank(self) -> tuple[bool, int, int, int]:
        """The order of matching signatures: the call is resolved to the one with the greatest rank."""
        parameters = self.signature.parameters
        generic = sum(_is_generic(p.type) for p in parameters)
        repeated = self.signature.variadic
        return (repeated is None, len(parameters), -generic, -1 if repeated is None else repeated)


def _choose(function: Function, arguments: Types, at: Span) -> _Match:
    for leniency in _Leniency:
        matches = [match for s in function.signatures if (match := _matched(s, arguments, leniency))]
        if not matches:
            continue
        matches.sort(key=lambda match: match.rank)
        if len(matches) > 1 and matches[-1].rank == matches[-2].rank:
            raise _refused(function, "cannot be resolved due to ambiguous method parameters", arguments, at)
        return matches[-1]
    raise _refused(function, "does not accept parameters", arguments, at)


def _refused(function: Function, how: str, arguments: Types, at: Span) -> StatementError:
    argument_types = ", ".join("null" if t is None else _type_text(t) for t in arguments)
    hint = "valid calls are " + "; ".join(call_text(function.name, s) for s in function.signatures)
    if any(p.type == UNIT for s in function.signatures for p in s.parameters):
        hint += f"; units are {', '.join(MILLISECONDS)}, without quotes"
    elif UNIT in arguments:
        hint += "; a column with the name of a unit is written in backticks"
    return StatementError(f"Function '{function.name}' {how} ({argument_types}).", at, hint)


def _type_text(t: SqlType) -> str:
    return "LAMBDA" if isinstance(t, LambdaArgument) else str(t).replace("`", "")


def call_text(name: str, signature: Signature) -> str:
    """The form of a call by `signature`: NAME(first TYPE, rest TYPE...)."""
    parts = [
        f"{p.name} {_type_text(p.type)}{'...' if i == signature.variadic else ''}"
        for i, p in enumerate(signature.parameters)
    ]
    return f"{name}({', '.join(parts)})"


# ---------------------------------------------------------------- matching


def _matched(signature: Signature, arguments: Types, leniency: _Leniency) -> _Match | None:
    parameters = _spread(signature, len(arguments))
    if parameters is None:
        return None
    generics: dict[str, SqlType] = {}
    for parameter, argument in zip(parameters, arguments, strict=True):
        if not _accepts(parameter, argument, generics, leniency):
            return None
    return _Match(signature, parameters, generics)


def _spread(signature: Signature, count: int) -> tuple[SqlType, ...] | None:
    """A parameter type for each of `count` arguments; None if the signature takes another number."""
    types = tuple(p.type for p in signature.parameters)
    at = signature.variadic
    if at is None:
        return types if len(types) == count else None
    repeats = count - len(types) + 1
    return None if repeats < 0 else types[:at] + types[at : at + 1] * repeats + types[at + 1 :]


def _accepts(parameter: SqlType, argument: SqlType | None, generics: dict[str, SqlType], leniency: _Leniency) -> bool:
    """True if an argument's type matches a parameter's type or pattern; adds the generics that it binds."""
    if argument is None:
        return parameter != UNIT and not isinstance(parameter, LambdaType)
    if argument == UNIT:
        return parameter == UNIT
    if parameter == ANY:
        return not isinstance(argument, LambdaArgument)
    if isinstance(parameter, LambdaType) or isinstance(argument, LambdaArgument):
        return (
            isinstance(parameter, LambdaType)
            and isinstance(argument, LambdaArgument)
            and len(parameter.parameters) == argument.arity
        )
    if _is_generic(parameter):
        return _unify(parameter, argument, generics, leniency)
    return _compatible(parameter, argument, leniency)


def _compatible(parameter: SqlType, argument: SqlType, leniency: _Leniency) -> bool:
    """True if `argument` matches the concrete `parameter`."""
    if parameter == argument or (parameter == ANY_DECIMAL and isinstance(argument, Decimal)):
        return True
    match parameter, argument:
        case Array(element), Array(argument_element):
            return _compatible(element, argument_element, leniency)
        case Map(key, value), Map(argument_key, argument_value):
            return _compatible(key, argument_key, leniency) and _compatible(value, argument_value, leniency)
    return leniency > _Leniency.EXACT and widens(argument, parameter)


def _unify(pattern: SqlType, actual: SqlType, generics: dict[str, SqlType], leniency: _Leniency) -> bool:
    """True if `actual` has the form of `pattern`; binds the pattern's generics."""
    match pattern, actual:
        case Generic(name), _:
            bound = generics.setdefault(name, actual)
            if bound == actual:
                return True
            wider = common(bound, actual) if leniency is _Leniency.WIDENING_GENERICS else None
            generics[name] = wider or bound
            return wider is not None
        case Array(p), Array(a):
            return _unify(p, a, generics, leniency)
        case Map(pk, pv), Map(ak, av):
            return _unify(pk, ak, generics, leniency) and _unify(pv, av, generics, leniency)
    return _compatible(pattern, actual, min(leniency, _Leniency.WIDENING))


def _is_generic(t: SqlType) -> bool:
    return any(isinstance(part, Generic) for part in t.walk())


# ---------------------------------------------------------------- the result of the choice


def _complete(
    function: Function, match: _Match, arguments: Types, lambda_typer: LambdaTyper | None, at: Span
) -> ResolvedCall:
    """The resolved call for the best match: its generics are bound, its lambdas, casts and result are typed.

    Raises StatementError if the result's type remains unknown, because an argument is NULL.
    """
    generics = dict(match.generics)
    casts: list[SqlType | None] = []
    for i, (parameter, argument) in enumerate(zip(match.parameters, arguments, strict=True)):
        if isinstance(parameter, LambdaType):
            casts.append(_lambda(i, parameter, generics, lambda_typer, at))
        else:
            casts.append(_cast(parameter, argument, generics))
    types = [_argument_type(cast, argument) for cast, argument in zip(casts, arguments, strict=True)]
    returns = _result(match.signature.returns, generics, types, at)
    if returns is None or _is_generic(returns):
        raise StatementError(
            f"the type that {function.name} returns cannot be derived from NULL", at, "use CAST(NULL AS …)"
        )
    return ResolvedCall(function, match.signature, tuple(casts), returns)


def _result(rule: SqlType | TypeRule, generics: dict[str, SqlType], argument_types: Types, at: Span) -> SqlType | None:
    if isinstance(rule, SqlType):
        return _substituted(rule, generics)
    try:
        return rule(argument_types)
    except StatementError as error:
        raise error.located(at) from error


def _argument_type(cast: SqlType | None, argument: SqlType | None) -> SqlType | None:
    return argument if cast is None or isinstance(cast, LambdaType) else cast


def _cast(parameter: SqlType, argument: SqlType | None, generics: dict[str, SqlType]) -> SqlType | None:
    """The type that an argument must be cast to; None if it needs no cast."""
    target = _substituted(parameter, generics)
    if target is None or target == argument:
        return None
    if target == ANY_DECIMAL:
        return None if argument is None or isinstance(argument, Decimal) else as_decimal(argument)
    return None if any(part in (ANY, ANY_DECIMAL) for part in target.walk()) else target


def _substituted(t: SqlType, generics: dict[str, SqlType]) -> SqlType | None:
    """`t` with its generics replaced; None if one of them is not bound."""
    bound = t.transform(lambda part: generics.get(part.name) if isinstance(part, Generic) else None)
    return None if _is_generic(bound) else bound


def _lambda(
    index: int, pattern: LambdaType, generics: dict[str, SqlType], lambda_typer: LambdaTyper | None, at: Span
) -> LambdaType:
    """The lambda's type: its parameters from the generics bound so far, its result from its body."""
    parameters = [_substituted(p, generics) for p in pattern.parameters]
    if lambda_typer is None or None in parameters:
        raise StatementError(
            "the types of a lambda's parameters cannot be derived from NULL", at, "use CAST(NULL AS …)"
        )
    types = tuple(p for p in parameters if p is not None)
    body = lambda_typer(index, types)
    if isinstance(pattern.result, Generic):
        generics.setdefault(pattern.result.name, body)
    result = _substituted(pattern.result, generics)
    if result is None or not widens(body, result):
        raise StatementError(f"a lambda gives {body} where {result} is needed", at, f"use CAST(… AS {result})")
    return LambdaType(types, result)
