"""The dialect of SQLAlchemy 2 for `millstream://host:8088`, over client/dbapi.py; needs `millstream[sqlalchemy]`.

Names are exact: reflected columns are upper-case if the server's are; a lower-case name in an expression is written
unquoted, which the server reads as upper-case.
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
from millstream.client.errors import StatementRefused
from millstream.client.results import ColumnInfo, ListResult, Result, SourceResult, ViewResult
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
    """Quotes names in backticks if they are not lower-case, or are a reserved word of the grammar."""

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
    # DATE and DECIMAL values need no conversion from and to Python's types.
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
        """No effect: the server needs no initial request."""

    def do_rollback(self, dbapi_connection: Any) -> None:
        """No effect: the pool calls this for every connection that is returned."""

    def do_ping(self, dbapi_connection: Any) -> bool:
        """True if the server answers. Raises OperationalError."""
        with dbapi.translated():
            dbapi_connection.client.info()
        return True

    def get_schema_names(self, connection: Connection, **_: Any) -> list[str]:
        """An empty list: there are no schemas."""
        return []

    def get_table_names(self, connection: Connection, schema: str | None = None, **_: Any) -> list[str]:
        """The streams and the tables: a SELECT can read both."""
        answers = _answers(connection, "SHOW STREAMS; SHOW TABLES;")
        return [source.name for answer in answers if isinstance(answer, ListResult) for source in answer]

    def get_view_names(self, connection: Connection, schema: str | None = None, **_: Any) -> list[str]:
        """The views, which a SELECT can read; none on a server that knows no views."""
        try:
            (listed,) = _answers(connection, "SHOW VIEWS;")
        except StatementRefused:
            return []
        return [view.name for view in listed] if isinstance(listed, ListResult) else []

    def has_table(self, connection: Connection, table_name: str, schema: str | None = None, **_: Any) -> bool:
        """True if there is a stream, table or view of that name; a lower-case name also matches in upper case."""
        names = [*self.get_table_names(connection), *self.get_view_names(connection)]
        return table_name in names or (table_name == table_name.lower() and table_name.upper() in names)

    def get_columns(self, connection: Connection, table_name: str, schema: str | None = None, **_: Any) -> Any:
        """The columns as DESCRIBE lists them. Raises NoSuchTableError."""
        return [
            {"name": column.name, "type": sql_type(column.type), "nullable": column.part != "KEY", "default": None}
            for column in _columns_of(self._described(connection, table_name))
        ]

    def get_pk_constraint(self, connection: Connection, table_name: str, schema: str | None = None, **_: Any) -> Any:
        """A table's key; a stream has none, since its keys are not unique, nor a view. Raises NoSuchTableError."""
        source = self._described(connection, table_name)
        keyed = isinstance(source, SourceResult) and source.type == "TABLE"
        key = [column.name for column in _columns_of(source) if column.part == "KEY"] if keyed else []
        return {"constrained_columns": key, "name": None}

    def get_foreign_keys(self, connection: Connection, table_name: str, schema: str | None = None, **_: Any) -> Any:
        """An empty list: there are none."""
        return []

    def get_indexes(self, connection: Connection, table_name: str, schema: str | None = None, **_: Any) -> Any:
        """An empty list: there are none."""
        return []

    def _described(self, connection: Connection, name: str) -> SourceResult | ViewResult:
        exact = name.upper() if name == name.lower() else name
        try:
            (source,) = _answers(connection, f"DESCRIBE {quoted(exact)};")
        except StatementRefused as error:
            raise NoSuchTableError(name) from error
        if not isinstance(source, SourceResult | ViewResult):
            raise NoSuchTableError(name)
        return source


def _columns_of(source: SourceResult | ViewResult) -> tuple[ColumnInfo, ...]:
    return source.columns if isinstance(source, SourceResult) else source.view.columns


def sql_type(type: ColumnType) -> types.TypeEngine[Any]:
    """SQLAlchemy's type for a column's type; NullType, which does not convert values, for MAP and STRUCT."""
    if type.name == "DECIMAL":
        return types.DECIMAL(type.precision, type.scale)
    if type.name == "ARRAY":
        return types.ARRAY(sql_type(type.members[0]))
    make: Callable[[], types.TypeEngine[Any]] = TYPES.get(type.name, types.NullType)
    return make()


def _answers(connection: Connection, statements: str) -> list[Result]:
    """The typed answers of statements, through the client of SQLAlchemy's connection. Raises StatementRefused."""
    driver: Any = connection.connection.driver_connection
    results: list[Result] = driver.client.execute(statements)
    return results
