"""Keys of windowed relations in Kafka Streams' form: a key is followed by its window's bounds, 8 bytes each."""

import struct

from millstream.catalog.catalog import Windowed

BOUND_BYTES = 8


def bounds(window: Windowed) -> tuple[str, ...]:
    """The bounds in the order of their bytes: end and start for a session, else only the start."""
    return ("end", "start") if window.size_ms is None else ("start",)


def with_window(key: bytes, window: Windowed, start: int, end: int) -> bytes:
    """A key followed by its window; `start` and `end` are epoch ms."""
    values = {"start": start, "end": end}
    return key + b"".join(struct.pack(">q", values[bound]) for bound in bounds(window))


def without_window(key: bytes, window: Windowed) -> tuple[bytes, int, int]:
    """The key, and the start and end of its window in epoch ms. Raises ValueError if it is too short for a window."""
    size = BOUND_BYTES * len(bounds(window))
    if len(key) < size:
        raise ValueError(f"{key!r} is too short to have a window")
    values = dict(
        zip(bounds(window), struct.unpack_from(f">{len(bounds(window))}q", key, len(key) - size), strict=True)
    )
    start = values["start"]
    return key[:-size], start, values["end"] if window.size_ms is None else start + window.size_ms
