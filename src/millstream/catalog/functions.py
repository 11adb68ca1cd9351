"""Functions that users wrote: what is known of them as values, wherever they were declared."""

from dataclasses import dataclass

from millstream.model.types import SqlType


@dataclass(frozen=True, slots=True)
class UserFunction:
    """A function in Python: its name in SQL, its parameters (each a name and a type), what it returns, and its text.

    `entry` is the name of its definition where the text has more than it. `methods` are those of an aggregate's class,
    () for a function of single rows; a `strict` function gives null where an argument is null. `statement` declared
    it, or `file` did.
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
        """Whether it makes one value of a group's rows."""
        return bool(self.methods)
