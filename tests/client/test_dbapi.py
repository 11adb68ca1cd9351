"""DB-API 2.0 as PEP 249 describes it, and parameters that read back as the values they are."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest

from millstream.client import dbapi
from millstream.client.literals import WrongParameters, bound, sql_literal
from millstream.client.pull import PullRows
from millstream.server.run import Server
from millstream.services.ports import free_port
from millstream.syntax import tree
from millstream.syntax.parser import split
from support.client_engine import ClientEngine

PUSH = "SELECT * FROM readings EMIT CHANGES"


@pytest.fixture
def connection(server: Server) -> Iterator[dbapi.DbConnection]:
    with dbapi.connect(server.url) as opened:
        yield opened


@pytest.fixture
def cursor(connection: dbapi.DbConnection) -> Iterator[dbapi.DbCursor]:
    with connection.cursor() as opened:
        yield opened


def test_the_module() -> None:
    assert (dbapi.apilevel, dbapi.threadsafety, dbapi.paramstyle) == ("2.0", 2, "qmark")
    assert issubclass(dbapi.ProgrammingError, dbapi.DatabaseError)
    assert issubclass(dbapi.DatabaseError, dbapi.Error)
    assert dbapi.DbConnection.OperationalError is dbapi.OperationalError
    assert dbapi.DateFromTicks(86_400) == date(1970, 1, 2)
    assert dbapi.TimeFromTicks(60) == time(0, 1)
    assert dbapi.TimestampFromTicks(60) == datetime(1970, 1, 1, 0, 1)


def test_a_select(cursor: dbapi.DbCursor) -> None:
    cursor.execute("SELECT * FROM latest WHERE celsius > ?", (20,))
    assert cursor.description is not None
    assert [column[:2] for column in cursor.description] == [
        ("SENSOR", dbapi.STRING),
        ("CELSIUS", dbapi.NUMBER),
        ("TAKEN", dbapi.DATETIME),
    ]
    assert cursor.fetchone() == ("kitchen", 26.5, datetime(2026, 7, 1, 12))
    assert cursor.fetchall() == [("attic", 30.1, None)]
    assert cursor.fetchone() is None
    assert cursor.rowcount == -1


def test_precision_and_scale_are_described(cursor: dbapi.DbCursor) -> None:
    cursor.execute("SELECT * FROM everything")
    assert cursor.description is not None
    assert cursor.description[4] == ("PRICE", dbapi.NUMBER, None, None, 20, 2, True)
    assert cursor.description[6][1] == dbapi.BINARY


def test_many_at_a_time_and_iteration(cursor: dbapi.DbCursor) -> None:
    cursor.execute("SELECT * FROM orders")
    assert len(cursor.fetchmany()) == 1
    cursor.arraysize = 2
    assert len(cursor.fetchmany()) == 2
    assert [row[0] for row in cursor.execute("-- all\nSELECT * FROM orders")] == [1, 2, 3]


def test_parameters_reach_the_server_as_literals(cursor: dbapi.DbCursor, engine: ClientEngine) -> None:
    cursor.execute("SELECT '?', `?` FROM latest WHERE name = ? AND n > ? -- ?", ("O'Hara; DROP", 5))
    assert engine.requests[-1].text == "SELECT '?', `?` FROM latest WHERE name = 'O''Hara; DROP' AND n > 5 -- ?\n;"


def test_inserts(cursor: dbapi.DbCursor, engine: ClientEngine) -> None:
    cursor.execute("INSERT INTO orders VALUES (?, ?)", (1, None))
    assert cursor.rowcount == 1
    assert cursor.description is None
    cursor.executemany("INSERT INTO orders VALUES (?, ?)", ((number, "x") for number in range(1200)))
    assert cursor.rowcount == 1200
    assert [request.text.count("INSERT") for request in engine.requests] == [1, 500, 500, 200]
    assert engine.requests[0].text == "INSERT INTO orders VALUES (1, NULL)\n;"


def test_a_listing_has_rows(cursor: dbapi.DbCursor) -> None:
    cursor.execute("SHOW STREAMS")
    assert cursor.description is not None
    assert [column[0] for column in cursor.description][:3] == ["type", "name", "topic"]
    assert cursor.rowcount == 2
    assert cursor.fetchall()[1][:2] == ("STREAM", "READINGS")


def test_a_statement_without_rows(cursor: dbapi.DbCursor) -> None:
    cursor.execute("CREATE STREAM a AS SELECT 'EMIT CHANGES' FROM b")
    assert len(cursor.results) == 1
    for fetch in (cursor.fetchone, cursor.fetchmany, cursor.fetchall):
        with pytest.raises(dbapi.InterfaceError, match="there are no rows"):
            fetch()


def test_a_push_query_ends_with_its_cursor(connection: dbapi.DbConnection, engine: ClientEngine) -> None:
    with connection.cursor() as cursor:
        assert [row[0] for row in cursor.execute(PUSH).fetchmany(2)] == ["kitchen", "attic"]
        (first,) = engine.wait_for_queries(1)
        assert not first.closed.is_set()
        cursor.execute(PUSH)
        assert first.closed.is_set()
    assert engine.wait_for_queries(2)[1].closed.is_set()


def test_words_in_a_text_are_no_push_query(cursor: dbapi.DbCursor) -> None:
    cursor.execute("SELECT 'EMIT FINAL' FROM latest -- EMIT FINAL")
    assert isinstance(cursor._answer, PullRows)
    assert len(cursor.fetchall()) == 2


def test_errors(connection: dbapi.DbConnection) -> None:
    cursor = connection.cursor()
    with pytest.raises(dbapi.ProgrammingError, match="there is no stream NOWHERE") as refused:
        cursor.execute("SELECT * FROM nowhere")
    assert refused.value.code == 40001
    cursor.execute("SELECT * FROM broken")
    assert cursor.fetchone() == (1, "one")
    with pytest.raises(dbapi.OperationalError, match="a task failed"):
        cursor.fetchall()
    with pytest.raises(dbapi.ProgrammingError, match="no question mark"):
        cursor.execute("SELECT * FROM latest", (1,))
    with pytest.raises(dbapi.ProgrammingError, match="does not accept SELECT"):
        cursor.executemany("SELECT ?", [(1,)])
    with pytest.raises(dbapi.NotSupportedError, match="no transactions"):
        connection.rollback()
    connection.commit()
    with pytest.raises(dbapi.ProgrammingError, match="not the address"):
        dbapi.connect("ftp://x")


def test_no_server() -> None:
    with (
        dbapi.connect(f"http://127.0.0.1:{free_port()}") as connection,
        pytest.raises(dbapi.OperationalError, match="no server answers"),
    ):
        connection.cursor().execute("SHOW STREAMS")


def test_what_is_closed_stays_closed(connection: dbapi.DbConnection) -> None:
    cursor, other = connection.cursor(), connection.cursor()
    cursor.close()
    cursor.close()
    with pytest.raises(dbapi.InterfaceError, match="the cursor is closed"):
        cursor.execute("SHOW STREAMS")
    connection.close()
    for use in (connection.cursor, connection.commit, connection.rollback, lambda: other.execute("SHOW STREAMS")):
        with pytest.raises(dbapi.InterfaceError, match="the connection is closed"):
            use()


TEXTS = ["it's", "${city}", "$${city}", "${", "}", "a\nb", "\\", "--", "/*", "?", "☃", "'; DROP STREAM a; --", ""]
NUMBERS: list[Any] = [0, -5, 2**63 - 1, -(2**63), 1.5, -1e-7, 1e300, Decimal("1.50"), Decimal("-0.001"), True, False]


@pytest.mark.parametrize("value", [None, *TEXTS, *NUMBERS])
def test_the_servers_parser_reads_the_same_value_back(value: Any) -> None:
    text = bound("INSERT INTO a VALUES (?);", [value])
    ((statement),) = [parsed.statement for parsed in split(text, variables=lambda: {"city": "Oslo"})]
    assert isinstance(statement, tree.InsertValues)
    (read,) = statement.values
    assert isinstance(read, tree.Literal)
    assert read.value == value
    assert isinstance(value, bool) == isinstance(read.value, bool)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (b"\x00\xff", "TO_BYTES('00ff', 'hex')"),
        (date(2026, 7, 1), "'2026-07-01'"),
        (time(12, 30, 0, 250_000), "'12:30:00.250000'"),
        (datetime(2026, 7, 1, 12), "'2026-07-01T12:00:00.000'"),
        (datetime(2026, 7, 1, 12, tzinfo=timezone(timedelta(hours=2))), "'2026-07-01T10:00:00.000'"),
        (datetime(2026, 7, 1, 12, tzinfo=UTC), "'2026-07-01T12:00:00.000'"),
        ([1, None, "x"], "ARRAY[1, NULL, 'x']"),
        ({"a'b": (1.0, Decimal(2))}, "MAP('a''b' := ARRAY[1.0E0, 2])"),
        (float("nan"), "CAST('NaN' AS DOUBLE)"),
    ],
    ids=str,
)
def test_literals(value: Any, text: str) -> None:
    assert sql_literal(value) == text
    assert list(split(f"INSERT INTO a VALUES ({text});"))


@pytest.mark.parametrize(
    ("sql", "parameters", "message"),
    [
        ("? ?", [1], "more question marks than the 1 parameters"),
        ("?", [1, 2, 3], "2 of 3 parameters have no question mark"),
        ("?", [object()], "of type object has no SQL literal"),
        ("?", [Decimal("NaN")], "NaN is not a value of DECIMAL"),
    ],
)
def test_parameters_that_do_not_fit(sql: str, parameters: list[Any], message: str) -> None:
    with pytest.raises(WrongParameters, match=message):
        bound(sql, parameters)
