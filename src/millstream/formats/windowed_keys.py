"""Keys of windowed relations in Kafka Streams' form: a key is followed by its window's bounds, 8 bytes each.

A window starts at 0 or later, and ends at its start or later; an end beyond 64 bits is the last time that there is.
spark/pipeline.py reads and writes the same in Spark SQL.
"""

import struct

from millstream.catalog.catalog import Windowed

BOUND_BYTES = 8
LAST_MS = 2**63 - 1
TOO_SHORT = "the key is too short to have a window"
NO_WINDOW = "the key's last bytes are not a window"


def bounds(window: Windowed) -> tuple[str, ...]:
    """The bounds in the order of their bytes: end and start for a session, else only the start."""
    return ("end", "start") if window.size_ms is None else ("start",)


def with_window(key: bytes, window: Windowed, start: int, end: int) -> bytes:
    """A key followed by its window; `start` and `end` are epoch ms."""
    values = {"start": start, "end": end}
    return key + b"".join(struct.pack(">q", values[bound]) for bound in bounds(window))


def without_window(key: bytes, window: Windowed) -> tuple[bytes, int, int]:
    """The key, and the start and end of its window in epoch ms. Raises ValueError if it does not have a window."""
    size = BOUND_BYTES * len(bounds(window))
    if len(key) < size:
        raise ValueError(f"{TOO_SHORT}: {key!r}")
    values = dict(
        zip(bounds(window), struct.unpack_from(f">{len(bounds(window))}q", key, len(key) - size), strict=True)
    )
    start = values["start"]
    end = values["end"] if window.size_ms is None else min(start + window.size_ms, LAST_MS)
    if not 0 <= start <= end:
        raise ValueError(f"{NO_WINDOW}: {key!r}")
    return key[:-size], start, end
