"""Finds the functions that a file declares with decorators by parsing its text, without executing it."""

import ast
from dataclasses import dataclass

from millstream.udf.code import FILE, BadCode

_DECORATORS = ("function", "aggregate")
_MODULE = "millstream.udf"


@dataclass(frozen=True)
class DeclaredFunction:
    """A function in a file: its `name` in SQL and that of its definition, its signature in SQL, its docstring.

    `line` is the line of its decorator.
    """

    name: str
    entry: str
    signature: str
    aggregate: bool
    strict: bool
    description: str
    line: int


def declared(text: str) -> list[DeclaredFunction]:
    """The functions that a file's text declares; none if it does not import millstream.udf. Raises BadCode."""
    if _MODULE not in text:
        return []
    try:
        tree = ast.parse(text, FILE)
    except (SyntaxError, ValueError) as error:
        line = error.lineno if isinstance(error, SyntaxError) else 1
        raise BadCode(f"Python: {error.args[0]}", line or 1) from error
    definitions = [s for s in tree.body if isinstance(s, ast.FunctionDef | ast.ClassDef)]
    return [_declared(definition, call) for definition in definitions for call in _calls(definition)]


def _calls(definition: ast.FunctionDef | ast.ClassDef) -> list[ast.Call]:
    return [d for d in definition.decorator_list if isinstance(d, ast.Call) and _name(d.func) in _DECORATORS]


def _name(called: ast.expr) -> str:
    if isinstance(called, ast.Attribute):
        return called.attr
    return called.id if isinstance(called, ast.Name) else ""


def _declared(definition: ast.FunctionDef | ast.ClassDef, call: ast.Call) -> DeclaredFunction:
    keywords = {k.arg: _constant(k.value) for k in call.keywords}
    signature = _constant(call.args[0]) if len(call.args) == 1 else keywords.get("signature")
    if not isinstance(signature, str):
        hint = '@function("(a INT, b STRING) -> STRING")'
        raise BadCode(f"the declaration of {definition.name} has no signature", call.lineno, hint)
    return DeclaredFunction(
        str(keywords.get("name") or definition.name).upper(),
        definition.name,
        signature,
        _name(call.func) == "aggregate",
        keywords.get("returns_null_on_null") is True,
        ast.get_docstring(definition) or "",
        call.lineno,
    )


def _constant(value: ast.expr) -> object:
    """A constant argument of a decorator: text or a flag; expressions are refused, since nothing is executed."""
    return value.value if isinstance(value, ast.Constant) else None
