"""Migrations against a real server in front of a real broker, by the command line."""

from collections.abc import Callable
from pathlib import Path

import pytest

from millstream.cli.main import main
from millstream.migrations.project import CONFIG_FILE
from support.engine_process import EngineProcess

pytestmark = pytest.mark.live
FLIGHTS = """\
DEFINE topic = 'migrated_flights';
SET 'auto.offset.reset' = 'earliest';
CREATE STREAM flights (id STRING KEY, delay INT) WITH (kafka_topic='${topic}', value_format='JSON', partitions=${n});
INSERT INTO flights (id, delay) VALUES ('a', 70);
"""
LATE = "CREATE TABLE counts AS SELECT id, COUNT(*) AS n FROM flights WHERE delay >= 60 GROUP BY id;\n"
WRONG = "CREATE STREAM fine AS SELECT * FROM flights;\nCREATE STREAM bad AS\n  SELECT nothing FROM flights;\n"

Migrate = Callable[..., tuple[int, str, str]]


@pytest.fixture
def project(server: EngineProcess, tmp_path: Path) -> Path:
    """A project for the server, with two migrations."""
    folder = tmp_path / "shop"
    assert main(["migrations", "new-project", str(folder), server.rest()]) == 0
    for version, name, text in ((1, "flights", FLIGHTS), (2, "late", LATE)):
        (folder / "migrations" / f"V{version:06}__{name}.sql").write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def migrate(project: Path, capsys: pytest.CaptureFixture[str]) -> Migrate:
    """Run a verb on the project: its exit code, and what it wrote to both outputs."""

    def migrate(*words: str) -> tuple[int, str, str]:
        code = main(["migrations", "-c", str(project / CONFIG_FILE), *words])
        return code, *capsys.readouterr()

    return migrate


def states(migrate: Migrate) -> list[list[str]]:
    """Version, name and state of each line of `info`."""
    code, out, err = migrate("info")
    assert code == 0, err
    return [line.split()[:3] for line in out.splitlines()[2:] if line.split()[:1] and line.split()[0].isdigit()]


def test_migrations_from_the_first_to_the_last(server: EngineProcess, project: Path, migrate: Migrate) -> None:
    code, _, err = migrate("apply", "--all")
    assert (code, "is not initialized\n  hint: millstream migrations initialize-metadata" in err) == (1, True)
    code, out, err = migrate("initialize-metadata")
    assert code == 0, out + err
    assert states(migrate) == [["1", "flights", "PENDING"], ["2", "late", "PENDING"]]
    assert "the server has MIGRATION_EVENTS already: the metadata is initialized" in migrate("initialize-metadata")[2]

    code, out, err = migrate("apply", "--next", "--dry-run", "-d", "n=1")
    assert (code, "WITH (kafka_topic='migrated_flights'" in out) == (0, True), err
    assert states(migrate)[0] == ["1", "flights", "PENDING"]

    code, out, err = migrate("apply", "--next", "-d", "n=1")
    assert code == 0, out + err
    assert states(migrate) == [["1", "flights", "MIGRATED"], ["2", "late", "PENDING"]]

    # A version that fails in its second statement, with the place of the error in the file.
    wrong = project / "migrations" / "V000003__wrong.sql"
    wrong.write_text(WRONG, encoding="utf-8")
    code, out, err = migrate("apply", "--all")
    assert (code, f"{wrong}:3:10: SELECT column 'NOTHING' cannot be resolved." in err) == (1, True)
    assert states(migrate)[1:] == [["2", "late", "MIGRATED"], ["3", "wrong", "ERROR"]]
    assert server.rows("SELECT id, n FROM counts;", 1) in ([["a", 1]], [])

    # Once it is mended, it is applied from its first statement on.
    wrong.write_text("CREATE STREAM IF NOT EXISTS fine AS SELECT * FROM flights;\n", encoding="utf-8")
    code, out, err = migrate("apply", "--until", "3")
    assert code == 0, err
    assert states(migrate)[2] == ["3", "wrong", "MIGRATED"]
    assert migrate("apply", "--all")[:2] == (0, "nothing is new\n")

    assert migrate("validate")[1] == "3 applied versions, each unchanged\n"
    wrong.write_text("CREATE STREAM other AS SELECT * FROM flights;\n", encoding="utf-8")
    code, _, err = migrate("validate")
    assert (code, f"{wrong} is not what was applied: its MD5 is " in err) == (1, True)
    assert migrate("apply", "--all")[0] == 1

    assert migrate("destroy-metadata")[1] == "dropped MIGRATION_SCHEMA_VERSIONS and MIGRATION_EVENTS\n"
    names = {source["name"] for source in server.execute("SHOW STREAMS;")[0]["streams"]}
    assert "MIGRATION_EVENTS" not in names
    assert {"FLIGHTS", "FINE"} <= names
    assert migrate("destroy-metadata")[1] == "there was nothing to drop\n"
