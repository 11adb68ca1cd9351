"""A migrations project on disk: what is made, what is read, which files are chosen, and what is refused."""

from pathlib import Path

import pytest

from millstream.cli.main import main
from millstream.migrations.apply import MigrationTarget, in_file, pending, statements
from millstream.migrations.errors import MigrationError
from millstream.migrations.metadata import NONE
from millstream.migrations.project import CONFIG_FILE, MigrationConfig, files, load_config
from millstream.model.errors import Span

URL = "http://127.0.0.1:1"


@pytest.fixture
def config(tmp_path: Path) -> MigrationConfig:
    """A new project with migrations 1, 2 and 4."""
    folder = tmp_path / "shop"
    assert main(["migrations", "new-project", str(folder), URL]) == 0
    path = str(folder / CONFIG_FILE)
    for words in (("create", "late", "flights"), ("create", "counts"), ("create", "-v", "4", "a b")):
        assert main(["migrations", "-c", path, *words]) == 0
    return load_config(Path(path))


def test_a_new_project_is_laid_out_as_ksqldb_s(config: MigrationConfig) -> None:
    names = ["V000001__late_flights.sql", "V000002__counts.sql", "V000004__a_b.sql"]
    assert [file.path.name for file in files(config)] == names
    assert [file.name for file in files(config)] == ["late flights", "counts", "a b"]
    assert (config.get("ksql.server.url"), config.stream, config.table) == (
        URL,
        "MIGRATION_EVENTS",
        "MIGRATION_SCHEMA_VERSIONS",
    )
    # The MD5 of an empty file.
    assert files(config)[0].checksum() == "d41d8cd98f00b204e9800998ecf8427e"


@pytest.mark.parametrize(
    ("target", "last", "versions"),
    [
        (MigrationTarget(), NONE, [1, 2, 4]),
        (MigrationTarget(), "2", [4]),
        (MigrationTarget(), "4", []),
        (MigrationTarget(next=True), "1", [2]),
        (MigrationTarget(until=2), NONE, [1, 2]),
        (MigrationTarget(version=2), NONE, [2]),
    ],
)
def test_which_versions_are_applied(
    config: MigrationConfig, target: MigrationTarget, last: str, versions: list[int]
) -> None:
    assert [file.version for file in pending(config, target, last)] == versions


@pytest.mark.parametrize("target", [MigrationTarget(until=3), MigrationTarget(version=3)])
def test_a_version_without_a_file(config: MigrationConfig, target: MigrationTarget) -> None:
    with pytest.raises(MigrationError, match=r"no file of version 3\n  hint: there are files of versions 1, 2, 4"):
        pending(config, target, NONE)


def test_variables_and_what_cannot_be_in_a_migration(config: MigrationConfig) -> None:
    file = files(config)[0]
    file.path.write_text("DEFINE n = '2';\nINSERT INTO s VALUES (${n}, ${m}, '${n}');", encoding="utf-8")
    assert [p.text for p in statements(file, {"M": "3"})] == ["INSERT INTO s VALUES (2, 3, '2');"]
    with pytest.raises(MigrationError, match=r"V000001__late_flights\.sql:2:29: there is no variable m"):
        statements(file, {})
    file.path.write_text("\nSELECT * FROM s;", encoding="utf-8")
    with pytest.raises(MigrationError, match=r"V000001__late_flights\.sql:2:1: SELECT cannot be in a migration"):
        statements(file, {})


def test_two_files_of_one_version(config: MigrationConfig) -> None:
    (config.folder / "migrations" / "V000002__other.sql").touch()
    with pytest.raises(MigrationError, match="two files have version 2"):
        files(config)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("info",), "absent.properties cannot be read"),
        (("create", "a/b"), "absent.properties cannot be read"),
    ],
)
def test_without_a_project(words: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["migrations", "-c", "absent.properties", *words]) == 1
    error = capsys.readouterr().err
    assert message in error
    assert "hint: give it with -c, or make a project" in error


def test_files_that_cannot_be_created(config: MigrationConfig, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(config.folder / CONFIG_FILE)
    assert main(["migrations", "new-project", str(config.folder), URL]) == 1
    assert "there is a project in" in capsys.readouterr().err
    assert main(["migrations", "-c", path, "create", "-v", "2", "again"]) == 1
    assert "version 2 is V000002__counts.sql" in capsys.readouterr().err
    assert main(["migrations", "-c", path, "create", "a/b"]) == 1
    assert "a file cannot be named by 'a/b'" in capsys.readouterr().err


def test_a_configuration_without_a_server(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / CONFIG_FILE
    path.write_text("ksql.sever.url=http://h:1\nother=1\n", encoding="utf-8")
    assert main(["migrations", "-c", str(path), "info"]) == 1
    assert "has no ksql.server.url\n  hint: did you mean `ksql.sever.url`?" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("ksql.server.url=", "has no ksql.server.url\n  hint: write ksql.server.url=http://HOST:8088"),
        (
            "ksql.migrations.topic.replicas=x",
            "topic.replicas cannot be 'x'\n  hint: it is a whole number of at least 1",
        ),
        (
            "ksql.migrations.stream.name=a b",
            "stream.name cannot be 'a b'\n  hint: it is a name of letters, digits and _",
        ),
        ("ksql.migrations.table.name=t;", "table.name cannot be 't;'\n  hint: it is a name of letters, digits and _"),
        ("ssl.truststore.location=/no/file", f"no TLS to {URL}: [Errno 2] No such file"),
        ("ksql.server.ur=x", "ksql.server.ur is not known, and not used"),
    ],
)
def test_a_configuration_that_is_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], line: str, message: str
) -> None:
    path = tmp_path / CONFIG_FILE
    path.write_text(f"ksql.server.url={URL}\n{line}\n", encoding="utf-8")
    assert main(["migrations", "-c", str(path), "info"]) == 1
    assert message in capsys.readouterr().err


def test_another_folder_of_migrations(tmp_path: Path) -> None:
    path, folder = tmp_path / CONFIG_FILE, tmp_path / "elsewhere"
    folder.mkdir()
    path.write_text(f"ksql.server.url={URL}\nksql.migrations.dir.override={folder}\n", encoding="utf-8")
    assert main(["migrations", "-c", str(path), "create", "flights"]) == 0
    assert [file.path for file in files(load_config(path))] == [folder / "V000001__flights.sql"]
    assert load_config(path).unknown == []


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("line 1:8: there is no type X\n  hint: Y", "a.sql:10:11: there is no type X\n  hint: Y"),
        ("line 2:5: SELECT column 'X' cannot be resolved.", "a.sql:11:5: SELECT column 'X' cannot be resolved."),
        ("Kafka: no leader", "a.sql:10:4: Kafka: no leader"),
    ],
)
def test_an_error_of_the_server_has_its_place_in_the_file(message: str, shown: str) -> None:
    assert in_file(message, Span(10, 4, "a.sql")) == shown


def test_a_variable_has_a_name(config: MigrationConfig, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["migrations", "-c", str(config.folder / CONFIG_FILE), "apply", "--all", "-d", "a b=1"])
    assert "a b=1 is not a definition: NAME=VALUE" in capsys.readouterr().err


def test_no_server(config: MigrationConfig, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["migrations", "-c", str(config.folder / CONFIG_FILE), "info"]) == 1
    assert f"no server answers at {URL} (Connection refused)" in capsys.readouterr().err
