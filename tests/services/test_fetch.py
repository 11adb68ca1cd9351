"""Fetching against a real HTTP server: parallel, resumed after a cut, verified, and clear when it cannot be."""

import errno
import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest

from millstream.services import jars, lock
from millstream.services.errors import SetupError
from millstream.services.lock import Artifact
from millstream.services.ports import free_port
from millstream.services.progress import Counter
from support.http_server import QuietHandler, serving

CONTENT = bytes(range(256)) * 2000


@dataclass
class Mirror:
    """A Maven repository of one content under every path; `cut` answers break off in the middle."""

    content: bytes = CONTENT
    ranges: bool = True
    cut: int = 0
    ranges_requested: list[str | None] = field(default_factory=list)
    url: str = ""


def handler(mirror: Mirror) -> type[QuietHandler]:
    class Handler(QuietHandler):
        def do_GET(self) -> None:
            expected = self.headers.get("Range")
            mirror.ranges_requested.append(expected)
            start = int(re.findall(r"\d+", expected)[0]) if expected and mirror.ranges else 0
            body = mirror.content[start:]
            sent = len(body) // 2 if mirror.cut else None
            mirror.cut = max(mirror.cut - 1, 0)
            self.answer(404 if "absent" in self.path else 206 if start else 200, body, sent)

    return Handler


@pytest.fixture
def mirror(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Mirror]:
    served = Mirror()
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler(served))
    served.url = f"http://127.0.0.1:{server.server_port}/maven"
    monkeypatch.setenv("MILLSTREAM_MAVEN_REPOSITORY", served.url)
    monkeypatch.setenv("MILLSTREAM_CACHE", str(tmp_path / "cache"))
    with serving(server):
        yield served


def artifact(coordinates: str = "org.x:y:1.0", content: bytes = CONTENT) -> Artifact:
    return Artifact(frozenset({"g"}), coordinates, len(content), hashlib.sha256(content).hexdigest())


def test_names_and_paths_are_those_of_a_maven_repository() -> None:
    assert artifact("org.x:y:1.0").path == "org/x/y/1.0/y-1.0.jar"
    assert artifact("org.x:y:1.0:all:tar.gz").path == "org/x/y/1.0/y-1.0-all.tar.gz"


def test_files_arrive_once_and_stay(mirror: Mirror) -> None:
    expected, seen = [artifact("org.x:y:1"), artifact("org.x:z:1")], Counter()
    paths = jars.fetch_all("test", expected, seen)
    assert [path.name for path in paths] == ["y-1.jar", "z-1.jar"]
    assert all(path.read_bytes() == CONTENT for path in paths)
    assert seen.arrived == 2 * len(CONTENT)
    assert jars.fetch_all("test", expected) == paths
    assert len(mirror.ranges_requested) == 2


def test_a_cut_connection_goes_on_where_it_stopped(mirror: Mirror) -> None:
    mirror.cut, seen = 1, Counter()
    (path,) = jars.fetch_all("test", [artifact()], seen)
    assert path.read_bytes() == CONTENT
    assert mirror.ranges_requested == [None, f"bytes={len(CONTENT) // 2}-"]
    assert seen.arrived == len(CONTENT)


def test_an_earlier_run_is_gone_on_with(mirror: Mirror, tmp_path: Path) -> None:
    (tmp_path / "cache" / "jars").mkdir(parents=True)
    (tmp_path / "cache" / "jars" / "y-1.0.jar.part").write_bytes(CONTENT[:1000])
    (path,) = jars.fetch_all("test", [artifact()], Counter())
    assert (path.read_bytes(), mirror.ranges_requested) == (CONTENT, ["bytes=1000-"])
    assert not path.with_name("y-1.0.jar.part").exists()


def test_a_server_without_ranges_gives_the_whole(mirror: Mirror) -> None:
    mirror.ranges, mirror.cut, seen = False, 1, Counter()
    (path,) = jars.fetch_all("test", [artifact()], seen)
    assert (path.read_bytes(), seen.arrived) == (CONTENT, len(CONTENT))


def test_another_content_is_refused_and_not_kept(mirror: Mirror, tmp_path: Path) -> None:
    mirror.content = CONTENT[::-1]
    with pytest.raises(SetupError, match=r"org\.x:y:1\.0 from .* is not the file that jars\.lock promises"):
        jars.fetch_all("test", [artifact()], Counter())
    assert [path.name for path in (tmp_path / "cache" / "jars").iterdir()] == [".lock"]


def test_a_missing_file_is_named(mirror: Mirror) -> None:
    with pytest.raises(SetupError, match=r"answered 404 for org/absent/y/1\.0/y-1\.0\.jar"):
        jars.fetch_all("test", [artifact("org.absent:y:1.0")], Counter())


@pytest.mark.usefixtures("mirror")
def test_no_network_is_reported_with_hints(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MILLSTREAM_MAVEN_REPOSITORY", f"http://127.0.0.1:{free_port()}")
    with pytest.raises(SetupError, match=r"could not download y-1\.0\.jar: .* is not reachable") as raised:
        jars.fetch_all("test", [artifact()], Counter())
    assert "MILLSTREAM_MAVEN_REPOSITORY" in raised.value.hint


@pytest.mark.usefixtures("mirror")
def test_a_cache_that_cannot_be_written_is_reported_with_a_hint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was a traceback."""
    (tmp_path / "file").touch()
    monkeypatch.setenv("MILLSTREAM_CACHE", str(tmp_path / "file"))
    with pytest.raises(SetupError, match=r"the cache \S+file cannot be written: .*Not a directory") as raised:
        jars.fetch_all("test", [artifact()], Counter())
    assert "MILLSTREAM_CACHE=FOLDER" in raised.value.hint


@pytest.mark.usefixtures("mirror")
def test_a_full_disk_is_reported_with_a_hint(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(jars, "_transfer", full)
    with pytest.raises(SetupError, match=r"the cache .* cannot be written: .*No space left on device"):
        jars.fetch_all("test", [artifact()], Counter())


def test_a_quiet_terminal_gets_two_lines(mirror: Mirror, capsys: pytest.CaptureFixture[str]) -> None:
    jars.fetch_all("the test", [artifact()])
    first, second = capsys.readouterr().err.splitlines()
    assert first == "fetching the test: 1 file, 0.5 MB"
    assert second.startswith("fetched the test in ")


def test_the_repository_is_what_ivy_calls_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MILLSTREAM_MAVEN_REPOSITORY", raising=False)
    assert re.fullmatch(r"https://[\w.-]+/maven2/", jars.repository())


def test_the_lock_has_every_group_and_no_name_twice() -> None:
    artifacts = lock.read()
    groups = {"spark", "broker", "registry", "connect", "connect-plugins", "bench", "flink", "jdbc"}
    assert {group for one in artifacts for group in one.groups} == groups
    assert len({one.name for one in artifacts}) == len(artifacts)
    assert all(re.fullmatch(r"[0-9a-f]{64}", one.sha256) for one in artifacts)
