"""A table's store: the last row of each key and window, read by key, by range and by window; it survives a restart."""

import sqlite3
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest

from millstream.tables.store import Change, Store, StoreRemoved, WindowBounds
from support.disk import LimitedDisk

IDENTITY = {"topic": "one"}


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> LimitedDisk:
    return LimitedDisk(monkeypatch)


@pytest.fixture
def store(tmp_path: Path, disk: LimitedDisk) -> Iterator[Store]:
    opened = Store(tmp_path / "t.sqlite", IDENTITY)
    yield opened
    opened.close()


def row(key: bytes, value: bytes | None, start: int = 0, end: int = 0, time: int = 0) -> Change:
    return Change(key, start, end, value, time)


def keys_and_values(changes: Iterator[Change]) -> list[tuple[bytes, int, bytes | None]]:
    return [(c.key, c.start, c.value) for c in changes]


def test_the_last_row_of_a_key_counts_and_a_tombstone_ends_it(store: Store) -> None:
    store.apply([row(b"a", b"1"), row(b"b", b"2"), row(b"a", b"3"), row(b"b", None)], {0: 4})
    assert keys_and_values(store.of([b"b", b"a", b"c"])) == [(b"a", 0, b"3")]
    assert store.count() == 1


def test_ranges_of_keys(store: Store) -> None:
    store.apply([row(bytes([k]), b"v") for k in b"abcde"], {0: 5})
    assert [c.key for c in store.between((b"b", True), (b"d", False))] == [b"b", b"c"]
    assert [c.key for c in store.between((b"b", False), None)] == [b"c", b"d", b"e"]
    assert len(list(store.between(None, None))) == 5


def test_windows_of_a_key_in_order_of_time_within_bounds(store: Store) -> None:
    store.apply([row(b"a", str(s).encode(), s, s + 10) for s in (30, 10, 20)], {0: 3})
    assert [c.start for c in store.of([b"a"])] == [10, 20, 30]
    assert [c.start for c in store.of([b"a"], WindowBounds(start=(11, None), end=(None, 39)))] == [20]


def test_expired_windows_are_removed(store: Store) -> None:
    store.apply([row(b"a", b"1", 0, 10, time=5)], {0: 1}, retention_ms=100)
    store.apply([row(b"a", b"2", 90, 100, time=95)], {0: 2}, retention_ms=100)
    assert store.count() == 2
    store.apply([row(b"a", b"3", 120, 130, time=125)], {0: 3}, retention_ms=100)
    assert [c.start for c in store.of([b"a"])] == [90, 120]


def test_a_row_of_the_far_future_does_not_end_the_removal_of_windows(store: Store) -> None:
    """Of a clock that was wrong: its partition may have no rows for years, and those of others are still removed."""
    store.apply([row(b"a", b"1", 10_000, 10_010, time=10_000)], {0: 1}, retention_ms=100)
    for number, start in enumerate(range(0, 1_000, 90)):
        store.apply([row(b"b", b"2", start, start + 10, time=start)], {1: number}, retention_ms=100)
    assert [c.start for c in store.of([b"a"])] == [10_000]
    assert [c.start for c in store.of([b"b"])] == [900, 990]
    assert store.apply([], {1: 20}, retention_ms=100) is None, "the end of a partition has no time"


def test_many_keys_at_once(store: Store) -> None:
    keys = [b"%06d" % n for n in range(1200)]
    store.apply([row(key, b"v") for key in keys], {0: 1200})
    assert [c.key for c in store.of(keys[::-1])] == keys[::-1]


def test_a_restart_goes_on_where_it_was(store: Store, tmp_path: Path) -> None:
    store.apply([Change(b"a", 0, 0, b"1", 7, (("h", b"\x00"), ("n", None)))], {0: 5, 1: 2})
    again = Store(tmp_path / "t.sqlite", IDENTITY)
    assert again.positions() == {0: 5, 1: 2}
    assert list(again.of([b"a"])) == [Change(b"a", 0, 0, b"1", 7, (("h", b"\x00"), ("n", None)))]
    again.close()


def test_a_store_of_another_topic_is_emptied(store: Store, tmp_path: Path) -> None:
    store.apply([row(b"a", b"1")], {0: 1})
    other = Store(tmp_path / "t.sqlite", {"topic": "two"})
    assert other.positions() == {}
    assert other.count() == 0
    other.close()


def test_a_corrupt_file_is_replaced_by_an_empty_one(store: Store, tmp_path: Path) -> None:
    store.apply([row(b"a", b"1")], {0: 1})
    store.close()
    (tmp_path / "t.sqlite").write_bytes(b"this is no database" * 1000)
    again = Store(tmp_path / "t.sqlite", IDENTITY)
    assert again.positions() == {}
    again.apply([row(b"b", b"2")], {0: 2})
    assert keys_and_values(again.of([b"a", b"b"])) == [(b"b", 0, b"2")]
    again.close()


def test_a_file_that_cannot_be_opened_says_so(tmp_path: Path) -> None:
    (tmp_path / "t.sqlite").mkdir()
    with pytest.raises(sqlite3.OperationalError, match="unable to open"):
        Store(tmp_path / "t.sqlite", IDENTITY)


def test_a_full_disk_leaves_no_part_of_a_change(store: Store, disk: LimitedDisk) -> None:
    store.apply([row(b"a", b"1")], {0: 1})
    disk.limit(0)
    with pytest.raises(sqlite3.OperationalError, match="disk is full"):
        store.apply([row(b"%d" % n, bytes(5000)) for n in range(100)], {0: 101})
    assert store.positions() == {0: 1}
    assert keys_and_values(store.between(None, None)) == [(b"a", 0, b"1")]
    disk.limit(LimitedDisk.NONE)
    store.apply([row(b"b", b"2")], {0: 2})
    assert store.positions() == {0: 2}


def test_a_reader_sees_one_moment(store: Store) -> None:
    store.apply([row(b"%d" % n, b"old") for n in range(9)], {0: 9})
    reading = store.between(None, None)
    first = next(reading)
    store.apply([row(b"%d" % n, b"new") for n in range(9)], {0: 18})
    assert {first.value, *(c.value for c in reading)} == {b"old"}


@pytest.mark.parametrize("finish", [list, lambda reading: reading.close()], ids=["read to its end", "given up"])
@pytest.mark.parametrize("keys", [[b"a"], [b"a", b"b"]], ids=["a statement", "a transaction"])
def test_a_connection_that_is_used_again_sees_newer_rows(
    keys: list[bytes], finish: Callable[[Generator[Change]], object], store: Store
) -> None:
    for value in (b"1", b"2", b"3"):
        store.apply([row(key, value, start) for key in keys for start in (0, 10)], {0: 3})
        for reading in (store.between(None, None), store.of(keys)):
            assert next(reading).value == value
            finish(reading)  # type: ignore[arg-type]


def test_a_store_that_is_removed_is_not_created_again_by_its_readers(tmp_path: Path) -> None:
    """DROP TABLE while a pull query is answered."""
    store = Store(tmp_path / "a b%.sqlite", IDENTITY)
    store.apply([row(b"a", b"1")], {0: 1})
    assert store.count() == 1
    store.remove()
    for read in (store.count, lambda: list(store.between(None, None)), lambda: list(store.of([b"a"]))):
        with pytest.raises(StoreRemoved, match="was dropped"):
            read()
    assert list(tmp_path.iterdir()) == []


def test_changes_without_entries_make_a_stored_index_incomplete(tmp_path: Path) -> None:
    """Also the first ones after the file was opened, before it is known which indexes are kept."""
    first = Store(tmp_path / "t.sqlite", {})
    first.keep_indexes({"I": "columns"})
    first.build([], [], ["I"])
    assert first.has_index("I")
    first.apply([], {0: 1})
    assert first.has_index("I")
    first.close()
    again = Store(tmp_path / "t.sqlite", {})
    again.apply([Change(b"k", 0, 0, b"v", 1)], {0: 2})
    assert not again.has_index("I")
    assert again.incomplete() == ["I"]
    again.close()
