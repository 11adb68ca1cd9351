"""The bound of what a registered schema unfolds to: thirty levels that each name the next one twice are a billion."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

MOST_FIELDS = 10_000
# How many more fields the schema that is being read may have.
_LEFT: ContextVar[int] = ContextVar("fields left", default=MOST_FIELDS)


@contextmanager
def bounded() -> Iterator[None]:
    """One schema is read in the block; `count` counts its fields."""
    token = _LEFT.set(MOST_FIELDS)
    try:
        yield
    finally:
        _LEFT.reset(token)


def count(fields: int) -> None:
    """Count the fields of a record, each time that it is read. Raises ValueError when they are too many."""
    left = _LEFT.get() - max(fields, 1)
    if left < 0:
        raise ValueError(f"it unfolds to more than {MOST_FIELDS:,} fields, if those of each named type are repeated")
    _LEFT.set(left)
