"""The dialect: core's pull queries, inspection, and pandas.read_sql."""

from collections.abc import Iterator
from datetime import datetime

import pandas
import pytest
from sqlalchemy import Engine, MetaData, Table, column, create_engine, func, inspect, select, table, text
from sqlalchemy.exc import NoSuchTableError, ProgrammingError

from millstream.server.run import Server
from support.client_engine import ClientEngine


@pytest.fixture
def database(server: Server) -> Iterator[Engine]:
    opened = create_engine(f"millstream://127.0.0.1:{server.port}")
    yield opened
    opened.dispose()


def test_inspection(database: Engine) -> None:
    inspector = inspect(database)
    assert inspector.get_table_names() == ["ORDERS", "READINGS", "LATEST"]
    assert inspector.has_table("latest")
    assert not inspector.has_table("nowhere")
    columns = [(each["name"], str(each["type"]), each["nullable"]) for each in inspector.get_columns("LATEST")]
    assert columns == [("SENSOR", "VARCHAR", False), ("CELSIUS", "DOUBLE", True), ("TAKEN", "TIMESTAMP", True)]
    assert inspector.get_pk_constraint("LATEST")["constrained_columns"] == ["SENSOR"]
    assert inspector.get_pk_constraint("READINGS")["constrained_columns"] == []
    with pytest.raises(NoSuchTableError):
        inspector.get_columns("NOWHERE")


def test_a_pull_query_of_a_reflected_table(database: Engine, engine: ClientEngine) -> None:
    latest = Table("LATEST", MetaData(), autoload_with=database)
    query = select(latest).where(latest.c.SENSOR == "it's").limit(5)
    with database.connect() as connection:
        rows = connection.execute(query).all()
    assert rows == [("kitchen", 26.5, datetime(2026, 7, 1, 12)), ("attic", 30.1, None)]
    assert rows[0].CELSIUS == 26.5
    columns = "`LATEST`.`SENSOR`, `LATEST`.`CELSIUS`, `LATEST`.`TAKEN`"
    expected = f"SELECT {columns} FROM `LATEST` WHERE `LATEST`.`SENSOR` = 'it''s' LIMIT 5 ;"
    assert " ".join(engine.requests[-1].text.split()) == expected


def test_lower_case_names_are_bare_and_reserved_ones_are_not(database: Engine) -> None:
    query = select(column("sensor"), column("limit"), func.count()).select_from(table("latest")).group_by("sensor")
    compiled = " ".join(str(query.compile(database)).split())
    assert compiled == "SELECT sensor, `limit`, count(*) AS count_1 FROM latest GROUP BY sensor"


def test_a_refused_query(database: Engine) -> None:
    with database.connect() as connection, pytest.raises(ProgrammingError, match="there is no stream NOWHERE"):
        connection.execute(text("SELECT * FROM nowhere"))


def test_a_login_and_tls_in_the_url() -> None:
    opened = create_engine("millstream://alice:secret@host:1?tls=true&verify=ca.pem&timeout=5")
    arguments = {"user": "alice", "password": "secret", "verify": "ca.pem", "timeout": 5.0}
    assert opened.dialect.create_connect_args(opened.url) == (["https://host:1"], arguments)


def test_pandas_read_sql(database: Engine) -> None:
    frame = pandas.read_sql(text("SELECT * FROM latest WHERE celsius > :least"), database, params={"least": 20})
    assert list(frame.columns) == ["SENSOR", "CELSIUS", "TAKEN"]
    assert list(frame["CELSIUS"]) == [26.5, 30.1]
    assert list(pandas.read_sql_table("LATEST", database)["SENSOR"]) == ["kitchen", "attic"]
