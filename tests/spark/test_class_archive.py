"""The archive of classes: created once for a class path, used by every session, and never required for a start."""

import fcntl
import os
import subprocess
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from millstream.spark import class_archive, jvm


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of archives, empty."""
    folder = tmp_path / "module"
    folder.mkdir()
    monkeypatch.setattr(class_archive, "cache_folder", lambda: tmp_path)
    return folder


def test_a_session_maps_the_archive_of_its_class_path(spark: SparkSession) -> None:
    (option, *_) = class_archive.options(jvm.class_path())
    file = Path(option.removeprefix("-XX:SharedArchiveFile="))
    assert file.stat().st_size > 10_000_000
    pid = str(jvm.machine(spark).java.lang.ProcessHandle.current().pid())
    assert str(file) in Path(f"/proc/{pid}/maps").read_text(), "the JVM did not take the archive"


def test_an_archive_that_cannot_be_created_is_tried_once(
    cache: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    tried: list[object] = []

    def fail(command: object, **_: object) -> subprocess.CompletedProcess[str]:
        tried.append(command)
        return subprocess.CompletedProcess([], 1, "", "no room for an archive")

    monkeypatch.setattr(subprocess, "run", fail)
    assert [class_archive.options([Path("a.jar")]) for _ in range(2)] == [[], []]
    assert len(tried) == 1
    assert "no room for an archive" in caplog.text


def test_the_session_that_is_run_may_fetch_and_compile(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It hung for PATIENCE when the sources had changed since its caller compiled them."""

    def compile_first(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        with open(cache.parent / ".lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        Path(command[-1]).write_text("classes")
        return subprocess.CompletedProcess([], 0, "", "")

    monkeypatch.setattr(subprocess, "run", compile_first)
    assert class_archive.options([Path("a.jar")])


def test_jars_that_were_installed_again_get_an_archive_of_their_own(
    cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Java takes no archive that was made with a jar of another time; each start was slow for good."""

    def write(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        Path(command[-1]).write_text("classes")
        return subprocess.CompletedProcess([], 0, "", "")

    monkeypatch.setattr(subprocess, "run", write)
    jar = tmp_path / "a.jar"
    jar.write_text("a jar")
    first = class_archive.options([jar])
    assert class_archive.options([jar]) == first
    os.utime(jar, (1, 1))
    assert class_archive.options([jar]) != first


def test_what_a_killed_process_left_is_removed(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each time 170 MB stayed in the cache for good."""
    folders: list[Path] = []

    def write(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        folders.append(Path(command[-1]).parent)
        Path(command[-1]).write_text("classes")
        return subprocess.CompletedProcess([], 0, "", "")

    monkeypatch.setattr(subprocess, "run", write)
    assert class_archive.options([Path("a.jar")])
    left = folders[0] / "classes-part.jsa"
    left.parent.mkdir()
    left.write_text("half of the classes")
    assert class_archive.options([Path("b.jar")])
    assert not left.parent.exists()


def test_each_class_path_has_its_own_and_the_least_recently_used_is_removed(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        Path(command[-1]).write_text("classes")
        return subprocess.CompletedProcess([], 0, "", "")

    def archive(n: int) -> Path:
        return Path(class_archive.options([Path(f"{n}.jar")])[0].removeprefix("-XX:SharedArchiveFile="))

    monkeypatch.setattr(subprocess, "run", write)
    files = [archive(n) for n in range(class_archive.KEPT)]
    assert len(set(files)) == len(files)
    for age, file in enumerate(reversed(files), start=1):
        os.utime(file, (age * 1000, 10_000_000 - age * 1000))
    assert archive(0) == files[0]
    newest = archive(class_archive.KEPT)
    assert set(cache.glob("*.jsa")) == {*files, newest} - {files[1]}
