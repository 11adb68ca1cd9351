"""The dialect of SQLAlchemy 2 for `millstream://host:8088`, over client/dbapi.py; needs `millstream[sqlalchemy]`.

Names are exact: reflected columns are upper-case where the server's are, and a lower-case name in an expression is
written bare, which the server reads as upper-case.
"""

from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

from sqlalchemy import types
from sqlalchemy.engine import URL, Connection
from sqlalchemy.engine.default import DefaultDialect
from sqlalchemy.exc import NoSuchTableError
from sqlalchemy.sql.compiler import IdentifierPreparer

from millstream.client import dbapi
from millstream.client.errors import StatementError
from millstream.client.results import ListResult, Result, SourceResult
from millstream.client.types import ColumnType
from millstream.model.names import RESERVED, quoted

TYPES: Mapping[str, type[types.TypeEngine[Any]]] = {
    "BOOLEAN": types.BOOLEAN,
    "INTEGER": types.INTEGER,
    "BIGINT": types.BIGINT,
    "DOUBLE": types.DOUBLE,
    "STRING": types.String,
    "BYTES": types.LargeBinary,
    "DATE": types.DATE,
    "TIME": types.TIME,
    "TIMESTAMP": types.TIMESTAMP,
}


class MillstreamPreparer(IdentifierPreparer):
    """Names in backticks where they are not lower-case, or are a word that the grammar keeps for itself."""

    reserved_words = {word.lower() for word in RESERVED}

    def __init__(self, dialect: DefaultDialect, **arguments: Any) -> None:
        super().__init__(dialect, initial_quote="`", **arguments)


class MillstreamDialect(DefaultDialect):
    """Pull queries from SQLAlchemy core, and inspection of streams and tables."""

    name = "millstream"
    driver = "rest"
    default_paramstyle = "qmark"
    preparer: type[IdentifierPreparer] = MillstreamPreparer
    supports_statement_cache = True
    supports_native_boolean = True
    supports_native_decimal = True
    supports_sane_rowcount = False
    supports_sane_multi_rowcount = False
    supports_alter = False
    supports_default_values = False
    postfetch_lastrowid = False
    # A DATE or a DECIMAL comes and goes as Python's type.
    colspecs: Any = {}

    @classmethod
    def import_dbapi(cls) -> ModuleType:
        """The DB-API module."""
        return dbapi

    def create_connect_args(self, url: URL) -> Any:
        """`millstream://user:password@host:8088?tls=true&verify=PATH&timeout=5` as dbapi.connect's arguments."""
        query = dict(url.query)
        scheme = "https" if str(query.pop("tls", "")).lower() in ("true", "1") else "http"
        arguments: dict[str, Any] = {"user": url.username, "password": url.password, **query}
        if "timeout" in arguments:
            arguments["timeout"] = float(arguments["timeout"])
        return [f"{scheme}://{url.host or 'localhost'}:{url.port or 8088}"], arguments

    def initialize(self, connection: Connection) -> None:
        """Nothing is asked of the server before it is used."""

    def do_rollback(self, dbapi_connection: Any) -> None:
        """Nothing: the pool calls this for every connection that comes back."""

    def do_ping(self, dbapi_connection: Any) -> bool:
        """Whether the server answers. Raises OperationalError."""
        with dbapi.translated():
            dbapi_connection.client.info()
        return True

    def get_schema_names(self, connection: Connection, **_: Any) -> list[str]:
        """There are no schemas."""
        return []

    def get_table_names(self, connection: Connection, schema: str | None = None, **_: Any) -> list[str]:
        """The streams and the tables: a SELECT reads both."""
        answers = _answers(connection, "SHOW STREAMS; SHOW TABLES;")
        return [source.name for answer in answers if isinstance(answer, ListResult) for source in answer]

    def get_view_names(self, connection: Connection, schema: str | None = None, **_: Any) -> list[str]:
        """There are no views."""
        return []

    def has_table(self, connection: Connection, table_name: str, schema: str | None = None, **_: Any) -> bool:
        """Whether there is a stream or table of that name; a lower-case name is one in upper case too."""
        names = self.get_table_names(connection)
        return table_name in names or (table_name == table_name.lower() and table_name.upper() in names)

    def get_columns(self, connection: Connection, table_name: str, schema: str | None = None, **_: Any) -> Any:
        """The columns as DESCRIBE tells them. Raises NoSuchTableError."""
        return [
            {"name": column.name, "type": sql_type(column.type), "nullable": column.part != "KEY", "default": None}
            for column in self._described(connection, table_name).columns
        ]

    def get_pk_constraint(self, connection: Connection, table_name: str, schema: str | None = None, **_: Any) -> Any:
        """A table's key; a stream has none, since a key may come again. Raises NoSuchTableError."""
        source = self._described(connection, table_name)
        key = [column.name for column in source.columns if column.part == "KEY"] if source.type == "TABLE" else []
        return {"constrained_columns": key, "name": None}

    def get_foreign_keys(self, connection: Connection, table_name: str, schema: str | None = None, **_: Any) -> Any:
        """There are none."""
        return []

    def get_indexes(self, connection: Connection, table_name: str, schema: str | None = None, **_: Any) -> Any:
        """There are none."""
        return []

    def _described(self, connection: Connection, name: str) -> SourceResult:
        exact = name.upper() if name == name.lower() else name
        try:
            (source,) = _answers(connection, f"DESCRIBE {quoted(exact)};")
        except StatementError as error:
            raise NoSuchTableError(name) from error
        if not isinstance(source, SourceResult):
            raise NoSuchTableError(name)
        return source


def sql_type(type: ColumnType) -> types.TypeEngine[Any]:
    """SQLAlchemy's type of a column's type; NullType, which leaves values as they are, for MAP and STRUCT."""
    if type.name == "DECIMAL":
        return types.DECIMAL(type.precision, type.scale)
    if type.name == "ARRAY":
        return types.ARRAY(sql_type(type.members[0]))
    make: Callable[[], types.TypeEngine[Any]] = TYPES.get(type.name, types.NullType)
    return make()


def _answers(connection: Connection, statements: str) -> list[Result]:
    """The typed answers of statements, by the client below SQLAlchemy's connection. Raises StatementError."""
    driver: Any = connection.connection.driver_connection
    results: list[Result] = driver.client.execute(statements)
    return results
