"""Whether a folder can be written to, in an operator's words."""

import errno
import os
from pathlib import Path

import pytest

from millstream.services.errors import SetupError
from millstream.services.folders import check_writable


def fails(number: int) -> object:
    def fail(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    return fail


def test_a_folder_is_made_and_nothing_is_left_in_it(tmp_path: Path) -> None:
    check_writable(tmp_path / "new" / "data", "take another")
    assert list((tmp_path / "new" / "data").iterdir()) == []


@pytest.mark.parametrize("name", ["file", "file/data"])
def test_a_file_in_its_place(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SetupError, match="cannot be written to") as refused:
        check_writable(tmp_path / name, "take another")
    assert "file" in refused.value.hint
    assert refused.value.hint.endswith("or take another")


@pytest.mark.parametrize(
    ("number", "hint"),
    [
        (errno.ENOSPC, "make room there, or take another"),
        (errno.EDQUOT, "make room there, or take another"),
        (errno.EROFS, "mount it for writing, or take another"),
        (errno.EACCES, "give it to the server's user (chown), or take another"),
        (errno.EIO, "take another"),
    ],
)
def test_why_and_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, hint: str) -> None:
    """What was begun of the file is removed."""
    monkeypatch.setattr(Path, "replace", fails(number))
    with pytest.raises(SetupError) as refused:
        check_writable(tmp_path, "take another")
    assert refused.value.fact == f"{tmp_path} cannot be written to: {os.strerror(number)}"
    assert refused.value.hint == hint
    assert list(tmp_path.iterdir()) == []
