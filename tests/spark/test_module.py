"""The Scala module is compiled once for its sources, by whichever process is first, and reports compile errors."""

import os
import shutil
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from millstream.services.errors import SetupError
from millstream.services.jars import fetch
from millstream.spark import scala_module

pytestmark = pytest.mark.slow
OBJECT = "package org.apache.spark.sql.millstream\nobject Small { def two: Int = %s }\n"


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A module of one small file, and an empty cache that has the jars."""
    libraries = fetch("spark")
    monkeypatch.setenv("MILLSTREAM_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(scala_module, "shipped", lambda name: tmp_path / name)
    (tmp_path / "cache" / "jars").mkdir(parents=True)
    for library in libraries:
        os.symlink(library, tmp_path / "cache" / "jars" / library.name)
    (tmp_path / "jvm").mkdir()
    (tmp_path / "jvm" / "Small.scala").write_text(OBJECT % "2")
    return tmp_path / "jvm"


def test_two_at_once_get_the_same_whole_jar_and_a_third_finds_it(sources: Path) -> None:
    libraries = fetch("spark")
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(lambda _: scala_module.compiled(libraries), range(2))
    assert first == second
    assert "org/apache/spark/sql/millstream/Small.class" in zipfile.ZipFile(first).namelist()
    modified_at = first.stat().st_mtime_ns
    assert scala_module.compiled(libraries).stat().st_mtime_ns == modified_at
    assert [p.name for p in first.parent.iterdir()] == [first.name]


def test_other_sources_are_another_jar_and_compiler_errors_are_reported(sources: Path) -> None:
    libraries = fetch("spark")
    (sources / "Small.scala").write_text(OBJECT % '"two"')
    with pytest.raises(SetupError, match=r"does not compile: [\s\S]*type mismatch"):
        scala_module.compiled(libraries)
    assert not list((sources.parent / "cache" / "module").glob("*.jar"))
    shutil.rmtree(sources.parent / "cache")
