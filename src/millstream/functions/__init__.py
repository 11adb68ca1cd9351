"""The function library: the built-in functions, the resolution of calls, and the Spark SQL text that computes them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from millstream.functions.declare import Function
from millstream.functions.library import FAMILIES

FUNCTIONS: Mapping[str, Function] = {f.name: f for family in FAMILIES for f in family}


def lookup(name: str) -> Function | None:
    """The built-in function of that name in any case; None if there is none."""
    return FUNCTIONS.get(name.upper())


@dataclass(frozen=True, slots=True)
class Library:
    """The functions that a statement may call: the built-in ones and `user_functions`, these by upper-cased name."""

    user_functions: Mapping[str, Function] = field(default_factory=dict)

    def lookup(self, name: str) -> Function | None:
        """The function of that name in any case; None if there is none."""
        return lookup(name) or self.user_functions.get(name.upper())

    @property
    def names(self) -> frozenset[str]:
        """The names of all functions, built-in ones and users' own."""
        return frozenset((*FUNCTIONS, *self.user_functions))

    def __iter__(self) -> Iterator[Function]:
        yield from sorted((*FUNCTIONS.values(), *self.user_functions.values()), key=lambda f: f.name)


BUILT_IN = Library()
