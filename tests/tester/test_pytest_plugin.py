"""`pytest --millstream` in a process of its own: what it finds, plays and shows; without it nothing is found."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# The entry point as the project declares it, whether or not the package was installed since.
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PLUGIN = PROJECT["entry-points"]["pytest11"]["millstream"]
SQL = """\
--@test: it passes
CREATE STREAM foo (id INT KEY, v INT) WITH (kafka_topic='foo', value_format='JSON');
INSERT INTO foo (id, v) VALUES (1, 1);
ASSERT VALUES foo (id, v) VALUES (1, 1);

--@test: it fails
CREATE STREAM foo (id INT KEY, v INT) WITH (kafka_topic='foo', value_format='JSON');
INSERT INTO foo (id, v) VALUES (1, 1);
ASSERT VALUES foo (id, v) VALUES (1, 2);
"""
STATEMENT = "CREATE STREAM s (id INT KEY) WITH (kafka_topic='s', format='KAFKA');"
JSON = f'{{"tests": [{{"name": "a case", "statements": ["{STATEMENT}"]}}]}}'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with tests of ours, and with files that are none."""
    (tmp_path / "foo.sql").write_text(SQL, encoding="utf-8")
    (tmp_path / "cases.json").write_text(JSON, encoding="utf-8")
    (tmp_path / "script.sql").write_text("SHOW STREAMS;", encoding="utf-8")
    (tmp_path / "data.json").write_text('{"tests": [1, 2]}', encoding="utf-8")
    return tmp_path


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """pytest in the folder, with the plugin that the package installs."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--rootdir", str(folder), *words]
    return subprocess.run([*command, str(folder)], capture_output=True, text=True, check=False, cwd=folder)


def test_nothing_is_collected_without_the_option(folder: Path) -> None:
    done = run(folder, "--collect-only", "-q")
    assert (done.returncode, "no tests collected" in done.stdout) == (5, True)


@pytest.mark.slow
def test_cases_are_collected_and_played_and_a_failure_shows_both_sides(folder: Path) -> None:
    done = run(folder, "--millstream")
    assert done.returncode == 1, done.stderr
    assert "1 failed, 2 passed" in done.stdout
    assert f"{folder}/foo.sql:9:1: Expected record does not match actual." in done.stdout
    assert "expected  1   2\n    actual    1   1" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr
    assert "FAILED foo.sql::it fails" in done.stdout


def test_the_plugin_loads_nothing_without_its_option() -> None:
    program = f"import sys; import {PLUGIN}; print([m for m in sys.modules if m.split('.')[0] in ('pyspark', 'py4j')])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
