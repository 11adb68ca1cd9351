"""Downloads the files of jars.lock from a Maven repository into the user cache: in parallel, resumable, verified."""

import fcntl
import hashlib
import os
import re
import shutil
import ssl
import tempfile
import threading
import zipfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import httpx

from millstream.services import lock
from millstream.services.errors import SetupError
from millstream.services.lock import Artifact
from millstream.services.progress import Progress, default_progress

RESOLVER = "org/apache/ivy/plugins/resolver/IBiblioResolver.class"
MIRROR, CACHE = "MILLSTREAM_MAVEN_REPOSITORY", "MILLSTREAM_CACHE"
ELSEWHERE = f"set {MIRROR}=URL to a mirror that this machine reaches"
# The number of files that are downloaded at the same time, and of attempts for each.
AT_ONCE = 8
ATTEMPTS = 4


@dataclass(frozen=True, slots=True)
class _Source:
    """The repository and the folder of downloads, and the callback for bytes that have arrived."""

    client: httpx.Client
    repository: str
    folder: Path
    arrived: Callable[[int], None]
    stop: threading.Event


def cache_folder() -> Path:
    """The user's cache: $MILLSTREAM_CACHE, else ~/.cache/millstream."""
    return Path(os.environ.get(CACHE) or "~/.cache/millstream").expanduser()


def repository() -> str:
    """The Maven repository's URL with a closing slash: $MILLSTREAM_MAVEN_REPOSITORY, else Ivy's default.

    Raises SetupError if pyspark, whose jars contain Ivy, is not installed.
    """
    mirror = os.environ.get(MIRROR)
    return mirror.rstrip("/") + "/" if mirror else _default_repository()


def fetch(group: str, progress: Progress | None = None) -> list[Path]:
    """The files of one group of jars.lock, in its order, downloaded if the cache lacks them.

    Raises SetupError if a file cannot be downloaded or does not match the lock.
    """
    artifacts = [artifact for artifact in lock.read() if group in artifact.groups]
    if not artifacts:
        raise ValueError(f"jars.lock has no group {group!r}")
    return fetch_all(group, artifacts, progress)


def fetch_all(title: str, artifacts: Sequence[Artifact], progress: Progress | None = None) -> list[Path]:
    """The cached paths of `artifacts`, downloaded if missing, with progress under `title`; errors as in `fetch`."""
    folder = cache_folder() / "jars"
    if _missing(folder, artifacts):
        with locked(folder):
            _download(_missing(folder, artifacts), folder, progress or default_progress(title))
    return [folder / artifact.name for artifact in artifacts]


def _missing(folder: Path, artifacts: Sequence[Artifact]) -> list[Artifact]:
    return [artifact for artifact in artifacts if not _is_complete(folder / artifact.name, artifact)]


def _is_complete(path: Path, artifact: Artifact) -> bool:
    return path.is_file() and path.stat().st_size == artifact.size


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder of the cache: of two processes that need the same files, one waits for the other.

    Raises SetupError if the folder, or a file that is written in the block, cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with open(folder / ".lock", "w") as handle:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
    except OSError as error:
        fact = f"the cache {cache_folder()} cannot be written: {error}"
        raise SetupError(fact, f"it needs 1 GB; {CACHE}=FOLDER names another folder") from error


@contextmanager
def work_folder(folder: Path, purpose: str) -> Iterator[Path]:
    """An empty folder `{purpose}-…` inside `folder` while the block runs; what killed processes left is removed.

    The caller holds a lock, so that no other process has a folder for the same purpose.
    """
    for leftover in folder.glob(f"{purpose}-*"):
        shutil.rmtree(leftover, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=f"{purpose}-", dir=folder) as name:
        yield Path(name)


def _download(missing: Sequence[Artifact], folder: Path, progress: Progress) -> None:
    if not missing:
        return
    size, stop = sum(artifact.size for artifact in missing), threading.Event()
    with progress.showing(len(missing), size) as arrived, _client() as client:
        source = _Source(client, repository(), folder, arrived, stop)
        # The largest first: other threads download the small ones meanwhile.
        _all_or_first_error(source, sorted(missing, key=lambda artifact: -artifact.size))


def _all_or_first_error(source: _Source, queue: Sequence[Artifact]) -> None:
    with ThreadPoolExecutor(AT_ONCE) as pool, ExitStack() as on_failure:
        # Otherwise leaving the pool after an error, or Ctrl-C, would wait for the whole queue.
        on_failure.callback(source.stop.set)
        for finished in as_completed([pool.submit(_fetch_artifact, source, artifact) for artifact in queue]):
            finished.result()
        on_failure.pop_all()


def _client() -> httpx.Client:
    # The system's certificates instead of certifi's: a company's own mirror is signed by an authority of the machine.
    return httpx.Client(verify=ssl.create_default_context(), follow_redirects=True, timeout=30)


def _fetch_artifact(source: _Source, artifact: Artifact) -> None:
    """Download one file into the folder; if all downloads were stopped, its partial content is kept."""
    part = source.folder / (artifact.name + ".part")
    _resume_download(source, artifact, part)
    if not source.stop.is_set():
        _verify(source, artifact, part)
        part.replace(source.folder / artifact.name)


def _resume_download(source: _Source, artifact: Artifact, part: Path) -> None:
    """Download into `part`, continuing where an earlier attempt, or run, was interrupted."""
    url = source.repository + artifact.path
    _count_present(source, artifact, part)
    for attempt in range(1, ATTEMPTS + 1):
        try:
            if source.stop.is_set() or _is_complete(part, artifact):
                return
            _transfer(source, url, part)
        except httpx.HTTPStatusError as error:
            raise _refused(artifact, source.repository, error.response.status_code) from error
        except httpx.TransportError as error:
            if attempt == ATTEMPTS:
                raise _unreachable(artifact, source.repository, error) from error


def _count_present(source: _Source, artifact: Artifact, part: Path) -> None:
    have = part.stat().st_size if part.exists() else 0
    if have > artifact.size:
        part.unlink()
    else:
        source.arrived(have)


def _transfer(source: _Source, url: str, part: Path) -> None:
    have = part.stat().st_size if part.exists() else 0
    with source.client.stream("GET", url, headers={"Range": f"bytes={have}-"} if have else {}) as answer:
        answer.raise_for_status()
        is_resumed = answer.status_code == httpx.codes.PARTIAL_CONTENT
        if have and not is_resumed:
            source.arrived(-have)
        with open(part, "ab" if is_resumed else "wb") as file:
            for block in answer.iter_raw():
                file.write(block)
                source.arrived(len(block))
                if source.stop.is_set():
                    return


def _verify(source: _Source, artifact: Artifact, part: Path) -> None:
    with open(part, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != artifact.sha256:
        part.unlink()
        raise SetupError(
            f"{artifact.coordinates} from {source.repository} is not the file that jars.lock promises: "
            f"sha256 {digest} instead of {artifact.sha256}",
            f"try again; if it stays so the repository (or a proxy) serves another file: {ELSEWHERE}",
        )


def _refused(artifact: Artifact, repository: str, status: int) -> SetupError:
    return SetupError(f"{repository} answered {status} for {artifact.path}", ELSEWHERE)


def _unreachable(artifact: Artifact, repository: str, error: Exception) -> SetupError:
    reason = str(error) or type(error).__name__
    return SetupError(
        f"could not download {artifact.name}: {repository} is not reachable ({reason})",
        "check the network and try again, what has arrived is kept; behind a proxy set HTTPS_PROXY; "
        f"or {ELSEWHERE}; or copy {cache_folder() / 'jars'} from a machine that has it",
    )


@cache
def _default_repository() -> str:
    """Maven's central repository as in Ivy's settings, read from the Ivy jar of pyspark."""
    spec = find_spec("pyspark")
    homes = spec.submodule_search_locations if spec else None
    for ivy in [path for home in homes or () for path in Path(home).glob("jars/ivy-*.jar")]:
        with zipfile.ZipFile(ivy) as jar:
            if match := re.search(rb"https://[\w./-]+/maven2/", jar.read(RESOLVER)):
                return match[0].decode()
    raise SetupError("no Maven repository is known, since pyspark is not installed", f"install pyspark, or {ELSEWHERE}")
