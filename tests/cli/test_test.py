"""`millstream test`: what its arguments name, before anything is played."""

from pathlib import Path

import pytest

from millstream.cli.main import main

SQL = "--@test: it\nSET 'a'='b';\n"
FILES = {
    "bare.json": '{"tests": [{"statements": []}, {"name": "n"}]}',
    "text.json": '{"tests": [{"statements": "SET 1;"}]}',
    "no.json": "no",
    "record.json": '{"tests": [{"statements": [], "inputs": [{"value": 1}]}]}',
}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "no case to play: name a file or a folder"),
        (("case.sql", "--filter", "nothing"), "no case to play: nothing matches"),
        (("case.sql", "--live"), "a SQL test file is played without a broker\n  hint: leave --live and --rest out"),
        (("-s", "case.sql"), "-s (statements) and -o (the records that must come out) must be given together"),
        (("-td", "."), "typo.sql:2: there is no directive --@expected.mesage"),
        (("-s", "case.sql", "-o", "absent.json"), "there is no file or folder absent.json"),
        (("/nope",), "there is no file or folder /nope\n  hint: name a case file (JSON, or SQL with --@test: lines)"),
        (("/nope.sql",), "there is no file or folder /nope.sql\n  hint: name a case file"),
        (("bytes.sql",), "bytes.sql cannot be read: it is not UTF-8 text (byte 0)\n  hint: name a case file"),
        (("no.json",), "no.json is not a case file: it is not valid JSON: Expecting value: line 1 column 1"),
        (("case.sql", "--report", "no/such/report"), "cannot write no/such/report: No such file or directory"),
        (("case.sql", "-tf", "case.sql"), "case.sql cannot be written to: File exists"),
        (("bare.json",), "bare.json is not a case file: case 1 lacks 'statements'"),
        (("text.json",), "text.json is not a case file: case 0: its statements are not a list"),
        (("record.json",), "record.json is not a case file: case 0 lacks 'topic'"),
    ],
)
def test_what_cannot_be_played(
    words: tuple[str, ...],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "case.sql").write_text(SQL, encoding="utf-8")
    (tmp_path / "typo.sql").write_text("--@test: it\n--@expected.mesage: x\n", encoding="utf-8")
    if "bytes.sql" in words:
        (tmp_path / "bytes.sql").write_bytes(b"\xff")
    for name in FILES.keys() & set(words):
        (tmp_path / name).write_text(FILES[name], encoding="utf-8")
    assert main(["test", *words]) == 2
    assert message in capsys.readouterr().err
