"""Keys with windows behind them, byte by byte as Kafka Streams writes them."""

import pytest

from millstream.catalog.catalog import Windowed
from millstream.formats.windowed_keys import with_window, without_window

START, END = 0x0102, 0x0304
START_BYTES, END_BYTES = b"\0\0\0\0\0\0\x01\x02", b"\0\0\0\0\0\0\x03\x04"
TUMBLING, SESSION = Windowed("TUMBLING", END - START), Windowed("SESSION")


@pytest.mark.parametrize(
    ("window", "written"), [(TUMBLING, START_BYTES), (SESSION, END_BYTES + START_BYTES)], ids=["tumbling", "session"]
)
@pytest.mark.parametrize("key", [b"", b"key"])
def test_a_window_is_behind_its_key(key: bytes, window: Windowed, written: bytes) -> None:
    assert with_window(key, window, START, END) == key + written
    assert without_window(key + written, window) == (key, START, END)


@pytest.mark.parametrize(("window", "size"), [(TUMBLING, 8), (SESSION, 16)], ids=["tumbling", "session"])
def test_a_key_without_room_for_its_window_is_refused(window: Windowed, size: int) -> None:
    with pytest.raises(ValueError, match="too short to have a window"):
        without_window(b"x" * (size - 1), window)


@pytest.mark.parametrize(
    ("window", "last"),
    [(TUMBLING, b"\xff" * 8), (SESSION, START_BYTES + END_BYTES), (SESSION, b"\xff" * 16)],
    ids=["a negative start", "an end before its start", "negative bounds"],
)
def test_bytes_that_are_not_a_window_are_refused(window: Windowed, last: bytes) -> None:
    with pytest.raises(ValueError, match="not a window"):
        without_window(b"key" + last, window)


def test_an_end_beyond_64_bits_is_the_last_time_that_there_is() -> None:
    assert without_window(b"key\x7f" + b"\xff" * 7, TUMBLING) == (b"key", 2**63 - 1, 2**63 - 1)
