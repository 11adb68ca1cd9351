"""The function library: what functions there are, how a call is resolved, and the Spark SQL text that computes it."""

from collections.abc import Mapping

from millstream.functions.declare import Function
from millstream.functions.library import FAMILIES

FUNCTIONS: Mapping[str, Function] = {f.name: f for family in FAMILIES for f in family}


def lookup(name: str) -> Function | None:
    """The function of that name in any case, or None."""
    return FUNCTIONS.get(name.upper())
