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
    """The functions that a statement may call: the built-in ones, and `own`, the users' by upper-cased name."""

    own: Mapping[str, Function] = field(default_factory=dict)

    def lookup(self, name: str) -> Function | None:
        """The function of that name in any case; None if there is none."""
        return lookup(name) or self.own.get(name.upper())

    @property
    def names(self) -> frozenset[str]:
        """The names of all functions."""
        return frozenset((*FUNCTIONS, *self.own))

    def __iter__(self) -> Iterator[Function]:
        yield from sorted((*FUNCTIONS.values(), *self.own.values()), key=lambda f: f.name)


BUILT_IN = Library()
