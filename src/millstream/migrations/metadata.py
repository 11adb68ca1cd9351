"""The metadata of migrations on the server: a stream of events, and a table with the last event of each version.

The key is the version's number; the row with the key CURRENT is that of the version that was applied last, or is being
applied. Statements and columns are the same as in ksqlDB's ksql-migrations, so that both tools can be used in turn.
"""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

from millstream.client import Connection, ListResult, MillstreamError, QueryInfo, Result, SourceResult
from millstream.migrations.errors import MigrationError
from millstream.migrations.project import REPLICAS, STREAM_TOPIC, TABLE_TOPIC, MigrationConfig
from millstream.model.names import literal

CURRENT, NONE, NO_REASON = "CURRENT", "<none>", "N/A"
COLUMNS = ("VERSION", "NAME", "STATE", "CHECKSUM", "STARTED_ON", "COMPLETED_ON", "PREVIOUS", "ERROR_REASON")
# In seconds: the longest wait until the table reflects a record written to the stream, and the polling interval.
PATIENCE, PULSE = 300.0, 0.2


class MigrationState(Enum):
    """The state of a version; the values are those of ksql-migrations."""

    PENDING = "PENDING"
    RUNNING = "RUNNING"
    MIGRATED = "MIGRATED"
    ERROR = "ERROR"


@dataclass(frozen=True, slots=True)
class VersionRecord:
    """A row of the metadata.

    `checksum` is the MD5 of the file, `started_on` and `completed_on` are epoch ms as text ("" for none), `previous` is
    the version applied before it (NONE for the first), `error_reason` is NO_REASON if there was no error.
    """

    version: str
    name: str
    state: MigrationState
    checksum: str
    started_on: str
    completed_on: str
    previous: str
    error_reason: str = NO_REASON

    def row(self, key: str) -> dict[str, str]:
        """The record as a row of the stream, by column name, with the key `key`."""
        values = (self.version, self.name, self.state.value, self.checksum, self.started_on, self.completed_on)
        return {"VERSION_KEY": key, **dict(zip(COLUMNS, (*values, self.previous, self.error_reason), strict=True))}


class MigrationMetadata:
    """Reads and writes the metadata on the server of a connection."""

    def __init__(self, connection: Connection, config: MigrationConfig) -> None:
        self._connection, self._config = connection, config

    def initialize(self) -> None:
        """Create the stream and the table. Raises MigrationError if the server refuses, or they exist already."""
        for name in (self._config.stream, self._config.table):
            if self._described(name) is not None:
                hint = "destroy-metadata removes it, and the record of applied versions"
                raise MigrationError(f"the server has {name} already: the metadata is initialized", hint)
        service = self._service()
        topics = {
            name: self._config.get(name) or f"{service}ksql_{default}"
            for name, default in ((STREAM_TOPIC, self._config.stream), (TABLE_TOPIC, self._config.table))
        }
        columns = ", ".join(f"{column.lower()} STRING" for column in COLUMNS)
        latest = ", ".join(f"LATEST_BY_OFFSET({column.lower()}) AS {column.lower()}" for column in COLUMNS)
        replicas = f"PARTITIONS=1, REPLICAS={self._config.get(REPLICAS)}"
        self._execute(
            f"CREATE STREAM {self._config.stream} (version_key STRING KEY, {columns}) "
            f"WITH (KAFKA_TOPIC={literal(topics[STREAM_TOPIC])}, VALUE_FORMAT='JSON', {replicas});"
        )
        self._execute(
            f"CREATE TABLE {self._config.table} WITH (KAFKA_TOPIC={literal(topics[TABLE_TOPIC])}) "
            f"AS SELECT version_key, {latest} FROM {self._config.stream} GROUP BY version_key EMIT CHANGES;"
        )

    def destroy(self) -> list[str]:
        """Drop the table and the stream with their topics; returns the names of those that existed.

        Raises MigrationError if the server refuses, or a name belongs to another kind of source.
        """
        dropped = []
        for kind, name in (("TABLE", self._config.table), ("STREAM", self._config.stream)):
            source = self._described(name)
            if source is None:
                continue
            if source.type.upper() != kind:
                raise MigrationError(f"{name} is a {source.type.lower()}, not the {kind.lower()} of migrations")
            for query in source.details.get("writeQueries") or ():
                self._execute(f"TERMINATE {query['id']};")
            self._execute(f"DROP {kind} {name} DELETE TOPIC;")
            dropped.append(name)
        return dropped

    def check(self) -> None:
        """Raises MigrationError if the stream or the table does not exist."""
        for name in (self._config.stream, self._config.table):
            if self._described(name) is None:
                raise MigrationError(
                    f"the server has no {name}: the metadata of migrations is not initialized",
                    "millstream migrations initialize-metadata",
                )

    def record(self, key: str) -> VersionRecord | None:
        """The row of a version, or of CURRENT; None if there is none. Raises MigrationError if it cannot be read."""
        names = ", ".join(COLUMNS)
        sql = f"SELECT {names} FROM {self._config.table} WHERE version_key = {literal(key)};"
        try:
            with self._connection.query(sql) as rows:
                row = rows.fetchone()
        except MillstreamError as error:
            raise MigrationError(f"{self._config.table} cannot be read: {error}") from error
        return None if row is None else _record(dict(zip(COLUMNS, row, strict=True)))

    def last_migrated(self) -> str:
        """The last version that was applied completely; NONE if there is none. Raises MigrationError."""
        current = self.record(CURRENT)
        if current is None:
            return NONE
        return current.version if current.state is MigrationState.MIGRATED else current.previous

    def write(self, record: VersionRecord) -> None:
        """Write a version's record, also as CURRENT, and wait until the table has it.

        Raises MigrationError if it cannot be written, or the table does not have it after PATIENCE seconds.
        """
        try:
            self._connection.insert(self._config.stream, [record.row(CURRENT), record.row(record.version)])
        except MillstreamError as error:
            raise MigrationError(f"{self._config.stream} cannot be written to: {error}") from error
        deadline = time.monotonic() + PATIENCE
        while self.record(record.version) != record or self.record(CURRENT) != record:
            if time.monotonic() > deadline:
                raise MigrationError(
                    f"{self._config.table} does not say after {PATIENCE:.0f} s that version {record.version} is "
                    f"{record.state.value}: its query is {self._state_of_table()}",
                    f"DESCRIBE {self._config.table} EXTENDED shows the errors of its query",
                )
            time.sleep(PULSE)

    def _state_of_table(self) -> str:
        """The state of the query that writes the table; "gone" if there is no such query."""
        queries = [query for listing in self._execute("SHOW QUERIES;") for query in _queries(listing)]
        name = self._config.table.upper()
        return next((query.state for query in queries if name in map(str.upper, query.sinks)), "gone")

    def _described(self, name: str) -> SourceResult | None:
        """The description of the source of that name; None if it does not exist."""
        listings = self._execute("SHOW STREAMS; SHOW TABLES;")
        sources = [source for listing in listings if isinstance(listing, ListResult) for source in listing]
        if not any(source.name.upper() == name.upper() for source in sources):
            return None
        (source,) = self._execute(f"DESCRIBE {name};")
        assert isinstance(source, SourceResult)
        return source

    def _execute(self, statement: str) -> list[Result]:
        try:
            return self._connection.execute(statement)
        except MillstreamError as error:
            raise MigrationError(str(error)) from error

    def _service(self) -> str:
        """The server's ksql.service.id, the prefix of the topics' default names."""
        try:
            return str(self._connection.info()["ksqlServiceId"])
        except MillstreamError as error:
            raise MigrationError(str(error)) from error


def _queries(listing: Result) -> Iterator[QueryInfo]:
    return (item for item in listing if isinstance(item, QueryInfo)) if isinstance(listing, ListResult) else iter(())


def _record(row: Mapping[str, str | None]) -> VersionRecord:
    """The record in a row of the table. Raises MigrationError if its state is unknown."""
    texts = {name: value or "" for name, value in row.items()}
    try:
        state = MigrationState(texts["STATE"])
    except ValueError as error:
        raise MigrationError(f"version {texts['VERSION']} has the unknown state {texts['STATE']}") from error
    return VersionRecord(
        texts["VERSION"],
        texts["NAME"],
        state,
        texts["CHECKSUM"],
        texts["STARTED_ON"],
        texts["COMPLETED_ON"],
        texts["PREVIOUS"],
        texts["ERROR_REASON"],
    )
