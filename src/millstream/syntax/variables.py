"""Session variables: `${name}` in statement text, replaced where an identifier or a literal is allowed.

A value replaces one token and must be one token, so it cannot add a clause or a keyword. Inside a string literal
`${name}` is replaced as text; an undefined name remains there unchanged, and `$${name}` is the text `${name}`.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from millstream.model.names import RESERVED, literal, quoted
from millstream.syntax.errors import SqlSyntaxError
from millstream.syntax.tokens import CONSTANTS, NUMBERS, SOFT, Token, TokenKind, tokens

_VARIABLE = "[A-Za-z_][A-Za-z0-9_@]*"
_IN_STRING = re.compile(rf"\$?\$\{{({_VARIABLE})\}}")
# The most characters of the values used in one statement, and of all values of a session.
LONGEST = 2**20
_NAMES_AND_LITERALS = frozenset({TokenKind.WORD, TokenKind.NAME, TokenKind.STRING}) | NUMBERS
_OPERANDS = frozenset({TokenKind.NAME, TokenKind.STRING}) | NUMBERS


def is_variable_name(text: str) -> bool:
    """True if `${text}` is a variable."""
    return re.fullmatch(_VARIABLE, text) is not None


def substitute(text: str, variables: Mapping[str, str]) -> str:
    """`text` with each variable replaced by its value; names of variables are case-insensitive.

    Raises SqlSyntaxError if a variable is not defined, or its value is not one identifier or literal.
    """
    parts, end = [], 0
    for token in substituted(tokens(text), variables):
        parts += [text[end : token.start], token.text]
        end = token.end
    return "".join(parts)


def never_defined(name: str) -> str:
    """The warning of an UNDEFINE of a variable that a session does not have, in ksqlDB's words."""
    return f"Cannot undefine variable '{name}' which was never defined"


def substituted(source_tokens: Iterable[Token], variables: Mapping[str, str]) -> Iterator[Token]:
    """The tokens with each variable replaced by the token of its value; positions remain those of the source.

    Raises SqlSyntaxError if the values have more than LONGEST characters in all: nested definitions grow
    exponentially.
    """
    before, left = None, LONGEST
    for token in source_tokens:
        left -= sum(len(_value(name, variables) or "") for name in _names(token))
        if left < 0:
            raise SqlSyntaxError(f"the values of variables have more than {LONGEST} characters here", token.span)
        before = _replaced(token, before, variables)
        yield before


def _names(token: Token) -> list[str]:
    """The names of the variables in a token: its own, or those inside of a string literal."""
    if token.kind is TokenKind.VARIABLE:
        return [token.value]
    in_string = token.kind is TokenKind.STRING and "${" in token.value
    return [m[1] for m in _IN_STRING.finditer(token.value) if m[0][1] != "$"] if in_string else []


def _replaced(token: Token, before: Token | None, variables: Mapping[str, str]) -> Token:
    if token.kind is TokenKind.STRING and "${" in token.value:
        text = _IN_STRING.sub(lambda m: _in_string(m, variables), token.value)
        return replace(token, value=text, text=literal(text))
    if token.kind is not TokenKind.VARIABLE:
        return token
    value = _value(token.value, variables)
    if value is None:
        hint = f"DEFINE {token.value} = '…'; makes it known"
        raise SqlSyntaxError(f"there is no variable {token.value}", token.span, hint)
    return replace(_token(token, before, value), span=token.span, start=token.start, end=token.end)


def _in_string(match: re.Match[str], variables: Mapping[str, str]) -> str:
    if match[0].startswith("$$"):
        return match[0][1:]
    value = _value(match[1], variables)
    return match[0] if value is None else value


def _value(name: str, variables: Mapping[str, str]) -> str | None:
    return next((value for variable, value in variables.items() if variable.upper() == name.upper()), None)


def _token(variable: Token, before: Token | None, value: str) -> Token:
    """The single token of `value`; a possible keyword becomes a quoted name."""
    try:
        value_tokens = list(tokens(value))[:-1]
    except SqlSyntaxError as e:
        raise _refused(variable, value, e.fact) from e
    if (
        len(value_tokens) == 2
        and value_tokens[0].key == "-"
        and value_tokens[1].kind in NUMBERS
        and not _is_operand(before)
    ):
        sign = " -" if before and before.key == "-" and before.end == variable.start else "-"
        return replace(value_tokens[1], text=sign + value_tokens[1].text)
    if (
        len(value_tokens) != 1
        or value_tokens[0].kind not in _NAMES_AND_LITERALS
        or value_tokens[0].text != value.strip()
    ):
        raise _refused(variable, value, "it is neither one name nor one literal")
    token = value_tokens[0]
    if token.kind is not TokenKind.WORD or token.key in CONSTANTS:
        return token
    if token.key in RESERVED:
        raise _refused(variable, value, f"{token.key} is a reserved word")
    return replace(token, kind=TokenKind.NAME, key="", text=quoted(token.key) if token.key in SOFT else token.text)


def _is_operand(token: Token | None) -> bool:
    """True if a minus after this token would be a subtraction."""
    return token is not None and (token.is_name or token.kind in _OPERANDS or token.key in (")", "]"))


def _refused(variable: Token, value: str, reason: str) -> SqlSyntaxError:
    fact = f"the value {value!r} of variable {variable.value} is not allowed here: {reason}"
    return SqlSyntaxError(fact, variable.span, "a string keeps its quotes: DEFINE name = '''text''';")
