"""The headers of Kafka's messages, also of those whose names are not UTF-8."""

import gc
from collections.abc import Sequence
from operator import methodcaller
from typing import Any

from confluent_kafka import Message

# What Java's client has in place of the bytes of a name that are not UTF-8.
UNREADABLE = "\N{REPLACEMENT CHARACTER}"
# Not `message.headers()`: of a call that is made often Python does not check that it returns a result or an error, and
# the client does both. The error would come up at whatever is called next.
_HEADERS = methodcaller("headers")


def headers_of(message: Message) -> tuple[tuple[str, bytes | None], ...]:
    """The name and the value of each header; UNREADABLE is the name of one whose name is not UTF-8.

    For such a message the client raises SystemError. It keeps a list with all headers nevertheless, in which the name
    of that one is a null pointer: to touch it ends the process.
    """
    try:
        headers = _listed(message)
    except SystemError:
        headers = [header if _has_name(header) else (UNREADABLE, header[1]) for header in _listed(message)]
    return tuple((str(name), data) for name, data in headers)


def _listed(message: Message) -> Sequence[Any]:
    headers: Any = _HEADERS(message)
    return headers or ()


def _has_name(header: Any) -> bool:
    """True if both items of a tuple are objects; the garbage collector passes over null pointers."""
    return len(gc.get_referents(header)) > 1
