"""Repairs checkpoints that a killed server left half written, before their query starts.

`finish` is for queries that write in Kafka transactions: for a batch that is committed in Kafka but not in the commit
log. `repair` is for all queries.

Real-time mode writes a batch's commit and its offsets at the same time: a kill may leave the commit without the
offsets, or a temporary file of either. Spark refuses to start from that; without these files it starts from the end of
the last complete batch, and nothing is lost.
"""

import json
import re
import shutil
import uuid
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlparse
from urllib.request import url2pathname

from py4j.protocol import Py4JError
from pyspark.sql import DataFrame, SparkSession

from millstream.spark import jvm

PREPARED = "prepared-"
_COPY = re.compile(r"\..*\.part\Z")
_OF_BATCH = re.compile(r"\.?(?:prepared|transactions)-(\d+)-")
# Spark's file with the id of a query, which must be unique.
IDENTITY = "metadata"
_BATCH = re.compile(r"\.?(\d+)(\.crc)?\Z")
_UNFINISHED = re.compile(r"\.\.?\d+\..*\.tmp(\.crc)?\Z")


def location(folder: str) -> str:
    """A folder as a URL for Spark and Hadoop: a plain path becomes a `file:` URL."""
    return folder if "://" in folder or folder.startswith("file:") else Path(folder).resolve().as_uri()


class CheckpointBehind(Exception):
    """A checkpoint older than what its query has committed in Kafka: the query would write records a second time."""


def finish(session: SparkSession, url: str, marker: str) -> None:
    """Add the batch that Kafka committed last to the commit log; `marker` is "<batch>-…", "" for none.

    Raises CheckpointBehind if the checkpoint does not have that batch. Notes up to that batch are removed; a note for a
    later batch is kept, since another run may have begun after `marker` was read, and have committed that batch.
    """
    noted = {name: int(match[1]) for name in files(session, url) if (match := _OF_BATCH.match(name))}
    committed = [int(name) for name in files(session, f"{url}/commits") if name.isdigit()]
    last, batch = max(committed, default=-1), int(marker.partition("-")[0] or -1)
    if batch > last:
        if PREPARED + marker not in noted:
            raise CheckpointBehind(
                f"Kafka has committed batch {batch} of the query, which the checkpoint {url} does not have: the "
                "query would write its records again; start it with its own checkpoint, or create it again"
            )
        rename(session, f"{url}/{PREPARED}{marker}", f"{url}/commits/{batch}")
    for name in [name for name, number in noted.items() if number <= batch]:
        delete(session, f"{url}/{name}")


def repair(session: SparkSession, url: str) -> None:
    """Remove the half-written files of a checkpoint that no query is using, and replace a damaged file of its id.

    The file of the id is not synced to this machine's disk: a power failure may leave it empty or in part, and Spark
    refuses to start from that. A new id is harmless, since offsets and states do not depend on it.

    A server that was frozen may do this while the query runs elsewhere. That is safe: the commits are listed before the
    offsets, and a query with exactly once writes a batch's offsets before its commit.
    """
    commits = files(session, f"{url}/commits")
    offsets = files(session, f"{url}/offsets")
    for log, names in zip(("offsets", "commits"), half_written(offsets, commits), strict=True):
        for name in names:
            delete(session, f"{url}/{log}/{name}")
    identity = _local(f"{url}/{IDENTITY}")
    if identity is not None and identity.is_file() and not _has_identity(identity.read_bytes()):
        _write_identity(session, url)


def _has_identity(content: bytes) -> bool:
    """True if Spark can read the id in a file's content."""
    try:
        return isinstance(json.loads(content)["id"], str)
    except (ValueError, LookupError, TypeError):
        return False


def _write_identity(session: SparkSession, url: str) -> None:
    """Give the query of a checkpoint another id."""
    delete(session, f"{url}/.{IDENTITY}.crc")
    write(session, f"{url}/{IDENTITY}", json.dumps({"id": str(uuid.uuid4())}))


def explained(words: str, url: str) -> str:
    """The words about a failure of a query, with its checkpoint and what to do if that is what cannot be read.

    Spark names neither: `java.io.EOFException` → `the checkpoint /data/CTAS_T_0-… is damaged: offsets/7 and 3 other
    files are empty; restore …: java.io.EOFException`
    """
    if _FULL in words and not words.startswith("a disk is full"):
        return f"a disk is full (the checkpoint is {url}); the query goes on by itself once there is room: {words}"
    empty = _empty_files(url)
    if REMEDY in words or not (empty or _UNREADABLE.search(words)):
        return words
    others = {1: "", 2: " and another file"}.get(len(empty), f" and {len(empty) - 1} other files")
    damage = f"is damaged: {empty[0]}{others} {'is' if not others else 'are'} empty" if empty else "cannot be read"
    return f"the checkpoint {url} {damage}; {REMEDY}: {words}"


REMEDY = "restore the query's folder from a copy, or drop the query and create it again"
_FULL = "No space left on device"
# Failures of Spark's about the files of a checkpoint.
_UNREADABLE = re.compile(
    "CANNOT_LOAD_STATE_STORE|MISSING_STATE_DIRECTORY|Failed to read log file|EOFException|ChecksumException|"
    r"/state/\S+ does not exist"
)


def _empty_files(url: str) -> list[str]:
    """The empty files of a checkpoint on this machine. A loss of power leaves such files; Spark itself writes none."""
    folder = _local(url)
    if folder is None:
        return []
    files = (file for part in ("offsets", "commits", "state", "saved") for file in (folder / part).rglob("[!.]*"))
    return sorted(str(file.relative_to(folder)) for file in files if file.is_file() and not file.stat().st_size)


def restore(session: SparkSession, savepoint: str, url: str) -> None:
    """Create a checkpoint that does not exist yet as a copy of another one, which no query is using."""
    if not savepoint or files(session, url):
        return
    folder, _, name = url.rpartition("/")
    part = _copied(session, savepoint, f"{folder}/.{name}.part")
    _write_identity(session, part)
    delete(session, url)
    rename(session, part, url)


def save(session: SparkSession, url: str, savepoint: str, part: str, leads: Callable[[], bool]) -> None:
    """Copy a checkpoint that no run is using to a new place, completely or not at all, by way of `part`.

    If `leads()` is false in the end, another server may have removed some of the copy. Raises OSError.
    """
    try:
        _copied(session, url, part)
        if not leads():
            raise OSError("this server no longer runs the queries")
        rename(session, part, savepoint)
    except Py4JError as failure:
        raise OSError(f"{url} cannot be copied to {savepoint}: {failure}") from failure


def remove_unfinished(session: SparkSession, folder: str) -> None:
    """Remove the copies in a folder of checkpoints that a killed server did not finish."""
    for name in files(session, folder):
        if _COPY.match(name):
            delete(session, f"{folder}/{name}")


def _copied(session: SparkSession, url: str, part: str) -> str:
    """Copy a folder to a temporary name; a leftover of an earlier attempt is removed.

    If that fails, what was copied is removed: a disk that is full must not stay so. Raises OSError, Py4JError.
    """
    delete(session, part)
    try:
        copy(session, url, part)
    except (OSError, Py4JError):
        with suppress(OSError, Py4JError):
            delete(session, part)
        raise
    return part


def repartition(session: SparkSession, query: DataFrame, url: str, tasks: int) -> None:
    """Repartition the states of a query, whose checkpoint no run is using, to `tasks` tasks; no-op if it has that many.

    Raises Py4JError on failure; the checkpoint is unchanged then. See jvm/StateRepartition.scala.
    """
    if not files(session, f"{url}/offsets"):
        return
    operators = jvm.module(session, "StateRepartition").apply(jvm.java_frame(query), url, tasks)
    for operator in range(operators):
        states = f"{url}/state/{operator}"
        for task in files(session, states):
            if task.isdigit() and int(task) >= tasks:
                delete(session, f"{states}/{task}")


def half_written(offsets: Iterable[str], commits: Iterable[str]) -> tuple[list[str], list[str]]:
    """The files of the two logs that are unfinished, or that are commits of batches without offsets."""
    offsets = list(offsets)
    last = max((int(n) for n in offsets if n.isdigit()), default=-1)
    unfinished = [name for name in offsets if _UNFINISHED.match(name)]
    return unfinished, [name for name in commits if _UNFINISHED.match(name) or _batch(name) > last]


def _batch(name: str) -> int:
    match = _BATCH.match(name)
    return int(match[1]) if match else -1


def files(session: SparkSession, url: str) -> Sequence[str]:
    """The names of the files in a folder; none if it does not exist."""
    folder = _local(url)
    if folder is None:
        return jvm.files(session, url)
    return [file.name for file in folder.iterdir()] if folder.is_dir() else []


def delete(session: SparkSession, url: str) -> None:
    """Remove a file, or a folder with its contents, if it exists."""
    path = _local(url)
    if path is None:
        jvm.delete(session, url)
    elif path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def rename(session: SparkSession, old: str, new: str) -> None:
    """Rename a file atomically, in this machine's file system or in one of Hadoop's; both paths are in the same one."""
    path, target = _local(old), _local(new)
    if path is None or target is None:
        jvm.rename(session, old, new)
    else:
        path.rename(target)


def copy(session: SparkSession, old: str, new: str) -> None:
    """Copy a folder with its contents. Raises OSError if it does not exist, or a file cannot be copied."""
    path, target = _local(old), _local(new)
    if path is None or target is None:
        jvm.copy(session, old, new)
    else:
        try:
            shutil.copytree(path, target)
        except shutil.Error as failure:
            # It has an entry for each file that could not be copied, of which there may be thousands.
            source, _, why = failure.args[0][0]
            raise OSError(f"{source} cannot be copied: {why}") from failure


def write(session: SparkSession, url: str, text: str) -> None:
    """Write a file, with the folders that it is in; an existing one is replaced."""
    path = _local(url)
    if path is None:
        jvm.write(session, url, text)
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def read(session: SparkSession, url: str) -> str:
    """The text of a file. Raises OSError or Py4JError if it does not exist or cannot be read."""
    path = _local(url)
    return jvm.read(session, url) if path is None else path.read_text(encoding="utf-8", errors="replace")


def _local(url: str) -> Path | None:
    """The path of a `file:` URL; None for another file system."""
    parts = urlparse(url)
    return Path(url2pathname(parts.path)) if parts.scheme in ("", "file") else None
