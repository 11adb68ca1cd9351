"""Records of the command topic that are not, or no longer, readable."""

import json

import pytest

from millstream.engine.commands import CommandUnreadable, load

GOOD = {
    "version": 1,
    "id": "1",
    "origin": "server",
    "path": "p",
    "statement": "DROP TYPE t;",
    "settings": {},
    "facts": {},
    "starts": {},
}
WRONG: tuple[dict[str, object], ...] = (
    {"version": {}},
    {"id": None},
    {"path": ["p"]},
    {"statement": 5},
    {"statement": "\ud800"},
    {"settings": {"linger.ms": 5}},
    {"settings": []},
    {"facts": {"topics": {"t": {"partitions": "many"}}}},
    {"facts": {"topics": {"t": {"partitions": float("inf")}}}},
    {"starts": {"t": {"zero": 0}}},
    {"starts": {"t": {"0": None}}},
)
RECORDS = [
    *(b"", b"null", b"[]", b"{}", b'{"version": 1}', b"\xff\xfe", b'{"version": "1"}'),
    b"[" * 100_000,
    b'{"version": ' + b"9" * 100_000 + b"}",
    *(json.dumps({**GOOD, **wrong}).encode() for wrong in WRONG),
]


def test_the_record_that_the_others_spoil_is_good() -> None:
    assert load(json.dumps(GOOD).encode()).text == "DROP TYPE t;"


@pytest.mark.parametrize("record", RECORDS, ids=range(len(RECORDS)))
def test_what_is_no_command_says_so(record: bytes) -> None:
    with pytest.raises(CommandUnreadable, match="is not a command"):
        load(record)


def test_a_newer_version_says_so() -> None:
    with pytest.raises(CommandUnreadable, match="newer millstream"):
        load(b'{"version": 2}')
