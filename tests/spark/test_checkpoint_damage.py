"""What tells how far a query was is compared before it starts: no query begins anew without a word."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from millstream.spark.checkpoint import location
from millstream.spark.checkpoint_damage import CheckpointDamaged, check, note, note_batch

OFFSETS = 'v1\n{"conf":{}}\n{"orders":{"0":5},"topic id":"x"}\n-'
COMMIT = 'v2\n{"nextBatchWatermarkMs":0}'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A checkpoint whose batches 0 to 2 are committed, and of whose batch 3 a part is saved."""
    for batch in range(3):
        for name, text in (("offsets", OFFSETS), ("commits", COMMIT)):
            put(tmp_path / name / f"{batch}", text)
        put(tmp_path / f"state/0/0/{batch + 1}_9181-ca.changelog")
    put(tmp_path / "saved/batch.json", json.dumps({"batch": 3, "saves": []}))
    return tmp_path


def put(file: Path, text: str = "") -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def remove(folder: Path, *names: str) -> None:
    for name in names:
        for file in sorted(folder.glob(name)):
            file.unlink()


@pytest.mark.parametrize("in_transactions", [False, True])
def test_a_whole_checkpoint_is_accepted(spark: SparkSession, folder: Path, in_transactions: bool) -> None:
    url = location(str(folder))
    check(spark, url, in_transactions)
    note(spark, url)
    check(spark, url, in_transactions)
    put(folder / "state/0/0/4_9181-ca.zip")
    check(spark, url, in_transactions)
    check(spark, location(str(folder / "nowhere")), in_transactions)


CRASHES: dict[str, Callable[[Path], object]] = {
    "the first batch": lambda f: remove(f, "offsets/*", "commits/*", "state/0/0/[2-3]*", "saved/*"),
    "a batch without its commit": lambda f: remove(f, "commits/2", "saved/*"),
    "a batch without its offsets": lambda f: remove(f, "offsets/2", "saved/*"),
    "an old save": lambda f: put(f / "saved/batch.json", '{"batch": 1}'),
    "half a note, half a save": lambda f: (put(f / "batches", '{"com'), put(f / "saved/batch.json")),
}


@pytest.mark.parametrize("crash", CRASHES.values(), ids=CRASHES)
def test_what_a_crash_leaves_is_accepted(spark: SparkSession, folder: Path, crash: Callable[[Path], object]) -> None:
    crash(folder)
    check(spark, location(str(folder)), in_transactions=False)


@pytest.mark.parametrize("text", ["", '{"batch": 3, "sa', "[]"])
def test_a_save_that_cannot_be_read_is_left_out_with_a_warning(
    spark: SparkSession, folder: Path, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    """A loss of power leaves it: the query goes on from the end of its last batch, which is told."""
    put(folder / "saved/batch.json", text)
    check(spark, location(str(folder)), in_transactions=False)
    assert "saved/batch.json cannot be read: what was read since the last batch is read again" in caplog.text


LOST_SAVES: dict[str, Callable[[Path], object]] = {
    "gone": lambda f: remove(f, "saved/*"),
    "of an earlier batch": lambda f: put(f / "saved/batch.json", '{"batch": 2}'),
}


@pytest.mark.parametrize("lose", LOST_SAVES.values(), ids=LOST_SAVES)
def test_saves_that_are_lost_are_told(
    spark: SparkSession, folder: Path, lose: Callable[[Path], object], caplog: pytest.LogCaptureFixture
) -> None:
    """The query goes on from the end of its last batch, and writes rows again."""
    url = location(str(folder))
    note(spark, url)
    assert json.loads((folder / "batches").read_text()) == {"committed": 2, "saved": 3}
    check(spark, url, in_transactions=False)
    assert caplog.text == ""
    lose(folder)
    assert check(spark, url, in_transactions=False) == 2
    assert "saved has lost what the query had saved of batch 3: the records since that batch began" in caplog.text


def test_a_start_notes_how_far_a_query_is(spark: SparkSession, tmp_path: Path) -> None:
    """Also one that has committed nothing: with a disk that is read-only it fails before it writes rows."""
    note_batch(spark, location(str(tmp_path / "new")), -1)
    assert json.loads((tmp_path / "new/batches").read_text()) == {"committed": -1}


# By what was done to the checkpoint, the fact.
DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "no offsets": (lambda f: remove(f, "offsets/*"), "commits/2 is there, and offsets/2 is missing"),
    "no commits": (
        lambda f: remove(f, "commits/*"),
        "the offsets or the commit of batch 2 are missing, though saved/batch.json shows",
    ),
    "neither, by the states": (
        lambda f: remove(f, "offsets/*", "commits/*", "saved/*"),
        "the offsets or the commit of batch 1 are missing, though state/0/0 shows",
    ),
    "the last batch": (
        lambda f: remove(f, "offsets/2", "commits/2"),
        r"of batch 2 are missing \(the last is 1\), though saved/batch.json shows",
    ),
    "the last batch's offsets": (lambda f: remove(f, "offsets/2"), r"of batch 2 are missing \(the last is 1\)"),
    "a cut off file of offsets": (lambda f: put(f / "offsets/2", OFFSETS[:30]), "offsets/2 cannot be read"),
    "a cut off commit": (lambda f: put(f / "commits/2", COMMIT[:20]), "commits/2 cannot be read"),
    "an empty commit": (lambda f: put(f / "commits/2"), "commits/2 cannot be read"),
}


@pytest.mark.parametrize(("damage", "fact"), DAMAGES.values(), ids=DAMAGES)
def test_damage_is_said(spark: SparkSession, folder: Path, damage: Callable[[Path], object], fact: str) -> None:
    damage(folder)
    with pytest.raises(CheckpointDamaged, match=f"is damaged: .*{fact}.*restore the query's folder from a copy, or"):
        check(spark, location(str(folder)), in_transactions=False)


def test_a_query_without_states_or_saves_has_a_note(spark: SparkSession, folder: Path) -> None:
    remove(folder, "state/0/0/*", "saved/*")
    note(spark, location(str(folder)))
    assert json.loads((folder / "batches").read_text()) == {"committed": 2}
    remove(folder, "offsets/*", "commits/*")
    note(spark, location(str(folder)))
    with pytest.raises(CheckpointDamaged, match="of batch 2 are missing, though batches shows"):
        check(spark, location(str(folder)), in_transactions=False)


def test_with_exactly_once_a_commit_has_its_offsets(spark: SparkSession, folder: Path) -> None:
    """They are written first: without them the batch would be written a second time."""
    remove(folder, "offsets/2", "saved/*")
    with pytest.raises(CheckpointDamaged, match="commits/2 is there, and offsets/2 is missing"):
        check(spark, location(str(folder)), in_transactions=True)
