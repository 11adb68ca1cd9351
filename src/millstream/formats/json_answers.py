"""What is read from the JSON of another server, a schema registry or Kafka Connect, which may be of another form."""

from typing import Any

# What reading JSON of another form than expected raises, and JSON that nests too deeply.
OTHER_FORM = (ValueError, TypeError, KeyError, AttributeError, RecursionError)


def text_in(value: Any) -> str:
    """A value that must be a text. Raises TypeError."""
    if not isinstance(value, str):
        raise TypeError(f"{type(value).__name__} in place of a text")
    return value
