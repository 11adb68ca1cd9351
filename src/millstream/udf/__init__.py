"""What a file of Python functions imports: decorators that say how a function is called from SQL.

    from millstream.udf import aggregate, function

    @function("(text STRING, times INT) -> STRING")
    def repeated(text, times):
        return text * times

They do nothing when the file runs: the server reads the text of the file to see what is declared in it.
This room needs nothing but Python, since its text is what worker processes are started with.
"""

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def function(signature: str, *, name: str = "", returns_null_on_null: bool = False) -> Callable[[T], T]:
    """Declare a function: `signature` is `(a INT, b STRING) -> STRING` in SQL's types, `name` its name in SQL where
    that is not Python's. With `returns_null_on_null` it is not called where an argument is null.
    """
    return lambda declared: declared


def aggregate(signature: str, *, name: str = "") -> Callable[[T], T]:
    """Declare an aggregate function: a class with initial, add and result, perhaps undo and merge."""
    return lambda declared: declared
