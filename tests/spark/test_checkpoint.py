"""What a kill leaves in a checkpoint."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from millstream.spark.checkpoint import files, half_written, location, mend

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
    mend(spark, location(str(tmp_path)))
    assert [f.name for f in (tmp_path / "commits").iterdir()] == ["0"]
    assert files(spark, location(str(tmp_path / "offsets"))) == ["0"]
    mend(spark, location(str(tmp_path / "nowhere")))
