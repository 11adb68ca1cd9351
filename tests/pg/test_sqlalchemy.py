"""SQLAlchemy's own dialect for Postgres, over psycopg: reflection, SELECT with IN, INSERT."""

from collections.abc import Iterator

import pytest
from sqlalchemy import Engine, MetaData, create_engine, insert, inspect, select

from millstream.pg.server import PgServer
from support.pg_engine import PgEngine


@pytest.fixture
def database(server: PgServer) -> Iterator[Engine]:
    opened = create_engine(f"postgresql+psycopg://me@127.0.0.1:{server.port}/millstream")
    yield opened
    opened.dispose()


def test_the_inspector_shows_tables_columns_and_keys(database: Engine) -> None:
    inspector = inspect(database)
    assert sorted(inspector.get_table_names()) == ["Mixed Case", "everything", "latest", "minutes", "orders"]
    assert {c["name"]: (str(c["type"]), c["nullable"]) for c in inspector.get_columns("latest")} == {
        "sensor": ("TEXT", False),
        "celsius": ("DOUBLE PRECISION", True),
        "taken": ("TIMESTAMP", True),
    }
    assert inspector.get_pk_constraint("latest")["constrained_columns"] == ["sensor"]
    assert inspector.get_foreign_keys("latest") == []
    assert inspector.get_table_comment("orders") == {"text": "STREAM over topic orders"}
    assert (inspector.has_table("orders"), inspector.has_table("nowhere")) == (True, False)


def test_a_windowed_table_has_the_columns_that_select_returns(database: Engine) -> None:
    inspector = inspect(database)
    assert [c["name"] for c in inspector.get_columns("minutes")] == ["sensor", "windowstart", "windowend", "n"]
    assert inspector.get_pk_constraint("minutes")["constrained_columns"] == ["sensor", "windowstart"]


def test_reflected_tables_are_read_and_written(database: Engine, engine: PgEngine) -> None:
    tables = MetaData()
    tables.reflect(database)
    orders = tables.tables["orders"]
    with database.begin() as connection:
        assert connection.execute(select(orders).where(orders.c.id.in_([1, 2]))).all()[0] == (1, "one")
        connection.execute(insert(orders).values(id=2**40, name="four"))
    assert "CAST" not in engine.texts[-1]
    assert engine.texts[-1].endswith(f"VALUES ({2**40}, 'four');")
