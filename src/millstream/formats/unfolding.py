"""Limits the fields of a registered schema with its types expanded.

Thirty types, each of which names the next one twice, expand to a billion fields.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

# The most fields of a schema whose named types are expanded.
MOST_FIELDS = 10_000
# How many more fields the schema that is being read may have.
_REMAINING: ContextVar[int] = ContextVar("fields left", default=MOST_FIELDS)


@contextmanager
def bounded() -> Iterator[None]:
    """A block that reads one schema, whose fields `count` counts."""
    token = _REMAINING.set(MOST_FIELDS)
    try:
        yield
    finally:
        _REMAINING.reset(token)


def count(fields: int) -> None:
    """Count the fields of a record, each time that it is read. Raises ValueError when they are too many."""
    left = _REMAINING.get() - max(fields, 1)
    if left < 0:
        raise ValueError(f"it unfolds to more than {MOST_FIELDS:,} fields, if those of each named type are repeated")
    _REMAINING.set(left)
