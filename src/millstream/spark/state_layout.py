"""What a query stores in its states, by type, noted in its checkpoint: a start that would read other states is refused.

    CREATE TABLE n AS SELECT id, COUNT(*) AS n FROM s GROUP BY id    ["1: struct<string> -> struct<bigint,bigint>"]

The states of a checkpoint are bytes without types, and the plan that starts says what they are. `plan/replacing.py`
decides whether another statement can read them. But another version of millstream may store something else for the
same statement; its wrong results would go unnoticed. So a difference in types, or in the version of an operator whose
states mean something else (fold.Fold.state_version), ends the start.
"""

import json
import logging
from itertools import zip_longest

from pyspark.sql import DataFrame, SparkSession

from millstream.spark import checkpoint as checkpoints
from millstream.spark import jvm

LOG = logging.getLogger(__name__)
FILE = "state-layout"


class OtherStates(Exception):
    """A checkpoint has states that the query cannot read; the message says which, and what to do."""


def check(session: SparkSession, query: DataFrame, url: str) -> None:
    """Compare what a query stores with what its checkpoint, which no run is using, says that it holds.

    A checkpoint without states gets the note; one of a version that did not note it too, with a warning. Raises
    OtherStates, and OSError or Py4JError if the checkpoint cannot be read or written.
    """
    stored = [str(layout) for layout in jvm.module(session, "StatefulOperator").layouts(jvm.java_frame(query))]
    noted = _noted(session, url)
    if noted == stored:
        return
    if _has_states(session, url):
        if noted is not None:
            raise OtherStates(_difference(noted, stored, url))
        LOG.warning("the checkpoint %s has no description of its states; they are assumed to be %s", url, stored)
    _note(session, url, stored)


def _noted(session: SparkSession, url: str) -> list[str] | None:
    """What a checkpoint says; None if it says nothing, or a loss of power has left half a note."""
    if FILE not in checkpoints.files(session, url):
        return None
    try:
        noted = json.loads(checkpoints.read(session, f"{url}/{FILE}"))
    except ValueError:
        return None
    return [str(layout) for layout in noted] if isinstance(noted, list) else None


def _has_states(session: SparkSession, url: str) -> bool:
    """Whether a batch, or a save within one (jvm/BatchSaves.scala), is in the checkpoint."""
    return any(checkpoints.files(session, f"{url}/{folder}") for folder in ("commits", "saved"))


def _note(session: SparkSession, url: str, stored: list[str]) -> None:
    """Write the note, completely or not at all."""
    part = f"{url}/.{FILE}.part"
    checkpoints.write(session, part, json.dumps(stored))
    checkpoints.delete(session, f"{url}/{FILE}")
    checkpoints.rename(session, part, f"{url}/{FILE}")


def _difference(noted: list[str], stored: list[str], url: str) -> str:
    """Why the start is refused, with the first operator whose states differ."""
    pairs = enumerate(zip_longest(noted, stored, fillvalue="nothing"))
    number, (before, now) = next((number, pair) for number, pair in pairs if pair[0] != pair[1])
    return (
        f"the checkpoint {url} has states that this version of millstream cannot go on with; rebuild the query by "
        "CREATE OR REPLACE … WITH (rebuild=true, kafka_topic='<another topic>') AS …, or drop it and create it again: "
        f"operator {number} has stored {_short(before)}, and would store {_short(now)}"
    )


def _short(layout: str) -> str:
    return layout if len(layout) <= 100 else layout[:99] + "…"
