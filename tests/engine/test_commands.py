"""Records of the command topic that are not, or no longer, readable."""

import pytest

from millstream.engine.commands import CommandUnreadable, load


@pytest.mark.parametrize("record", [b"", b"null", b"[]", b"{}", b'{"version": 1}', b"\xff\xfe", b'{"version": "1"}'])
def test_what_is_no_command_says_so(record: bytes) -> None:
    with pytest.raises(CommandUnreadable, match="none of ours"):
        load(record)


def test_a_newer_version_says_so() -> None:
    with pytest.raises(CommandUnreadable, match="newer millstream"):
        load(b'{"version": 2}')
