"""Reading JSON of another server (a schema registry, Kafka Connect), which need not have the expected form."""

from typing import Any

# What reading JSON of another form than expected raises, and JSON that nests too deeply.
OTHER_FORM = (ValueError, TypeError, KeyError, AttributeError, RecursionError)


def text_in(value: Any) -> str:
    """The value, which must be a str. Raises TypeError for any other JSON value."""
    if not isinstance(value, str):
        raise TypeError(f"{type(value).__name__} in place of a text")
    return value
