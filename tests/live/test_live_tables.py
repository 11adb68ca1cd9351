"""Pull queries on tables through a real broker: by key, range and index, windows, and SOURCE tables."""

from typing import Any

import httpx
import pytest

from millstream.engine.api import RequestFailed
from support.engine_process import EngineProcess
from support.kafka import BrokerClient, wait_for
from support.patience import PATIENCE

pytestmark = pytest.mark.live
MANY = 1_000_000


def pull(server: EngineProcess, query: str, **properties: str) -> list[list[Any]]:
    return server.rows(query, MANY, **properties)


def settled(server: EngineProcess, query: str, rows: list[list[Any]]) -> None:
    """Wait until the query's rows, in any order, are these."""
    wait_for(lambda: sorted(pull(server, query), key=repr) == sorted(rows, key=repr), f"{query} gives {rows}")


def test_a_table_that_a_query_makes(server: EngineProcess, kafka: BrokerClient) -> None:
    topic = kafka.create_topic(partitions=2)
    server.execute(f"CREATE STREAM orders (id INT KEY, v INT) WITH (kafka_topic='{topic}', value_format='JSON');")
    server.execute("CREATE TABLE totals AS SELECT id, COUNT(*) AS n, SUM(v) AS s FROM orders GROUP BY id;")
    server.execute("".join(f"INSERT INTO orders VALUES ({n % 5 - 2}, {n});" for n in range(10)))
    settled(server, "SELECT * FROM totals;", [[i - 2, 2, 2 * i + 5] for i in range(5)])
    assert pull(server, "SELECT s, id FROM totals WHERE id = -1;") == [[7, -1]]
    assert pull(server, "SELECT id FROM totals WHERE id IN (1, 2 - 4, 77);") == [[1], [-2]]
    assert pull(server, "SELECT id FROM totals WHERE id > -2 AND id <= 1;") == [[-1], [0], [1]]
    assert pull(server, "SELECT id + 1 AS x FROM totals WHERE s > 9 AND ABS(id) = 2;") == [[3]]
    with pytest.raises(
        RequestFailed, match=r"'1\.5' can not be converted to the type of the key column: ID INTEGER KEY"
    ):
        pull(server, "SELECT id FROM totals WHERE id = 1.5;")
    assert len(pull(server, "SELECT * FROM totals LIMIT 3;")) == 3
    server.execute("INSERT INTO orders VALUES (1, 100);")
    seen = server.rows("SELECT * FROM totals EMIT CHANGES;", 11)
    assert pull(server, "SELECT * FROM totals WHERE id = 1;") == [row for row in seen if row[0] == 1][-1:]


@pytest.mark.parametrize("key", ["NULL", "CAST(NULL AS INT)"])
def test_a_row_of_a_table_needs_a_key(server: EngineProcess, kafka: BrokerClient, key: str) -> None:
    topic = kafka.create_topic()
    server.execute(f"CREATE TABLE keyed (id INT PRIMARY KEY, v INT) WITH (kafka_topic='{topic}', value_format='JSON');")
    with pytest.raises(RequestFailed, match=r"Value for primary key column\(s\) ID is required"):
        server.execute(f"INSERT INTO keyed VALUES ({key}, 1);")


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


def test_repeated_lookups_over_http(server: EngineProcess, kafka: BrokerClient) -> None:
    """Each has what is in the topic when it comes, and follows what statements do to the table."""
    topic = kafka.create_topic(partitions=2)
    create = f"CREATE SOURCE TABLE repeated ({{}}) WITH (kafka_topic='{topic}', value_format='JSON');"
    with httpx.Client(base_url=server.rest(), timeout=PATIENCE) as client:

        def look_up(key: str) -> httpx.Response:
            return client.post("/query-stream", json={"sql": f"SELECT * FROM repeated WHERE id = '{key}';"})

        server.execute(create.format("id STRING PRIMARY KEY, v INT, s STRING"))
        for i in range(30):
            kafka.produce(topic, f"k{i % 3}", {"V": i, "S": "é"})
            assert look_up(f"k{i % 3}").text.splitlines()[1:] == [f'["k{i % 3}",{i},"é"]']
            assert look_up("none").text.count("\n") == 1
        # A value that only the JVM converts, then a deletion.
        kafka.produce(topic, "k0", {"v": "7"})
        assert look_up("k0").text.splitlines()[1:] == ['["k0",7,null]']
        kafka.produce(topic, "k0", None)
        assert look_up("k0").text.count("\n") == 1
        server.execute("DROP TABLE repeated;")
        after_drop = look_up("k1")
        assert (after_drop.status_code, after_drop.json()["error_code"]) == (400, 40001)
        server.execute(create.format("id STRING PRIMARY KEY, s STRING"))
        for _ in range(3):
            assert look_up("k1").text.splitlines()[1:] == ['["k1","é"]']
        counts = httpx.get(f"{server.rest()}/metrics").text
    server.execute("DROP TABLE repeated;")
    assert 'http_request_duration_seconds_count{code="200",method="POST",route="/query-stream"} 65.0' in counts


def test_a_table_that_is_only_declared_is_refused(server: EngineProcess, kafka: BrokerClient) -> None:
    topic = kafka.create_topic()
    server.execute(f"CREATE TABLE plain (id INT PRIMARY KEY, v INT) WITH (kafka_topic='{topic}', value_format='JSON');")
    with pytest.raises(RequestFailed, match="isn't queryable"):
        pull(server, "SELECT * FROM plain;")
