"""psycopg 3 against the server: values of every type in both forms, parameters, transactions, cursors, COPY, errors."""

import os
import socket
import threading
from collections.abc import Sequence
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row
from psycopg.types.json import Json, Jsonb

from millstream.pg.server import PgServer
from support.patience import PATIENCE
from support.pg_engine import PgEngine, address

Connection = psycopg.Connection[Any]
FULL = (
    *(True, 7, 2**62 + 1, 0.5, Decimal("123456789012345678.90"), "a\u2028b ☃", b"\x00\xff"),
    *(date(2026, 7, 1), time(12), datetime(2026, 7, 1, 12, 0, 0, 250_000, tzinfo=UTC)),
    *([Decimal("1.50"), None], {"x": "2026-07-02", "y": None}),
    {"STREET": "Elm", "SINCE": "2020-01-31", "a b": ["AQ=="]},
)


@pytest.mark.parametrize("binary", [False, True], ids=["text", "binary"])
def test_values_of_every_type(connection: Connection, binary: bool) -> None:
    rows = connection.execute("SELECT * FROM everything LIMIT 2", binary=binary).fetchall()
    assert rows == [FULL, (None,) * len(FULL)]


def test_a_row_has_names_as_postgres_writes_them(connection: Connection) -> None:
    cursor = connection.cursor(row_factory=dict_row)
    assert cursor.execute("SELECT * FROM orders").fetchone() == {"id": 1, "name": "one"}
    assert [column.type_code for column in cursor.description or ()] == [23, 25]


@pytest.mark.parametrize(
    ("value", "literal"),
    [
        (5, "5"),
        (-(2**40), str(-(2**40))),
        ("it's ${x}", "'it''s $${x}'"),
        (True, "TRUE"),
        (None, "NULL"),
        (0.1, "0.1E0"),
        (Decimal("-12345.0678"), "-12345.0678"),
        (Decimal("1E+20"), "100000000000000000000"),
        (b"\x00\xfe", "TO_BYTES('00fe', 'hex')"),
        (date(2026, 7, 1), "'2026-07-01'"),
        (time(12, 30), "'12:30:00'"),
        (datetime(2026, 7, 1, 14, 0, tzinfo=UTC), "'2026-07-01T14:00:00.000'"),
        ([1, 2, None], "ARRAY[1, 2, NULL]"),
    ],
    ids=repr,
)
@pytest.mark.parametrize("mark", ["%t", "%b"], ids=["text", "binary"])
def test_a_parameter_becomes_a_literal(
    connection: Connection, engine: PgEngine, value: Any, literal: str, mark: str
) -> None:
    connection.execute(f"SELECT * FROM orders WHERE f({mark}) LIMIT 1".encode(), [value])
    assert engine.texts[-1] == f"SELECT * FROM orders WHERE f({literal}) LIMIT 1;"


def test_a_list_of_texts_in_binary_form(connection: Connection, engine: PgEngine) -> None:
    connection.execute("SELECT * FROM orders WHERE f(%b) LIMIT 1", [["a b", 'q"', "NULL", "\\"]])
    assert engine.texts[-1] == "SELECT * FROM orders WHERE f(ARRAY['a b', 'q\"', 'NULL', '\\']) LIMIT 1;"


def test_names_and_casts_are_rewritten(connection: Connection, engine: PgEngine) -> None:
    connection.execute(
        'SELECT "id", `ID`, "Mixed" FROM public."orders" o WHERE o.id = %s::int AND \'public.x\' <> name', [3]
    )
    assert engine.texts[-1] == (
        "SELECT `ID`, `ID`, `Mixed` FROM `ORDERS` o WHERE o.id = CAST(3 AS INTEGER) AND 'public.x' <> name;"
    )


@pytest.mark.parametrize(
    ("condition", "value", "written"),
    [
        ("name = ANY(%s)", ["a", "it's"], "name IN ('a', 'it''s')"),
        ("id =any ( %s )", [1, 2], "id IN (1, 2)"),
        ("id = ANY(%s::int[])", [3], "id IN (3)"),
        ("id = ANY(%s)", [], "id IN (NULL)"),
        ("id = ANY(%s)", None, "id IN (NULL)"),
    ],
)
def test_any_of_a_list_becomes_in(
    connection: Connection, engine: PgEngine, condition: str, value: list[Any] | None, written: str
) -> None:
    connection.execute(f"SELECT * FROM orders WHERE {condition} LIMIT 1".encode(), [value])
    assert engine.texts[-1] == f"SELECT * FROM orders WHERE {written} LIMIT 1;"


def test_a_name_may_have_database_and_schema(connection: Connection, engine: PgEngine) -> None:
    connection.execute('SELECT o.id FROM millstream.public.orders o, "millstream"."public"."Mixed"')
    assert engine.texts[-1] == "SELECT o.id FROM orders o, `Mixed`;"


def test_the_cast_of_an_inserted_parameter_is_left_to_its_column(connection: Connection, engine: PgEngine) -> None:
    connection.execute("INSERT INTO orders VALUES (%s::bigint, ABS(%s::int), %s::int + 1)", [1, 2, 3])
    assert engine.texts[-1] == "INSERT INTO orders VALUES (1, ABS(CAST(2 AS INTEGER)), CAST(3 AS INTEGER) + 1);"


NONE = "FILTER(ARRAY[CAST(NULL AS DECIMAL(4, 2))], x => FALSE)"


@pytest.mark.parametrize(
    ("column", "value", "literal"),
    [
        ("`DAYS`", Json({"x": "2026-07-02", "y": None}), "MAP('x' := '2026-07-02', 'y' := CAST(NULL AS DATE))"),
        ("`DAYS`", Jsonb({}), "FILTER(MAP('' := CAST(NULL AS DATE)), (k, v) => FALSE)"),
        ("`DAYS`", '{"it\'s": null}', "MAP('it''s' := CAST(NULL AS DATE))"),
        ("`DAYS`", None, "NULL"),
        (
            "address",
            Json({"street": "Elm", "a b": ["AQ=="]}),
            "STRUCT(`STREET` := 'Elm', `SINCE` := CAST(NULL AS DATE), `a b` := ARRAY['AQ=='])",
        ),
        ("prices", Json([1.5, None]), "ARRAY[1.5, CAST(NULL AS DECIMAL(4, 2))]"),
        ("prices", [], NONE),
        ("prices", Json([]), NONE),
        ("name", Json({"x": 1}), "'{\"x\": 1}'"),
    ],
    ids=repr,
)
def test_json_becomes_a_value_of_its_column(
    connection: Connection, engine: PgEngine, column: str, value: Any, literal: str
) -> None:
    connection.execute(f"INSERT INTO everything ({column}) VALUES (%s)".encode(), [value])
    assert engine.texts[-1] == f"INSERT INTO everything ({column}) VALUES ({literal});"


def test_json_in_the_text_of_an_insert(connection: Connection, engine: PgEngine) -> None:
    connection.execute("""INSERT INTO everything (`DAYS`, name) VALUES ('{"x": null}', '{}')""")
    assert engine.texts[-1].endswith(" VALUES (MAP('x' := CAST(NULL AS DATE)), '{}');")


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("`DAYS`", '{"x"', "is not valid JSON: "),
        ("`DAYS`", "[1]", r"is not a valid MAP<STRING, DATE>: \[1\] is not a MAP"),
        ("address", '{"nowhere": 1}', "it has no field NOWHERE"),
        ("address", '{"street": ["Elm"]}', "an object or a list is not a STRING"),
    ],
)
def test_json_that_does_not_fit_its_column(connection: Connection, column: str, value: str, message: str) -> None:
    with pytest.raises(psycopg.errors.InvalidTextRepresentation, match=message) as raised:
        connection.execute(f"INSERT INTO everything ({column}) VALUES (%s)".encode(), [value])
    assert raised.value.diag.statement_position is not None


def test_a_value_that_is_none_of_its_type_is_named(connection: Connection) -> None:
    with pytest.raises(
        psycopg.errors.InvalidTextRepresentation, match=r"parameter \$1 is not a valid int4 in text form"
    ):
        connection.execute("SELECT * FROM orders WHERE id = %s", ["abc"])


PREPARED = "SELECT * FROM orders WHERE id = $1 AND name = $2"


@pytest.mark.parametrize(
    ("prepare", "execute", "text"),
    [
        ("PREPARE p AS", "EXECUTE P (7, 'it''s')", "SELECT * FROM orders WHERE id = 7 AND name = 'it''s';"),
        (
            "PREPARE p (int, varchar(10)) AS",
            "EXECUTE p(-7, NULL)",
            "SELECT * FROM orders WHERE id = -7 AND name = NULL;",
        ),
        (
            "PREPARE p (smallint, character varying) AS",
            "EXECUTE p (7, NULL)",
            "SELECT * FROM orders WHERE id = 7 AND name = NULL;",
        ),
        ("prepare p(integer) as", "execute p (+7, '')", "SELECT * FROM orders WHERE id = 7 AND name = '';"),
    ],
)
def test_a_statement_is_prepared_and_executed_as_sql(
    connection: Connection, engine: PgEngine, prepare: str, execute: str, text: str
) -> None:
    connection.execute(f"{prepare} {PREPARED}".encode())
    assert len(connection.execute(execute.encode()).fetchall()) == 3
    assert engine.texts[-1] == text
    connection.execute("DEALLOCATE p")
    with pytest.raises(psycopg.errors.InvalidSqlStatementName, match='there is no prepared statement "p"'):
        connection.execute(execute.encode())


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("PREPARE q", r"PREPARE name \[\(type, …\)\] AS statement"),
        ("PREPARE q (uuid) AS SELECT * FROM orders WHERE id = $1", "there is no type uuid for a parameter"),
        ("PREPARE p AS SELECT * FROM orders", "there is a prepared statement p already"),
        ("EXECUTE", "the name of the statement is missing"),
        ("EXECUTE p", "EXECUTE has 0 values for the 2 parameters"),
        ("EXECUTE p (1)", "EXECUTE has 1 values for the 2 parameters"),
        ("EXECUTE p (1,)", "an argument is missing"),
        ("EXECUTE p 1", "unexpected 1 after the statement's name"),
        ("EXECUTE p (1 + 1, 'a')", r"a value of EXECUTE is a literal, not 1 \+ 1"),
        ("EXECUTE p ('x', 'a')", r"the value of parameter \$1 is not a valid int4 in text form"),
        ("EXECUTE nothing", 'there is no prepared statement "nothing"'),
    ],
)
def test_prepare_and_execute_are_refused_with_their_reason(connection: Connection, command: str, message: str) -> None:
    connection.execute(f"PREPARE p AS {PREPARED}".encode())
    with pytest.raises(psycopg.Error, match=message):
        connection.execute(command.encode())


def test_a_prepared_statement_is_bound_again(connection: Connection, engine: PgEngine) -> None:
    for number in range(8):
        connection.execute("SELECT * FROM orders WHERE id = %s LIMIT 1", [number], prepare=True)
    assert engine.texts[-1] == "SELECT * FROM orders WHERE id = 7 LIMIT 1;"


def test_statements_that_change_something(connection: Connection, engine: PgEngine) -> None:
    notices: list[str] = []
    connection.add_notice_handler(lambda notice: notices.append(notice.message_primary or ""))
    assert connection.execute("CREATE STREAM s (id INT) WITH (kafka_topic='s')").statusmessage == "CREATE STREAM"
    assert notices == ["Stream created"]
    inserted = connection.execute("INSERT INTO orders (id, name) VALUES (%s, %s)", [1, "one"])
    assert (inserted.statusmessage, inserted.rowcount) == ("INSERT 0 1", 1)
    assert engine.texts[-1] == "INSERT INTO orders (id, name) VALUES (1, 'one');"


def test_settings_of_the_engine_stay_with_the_session(connection: Connection, engine: PgEngine) -> None:
    connection.execute("SET 'auto.offset.reset'='earliest'")
    connection.execute("SELECT * FROM orders LIMIT 1")
    assert engine.requests[-1].properties == {"auto.offset.reset": "earliest"}
    connection.execute("DISCARD ALL")
    connection.execute("SELECT * FROM orders LIMIT 1")
    assert engine.requests[-1].properties == {}


def test_an_error_has_state_position_and_hint(connection: Connection) -> None:
    with pytest.raises(psycopg.errors.UndefinedTable) as raised:
        connection.execute("SELECT * FROM nowhere")
    diagnosis = raised.value.diag
    assert diagnosis.message_primary == "there is no stream NOWHERE"
    assert (diagnosis.statement_position, diagnosis.message_hint) == ("15", "did you mean ORDERS?")
    assert connection.execute("SELECT 1").fetchone() == (1,)


@pytest.mark.parametrize(
    ("statement", "state"),
    [
        ("SELECT * FROM secret", "42501"),
        ("SELECT 'unclosed", "42601"),
        ("FETCH 1 FROM nothing", "34000"),
        ("SELECT $1", "42P02"),
        ("SHOW nothing_like_it", "42704"),
        ("COPY orders FROM STDIN", "0A000"),
        ("FETCH BACKWARD 1 FROM c", "0A000"),
        ("SELECT * FROM pg_no_such_table", "42P01"),
        ("SELECT no_such_function(1)", "42883"),
        ("SELECT oid FROM pg_class, orders", "0A000"),
        ("SELECT * FROM pg_class, read_text('/etc/hostname')", "0A000"),
        ("SET client_encoding = 'LATIN1'", "22023"),
        ("SET no_such_setting = 1", "42704"),
    ],
)
def test_refusals(connection: Connection, statement: str, state: str) -> None:
    with pytest.raises(psycopg.Error) as raised:
        connection.execute(statement.encode())
    assert raised.value.sqlstate == state
    assert connection.execute("SELECT 1").fetchone() == (1,)


def test_a_query_that_fails_after_rows(connection: Connection) -> None:
    with pytest.raises(psycopg.errors.InternalError_, match="a task failed"):
        connection.execute("SELECT * FROM broken")
    assert connection.execute("SELECT 1").fetchone() == (1,)


def test_a_failed_transaction_refuses_statements_and_undoes_nothing(server: PgServer) -> None:
    notices: list[str] = []
    with psycopg.connect(address(server)) as connection:
        connection.add_notice_handler(lambda notice: notices.append(notice.message_primary or ""))
        connection.execute("INSERT INTO orders (id) VALUES (1)")
        with pytest.raises(psycopg.errors.UndefinedTable):
            connection.execute("SELECT * FROM nowhere")
        with pytest.raises(psycopg.errors.InFailedSqlTransaction):
            connection.execute("SELECT 1")
        connection.rollback()
        assert notices == ["nothing is rolled back: every statement takes effect at once"]
        assert connection.execute("SELECT 1").fetchone() == (1,)
        connection.commit()


def test_a_push_query_is_read_by_a_cursor(connection: Connection, engine: PgEngine) -> None:
    with connection.transaction(), connection.cursor(name="live") as cursor:
        cursor.execute("SELECT * FROM orders EMIT CHANGES")
        assert cursor.fetchmany(2) == [(1, "one"), (2, None)]
        assert cursor.fetchall() == [(3, "three ☃")]
        engine.last().emit([4, "four"])
        assert cursor.fetchone() == (4, "four")
        assert not engine.last().closed.is_set()
    assert engine.last().closed.wait(PATIENCE)


def test_a_fetch_with_a_timeout_returns_the_rows_that_have_arrived(connection: Connection, engine: PgEngine) -> None:
    connection.execute("DECLARE c CURSOR FOR SELECT * FROM orders EMIT CHANGES")
    assert len(connection.execute("FETCH 3 FROM c").fetchall()) == 3
    assert connection.execute("FETCH 10 FROM c WITH (timeout = '50ms')").fetchall() == []
    engine.last().emit([4, "four"])
    assert connection.execute("FETCH 1 FROM c").fetchall() == [(4, "four")]
    connection.execute("CLOSE c")
    assert engine.last().closed.wait(PATIENCE)


def test_a_running_query_is_cancelled(connection: Connection, engine: PgEngine) -> None:
    timer = threading.Timer(0.1, lambda: (engine.wait_for_queries(1), connection.cancel_safe()))
    timer.start()
    with pytest.raises(psycopg.errors.QueryCanceled):
        connection.execute("SELECT * FROM orders EMIT CHANGES")
    timer.join()
    assert engine.last().closed.wait(PATIENCE)
    assert connection.execute("SELECT 1").fetchone() == (1,)


def test_a_query_ends_after_the_statement_timeout(connection: Connection, engine: PgEngine) -> None:
    connection.execute("SET statement_timeout = '100ms'")
    with pytest.raises(psycopg.errors.QueryCanceled, match="longer than statement_timeout, 100ms"):
        connection.execute("SELECT * FROM orders EMIT CHANGES")
    assert engine.last().closed.wait(PATIENCE)
    with pytest.raises(psycopg.errors.InvalidParameterValue):
        connection.execute("SET statement_timeout = 'soon'")
    connection.execute("SET statement_timeout = 0")
    assert connection.execute("SHOW statement_timeout").fetchone() == ("0",)


def test_a_client_that_leaves_ends_its_query(server: PgServer, engine: PgEngine) -> None:
    connection = psycopg.connect(address(server), autocommit=True)
    leaving = threading.Thread(target=lambda: _swallow(connection))
    leaving.start()
    engine.wait_for_queries(1)
    with socket.socket(fileno=os.dup(connection.fileno())) as wire:
        wire.shutdown(socket.SHUT_RDWR)
    leaving.join(PATIENCE)
    assert engine.last().closed.wait(PATIENCE)


def _swallow(connection: Connection) -> None:
    with pytest.raises(psycopg.Error):
        connection.execute("SELECT * FROM orders EMIT CHANGES")


def test_rows_stream_to_the_client(connection: Connection) -> None:
    rows: list[Sequence[Any]] = list(connection.cursor().stream("SELECT * FROM orders LIMIT 3"))
    assert rows == [(1, "one"), (2, None), (3, "three ☃")]
    assert connection.execute("SELECT * FROM many").rowcount == 5000


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("", b"1\tone\n2\t\\N\n3\tthree \xe2\x98\x83\n"),
        ("WITH (FORMAT csv, HEADER)", b"id,name\n1,one\n2,\n3,three \xe2\x98\x83\n"),
        ("(FORMAT csv, DELIMITER ';', NULL 'none')", b"1;one\n2;none\n3;three \xe2\x98\x83\n"),
        ("CSV HEADER", b"id,name\n1,one\n2,\n3,three \xe2\x98\x83\n"),
    ],
)
def test_copy(connection: Connection, options: str, expected: bytes) -> None:
    with connection.cursor().copy(f"COPY (SELECT * FROM orders LIMIT 3) TO STDOUT {options}".encode()) as copy:
        assert b"".join(bytes(part) for part in copy) == expected


def test_copy_in_binary_form(connection: Connection) -> None:
    with connection.cursor().copy("COPY orders (id, name) TO STDOUT (FORMAT binary)") as copy:
        copy.set_types(["int4", "text"])
        assert list(copy.rows()) == [(1, "one"), (2, None), (3, "three ☃")]


def test_many_statements_in_one_text(connection: Connection) -> None:
    cursor = connection.execute("SET application_name = 'x'; SHOW application_name; SELECT 1; ;SELECT 2")
    messages = [cursor.statusmessage]
    while cursor.nextset():
        messages.append(cursor.statusmessage)
    assert messages == ["SET", "SHOW", "SELECT 1", "SELECT 1"]


def test_a_pipeline(connection: Connection) -> None:
    with connection.pipeline():
        cursors = [connection.execute("SELECT * FROM orders WHERE id = %s LIMIT 1", [n]) for n in range(5)]
        assert [len(cursor.fetchall()) for cursor in cursors] == [3] * 5


def test_ten_thousand_parameters(connection: Connection, engine: PgEngine) -> None:
    marks = ", ".join(["%s"] * 10_000)
    connection.execute(f"SELECT * FROM orders WHERE id IN ({marks}) LIMIT 1".encode(), list(range(10_000)))
    assert engine.texts[-1].endswith(", 9998, 9999) LIMIT 1;")
