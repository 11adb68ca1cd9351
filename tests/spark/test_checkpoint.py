"""What a kill leaves in a checkpoint."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from millstream.spark import checkpoint as checkpoints
from millstream.spark import jvm
from millstream.spark.checkpoint import (
    CheckpointBehind,
    files,
    finish,
    half_written,
    location,
    remove_unfinished,
    repair,
    restore,
    save,
)

UNFINISHED = ".0.e4753b34-56fb-402b-a174-ea37401ab19e.tmp"


@pytest.mark.parametrize(
    ("offsets", "commits", "odd"),
    [
        ([], [], ([], [])),
        (["0", ".0.crc", "1", ".1.crc"], ["0", ".0.crc", "1", ".1.crc"], ([], [])),
        (["0", "1"], ["0"], ([], [])),
        (["0", "9", "10"], ["0", "9", "10", "11", ".11.crc"], ([], ["11", ".11.crc"])),
        ([], ["0", ".0.crc"], ([], ["0", ".0.crc"])),
        ([UNFINISHED], [UNFINISHED, f".{UNFINISHED}.crc"], ([UNFINISHED], [UNFINISHED, f".{UNFINISHED}.crc"])),
        (["0", "metadata"], ["0", "metadata"], ([], [])),
    ],
)
def test_half_written_files(offsets: list[str], commits: list[str], odd: tuple[list[str], list[str]]) -> None:
    assert half_written(offsets, commits) == odd


def test_a_checkpoint_is_mended_on_disk_and_through_hadoop(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "offsets").mkdir()
    (tmp_path / "commits").mkdir()
    for name in ("0", "1", UNFINISHED):
        (tmp_path / "commits" / name).write_text("v1")
    (tmp_path / "offsets" / "0").write_text("v1")
    repair(spark, location(str(tmp_path)))
    assert [f.name for f in (tmp_path / "commits").iterdir()] == ["0"]
    assert files(spark, location(str(tmp_path / "offsets"))) == ["0"]
    repair(spark, location(str(tmp_path / "nowhere")))


@pytest.mark.parametrize("text", ["", '{"id": "1', "\udcff\udcfe", '{"id": "1"}'])
def test_a_damaged_id_is_replaced(spark: SparkSession, tmp_path: Path, text: str) -> None:
    """A loss of power leaves it: Spark would refuse to start for ever."""
    (tmp_path / "metadata").write_text(text, errors="surrogateescape")
    (tmp_path / ".metadata.crc").write_text("sum")
    repair(spark, location(str(tmp_path)))
    identity = json.loads((tmp_path / "metadata").read_text())["id"]
    assert (identity == "1") is text.endswith("}")
    assert (tmp_path / ".metadata.crc").exists() is text.endswith("}")


def test_mending_spares_a_batch_that_another_run_commits_meanwhile(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that was frozen lists one log, and the query's next server writes a batch before it lists the other."""
    url = checkpoint(tmp_path, "offsets/0", "commits/0")

    def listed(session: SparkSession, folder: str) -> Sequence[str]:
        names = files(session, folder)
        checkpoint(tmp_path, "offsets/1", "commits/1")
        return names

    monkeypatch.setattr(checkpoints, "files", listed)
    repair(spark, url)
    assert left(tmp_path) == ["commits/0", "commits/1", "offsets/0", "offsets/1"]


def checkpoint(folder: Path, *names: str) -> str:
    """A checkpoint with these files; its URL."""
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    return location(str(folder))


def left(folder: Path) -> list[str]:
    return sorted(str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file())


@pytest.mark.parametrize("marker", ["1-a", "2-b"])
def test_a_batch_that_kafka_has_committed_is_finished(spark: SparkSession, tmp_path: Path, marker: str) -> None:
    """Of what was prepared only the very attempt that Kafka names counts; what is newer may be another run's."""
    logs = ["offsets/0", "offsets/1", "offsets/2", "commits/0", "commits/1"]
    newer = ["prepared-2-b", "prepared-2-c", ".prepared-2-c.crc"]
    url = checkpoint(tmp_path, *logs, "prepared-1-a", ".prepared-1-a.crc", *newer)
    finish(spark, url, marker)
    assert left(tmp_path) == sorted(logs + (["commits/2"] if marker == "2-b" else newer))
    if marker == "2-b":
        assert (tmp_path / "commits" / "2").read_text() == "prepared-2-b"


@pytest.mark.parametrize("names", [[], ["commits/1", "prepared-2-c"]], ids=["none", "another attempt"])
def test_a_checkpoint_that_is_behind_is_refused_and_stays(
    spark: SparkSession, tmp_path: Path, names: list[str]
) -> None:
    url = checkpoint(tmp_path, *names)
    with pytest.raises(CheckpointBehind, match="Kafka has committed batch 2"):
        finish(spark, url, "2-b")
    assert left(tmp_path) == names


def test_a_checkpoint_begins_with_a_savepoint_where_there_is_none_yet(spark: SparkSession, tmp_path: Path) -> None:
    savepoint = checkpoint(tmp_path / "saved", "metadata", "offsets/0", "commits/0", "state/0/0/1.zip")
    new = location(str(tmp_path / "new"))
    for _ in range(2):
        restore(spark, savepoint, new)
        assert left(tmp_path / "new") == ["commits/0", "metadata", "offsets/0", "state/0/0/1.zip"]
        assert len(json.loads((tmp_path / "new" / "metadata").read_text())["id"]) == 36
    older = checkpoint(tmp_path / "older", "commits/7")
    restore(spark, savepoint, older)
    assert left(tmp_path / "older") == ["commits/7"]
    restore(spark, "", location(str(tmp_path / "nothing")))
    assert left(tmp_path / "nothing") == []
    with pytest.raises(OSError, match="nowhere"):
        restore(spark, location(str(tmp_path / "nowhere")), location(str(tmp_path / "fresh")))


def test_a_savepoint_that_cannot_be_copied_leaves_nothing(spark: SparkSession, tmp_path: Path) -> None:
    """Of a full disk what was copied would take the last room; the error is about the first file."""
    url = checkpoint(tmp_path / "query", "offsets/0", "commits/0", "state/0/0/1.delta")
    for name in ("2.delta", "3.delta"):
        (tmp_path / "query" / "state" / name).symlink_to(tmp_path / "lost")
    with pytest.raises(
        OSError, match=r"query/state/[23].delta cannot be copied: [^\n()]*No such file or directory[^()]*$"
    ):
        saved(spark, tmp_path, url)
    assert left(tmp_path / "savepoints") == []


def saved(spark: SparkSession, folder: Path, url: str, leads: bool = True) -> None:
    """Take the savepoint monday of a checkpoint."""
    monday, part = folder / "savepoints" / "monday", folder / "savepoints" / ".default" / "monday"
    save(spark, url, location(str(monday)), location(str(part)), lambda: leads)


def test_a_server_that_does_not_lead_any_more_completes_no_savepoint(spark: SparkSession, tmp_path: Path) -> None:
    """It was frozen while it copied: the server that leads has removed some of the copy."""
    url = checkpoint(tmp_path / "query", "offsets/0", "commits/0")
    with pytest.raises(OSError, match="this server no longer runs the queries"):
        saved(spark, tmp_path, url, leads=False)
    assert not (tmp_path / "savepoints" / "monday").exists()
    saved(spark, tmp_path, url)
    assert left(tmp_path / "savepoints" / "monday") == ["commits/0", "offsets/0"]


def test_copies_that_a_killed_server_left_half_written_are_removed(spark: SparkSession, tmp_path: Path) -> None:
    checkpoint(tmp_path, "CTAS_A_1-x/commits/0", ".CTAS_B_2-y.part/state/0/0/1.zip")
    remove_unfinished(spark, location(str(tmp_path)))
    assert left(tmp_path) == ["CTAS_A_1-x/commits/0"]
    remove_unfinished(spark, location(str(tmp_path / "nowhere")))


def test_copies_and_new_names_through_hadoop(spark: SparkSession, tmp_path: Path) -> None:
    checkpoint(tmp_path / "a", "x", "b/y")
    jvm.copy(spark, location(str(tmp_path / "a")), location(str(tmp_path / "c")))
    jvm.rename(spark, location(str(tmp_path / "c" / "x")), location(str(tmp_path / "c" / "z")))
    jvm.write(spark, location(str(tmp_path / "c" / "z")), "né")
    assert [name for name in left(tmp_path / "c") if not name.endswith(".crc")] == ["b/y", "z"]
    assert (tmp_path / "c" / "z").read_text() == "né"
