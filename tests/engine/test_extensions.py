"""The folder of a server's own functions: what is read, what is refused, and when nothing is."""

from pathlib import Path

import pytest

from millstream.engine.extensions import FOLDER, BadExtension, functions
from millstream.model.settings import effective
from millstream.plan.functions import ENABLED

FILE = "from millstream.udf import function\n@function('(x INT) -> INT')\ndef {}(x): return x\n"


def settings(folder: Path, **more: str) -> dict[str, str]:
    return effective({FOLDER: str(folder), **more})


def test_each_file_declares_its_functions(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(FILE.format("one"))
    (tmp_path / "b.py").write_text(FILE.format("two"))
    (tmp_path / "c.jar").write_bytes(b"\xff")
    (tmp_path / "d.py").write_text("this is not Python, and not ours")
    loaded = functions(settings(tmp_path))
    assert {name: f.file for name, f in loaded.items()} == {"ONE": f"{tmp_path}/a.py", "TWO": f"{tmp_path}/b.py"}


def test_no_folder_and_switched_off(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(FILE.format("one"))
    assert functions(settings(tmp_path / "nowhere")) == {}
    assert functions(settings(tmp_path, **{ENABLED: "false"})) == {}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (FILE.format("one").replace("INT)", "THING)"), r"b.py, line 2: there is no type THING"),
        (FILE.format("one"), r"b.py: ONE is declared in .*a.py too"),
        ("# millstream.udf\n\nx = = 1\n", r"b.py, line 3: Python: "),
    ],
)
def test_a_file_that_is_wrong_is_named(tmp_path: Path, text: str, why: str) -> None:
    (tmp_path / "a.py").write_text(FILE.format("one"))
    (tmp_path / "b.py").write_text(text)
    with pytest.raises(BadExtension, match=why):
        functions(settings(tmp_path))


def test_a_folder_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadExtension, match=r"ksql.extension.dir, .*: File name too long"):
        functions(settings(tmp_path / ("x" * 300)))
