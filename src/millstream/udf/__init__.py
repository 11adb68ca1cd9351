"""The module that Python function files import: decorators that declare a function's signature in SQL.

    from millstream.udf import aggregate, function

    @function("(text STRING, times INT) -> STRING")
    def repeated(text, times):
        return text * times

The decorators do nothing at run time: the server reads the text of the file to find the declarations. This package
needs only Python's standard library, because worker processes are started with its text.
"""

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def function(signature: str, *, name: str = "", returns_null_on_null: bool = False) -> Callable[[T], T]:
    """Declare a function: `signature` is `(a INT, b STRING) -> STRING` in SQL types.

    `name` is its name in SQL, if it differs from Python's. With `returns_null_on_null` it is not called if an argument
    is null; the result is null then.
    """
    return lambda declared: declared


def aggregate(signature: str, *, name: str = "") -> Callable[[T], T]:
    """Declare an aggregate function: a class with initial, add and result, and optionally undo and merge."""
    return lambda declared: declared
