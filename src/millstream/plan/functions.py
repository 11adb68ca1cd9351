"""CREATE FUNCTION and DROP FUNCTION: checks a user's function without running it."""

import keyword
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from millstream.analysis import sources
from millstream.catalog.catalog import Catalog
from millstream.catalog.functions import UserFunction
from millstream.functions import lookup
from millstream.functions.python import names
from millstream.model.errors import Span, StatementError
from millstream.model.names import did_you_mean, identifier
from millstream.model.settings import is_on
from millstream.model.types import SqlType
from millstream.plan.steps import Outcome
from millstream.syntax import tree
from millstream.syntax.parser import parse_function_header
from millstream.udf.code import BadCode, Code, dedented, methods
from millstream.udf.files import DeclaredFunction, declared

ENABLED = "millstream.python.functions.enabled"


def create_function(
    statement: tree.CreateFunction, text: str, catalog: Catalog, settings: Mapping[str, str]
) -> Outcome:
    """The outcome of CREATE FUNCTION. Raises StatementError."""
    name, at = statement.name.upper(), statement.span
    if not is_on(settings, ENABLED):
        raise StatementError(f"functions in Python are switched off by {ENABLED}", at)
    if name in catalog.functions and not statement.or_replace:
        return _exists(statement, name, catalog)
    old = catalog.functions.get(name)
    function = _function(statement, name, text, catalog)
    if old is not None:
        _check_replaceable(old, function, at)
    message = f"Function {identifier(name)} {'replaced' if old else 'created'}"
    return Outcome(catalog.with_function(function), (), message, _path(name, "create"))


def drop_function(statement: tree.DropFunction, catalog: Catalog) -> Outcome:
    """The outcome of DROP FUNCTION. Raises StatementError."""
    name, at = statement.name.upper(), statement.span
    path = _path(name, "drop")
    if lookup(name) is not None:
        raise StatementError(f"{name} is a built-in function: it cannot be dropped", at)
    function = catalog.functions.get(name)
    if function is None:
        fact = f"Function {identifier(name)} does not exist"
        if not statement.if_exists:
            raise StatementError(fact, at, did_you_mean(name, catalog.functions))
        return Outcome(catalog, (), fact, path, warning=True)
    if function.file:
        raise StatementError(f"{name} is declared in {function.file}: it cannot be dropped", at, "remove it there")
    callers = catalog.callers(name)
    if callers:
        fact = f"Cannot drop {identifier(name)}: queries call it: {', '.join(callers)}"
        raise StatementError(fact, at, "TERMINATE them first")
    return Outcome(catalog.without_function(name), (), f"Function {identifier(name)} dropped", path)


def functions_called(statement: tree.SyntaxNode, catalog: Catalog) -> tuple[str, ...]:
    """The users' functions that a statement calls, by name."""
    names = {e.name.upper() for e in statement.walk() if isinstance(e, tree.Call)}
    return tuple(sorted(names & catalog.functions.keys()))


def check_function(function: UserFunction, aggregate: bool) -> UserFunction:
    """The function, completed from its text. Raises StatementError, or BadCode if the text is not valid."""
    if not re.fullmatch(r"[A-Za-z_]\w*", function.name, re.ASCII):
        raise StatementError(
            f"{identifier(function.name)} is not a valid name of a function", None, "letters, digits and _"
        )
    if lookup(function.name) is not None:
        raise StatementError(f"{function.name} is a built-in function", None, "choose another name")
    functions_called = names(function)
    for name in functions_called:
        if not name.isidentifier() or keyword.iskeyword(name) or functions_called.count(name) > 1:
            raise StatementError(f"{name} cannot be a parameter in Python", None, "choose another name")
    code = Code(function.text, function.name, functions_called, aggregate, function.entry)
    return replace(function, methods=tuple(sorted(methods(code))))


def functions_in_file(text: str, file: str) -> Iterator[UserFunction]:
    """The functions declared in a Python file (udf/files.py). Raises BadCode, StatementError."""
    for declaration in declared(text):
        try:
            header = parse_function_header(declaration.signature)
        except StatementError as error:
            raise BadCode(
                f"the signature of {declaration.entry}, {declaration.signature!r}: {error}", declaration.line
            ) from error
        function = UserFunction(
            declaration.name,
            tuple((p.name, _builtin_type(p.type, declaration)) for p in header.parameters),
            _builtin_type(header.returns, declaration),
            text,
            declaration.entry,
            strict=declaration.strict,
            description=declaration.description,
            file=file,
        )
        try:
            yield check_function(function, declaration.aggregate)
        except StatementError as error:
            raise BadCode(error.fact, declaration.line, error.hint) from error


def _builtin_type(type: SqlType, declaration: DeclaredFunction) -> SqlType:
    """The type of a declaration, without custom types: a file is loaded before any of them exists."""
    try:
        return sources.expand(type, {}, Span(declaration.line, 1))
    except StatementError as error:
        raise BadCode(error.fact, declaration.line, error.hint) from error


def _path(name: str, action: str) -> str:
    return f"function/`{name}`/{action}"


def _exists(statement: tree.CreateFunction, name: str, catalog: Catalog) -> Outcome:
    fact = f"Function {identifier(name)} already exists"
    if not statement.if_not_exists:
        raise StatementError(fact, statement.span, "use CREATE OR REPLACE FUNCTION, or DROP it first")
    return Outcome(catalog, (), fact, _path(name, "create"), warning=True)


def _function(statement: tree.CreateFunction, name: str, text: str, catalog: Catalog) -> UserFunction:
    """The function that CREATE FUNCTION declares, checked with its text. Raises StatementError."""

    def expanded(type: SqlType, at: Span) -> SqlType:
        return sources.expand(type, catalog.types, at)

    if statement.aggregate and statement.strict:
        hint = "add(self, state, …) is called for nulls and may ignore them"
        raise StatementError("RETURNS NULL ON NULL INPUT is not for aggregate functions", statement.span, hint)
    function = UserFunction(
        name,
        tuple((p.name, expanded(p.type, p.span)) for p in statement.parameters),
        expanded(statement.returns, statement.span),
        dedented(statement.body.text),
        strict=statement.strict,
        statement=text,
    )
    try:
        return check_function(function, statement.aggregate)
    except BadCode as bad:
        raise StatementError(bad.fact, _place(statement.body, bad.line), bad.hint) from bad
    except StatementError as error:
        raise error.located(statement.span) from error


def _place(body: tree.Block, line: int) -> Span:
    """The position in the statement of a line of the function; its first line may be the one after the $$."""
    behind = body.text.replace("\r\n", "\n").startswith("\n")
    down = line - 1 + behind
    return Span(body.span.line + down, 1 if down else body.span.column, body.span.file)


def _check_replaceable(old: UserFunction, new: UserFunction, at: Span) -> None:
    if old.file:
        raise StatementError(f"{old.name} is declared in {old.file}: it cannot be replaced", at, "change it there")
    if old.aggregate != new.aggregate:
        raise StatementError(f"{old.name} is {_kind(old)}, and this is {_kind(new)}", at, "DROP it first")


def _kind(function: UserFunction) -> str:
    return "an aggregate function" if function.aggregate else "a function of single rows"


def explained(functions: Sequence[str]) -> str:
    """EXPLAIN's line about the users' functions that a query calls; "" if there are none."""
    if not functions:
        return ""
    return (
        f"Python: {', '.join(functions)} (a round trip to a worker process for each call, well below a millisecond; "
        "the query stays in real-time mode)"
    )
