"""The client against the real server: statements, pull and push queries, inserts."""

import math
import subprocess
import sys
import threading
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal

import pytest

import millstream
from millstream.client import (
    ColumnType,
    CommandResult,
    Connection,
    InsertError,
    ListResult,
    MillstreamError,
    NoticeResult,
    SourceInfo,
    SourceResult,
    StatementRefused,
)
from millstream.client.types import parse_type
from millstream.server.run import Server
from support.client_engine import EVERY_TYPE, ClientEngine
from support.patience import PATIENCE

PUSH = "SELECT * FROM readings EMIT CHANGES;"


def test_importing_the_client_loads_neither_spark_nor_the_engine() -> None:
    heavy = ("pyspark", "confluent_kafka", "pandas", "pyarrow", "sqlalchemy", "IPython", "millstream.engine")
    heavy += ("millstream.server",)
    code = "import sys, millstream; assert 'httpx' not in sys.modules; import millstream.client.dbapi;"
    code += f"print([module for module in {heavy} if module in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_the_package_has_no_other_lazy_attributes() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = millstream.nonsense


def test_info(connection: Connection) -> None:
    assert connection.info()["serverStatus"] == "RUNNING"


def test_statements_have_typed_answers(connection: Connection) -> None:
    created, streams, source = connection.execute("CREATE STREAM a AS SELECT 1; SHOW STREAMS; DESCRIBE readings;")
    assert isinstance(created, CommandResult)
    assert (created.command_id, created.status, created.message) == ("stream/`A`/create", "SUCCESS", "Stream created")
    assert isinstance(streams, ListResult)
    assert [stream.name for stream in streams] == ["ORDERS", "READINGS"]
    assert len(streams) == 2
    assert streams[1] == SourceInfo("STREAM", "READINGS", "readings", "KAFKA", "JSON", windowed=False)
    assert isinstance(source, SourceResult)
    assert [(column.name, str(column.type), column.part) for column in source.columns] == [
        ("SENSOR", "STRING", "KEY"),
        ("CELSIUS", "DOUBLE", "VALUE"),
        ("TAKEN", "TIMESTAMP", "VALUE"),
    ]


def test_a_notice_and_its_warnings(connection: Connection) -> None:
    (notice,) = connection.execute("DROP STREAM IF EXISTS a;")
    assert isinstance(notice, NoticeResult)
    assert (notice.message, notice.warnings) == ("there is none", ("asked on 2026-07-01",))


def test_an_answer_without_a_type_stays_a_mapping(connection: Connection) -> None:
    (connectors,) = connection.execute("SHOW CONNECTORS;")
    assert connectors == {
        "@type": "connector_list",
        "statementText": "SHOW CONNECTORS;",
        "warnings": [],
        "connectors": [],
    }


def test_a_refused_statement_has_code_message_statement_and_earlier_answers(connection: Connection) -> None:
    with pytest.raises(StatementRefused) as refused:
        connection.execute("SHOW STREAMS; DESCRIBE nowhere;")
    assert refused.value.code == 40001
    assert "there is no stream NOWHERE" in refused.value.message
    assert refused.value.statement == "DESCRIBE nowhere;"
    assert [entity["@type"] for entity in refused.value.entities] == ["streams"]


def test_properties_and_variables_go_with_each_request(server: Server, engine: ClientEngine) -> None:
    properties = {"auto.offset.reset": "earliest", "ksql.x": 1}
    with millstream.connect(server.url, properties=properties, variables={"city": "Oslo"}) as connection:
        connection.execute("SHOW STREAMS;", properties={"ksql.x": Decimal("2.5")})
        connection.query("SELECT * FROM latest;", properties={"ksql.y": True}).fetchall()
    statement, query = engine.requests
    assert statement.properties == {"auto.offset.reset": "earliest", "ksql.x": Decimal("2.5")}
    assert query.properties == {"auto.offset.reset": "earliest", "ksql.x": 1, "ksql.y": True}
    assert statement.variables == query.variables == {"city": "Oslo"}


def test_a_request_waits_for_the_commands_before_it(connection: Connection, engine: ClientEngine) -> None:
    connection.execute("SHOW STREAMS;")
    connection.execute("CREATE STREAM a AS SELECT 1;")
    connection.execute("SHOW STREAMS;")
    connection.query("SELECT * FROM latest;").fetchall()
    assert [request.sequence for request in engine.requests] == [None, None, 2, 2]


def test_rows_of_a_pull_query_are_named_tuples(connection: Connection) -> None:
    rows = connection.query("SELECT * FROM latest;")
    assert rows.columns == ("SENSOR", "CELSIUS", "TAKEN")
    assert [str(type) for type in rows.types] == ["STRING", "DOUBLE", "TIMESTAMP"]
    first = next(rows)
    assert first == ("kitchen", 26.5, datetime(2026, 7, 1, 12))
    assert first.SENSOR == "kitchen"
    assert rows.fetchall() == [("attic", 30.1, None)]
    assert rows.fetchone() is None


def test_many_at_a_time(connection: Connection) -> None:
    rows = connection.query("SELECT * FROM orders;")
    assert [row.ID for row in rows.fetchmany(2)] == [1, 2]
    assert [row.ID for row in rows.fetchmany(2)] == [3]
    assert rows.fetchmany(2) == []


def test_values_of_every_type(connection: Connection) -> None:
    full, empty, odd = connection.query("SELECT * FROM everything;")
    assert full == (
        *(True, 7, 2**62 + 1, 0.5, Decimal("123456789012345678.90"), "a\u2028b ☃", b"\x00\xff"),
        *(date(2026, 7, 1), time(12), datetime(2026, 7, 1, 12, 0, 0, 250_000)),
        *([Decimal("1.50"), None], {"x": date(2026, 7, 2), "y": None}),
        {"STREET": "Elm", "SINCE": date(2020, 1, 31), "a b": [b"\x01"]},
    )
    assert str(full.PRICE) == "123456789012345678.90"
    assert set(empty) == {None}
    assert math.isinf(odd.RATIO)
    assert odd.DAY == "+12026-07-01"


@pytest.mark.parametrize("type", EVERY_TYPE.values(), ids=str)
def test_types_are_read_from_their_text(type: object) -> None:
    assert str(parse_type(str(type))).replace("`", "") == str(type).replace("`", "")


def test_types_keep_what_is_inside() -> None:
    parsed = parse_type("MAP<STRING, STRUCT<`a ``b` ARRAY<DECIMAL(4, 2)>, C BIGINT>>")
    amount = ColumnType("DECIMAL", precision=4, scale=2)
    fields = (("a `b", ColumnType("ARRAY", (amount,))), ("C", ColumnType("BIGINT")))
    assert parsed == ColumnType("MAP", (ColumnType("STRING"), ColumnType("STRUCT", fields=fields)))


@pytest.mark.parametrize("text", ["", "ARRAY<", "INTEGER >", "STRUCT<A INTEGER"])
def test_what_is_no_type_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not expected|more is expected"):
        parse_type(text)


def test_a_refused_query(connection: Connection) -> None:
    with pytest.raises(StatementRefused) as refused:
        connection.query("SELECT * FROM nowhere;")
    assert refused.value.code == 40001
    assert "did you mean ORDERS?" in str(refused.value)


def test_a_query_that_breaks_gives_its_rows_and_then_the_error(connection: Connection) -> None:
    rows = connection.push("SELECT * FROM broken EMIT CHANGES;")
    assert next(rows) == (1, "one")
    with pytest.raises(StatementRefused, match="a task failed") as broken:
        next(rows)
    assert broken.value.code == 50000


def test_a_push_query_gives_rows_as_they_come_and_ends_with_its_block(
    connection: Connection, engine: ClientEngine
) -> None:
    with connection.push(PUSH) as rows:
        assert [row.SENSOR for row in rows.fetchmany(2)] == ["kitchen", "attic"]
        (query,) = engine.wait_for_queries(1)
        assert rows.query_id == query.query_id
        query.emit(["hall", 1.0, None])
        assert next(rows) == ("hall", 1.0, None)
        assert not query.closed.is_set()
    assert query.closed.wait(PATIENCE)
    rows.close()


def test_a_push_query_is_closed_by_another_thread(connection: Connection, engine: ClientEngine) -> None:
    rows = connection.push(PUSH)
    seen: list[str] = []
    arrived = threading.Event()

    def read() -> None:
        for row in rows:
            seen.append(row.SENSOR)
            if len(seen) == 2:
                arrived.set()

    reading = threading.Thread(target=read)
    reading.start()
    assert arrived.wait(PATIENCE)
    rows.close()
    reading.join(PATIENCE)
    assert not reading.is_alive()
    assert seen == ["kitchen", "attic"]
    assert engine.wait_for_queries(1)[0].closed.is_set()


def test_a_closed_connection_says_so(server: Server) -> None:
    connection = millstream.connect(server.url, timeout=PATIENCE)
    rows = connection.push(PUSH)
    connection.close()
    rows.close()
    for request in (connection.info, lambda: connection.execute("SHOW STREAMS;")):
        with pytest.raises(MillstreamError, match="this connection was closed"):
            request()


def test_a_connection_is_shown_with_its_address_alone(server: Server) -> None:
    address = server.url.replace("//", "//ada:secret@")
    with millstream.connect(address) as connection:
        assert repr(connection) == f"Connection('{server.url}')"


def test_a_push_query_with_a_limit_ends(connection: Connection) -> None:
    assert len(list(connection.push("SELECT * FROM readings EMIT CHANGES LIMIT 2;"))) == 2


def test_inserts_are_acknowledged(connection: Connection, engine: ClientEngine) -> None:
    acks = connection.insert("orders".upper(), ({"ID": number + 100} for number in range(2500)))
    assert [ack.seq for ack in acks] == list(range(2500))
    assert all(ack.ok for ack in acks)
    assert [row["ID"] for row in engine.inserted] == list(range(100, 2600))


def test_refused_rows_are_reported_and_the_others_are_written(connection: Connection, engine: ClientEngine) -> None:
    rows = [{"ID": 12}, {"ID": 13}, {"ID": 14}]
    with pytest.raises(InsertError, match="1 of 3 rows were refused; row 1: ID 13 is bad luck") as refused:
        connection.insert("ORDERS", rows)
    assert refused.value.written == 2
    assert [(ack.seq, ack.code) for ack in refused.value.failed] == [(1, 40000)]
    assert [ack.ok for ack in connection.insert_stream("ORDERS", rows)] == [True, False, True]
    assert [row["ID"] for row in engine.inserted] == [12, 14, 12, 14]


def test_a_target_that_is_not_there(connection: Connection) -> None:
    with pytest.raises(StatementRefused, match="there is no stream NOWHERE"):
        connection.insert("NOWHERE", [{"ID": 1}])


def test_no_rows_are_no_request(connection: Connection, engine: ClientEngine) -> None:
    assert connection.insert("ORDERS", []) == []
    assert engine.inserters == []


def test_values_of_every_type_are_sent(connection: Connection, engine: ClientEngine) -> None:
    row = {
        "A": Decimal("1.10"),
        "B": b"\x00\xff",
        "C": date(2026, 7, 1),
        "D": time(12, 30),
        "E": datetime(2026, 7, 1, 12),
        "F": datetime(2026, 7, 1, 12, tzinfo=timezone(timedelta(hours=2))),
        "G": datetime(2026, 7, 1, 12, tzinfo=UTC),
        "H": {"X": [1, None, Decimal("1E+2")]},
        "I": float("nan"),
        "J": None,
    }
    connection.insert("ORDERS", [row])
    assert engine.inserted == [
        {
            "A": Decimal("1.10"),
            "B": "AP8=",
            "C": "2026-07-01",
            "D": "12:30:00",
            "E": "2026-07-01T12:00:00.000",
            "F": "2026-07-01T10:00:00.000",
            "G": "2026-07-01T12:00:00.000",
            "H": {"X": [1, None, 100]},
            "I": "nan",
            "J": None,
        }
    ]


def test_a_value_without_a_json_form_is_refused_before_it_is_sent(connection: Connection, engine: ClientEngine) -> None:
    with pytest.raises(TypeError, match="of type object has no JSON form"):
        connection.insert("ORDERS", [{"ID": object()}])
    assert engine.inserters == []
