"""DB-API 2.0 (PEP 249) over a connection: `connect`, cursors, and PEP 249's exceptions.

Every statement takes effect at once: there are no transactions, `commit` does nothing and `rollback` is refused.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import astuple, fields
from datetime import UTC, date, datetime, time
from itertools import islice
from typing import Any, Self

from millstream.client.closing import ClosedByBlock
from millstream.client.connection import Connection
from millstream.client.connection import connect as connect_client
from millstream.client.errors import ConnectionFailed, MillstreamError, RequestTimeout, StatementRefused
from millstream.client.literals import WrongParameters, bound
from millstream.client.pull import PullRows, PushRows
from millstream.client.results import ListResult, Result
from millstream.client.script import INSERTS, PUSHES, ROWS_STATEMENT, TEXTS

apilevel = "2.0"
# Threads may share the module and connections, but not cursors.
threadsafety = 2
paramstyle = "qmark"

STRING, BINARY, NUMBER, DATETIME, ROWID = "STRING", "BINARY", "NUMBER", "DATETIME", "ROWID"
KINDS = {"BYTES": BINARY, "DATE": DATETIME, "TIME": DATETIME, "TIMESTAMP": DATETIME}
KINDS |= dict.fromkeys(("INTEGER", "BIGINT", "DOUBLE", "DECIMAL", "BOOLEAN"), NUMBER)
Date, Time, Timestamp, Binary = date, time, datetime, bytes
# The number of INSERTs of an executemany in one request.
BATCH = 500


class Warning(Exception):
    """Required by PEP 249; not raised."""


class Error(Exception):
    """The base class of all errors of this module; `code` is the server's error code, 0 if there is none."""

    code = 0


class InterfaceError(Error):
    """Wrong use of the module: a closed cursor, or one without rows."""


class DatabaseError(Error):
    """An error that the server has returned; its subclasses say which kind."""


class DataError(DatabaseError):
    """Required by PEP 249; not raised."""


class OperationalError(DatabaseError):
    """The server cannot be reached, or cannot execute a request (codes from 50000)."""


class IntegrityError(DatabaseError):
    """Required by PEP 249; not raised."""


class InternalError(DatabaseError):
    """Required by PEP 249; not raised."""


class ProgrammingError(DatabaseError):
    """A statement is refused (codes below 50000), or does not fit its parameters."""


class NotSupportedError(DatabaseError):
    """A feature that streams lack: transactions."""


def connect(url: str, **arguments: Any) -> "DbConnection":
    """A connection; the arguments are those of millstream.connect. Raises ProgrammingError if they are not valid."""
    with translated():
        return DbConnection(connect_client(url, **arguments))


def DateFromTicks(ticks: float) -> date:
    """The day, in UTC, of a number of seconds since 1970."""
    return datetime.fromtimestamp(ticks, UTC).date()


def TimeFromTicks(ticks: float) -> time:
    """The time of day, in UTC, of a number of seconds since 1970."""
    return datetime.fromtimestamp(ticks, UTC).time()


def TimestampFromTicks(ticks: float) -> datetime:
    """The moment, in UTC and without a zone, of a number of seconds since 1970."""
    return datetime.fromtimestamp(ticks, UTC).replace(tzinfo=None)


class DbConnection(ClosedByBlock):
    """A connection by DB-API; `client` is the underlying connection, for what DB-API cannot express."""

    Warning, Error, InterfaceError, DatabaseError, DataError = Warning, Error, InterfaceError, DatabaseError, DataError
    OperationalError, IntegrityError, InternalError = OperationalError, IntegrityError, InternalError
    ProgrammingError, NotSupportedError = ProgrammingError, NotSupportedError

    def __init__(self, client: Connection) -> None:
        self.client = client
        self.closed = False

    def cursor(self) -> "DbCursor":
        """A cursor. Raises InterfaceError if the connection is closed."""
        self.check_open()
        return DbCursor(self)

    def commit(self) -> None:
        """No effect: statements take effect at once. Raises InterfaceError if the connection is closed."""
        self.check_open()

    def rollback(self) -> None:
        """Raises NotSupportedError: executed statements cannot be rolled back."""
        self.check_open()
        raise NotSupportedError("there are no transactions: executed statements cannot be rolled back")

    def close(self) -> None:
        """Close it; may be called more than once."""
        self.closed = True
        self.client.close()

    def check_open(self) -> None:
        """Raises InterfaceError if the connection is closed."""
        if self.closed:
            raise InterfaceError("the connection is closed")


class DbCursor(ClosedByBlock):
    """Executes statements and returns the rows of a SELECT, or the items of a SHOW or LIST.

    A SELECT … EMIT CHANGES returns its rows as they arrive; `close` and the next `execute` end it. `results` has the
    typed answers of the last statements other than SELECT.
    """

    arraysize = 1

    def __init__(self, connection: DbConnection) -> None:
        self.connection = connection
        self.rowcount = -1
        self.description: list[tuple[Any, ...]] | None = None
        self.results: list[Result] = []
        self._answer: PullRows | PushRows | None = None
        self._rows: Iterator[Any] | None = None
        self._closed = False

    def execute(self, operation: str, parameters: Sequence[Any] = ()) -> Self:
        """Execute a statement, with its `?`s replaced by the parameters. Raises Error."""
        self._begin()
        with translated():
            sql = bound(operation, parameters)
            if ROWS_STATEMENT.match(sql):
                self._query(sql)
            else:
                self._store(self.connection.client.execute(_ended(sql)))
                if INSERTS.match(sql):
                    self.rowcount = 1
        return self

    def executemany(self, operation: str, seq_of_parameters: Iterable[Sequence[Any]]) -> Self:
        """Execute a statement once for each of the parameters, many in one request. Raises Error."""
        self._begin()
        if ROWS_STATEMENT.match(operation):
            raise ProgrammingError("executemany does not accept SELECT")
        count, remaining = 0, iter(seq_of_parameters)
        with translated():
            while batch := [_ended(bound(operation, parameters)) for parameters in islice(remaining, BATCH)]:
                self.connection.client.execute("\n".join(batch))
                count += len(batch)
        self.rowcount = count if INSERTS.match(operation) else -1
        return self

    def fetchone(self) -> Any | None:
        """The next row; None at the end. Raises Error."""
        with translated():
            return next(self._fetching(), None)

    def fetchmany(self, size: int | None = None) -> list[Any]:
        """The next rows, at most `size`, by default `arraysize`. Raises Error."""
        with translated():
            return list(islice(self._fetching(), self.arraysize if size is None else size))

    def fetchall(self) -> list[Any]:
        """The remaining rows; for a push query without LIMIT this never returns. Raises Error."""
        with translated():
            return list(self._fetching())

    def close(self) -> None:
        """End the query and the cursor; may be called more than once."""
        self._end_query()
        self._closed = True

    def setinputsizes(self, sizes: Sequence[Any]) -> None:
        """No effect; required by PEP 249."""

    def setoutputsize(self, size: int, column: int | None = None) -> None:
        """No effect; required by PEP 249."""

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        with translated():
            return next(self._fetching())

    def _begin(self) -> None:
        self._check_open()
        self._end_query()
        self.rowcount, self.description, self.results = -1, None, []

    def _query(self, sql: str) -> None:
        client = self.connection.client
        pushes = PUSHES.search(TEXTS.sub(" ", sql))
        answer = client.push(_ended(sql)) if pushes else client.query(_ended(sql))
        self._answer, self._rows = answer, map(tuple, answer)
        columns = zip(answer.columns, answer.types, strict=True)
        self.description = [_column(name, type.name, type.precision, type.scale) for name, type in columns]

    def _store(self, results: list[Result]) -> None:
        """Store the answers; the items of a single listing become rows."""
        self.results = results
        match results:
            case [ListResult(items=items)]:
                names = [field.name for field in fields(items[0])] if items else ["name"]
                self.description = [_column(name, "STRING") for name in names]
                self._rows = map(astuple, items)
                self.rowcount = len(items)

    def _fetching(self) -> Iterator[Any]:
        self._check_open()
        if self._rows is None:
            raise InterfaceError("there are no rows: no SELECT, SHOW or LIST has been executed")
        return self._rows

    def _end_query(self) -> None:
        if self._answer is not None:
            self._answer.close()
        self._answer = self._rows = None

    def _check_open(self) -> None:
        if self._closed:
            raise InterfaceError("the cursor is closed")
        self.connection.check_open()


@contextmanager
def translated() -> Iterator[None]:
    """Converts the client's errors in the block to those of PEP 249: OperationalError if the server cannot be reached,
    or its code is 50000 or more, else ProgrammingError.
    """
    try:
        yield
    except StatementRefused as error:
        kind = OperationalError if error.code >= 50000 else ProgrammingError
        refused = kind(error.message)
        refused.code = error.code
        raise refused from error
    except (ConnectionFailed, RequestTimeout) as error:
        raise OperationalError(str(error)) from error
    except (MillstreamError, WrongParameters) as error:
        raise ProgrammingError(str(error)) from error


def _column(name: str, type: str, precision: int = 0, scale: int = 0) -> tuple[Any, ...]:
    """A column in the form of `description`: name, type code, display and internal size, precision, scale, nullable."""
    exact = (precision, scale) if type == "DECIMAL" else (None, None)
    return (name, KINDS.get(type, STRING), None, None, *exact, True)


def _ended(sql: str) -> str:
    """The statement with a final semicolon, on a line of its own so that it is not part of a comment."""
    return sql if sql.rstrip().endswith(";") else f"{sql}\n;"


__all__ = [
    "BINARY",
    "DATETIME",
    "NUMBER",
    "ROWID",
    "STRING",
    "Binary",
    "DataError",
    "DatabaseError",
    "Date",
    "DateFromTicks",
    "DbConnection",
    "DbCursor",
    "Error",
    "IntegrityError",
    "InterfaceError",
    "InternalError",
    "NotSupportedError",
    "OperationalError",
    "ProgrammingError",
    "Time",
    "TimeFromTicks",
    "Timestamp",
    "TimestampFromTicks",
    "Warning",
    "apilevel",
    "connect",
    "paramstyle",
    "threadsafety",
]
