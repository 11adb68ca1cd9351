"""Java is found; if it is missing or too old, the message has a hint."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from millstream.services.errors import SetupError
from millstream.services.java import java


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    java.cache_clear()
    yield
    java.cache_clear()


def fake_java(home: Path, answer: str) -> Path:
    command = home / "bin" / "java"
    command.parent.mkdir(parents=True)
    command.write_text(f"#!/bin/sh\necho '{answer}' >&2\n")
    command.chmod(0o755)
    return command


def test_this_machine_has_one() -> None:
    assert java().name == "java"


def test_java_home_comes_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    command = fake_java(tmp_path, 'openjdk version "21.0.2" 2024-01-16')
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert java() == command


@pytest.mark.parametrize(("answer", "number"), [('java version "1.8.0_402"', 8), ('openjdk version "11.0.2"', 11)])
def test_an_old_one_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, answer: str, number: int) -> None:
    fake_java(tmp_path, answer)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(SetupError, match=f"is Java {number}, and millstream needs Java 17 or later"):
        java()


def test_no_java_is_reported_with_a_hint(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SetupError, match="no java on PATH") as raised:
        java()
    assert "openjdk-17-jre-headless" in raised.value.hint
