"""Loads the text of a Python function: either a definition with its name, or a function body."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

FILE = "<function>"
NEEDED = ("initial", "add", "result")
_BODY = "body_of_function"


class BadCode(Exception):
    """Text that is not a valid function: why, and in which line (counted from 1)."""

    def __init__(self, fact: str, line: int = 1, hint: str = "") -> None:
        super().__init__(fact)
        self.fact, self.line, self.hint = fact, line, hint


@dataclass(frozen=True)
class Code:
    """A function and its text.

    `name` is its name in SQL, which its definition has in any case; `entry` is the exact name of the definition, if it
    is known. `parameters` are the names of a body's arguments. An aggregate is a class.
    """

    text: str
    name: str
    parameters: tuple[str, ...] = ()
    aggregate: bool = False
    entry: str = ""

    def is_named(self, name: str) -> bool:
        """True if a definition of that name is the function."""
        return name == self.entry if self.entry else name.upper() == self.name.upper()


def methods(code: Code) -> frozenset[str]:
    """The methods of an aggregate's class; none for other functions. Raises BadCode if the text is not valid.

    Nothing is executed.
    """
    module, entry = _module(code)
    _compiled(module)
    if not code.aggregate:
        return frozenset()
    definition = next(s for s in reversed(module.body) if isinstance(s, ast.ClassDef) and s.name == entry)
    names = frozenset(s.name for s in definition.body if isinstance(s, ast.FunctionDef))
    missing = [name for name in NEEDED if name not in names]
    if missing:
        raise BadCode(f"class {entry} has no method {missing[0]}", definition.lineno, f"it needs {', '.join(NEEDED)}")
    return names


def imports(text: str) -> tuple[str, ...]:
    """The modules that a text imports, each by the first part of its name; none if it is not valid.

    Left out are imports inside `try`, for which the text has an answer of its own, and relative ones.
    """
    try:
        tree = ast.parse(text, FILE)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    return tuple(dict.fromkeys(name.partition(".")[0] for name in _imported(tree)))


def _imported(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Try():
            return
        case ast.Import(names=names):
            yield from (name.name for name in names)
        case ast.ImportFrom(module=str(module), level=0):
            yield module
    for child in ast.iter_child_nodes(node):
        yield from _imported(child)


def loaded(code: Code) -> Any:
    """The function, or an instance of the aggregate's class. Executes the text: raises BadCode and the text's
    errors."""
    module, entry = _module(code)
    names: dict[str, Any] = {"__name__": FILE}
    exec(_compiled(module), names)
    return names[entry]() if code.aggregate else names[entry]


def _module(code: Code) -> tuple[ast.Module, str]:
    """The text as a module that defines the function, and the function's name in it."""
    tree = _parsed(code)
    if code.aggregate:
        return tree, _class(code, tree)
    functions = [s for s in tree.body if isinstance(s, ast.FunctionDef) and code.is_named(s.name)]
    if not functions:
        return _with_body(code, tree), _BODY
    # Of several definitions with one name, the last one counts.
    _check_parameters(code, functions[-1])
    return tree, functions[-1].name


def _parsed(code: Code) -> ast.Module:
    try:
        return ast.parse(code.text, FILE)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise _unreadable(error) from error


def _compiled(module: ast.Module) -> Any:
    """The compiled code; some syntax errors are only found here."""
    try:
        return compile(module, FILE, "exec")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise _unreadable(error) from error


def _unreadable(error: Exception) -> BadCode:
    if not isinstance(error, SyntaxError):
        return BadCode(f"this cannot be read as Python: {error}")
    shown = (error.text or "").strip()
    return BadCode(f"Python: {error.msg}" + (f", in: {shown}" if shown else ""), error.lineno or 1)


def _with_body(code: Code, tree: ast.Module) -> ast.Module:
    """A module with one function, whose body is the text."""
    header = ast.parse(f"def {_BODY}({', '.join(code.parameters)}): 0")
    function = header.body[0]
    assert isinstance(function, ast.FunctionDef)
    function.body = _body(code, tree)
    return ast.fix_missing_locations(header)


def _body(code: Code, tree: ast.Module) -> list[ast.stmt]:
    """Statements with a return, or with an expression as the last one, whose value is the result."""
    body = list(tree.body)
    if body and isinstance(body[-1], ast.Expr):
        body[-1] = ast.copy_location(ast.Return(body[-1].value), body[-1])
    if not any(isinstance(part, ast.Return) for statement in body for part in _in_scope(statement)):
        hint = f"end it with an expression, or return one, or define {code.name.lower()}(…)"
        raise BadCode("this does not return a result", 1, hint)
    return body


def _in_scope(node: ast.AST) -> list[ast.AST]:
    """A node and its descendants, except those of functions and classes defined in it."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
        return []
    return [node, *(part for child in ast.iter_child_nodes(node) for part in _in_scope(child))]


def _class(code: Code, tree: ast.Module) -> str:
    classes = [s.name for s in tree.body if isinstance(s, ast.ClassDef) and code.is_named(s.name)]
    if not classes:
        hint = f"class {code.name.lower()}: with the methods {', '.join(NEEDED)}, and undo and merge where it can"
        raise BadCode(f"an aggregate function is a class, and none is named {code.name.lower()}", 1, hint)
    return classes[-1]


def _check_parameters(code: Code, function: ast.FunctionDef) -> None:
    """Checks that the definition can be called with as many arguments as SQL passes."""
    takes, count = function.args, len(code.parameters)
    most = len(takes.posonlyargs) + len(takes.args)
    enough = most - len(takes.defaults) <= count and (count <= most or takes.vararg is not None)
    if not enough or any(default is None for default in takes.kw_defaults):
        fact = f"{function.name} cannot be called with the {count} argument(s) that are declared"
        raise BadCode(fact, function.lineno, f"def {function.name}({', '.join(code.parameters)}):")


def dedented(text: str) -> str:
    """A block's text without its initial line break and without the common indentation of its lines."""
    lines = text.replace("\r\n", "\n").removeprefix("\n").splitlines()
    margin = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    return "\n".join(line[margin:] if line.strip() else "" for line in lines)
