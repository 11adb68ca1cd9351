"""Checkpoints that a killed server left half written, made whole again before their query starts.

`finish` is for queries that write in Kafka transactions: a batch that Kafka has committed, and the commit log has not.
`mend` is for all.

Real-time mode writes a batch's commit and its offsets at the same time: a kill may leave the commit without the
offsets, or the file that was about to become either. Spark refuses to go on from there; without the odd files it
begins where the last whole batch ended, and nothing is lost.
"""

import json
import re
import shutil
import uuid
from collections.abc import Iterable, Sequence
from pathlib import Path
from urllib.parse import urlparse
from urllib.request import url2pathname

from py4j.protocol import Py4JError
from pyspark.sql import DataFrame, SparkSession

from millstream.spark import jvm

PREPARED = "prepared-"
_OF_BATCH = re.compile(r"\.?(?:prepared|transactions)-(\d+)-")
# Spark's file with the id of a query, which no other query may have.
IDENTITY = "metadata"
_BATCH = re.compile(r"\.?(\d+)(\.crc)?\Z")
_UNFINISHED = re.compile(r"\.\.?\d+\..*\.tmp(\.crc)?\Z")


def location(folder: str) -> str:
    """A folder as a URL that Spark and Hadoop understand: a plain path becomes a `file:` one."""
    return folder if "://" in folder or folder.startswith("file:") else Path(folder).resolve().as_uri()


class CheckpointBehind(Exception):
    """A checkpoint that is older than what its query has committed in Kafka: what it writes next was written before."""


def finish(session: SparkSession, url: str, marker: str) -> None:
    """Have the commit log name the batch that Kafka committed last, as its `marker` says ("<batch>-…", "" for none).

    Raises CheckpointBehind where the checkpoint does not know that batch. What was noted until then is removed; what
    was noted for a later batch stays: another run may have begun since `marker` was read, and have committed it.
    """
    noted = {name: int(match[1]) for name in files(session, url) if (match := _OF_BATCH.match(name))}
    committed = [int(name) for name in files(session, f"{url}/commits") if name.isdigit()]
    last, batch = max(committed, default=-1), int(marker.partition("-")[0] or -1)
    if batch > last:
        if PREPARED + marker not in noted:
            raise CheckpointBehind(
                f"Kafka has committed batch {batch} of the query, of which the checkpoint {url} does not know: the "
                "query would write again what it wrote; start it with its own checkpoint, or create it anew"
            )
        rename(session, f"{url}/{PREPARED}{marker}", f"{url}/commits/{batch}")
    for name in [name for name, number in noted.items() if number <= batch]:
        delete(session, f"{url}/{name}")


def mend(session: SparkSession, url: str) -> None:
    """Remove what a kill left half written in a checkpoint that no query uses now.

    A server that was frozen may be here while the query runs elsewhere: a commit that is listed before the offsets
    are has its offsets, where the two are written in that order (exactly once).
    """
    commits = files(session, f"{url}/commits")
    offsets = files(session, f"{url}/offsets")
    for log, names in zip(("offsets", "commits"), half_written(offsets, commits), strict=True):
        for name in names:
            delete(session, f"{url}/{log}/{name}")


def restore(session: SparkSession, savepoint: str, url: str) -> None:
    """Begin a checkpoint that is not there yet with a copy of another one, which no query uses."""
    if not savepoint or files(session, url):
        return
    part = _copied(session, savepoint, url)
    delete(session, f"{part}/.{IDENTITY}.crc")
    write(session, f"{part}/{IDENTITY}", json.dumps({"id": str(uuid.uuid4())}))
    delete(session, url)
    rename(session, part, url)


def save(session: SparkSession, url: str, savepoint: str) -> None:
    """Copy a checkpoint that no run uses to a place where there is nothing; whole, or not at all. Raises OSError."""
    try:
        rename(session, _copied(session, url, savepoint), savepoint)
    except Py4JError as failure:
        raise OSError(f"{url} cannot be copied to {savepoint}: {failure}") from failure


def _copied(session: SparkSession, url: str, target: str) -> str:
    """A copy of a folder beside a place that it is to be at; what an earlier try has left there is removed."""
    # No savepoint can be named so.
    folder, _, name = target.rpartition("/")
    part = f"{folder}/.{name}.part"
    delete(session, part)
    copy(session, url, part)
    return part


def repartition(session: SparkSession, query: DataFrame, url: str, tasks: int) -> None:
    """Have so many tasks share the states of a query, whose checkpoint no run uses; nothing where they do already.

    Raises Py4JError where that fails: the checkpoint is as it was. How it is done: jvm/StateRepartition.scala.
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
    """Of the files of the two logs, those that are unfinished, or are commits of batches without offsets."""
    offsets = list(offsets)
    last = max((int(n) for n in offsets if n.isdigit()), default=-1)
    unfinished = [name for name in offsets if _UNFINISHED.match(name)]
    return unfinished, [name for name in commits if _UNFINISHED.match(name) or _batch(name) > last]


def _batch(name: str) -> int:
    match = _BATCH.match(name)
    return int(match[1]) if match else -1


def files(session: SparkSession, url: str) -> Sequence[str]:
    """The names of the files in a folder, none where there is no such folder."""
    folder = _local(url)
    if folder is None:
        return jvm.files(session, url)
    return [file.name for file in folder.iterdir()] if folder.is_dir() else []


def delete(session: SparkSession, url: str) -> None:
    """Remove a file, or a folder with all that is in it, if it is there."""
    path = _local(url)
    if path is None:
        jvm.delete(session, url)
    elif path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def rename(session: SparkSession, old: str, new: str) -> None:
    """Give a file another name, in one step."""
    path, target = _local(old), _local(new)
    if path is None or target is None:
        jvm.rename(session, old, new)
    else:
        path.rename(target)


def copy(session: SparkSession, old: str, new: str) -> None:
    """Copy a folder with all that is in it. Raises OSError where it is not there."""
    path, target = _local(old), _local(new)
    if path is None or target is None:
        jvm.copy(session, old, new)
    else:
        shutil.copytree(path, target)


def write(session: SparkSession, url: str, text: str) -> None:
    """Write a file, in place of one that is there."""
    path = _local(url)
    if path is None:
        jvm.write(session, url, text)
    else:
        path.write_text(text, encoding="utf-8")


def _local(url: str) -> Path | None:
    """The path of a `file:` URL, None for one of another file system."""
    parts = urlparse(url)
    return Path(url2pathname(parts.path)) if parts.scheme in ("", "file") else None
