"""Pull queries on tables through a real broker: by key, range and index, windows, SOURCE tables, and over a restart."""

from collections.abc import Callable
from typing import Any

import pytest

from millstream.engine.api import RequestFailed
from support.engine_process import EngineProcess
from support.kafka import BrokerClient, wait_for

pytestmark = pytest.mark.live
Begin = Callable[..., EngineProcess]
MANY = 1_000_000


def pull(server: EngineProcess, query: str, **properties: str) -> list[list[Any]]:
    return server.rows(query, MANY, **properties)


def settled(server: EngineProcess, query: str, rows: list[list[Any]]) -> None:
    """Wait until the query's rows, in any order, are these."""
    wait_for(lambda: sorted(pull(server, query), key=repr) == sorted(rows, key=repr), f"{query} gives {rows}")


def ready(server: EngineProcess) -> dict[str, bool]:
    """SHOW INDEXES: each index, and whether it is used."""
    (entity,) = server.execute("SHOW INDEXES;")
    return {index["name"]: index["ready"] for index in entity["indexes"]}


def test_a_table_that_a_query_makes(server: EngineProcess, kafka: BrokerClient) -> None:
    topic = kafka.create_topic(partitions=2)
    server.execute(f"CREATE STREAM orders (id INT KEY, v INT) WITH (kafka_topic='{topic}', value_format='JSON');")
    server.execute("CREATE TABLE totals AS SELECT id, COUNT(*) AS n, SUM(v) AS s FROM orders GROUP BY id;")
    server.execute("".join(f"INSERT INTO orders VALUES ({n % 5 - 2}, {n});" for n in range(10)))
    settled(server, "SELECT * FROM totals;", [[i - 2, 2, 2 * i + 5] for i in range(5)])
    assert pull(server, "SELECT s, id FROM totals WHERE id = -1;") == [[7, -1]]
    assert pull(server, "SELECT id FROM totals WHERE id IN (1, 2 - 4, 77, 100000000000);") == [[1], [-2]]
    assert pull(server, "SELECT id FROM totals WHERE id > -2 AND id <= 1;") == [[-1], [0], [1]]
    assert pull(server, "SELECT id + 1 AS x FROM totals WHERE s > 9 AND ABS(id) = 2;") == [[3]]
    assert pull(server, "SELECT id FROM totals WHERE id = 1.5;") == []
    assert len(pull(server, "SELECT * FROM totals LIMIT 3;")) == 3
    server.execute("INSERT INTO orders VALUES (1, 100);")
    seen = server.rows("SELECT * FROM totals EMIT CHANGES;", 11)
    assert pull(server, "SELECT * FROM totals WHERE id = 1;") == [row for row in seen if row[0] == 1][-1:]


def test_relational_queries_over_tables_that_change(server: EngineProcess, kafka: BrokerClient) -> None:
    orders, names = kafka.create_topic(partitions=2), kafka.create_topic()
    server.execute(f"CREATE STREAM sales (id INT KEY, v INT) WITH (kafka_topic='{orders}', value_format='JSON');")
    server.execute("CREATE TABLE sums AS SELECT id, COUNT(*) AS n, SUM(v) AS s FROM sales GROUP BY id;")
    columns = "id INT PRIMARY KEY, name STRING"
    server.execute(f"CREATE SOURCE TABLE people ({columns}) WITH (kafka_topic='{names}', value_format='JSON');")
    for i in range(4):
        kafka.produce(names, bytes((0, 0, 0, i)), {"NAME": f"p{i % 2}"})
    server.execute("".join(f"INSERT INTO sales VALUES ({n % 4}, {n});" for n in range(8)))
    joined = (
        "WITH q AS (SELECT p.name, SUM(s.s) AS total, COUNT(DISTINCT s.id) AS c FROM sums s JOIN people p "
        "ON s.id = p.id GROUP BY p.name) SELECT * FROM q ORDER BY total DESC;"
    )
    wait_for(lambda: pull(server, joined) == [["p1", 16, 2], ["p0", 12, 2]], joined)
    kafka.produce(names, bytes((0, 0, 0, 3)), {"NAME": "p0"})
    assert pull(server, joined) == [["p0", 22, 3], ["p1", 6, 1]]
    kafka.produce(names, bytes((0, 0, 0, 0)), None)
    assert pull(server, joined) == [["p0", 18, 2], ["p1", 6, 1]]
    looked_up = "SELECT s.id, p.name FROM sums s JOIN people p ON s.id = p.id WHERE s.id IN (1, 3) ORDER BY s.id DESC;"
    assert pull(server, looked_up) == [[3, "p0"], [1, "p1"]]
    without = {"ksql.query.pull.table.scan.enabled": "false"}
    assert pull(server, "SELECT n FROM sums WHERE id = 1 ORDER BY n;", **without) == [[2]]
    with pytest.raises(RequestFailed, match="Query requires table scan to be enabled"):
        pull(server, "SELECT COUNT(*) FROM sums;", **without)
    with pytest.raises(RequestFailed, match="don't support JOIN clauses"):
        pull(server, "SELECT n FROM sums s JOIN people p ON s.id = p.id;", **{"millstream.pull.relational": "false"})


def test_windows(server: EngineProcess, kafka: BrokerClient) -> None:
    topic = kafka.create_topic()
    server.execute(f"CREATE STREAM clicks (id STRING KEY, v INT) WITH (kafka_topic='{topic}', value_format='JSON');")
    select = "SELECT id, COUNT(*) AS n FROM clicks WINDOW {} GROUP BY id;"
    server.execute("CREATE TABLE tumbled AS " + select.format("TUMBLING (SIZE 1 SECOND)"))
    server.execute("CREATE TABLE sessions AS " + select.format("SESSION (1 SECOND)"))
    for time in (10_100, 10_900, 11_200, 15_000):
        kafka.produce(topic, "a", {"v": 1}, time)
    first, second, third = ["a", 10_000, 11_000, 2], ["a", 11_000, 12_000, 1], ["a", 15_000, 16_000, 1]
    settled(server, "SELECT * FROM tumbled WHERE id = 'a';", [first, second, third])
    assert pull(server, "SELECT * FROM tumbled WHERE id = 'a' AND WINDOWSTART = 11000;") == [second]
    assert pull(server, "SELECT * FROM tumbled WHERE WINDOWEND >= '1970-01-01T00:00:12';") == [second, third]
    settled(server, "SELECT * FROM sessions;", [["a", 10_100, 11_200, 3], ["a", 15_000, 15_000, 1]])
    assert pull(server, "SELECT n FROM sessions WHERE id = 'a' AND WINDOWEND < 12000;") == [[3]]


def test_source_tables(server: EngineProcess, kafka: BrokerClient) -> None:
    topic = kafka.create_topic()
    kafka.produce(topic, "k", {"V": 1}, headers=[("h", b"x")])
    kafka.produce(topic, "bad", "no JSON")
    columns = "id STRING PRIMARY KEY, v INT, h BYTES HEADER('h')"
    server.execute(f"CREATE SOURCE TABLE src ({columns}) WITH (kafka_topic='{topic}', value_format='JSON');")
    assert pull(server, "SELECT * FROM src;") == [["k", 1, "eA=="]]
    kafka.produce(topic, "k", None)
    assert pull(server, "SELECT * FROM src WHERE id = 'k';") == []
    (query,) = (q for q in server.execute("SHOW QUERIES;")[0]["queries"] if q["id"].startswith("CST_SRC"))
    assert query["state"] == "RUNNING"
    with pytest.raises(RequestFailed, match="linked to a source table"):
        server.execute(f"TERMINATE {query['id']};")
    server.execute("DROP TABLE src;")


def test_a_table_that_is_only_declared_is_refused(server: EngineProcess, kafka: BrokerClient) -> None:
    topic = kafka.create_topic()
    server.execute(f"CREATE TABLE plain (id INT PRIMARY KEY, v INT) WITH (kafka_topic='{topic}', value_format='JSON');")
    with pytest.raises(RequestFailed, match="isn't queryable"):
        pull(server, "SELECT * FROM plain;")


def test_rows_are_there_again_after_a_crash(begin: Begin, kafka: BrokerClient) -> None:
    topic = kafka.create_topic()
    columns = "id INT PRIMARY KEY, v INT"
    declared = f"CREATE SOURCE TABLE kept ({columns}) WITH (kafka_topic='{topic}', value_format='JSON');"
    service = {"ksql.service.id": kafka.unique("crash").replace("-", "_")}
    first = begin("first", **service)
    first.execute(declared)
    kafka.produce(topic, b"\0\0\0\1", {"V": 1})
    assert pull(first, "SELECT * FROM kept;") == [[1, 1]]
    indexed = "SELECT id FROM kept WHERE v = 1;"
    first.execute("CREATE INDEX by_v ON kept (v); CREATE INDEX by_both ON kept (v, id);")
    wait_for(lambda: ready(first) == {"BY_V": True, "BY_BOTH": True}, "both indexes are built")
    assert pull(first, indexed) == [[1]]
    first.kill()
    kafka.produce(topic, b"\0\0\0\2", {"V": 2})
    kafka.produce(topic, b"\0\0\0\3", {"V": 1})
    second = begin("first", **service)
    assert pull(second, "SELECT * FROM kept WHERE id = 2;") == [[2, 2]]
    assert pull(second, "SELECT * FROM kept;") == [[1, 1], [2, 2], [3, 1]]
    assert ready(second) == {"BY_V": True, "BY_BOTH": True}
    assert pull(second, indexed) == [[1], [3]]
    kafka.produce(topic, b"\0\0\0\1", {"V": 2})
    kafka.produce(topic, b"\0\0\0\3", None)
    assert pull(second, indexed) == []
    assert pull(second, "SELECT id FROM kept WHERE v > 1;") == [[1], [2]]
    joined = "SELECT a.id AS i, b.id AS j FROM kept a JOIN kept b ON a.v = b.v WHERE a.v = 2 AND b.v = 2 ORDER BY i, j;"
    assert pull(second, joined) == [[1, 1], [1, 2], [2, 1], [2, 2]]
    plans = [second.execute(f"EXPLAIN {q}")[0]["queryDescription"]["executionPlan"] for q in (indexed, joined)]
    assert [plan.count("index BY_V with V of") for plan in plans] == [1, 2]
    (described,) = second.execute("DESCRIBE kept;")
    assert [index["name"] for index in described["sourceDescription"]["indexes"]] == ["BY_V", "BY_BOTH"]
    second.execute("DROP INDEX by_v;")
    assert pull(second, "SELECT id FROM kept WHERE v = 2;") == [[1], [2]]
    second.execute("DROP TABLE kept;")
    assert ready(second) == {}
    second.close()
