"""Warns of modules that a function in Python imports and that the server's Python has not."""

from collections.abc import Iterator, Mapping
from importlib.util import find_spec

from millstream.syntax import tree
from millstream.udf.code import dedented, imports


def missing_modules(statement: tree.Statement, settings: Mapping[str, str]) -> Iterator[str]:
    """A warning for each such module of CREATE FUNCTION; empty for other statements.

    Nothing is imported. With `millstream.python.executable` functions run in another Python, which is not inspected.
    """
    if isinstance(statement, tree.CreateFunction) and not settings.get("millstream.python.executable"):
        for module in imports(dedented(statement.body.text)):
            if not _is_installed(module):
                yield f"the server's Python has no module {module}: until it is installed, calls fail and give null"


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ValueError:
        # A module that is loaded and does not say from where: __main__.
        return True
