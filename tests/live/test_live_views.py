"""Views: persistent, push and pull queries read them, and a server that is started again has them."""

import psycopg
import pytest
from sqlalchemy import create_engine, inspect

from millstream.engine.api import RequestFailed
from support.engine_process import EngineProcess
from support.kafka import BrokerClient, wait_for
from support.sources import declare

pytestmark = pytest.mark.live


def test_queries_of_each_kind_read_a_view(server: EngineProcess, kafka: BrokerClient) -> None:
    name, topic = declare(server.execute, kafka, "id STRING KEY, v INT", formats="value_format='JSON'")
    server.execute(f"""
        CREATE VIEW {name}_BIG AS SELECT id, v * 10 AS tens FROM {name} WHERE v > 1 EMIT CHANGES;
        CREATE TABLE {name}_SUMS AS SELECT id, SUM(tens) AS s FROM {name}_BIG GROUP BY id EMIT CHANGES;
        CREATE VIEW {name}_TOP AS SELECT id, s FROM {name}_SUMS ORDER BY s DESC LIMIT 2;
    """)
    for id, v in (("a", 1), ("b", 2), ("c", 3), ("d", 4)):
        kafka.produce(topic, id, {"V": v})
    pushed = server.rows(f"SELECT id, tens + 1 FROM {name}_BIG WHERE id <> 'c' EMIT CHANGES LIMIT 2;", 2)
    assert pushed == [["b", 21], ["d", 41]]
    assert server.rows(f"SELECT * FROM {name}_BIG;", 3) == [["b", 20], ["c", 30], ["d", 40]]
    wait_for(lambda: server.rows(f"SELECT * FROM {name}_TOP;", 2) == [["d", 40], ["c", 30]], "the largest sums")

    described = server.execute(f"DESCRIBE {name}_TOP;")[0]["viewDescription"]
    assert [(f["name"], f["schema"]["type"]) for f in described["fields"]] == [("ID", "STRING"), ("S", "INTEGER")]
    assert (described["type"], described["sources"]) == ("TABLE", [f"{name}_SUMS"])
    inspector = inspect(create_engine(server.rest().replace("http", "millstream")))
    assert {f"{name}_BIG", f"{name}_TOP"} <= set(inspector.get_view_names())
    assert [str(column["type"]) for column in inspector.get_columns(f"{name}_TOP")] == ["VARCHAR", "INTEGER"]
    listed = {view["name"]: view["readQueries"] for view in server.execute("SHOW VIEWS;")[0]["views"]}
    (reader,) = listed[f"{name}_BIG"]
    with pytest.raises(RequestFailed, match=f"Cannot drop view {name}_BIG: it is read by {reader}\n"):
        server.execute(f"DROP VIEW {name}_BIG;")
    with pytest.raises(RequestFailed, match=rf"following views read from this source: \[{name}_TOP\]"):
        server.execute(f"DROP TABLE {name}_SUMS;")


def test_a_query_goes_on_as_created_when_its_view_is_replaced(server: EngineProcess, kafka: BrokerClient) -> None:
    name, topic = declare(server.execute, kafka, "id STRING KEY, v INT", formats="value_format='JSON'")
    view = f"VIEW {name}_V AS SELECT id, v FROM {name} WHERE v > "
    server.execute(f"CREATE {view} 5; CREATE STREAM {name}_OUT AS SELECT * FROM {name}_V;")
    (answer,) = server.execute(f"CREATE OR REPLACE {view} 7;")
    assert "queries that read it go on as they were created: CSAS_" in answer["commandStatus"]["message"]
    for v in (5, 6, 8):
        kafka.produce(topic, str(v), {"V": v})
    assert [r.json["V"] for r in kafka.consume_all(f"{name}_OUT", 2)] == [6, 8]
    assert server.rows(f"SELECT v FROM {name}_V;", 1) == [[8]]


def test_clients_of_postgres_see_views(server: EngineProcess, kafka: BrokerClient) -> None:
    name, topic = declare(server.execute, kafka, "id STRING KEY, v INT", formats="value_format='JSON'")
    view = f"{name}_V".lower()
    kafka.produce(topic, "a", {"V": 3})
    address = f"host=127.0.0.1 port={server.postgres()} user=me dbname=millstream"
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(f"CREATE VIEW {view} AS SELECT id, v + 1 AS more FROM {name}".encode())
        assert connection.execute(f"SELECT * FROM {view}".encode()).fetchall() == [("a", 4)]
        kinds = "SELECT table_type, is_insertable_into FROM information_schema.tables WHERE table_name = %s"
        assert connection.execute(kinds, [view]).fetchall() == [("VIEW", "NO")]
        columns = "SELECT column_name, data_type FROM information_schema.columns WHERE table_name = %s"
        assert sorted(connection.execute(columns, [view]).fetchall()) == [("id", "text"), ("more", "integer")]
        text = "SELECT definition, pg_get_viewdef(c.oid) FROM pg_views v JOIN pg_class c ON relname = viewname"
        query = f" SELECT ID, V + 1 AS MORE FROM {name};"
        assert connection.execute(text.encode()).fetchall() == [(query, query)]
        connection.execute(f"DROP VIEW {view}".encode())
        assert connection.execute(kinds, [view]).fetchall() == []
