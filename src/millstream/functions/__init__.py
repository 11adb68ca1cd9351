"""The function library: what functions there are, how a call is resolved, and the Spark SQL text that computes it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from millstream.functions.declare import Function
from millstream.functions.library import FAMILIES

FUNCTIONS: Mapping[str, Function] = {f.name: f for family in FAMILIES for f in family}


def lookup(name: str) -> Function | None:
    """The built-in function of that name in any case, or None."""
    return FUNCTIONS.get(name.upper())


@dataclass(frozen=True, slots=True)
class Library:
    """The functions that a statement may call: the built-in ones, and `own`, those of its users by upper-cased name."""

    own: Mapping[str, Function] = field(default_factory=dict)

    def lookup(self, name: str) -> Function | None:
        """The function of that name in any case, or None."""
        return lookup(name) or self.own.get(name.upper())

    @property
    def names(self) -> frozenset[str]:
        """The names of all."""
        return frozenset((*FUNCTIONS, *self.own))

    def __iter__(self) -> Iterator[Function]:
        yield from sorted((*FUNCTIONS.values(), *self.own.values()), key=lambda f: f.name)


BUILT_IN = Library()
