"""A migrations project on disk: its configuration, and one file of statements for each version.

    shop/ksql-migrations.properties            the server's URL, and the names of the metadata
    shop/migrations/V000001__flights.sql       version 1, named "flights"

Source of the layout and of the properties: ksqlDB's documentation, "ksqlDB Migrations Tool".
"""

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

import javaproperties

from millstream.migrations.errors import MigrationError
from millstream.model.names import did_you_mean
from millstream.services.named_files import why_unreadable

CONFIG_FILE, FOLDER = "ksql-migrations.properties", "migrations"
LAST_VERSION = 999_999
_FILE_NAME = re.compile(r"V(\d{6})__(.+)\.sql", re.IGNORECASE)
URL = "ksql.server.url"
STREAM, TABLE = "ksql.migrations.stream.name", "ksql.migrations.table.name"
STREAM_TOPIC, TABLE_TOPIC = "ksql.migrations.stream.topic.name", "ksql.migrations.table.topic.name"
REPLICAS = "ksql.migrations.topic.replicas"
USER, PASSWORD = "ksql.auth.basic.username", "ksql.auth.basic.password"
AUTHORITY = "ssl.ca.location"
# ksqlDB's properties of TLS.
STORES = (
    "ssl.truststore.location",
    "ssl.truststore.password",
    "ssl.keystore.location",
    "ssl.keystore.password",
    "ssl.key.password",
)
DIRECTORY = "ksql.migrations.dir.override"
DEFAULTS = {STREAM: "MIGRATION_EVENTS", TABLE: "MIGRATION_SCHEMA_VERSIONS", REPLICAS: "1"}
PROPERTIES = (URL, *DEFAULTS, STREAM_TOPIC, TABLE_TOPIC, USER, PASSWORD, AUTHORITY, *STORES, DIRECTORY)
_VALID = {
    STREAM: (re.compile(r"[A-Za-z_]\w*", re.ASCII), "a name of letters, digits and _"),
    TABLE: (re.compile(r"[A-Za-z_]\w*", re.ASCII), "a name of letters, digits and _"),
    REPLICAS: (re.compile(r"[1-9][0-9]*"), "a whole number of at least 1"),
}
_NEW = """\
{url}={server}
# ksql.auth.basic.username=
# ksql.auth.basic.password=
# ssl.ca.location=
# ksql.migrations.stream.name=MIGRATION_EVENTS
# ksql.migrations.table.name=MIGRATION_SCHEMA_VERSIONS
# ksql.migrations.stream.topic.name=<the server's ksql.service.id>ksql_MIGRATION_EVENTS
# ksql.migrations.table.topic.name=<the server's ksql.service.id>ksql_MIGRATION_SCHEMA_VERSIONS
# ksql.migrations.topic.replicas=1
# ksql.migrations.dir.override=
"""


@dataclass(frozen=True, slots=True)
class MigrationConfig:
    """A project's configuration: the project's folder, and the properties in its file by name."""

    folder: Path
    properties: dict[str, str]

    def get(self, name: str) -> str | None:
        """The value of a property, else its default; None if it has neither."""
        return self.properties.get(name) or DEFAULTS.get(name)

    @property
    def directory(self) -> Path:
        """The folder of the files; a relative one that the configuration names begins at the working directory."""
        return Path(self.get(DIRECTORY) or self.folder / FOLDER)

    @property
    def stream(self) -> str:
        """The name of the metadata stream."""
        return str(self.get(STREAM))

    @property
    def table(self) -> str:
        """The name of the metadata table."""
        return str(self.get(TABLE))

    @property
    def unknown(self) -> list[str]:
        """The names of properties that are not known, and so have no effect."""
        return [name for name in self.properties if name not in PROPERTIES]


@dataclass(frozen=True, slots=True)
class MigrationFile:
    """The file of a version; `name` is the name in the file's name, with blanks instead of "_"."""

    version: int
    name: str
    path: Path

    def text(self) -> str:
        """The statements of the file. Raises MigrationError if it cannot be read."""
        try:
            return self.path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise MigrationError(f"{self.path} cannot be read: {why_unreadable(error)}") from error

    def checksum(self) -> str:
        """The MD5 of the file in hexadecimal, as ksql-migrations records it. Raises MigrationError as `text` does."""
        return hashlib.md5(self.text().encode(), usedforsecurity=False).hexdigest()


def new_project(folder: Path, server: str) -> None:
    """Create a project for the server at the URL `server`.

    Raises MigrationError if the folder has a project already, or files cannot be created.
    """
    config = folder / CONFIG_FILE
    if config.exists() or (folder / FOLDER).exists():
        raise MigrationError(f"there is a project in {folder}", "choose another folder, or remove it")
    try:
        (folder / FOLDER).mkdir(parents=True)
        config.write_text(_NEW.format(url=URL, server=server), encoding="utf-8")
    except OSError as error:
        raise MigrationError(f"{folder} cannot be created: {error.strerror}") from error


def load_config(path: Path) -> MigrationConfig:
    """The configuration in a file.

    Raises MigrationError if it cannot be read, has no server URL, or a value that is not valid.
    """
    try:
        with path.open(encoding="utf-8") as file:
            properties = dict(javaproperties.load(file))
    except (OSError, ValueError) as error:
        hint = "give it with -c, or make a project: millstream migrations new-project FOLDER URL"
        raise MigrationError(f"{path} cannot be read: {_reason(error)}", hint) from error
    if not properties.get(URL):
        hint = did_you_mean(URL, properties.keys() - {URL}) or f"write {URL}=http://HOST:8088"
        raise MigrationError(f"{path} has no {URL}", hint)
    for name, (pattern, words) in _VALID.items():
        if properties.get(name) and not pattern.fullmatch(properties[name]):
            raise MigrationError(f"{path}: {name} cannot be {properties[name]!r}", f"it is {words}")
    return MigrationConfig(path.parent, properties)


def files(config: MigrationConfig) -> list[MigrationFile]:
    """The migrations of a project, ordered by version.

    Raises MigrationError if the folder does not exist, two files have one version, or one has version 0.
    """
    folder = config.directory
    if not folder.is_dir():
        raise MigrationError(f"there is no folder {folder}", "migrations are files such as V000001__name.sql in it")
    by_version: dict[int, MigrationFile] = {}
    for path in sorted(folder.iterdir()):
        match = _FILE_NAME.fullmatch(path.name)
        if match is None:
            continue
        version = int(match[1])
        if version in by_version:
            names = f"{by_version[version].path.name} and {path.name}"
            raise MigrationError(f"two files have version {version}: {names}", "give one of them another number")
        if not version:
            raise MigrationError(f"{path} has version 0", "versions begin with 1")
        by_version[version] = MigrationFile(version, match[2].replace("_", " "), path)
    return [by_version[version] for version in sorted(by_version)]


def create_file(config: MigrationConfig, name: str, version: int | None) -> Path:
    """Create an empty migration file and return its path; `version` None means the one after the last.

    Raises MigrationError if the version exists or is out of range, the name is not valid, or it cannot be written.
    """
    existing = files(config)
    number = version or max((file.version for file in existing), default=0) + 1
    existing_file = next((file for file in existing if file.version == number), None)
    if existing_file is not None:
        raise MigrationError(f"version {number} is {existing_file.path.name}", "choose another version")
    if not 0 < number <= LAST_VERSION:
        raise MigrationError(f"version {number} is not between 1 and {LAST_VERSION}")
    word = re.sub(r"\s+", "_", name.strip())
    if not re.fullmatch(r"[\w.-]+", word):
        raise MigrationError(f"a file cannot be named by {name!r}", "use letters, digits, blanks, '_', '-' and '.'")
    path = config.directory / f"V{number:06}__{word}.sql"
    try:
        path.touch(exist_ok=False)
    except OSError as error:
        raise MigrationError(f"{path} cannot be created: {error.strerror}") from error
    return path


def _reason(error: Exception) -> str:
    """The operating system's message, else the error's own."""
    return str(getattr(error, "strerror", None) or error)
