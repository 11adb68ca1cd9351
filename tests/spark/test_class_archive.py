"""The archive of Spark's classes."""

from pathlib import Path

from pyspark.sql import SparkSession

from millstream.spark import class_archive, jvm, scala_module


def test_a_session_maps_the_archive_of_its_class_path(spark: SparkSession) -> None:
    (option, *_) = class_archive.options(scala_module.class_path())
    file = Path(option.removeprefix("-XX:SharedArchiveFile="))
    assert file.stat().st_size > 10_000_000
    pid = str(jvm.machine(spark).java.lang.ProcessHandle.current().pid())
    assert str(file) in Path(f"/proc/{pid}/maps").read_text(), "the JVM did not take the archive"
