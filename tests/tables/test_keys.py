"""Stored keys sort as their values do, and give back the record's key."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.catalog.catalog import Windowed
from millstream.model.types import BIGINT, DOUBLE, INTEGER, STRING, SqlType
from millstream.tables.keys import StoreKeys

WRITTEN = {INTEGER: ">i", BIGINT: ">q", DOUBLE: ">d"}
whole = st.integers(-(2**31), 2**31 - 1)


def check_order(type: SqlType, one: float, other: float) -> None:
    keys = StoreKeys(None, type)
    first, second = (struct.pack(WRITTEN[type], value) for value in (one, other))
    assert keys.joined(keys.stored(first), 0, 0) == first
    if one != other:
        assert (keys.stored(first) < keys.stored(second)) == (one < other)


@given(whole, whole)
def test_whole_numbers(one: int, other: int) -> None:
    check_order(INTEGER, one, other)
    check_order(BIGINT, one * 2**20, other * 2**20)


@given(st.floats(allow_nan=False), st.floats(allow_nan=False))
def test_doubles(one: float, other: float) -> None:
    check_order(DOUBLE, one, other)


@given(st.binary(), st.integers(0, 2**40), st.integers(0, 2**40))
def test_windows_are_removed_from_keys_and_added_again(key: bytes, start: int, length: int) -> None:
    sized, session = StoreKeys(Windowed("TUMBLING", 1000), STRING), StoreKeys(Windowed("SESSION"), STRING)
    written = key + struct.pack(">q", start)
    assert sized.cut(written) == (key, start, start + 1000)
    assert sized.joined(*sized.cut(written)) == written
    written = key + struct.pack(">qq", start + length, start)
    assert session.cut(written) == (key, start, start + length)
    assert session.joined(*session.cut(written)) == written


def test_a_key_without_room_for_its_window_is_refused() -> None:
    with pytest.raises(ValueError, match="too short"):
        StoreKeys(Windowed("SESSION"), None).cut(b"0123456789")
