"""Users' functions as values, wherever they were declared."""

from dataclasses import dataclass

from millstream.model.types import SqlType


@dataclass(frozen=True, slots=True)
class UserFunction:
    """A Python function: its name in SQL, its parameters (each a name and a type), its result type, and its text.

    `entry` is the name of its definition if the text contains more than it. `methods` are those of an aggregate's
    class, () for a function of single rows; a `strict` function returns null if an argument is null. It was declared by
    `statement` or in `file`.
    """

    name: str
    parameters: tuple[tuple[str, SqlType], ...]
    returns: SqlType
    text: str
    entry: str = ""
    methods: tuple[str, ...] = ()
    strict: bool = False
    description: str = ""
    statement: str = ""
    file: str = ""

    @property
    def aggregate(self) -> bool:
        """True if it aggregates a group's rows."""
        return bool(self.methods)
