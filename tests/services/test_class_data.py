"""Archives of classes: created once for a class path, used by every JVM, and never required for a start."""

import fcntl
import os
import re
import subprocess
from pathlib import Path

import psutil
import pytest

from millstream.services import class_data
from millstream.services.broker import BrokerProcess
from millstream.services.registry import RegistryProcess
from millstream.services.service import Service


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of archives, empty."""
    folder = tmp_path / "module"
    folder.mkdir()
    monkeypatch.setattr(class_data, "cache_folder", lambda: tmp_path)
    return folder


def options(jars: list[Path]) -> list[str]:
    return class_data.options("classes", jars, lambda file: ["java", str(file)])


def archives_of(service: Service) -> list[str]:
    """The archives of the cache that its JVM has mapped."""
    (user,) = [
        p
        for p in psutil.process_iter(["cmdline"])
        if str(service.home) in " ".join(p.info["cmdline"] or ()) and "java" in p.name()
    ]
    return [m.path for m in user.memory_maps() if m.path.endswith(".jsa") and f"/{service.name}-" in m.path]


@pytest.mark.live
def test_a_broker_and_a_registry_map_the_archives_of_their_classes(
    broker: BrokerProcess, registry: RegistryProcess
) -> None:
    assert [len(archives_of(service)) for service in (broker, registry)] == [1, 1]


def test_users_are_told_what_takes_so_long_at_the_first_start(
    cache: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def make(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        Path(command[-1]).write_text("classes")
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(subprocess, "run", make)
    for _ in range(2):
        class_data.options("classes", [Path("a.jar")], lambda file: ["java", str(file)], title="archiving classes")
    begun, done = capsys.readouterr().err.splitlines()
    assert begun == "archiving classes, once …"
    assert re.fullmatch(r"archiving classes: done in \d+\.\d s", done)


def test_an_archive_that_cannot_be_created_is_tried_once(
    cache: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    tried: list[object] = []

    def fail(command: object, **_: object) -> subprocess.CompletedProcess[str]:
        tried.append(command)
        return subprocess.CompletedProcess([], 1, "", "no room for an archive")

    monkeypatch.setattr(subprocess, "run", fail)
    assert [options([Path("a.jar")]) for _ in range(2)] == [[], []]
    assert len(tried) == 1
    assert "no room for an archive" in caplog.text


def test_after_a_day_it_is_tried_again(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that was killed while it made the archive left every later start slow for good."""
    statuses = [-9, 0]

    def killed_once(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        Path(command[-1]).write_text("half of the classes")
        return subprocess.CompletedProcess([], statuses.pop(0), "", "")

    monkeypatch.setattr(subprocess, "run", killed_once)
    assert options([Path("a.jar")]) == []
    (empty,) = cache.glob("*.jsa")
    os.utime(empty, (1, 1))
    assert options([Path("a.jar")])


def test_the_session_that_is_run_may_fetch_and_compile(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It hung for PATIENCE when the sources had changed since its caller compiled them."""

    def compile_first(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        with open(cache.parent / ".lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        Path(command[-1]).write_text("classes")
        return subprocess.CompletedProcess([], 0, "", "")

    monkeypatch.setattr(subprocess, "run", compile_first)
    assert options([Path("a.jar")])


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
    first = options([jar])
    assert options([jar]) == first
    os.utime(jar, (1, 1))
    assert options([jar]) != first


def test_what_a_killed_process_left_is_removed(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each time 170 MB stayed in the cache for good."""
    folders: list[Path] = []

    def write(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        folders.append(Path(command[-1]).parent)
        Path(command[-1]).write_text("classes")
        return subprocess.CompletedProcess([], 0, "", "")

    monkeypatch.setattr(subprocess, "run", write)
    assert options([Path("a.jar")])
    left = folders[0] / "classes-part.jsa"
    left.parent.mkdir()
    left.write_text("half of the classes")
    assert options([Path("b.jar")])
    assert not left.parent.exists()


def test_each_class_path_has_its_own_and_the_least_recently_used_is_removed(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        Path(command[-1]).write_text("classes")
        return subprocess.CompletedProcess([], 0, "", "")

    def archive(n: int) -> Path:
        return Path(options([Path(f"{n}.jar")])[0].removeprefix("-XX:SharedArchiveFile="))

    monkeypatch.setattr(subprocess, "run", write)
    files = [archive(n) for n in range(class_data.MOST_ARCHIVES)]
    assert len(set(files)) == len(files)
    for age, file in enumerate(reversed(files), start=1):
        os.utime(file, (age * 1000, 10_000_000 - age * 1000))
    assert archive(0) == files[0]
    newest = archive(class_data.MOST_ARCHIVES)
    assert set(cache.glob("*.jsa")) == {*files, newest} - {files[1]}


def test_a_cache_that_cannot_be_written_needs_no_archive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr(class_data, "cache_folder", lambda: tmp_path / "file")
    assert options([Path("a.jar")]) == []
    assert "no class archive was created, so JVMs start without one: the cache" in caplog.text


def test_an_archive_of_another_user_is_used(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def make(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        Path(command[-1]).write_text("classes")
        return subprocess.CompletedProcess(command, 0, "", "")

    def refuse(path: Path, *_: object) -> None:
        if path.stat().st_size:
            raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(subprocess, "run", make)
    monkeypatch.setattr(os, "utime", refuse)
    assert options([Path("a.jar")])[0].startswith(f"-XX:SharedArchiveFile={cache}")
