"""Finds damage in a checkpoint before its query starts: Spark would repeat an earlier batch, and report nothing.

    offsets/ 0 1 2   commits/ 0 1 2   saved/batch.json {"batch": 3}   whole: batch 3 is next, and a part of it is saved
    offsets/ 0 1     commits/ 0 1 2                                   a crash during batch 2's commit: it is repeated
    offsets/ 0       commits/ 0       saved/batch.json {"batch": 3}   damaged: where batches 1 and 2 ended is lost
    offsets/ 0 1 2   commits/ 0 1 2   batches {"saved": 3}            a warning: what was saved of batch 3 is lost

Other files of the checkpoint also show which batches were committed: the saves within a batch (jvm/BatchSaves.scala),
and the versions of the states. A query that has neither gets a note, `batches`, which each start and each orderly stop
writes. It also says of which batch something was saved.
"""

import json
import logging
import re
from collections.abc import Iterable, Iterator
from typing import Any

from pyspark.sql import SparkSession

from millstream.spark.checkpoint import REMEDY, files, read, write

LOG = logging.getLogger(__name__)
NOTE = "batches"
# There is no save, or one that cannot be read.
NOTHING, UNREADABLE = -1, -2
_STATE = re.compile(r"(\d+)(_[\w-]+)?\.(zip|changelog)\Z")


class CheckpointDamaged(Exception):
    """A checkpoint from which its query cannot go on where it was; the message says what is missing, and what to do."""


def check(session: SparkSession, url: str, in_transactions: bool) -> int:
    """Check that the offsets and the commit of the last committed batch are there and whole; call it before `repair`.

    No run uses the checkpoint. Returns that batch, -1 for none. Raises CheckpointDamaged, and OSError or Py4JError if
    the checkpoint cannot be read.

    A server that was frozen may do this while the query runs elsewhere. So the files that are written last are listed
    first: a batch that is committed meanwhile is then no damage.
    """
    ended, witness = max(_witnesses(session, url), default=(-1, ""))
    committed, offsets = _last_batches(session, url)
    # Without transactions a batch's offsets and its commit are written at the same time, in any order.
    unpaired = 0 if in_transactions else 1
    if committed > offsets + unpaired:
        raise _damaged(url, f"commits/{committed} is there, and offsets/{committed} is missing")
    known = min(committed, offsets)
    if ended > known:
        last = f" (the last is {known})" if known >= 0 else ""
        raise _damaged(
            url,
            f"the offsets or the commit of batch {ended} are missing{last}, "
            f"though {witness} shows that it was committed",
        )
    if known >= 0:
        for log in ("offsets", "commits"):
            if not _is_whole(read(session, f"{url}/{log}/{known}")):
                raise _damaged(url, f"{log}/{known} cannot be read")
    _check_saves(session, url, known + 1)
    return known


def _check_saves(session: SparkSession, url: str, batch: int) -> None:
    """Log it if something was saved of a batch, and is lost: the query can go on, but repeats rows."""
    if _number(_noted(session, url), "saved") == batch and _saved_batch(session, url) not in (batch, UNREADABLE):
        again = "the records since that batch began are read again, and their rows written again"
        LOG.warning("%s/saved has lost what the query had saved of batch %d: %s", url, batch, again)


def note(session: SparkSession, url: str) -> None:
    """Note the last committed batch, if there is one, of a checkpoint that no run is using. Raises OSError or
    Py4JError."""
    if (batch := min(_last_batches(session, url))) >= 0:
        note_batch(session, url, batch)


def note_batch(session: SparkSession, url: str, batch: int) -> None:
    """Note that a batch of a checkpoint is committed, -1 for none, and whether something is saved of the next one.

    It is written at each start, so that a query whose disk is read-only or full fails before it writes rows that it
    could not remember. Raises OSError or Py4JError.
    """
    saved = _saved_batch(session, url)
    write(session, f"{url}/{NOTE}", json.dumps({"committed": batch} | ({"saved": saved} if saved == batch + 1 else {})))


def _last_batches(session: SparkSession, url: str) -> tuple[int, int]:
    """The last batch with a commit, and the last with offsets; the commits are listed first (see `check`)."""
    commits = last_batch(files(session, f"{url}/commits"))
    return commits, last_batch(files(session, f"{url}/offsets"))


def last_batch(names: Iterable[str]) -> int:
    """The last batch of those whose files have these names; -1 for none."""
    return max((int(name) for name in names if name.isdigit()), default=-1)


def _damaged(url: str, fact: str) -> CheckpointDamaged:
    return CheckpointDamaged(
        f"the checkpoint {url} is damaged: {fact}; the query would begin at an earlier place and "
        f"write its rows again; {REMEDY}"
    )


def _witnesses(session: SparkSession, url: str) -> Iterator[tuple[int, str]]:
    """The batches that must have been committed, each with the file or folder that shows it."""
    yield _number(_noted(session, url), "committed"), NOTE
    # Nothing of a batch is saved before the batches before it are committed.
    saved = _saved_batch(session, url)
    if saved == UNREADABLE:
        LOG.warning("%s/saved/batch.json cannot be read: what was read since the last batch is read again", url)
    yield saved - 1, "saved/batch.json"
    operators = files(session, f"{url}/state")
    for operator in filter(str.isdigit, operators):
        versions = [int(m[1]) for name in files(session, f"{url}/state/{operator}/0") if (m := _STATE.match(name))]
        # Batch 4 writes version 5, and batch 3 is committed before batch 4 begins.
        yield max(versions, default=0) - 2, f"state/{operator}/0"


def _noted(session: SparkSession, url: str) -> Any:
    """The note of a checkpoint; None if there is none, or if a loss of power has left half of it."""
    return _parsed(read(session, f"{url}/{NOTE}")) if NOTE in files(session, url) else None


def _saved_batch(session: SparkSession, url: str) -> int:
    """The batch of which something is saved; NOTHING, or UNREADABLE."""
    if "batch.json" not in files(session, f"{url}/saved"):
        return NOTHING
    saved = _number(_parsed(read(session, f"{url}/saved/batch.json")), "batch")
    return saved if saved >= 0 else UNREADABLE


def _is_whole(text: str) -> bool:
    """Whether the file of a batch, a version and lines of JSON ("-" for a source without an offset), is not cut off."""
    lines = text.split("\n")
    return len(lines) > 1 and all(line == "-" or _parsed(line) is not None for line in lines[1:] if line)


def _parsed(text: str) -> Any:
    """The value of JSON; None if it is none."""
    try:
        return json.loads(text)
    except ValueError:
        return None


def _number(value: Any, name: str) -> int:
    """A number of an object; -1 if there is none."""
    number = value.get(name) if isinstance(value, dict) else None
    return number if isinstance(number, int) else -1
