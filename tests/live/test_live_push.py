"""Push queries that share a consumer, through a real broker, a real Spark and HTTP."""

import json
import re
import time
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from millstream.engine.push_queries import LONGEST_BACKLOG
from millstream.services.broker import BrokerProcess
from support.kafka import BrokerClient, wait_for
from support.patience import PATIENCE
from support.server_process import ServerProcess
from support.sources import declare

pytestmark = pytest.mark.live
COLUMNS = "id INT KEY, v STRING"
# Metrics are kept so long, in seconds.
METRICS_KEPT = 1.1
LATEST, EARLIEST = {"auto.offset.reset": "latest"}, {"auto.offset.reset": "earliest"}
TOKEN = "request.ksql.query.push.continuation.token"
TOKENS = {"ksql.query.push.v2.continuation.tokens.enabled": "true"}


@pytest.fixture(scope="module")
def server(
    broker: BrokerProcess, kafka: BrokerClient, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ServerProcess]:
    """A server of this module's own."""
    service = kafka.unique("push").replace("-", "_")
    settings = {"ksql.service.id": service, "millstream.push.buffer.rows": "2000"}
    with ServerProcess(broker.bootstrap, tmp_path_factory.mktemp("push"), **settings) as process:
        yield process


class PushClient:
    """A push query over HTTP, whose rows are read line by line."""

    def __init__(self, server: ServerProcess, text: str, token: str = "", **properties: str) -> None:
        body = {"sql": text, "properties": LATEST | properties, "requestProperties": {TOKEN: token} if token else {}}
        self._client = httpx.Client(timeout=PATIENCE)
        self._answer = self._client.stream("POST", f"{server.url}/query-stream", json=body)
        self._lines = self._answer.__enter__().iter_lines()
        self.header: dict[str, Any] = json.loads(next(self._lines))

    def rows(self, count: int) -> list[Any]:
        """The next rows."""
        return [json.loads(next(self._lines)) for _ in range(count)]

    def rest(self) -> list[Any]:
        """All rows until the server ends the answer."""
        return [json.loads(line) for line in self._lines]

    def close(self) -> None:
        """Leave."""
        self._client.close()


def figure(server: ServerProcess, name: str) -> int:
    """A gauge of the server's metrics."""
    shown = httpx.get(f"{server.url}/metrics", timeout=PATIENCE).text
    (value,) = re.findall(rf"^{name} (\d+)", shown, re.MULTILINE)
    return int(value)


def reaches(server: ServerProcess, name: str, value: int) -> None:
    """Wait until a gauge has a value; metrics are those of up to a second ago."""
    wait_for(lambda: figure(server, name) == value, f"{name} {value}", seen=lambda: str(figure(server, name)))


def wait_until_closed(server: ServerProcess) -> None:
    """Wait until no push query has a consumer."""
    time.sleep(METRICS_KEPT)
    reaches(server, "millstream_push_consumers", 0)
    reaches(server, "millstream_push_queries", 0)


def test_many_clients_get_all_rows_of_one_consumer(server: ServerProcess, kafka: BrokerClient) -> None:
    name, topic = declare(server.ksql, kafka, COLUMNS)
    kafka.produce(topic, "0", {"v": "before"})
    text = f"SELECT id, UCASE(v) AS v FROM {name} WHERE id > 0 EMIT CHANGES;"
    with ThreadPoolExecutor(50) as pool:
        clients = list(pool.map(lambda _: PushClient(server, text), range(50)))
        clients.append(PushClient(server, f"SELECT id, 'ROW ' + CAST(id AS STRING) FROM {name} EMIT CHANGES;"))
        reaches(server, "millstream_push_queries", 51)
        reaches(server, "millstream_push_consumers", 1)
        assert not [t for t in kafka.topics() if "-transient-" in t]
        for n in range(1, 1001):
            kafka.send(topic, str(n), {"v": f"row {n}"})
        kafka.flush()
        answers = list(pool.map(lambda client: client.rows(1000), clients))
    assert all(rows == [[n, f"ROW {n}"] for n in range(1, 1001)] for rows in answers)
    for client in clients:
        client.close()
    wait_until_closed(server)


def test_a_client_that_does_not_read_is_ended_without_delaying_others(
    server: ServerProcess, kafka: BrokerClient
) -> None:
    name, topic = declare(server.ksql, kafka, COLUMNS)
    text = f"SELECT id, v FROM {name} EMIT CHANGES;"
    slow, *readers = (PushClient(server, text) for _ in range(4))
    sent = 0
    reaches(server, "millstream_push_queries", 4)
    # The sockets' buffers hold megabytes before the server notices that the client does not read.
    while figure(server, "millstream_push_queries") == 4:
        for n in range(sent, sent + 500):
            kafka.send(topic, str(n), {"v": "x" * 4000})
        kafka.flush()
        for reader in readers:
            assert [row[0] for row in reader.rows(500)] == list(range(sent, sent + 500))
        sent += 500
        assert sent < 50_000, "a client that reads nothing is not ended"
    *rows, error = slow.rest()
    assert [row[0] for row in rows] == list(range(len(rows)))
    assert "millstream.push.buffer.rows" in error["message"]
    kafka.produce(topic, "-1", {"v": "after"})
    assert [reader.rows(1) for reader in readers] == [[[-1, "after"]]] * 3
    for client in (slow, *readers):
        client.close()
    wait_until_closed(server)


def test_rows_and_log_are_those_of_a_query_of_its_own(server: ServerProcess, kafka: BrokerClient) -> None:
    columns = "id INT KEY, n INT, d DECIMAL(6, 2), t TIMESTAMP, a ARRAY<STRUCT<x INT>>, b BYTES, h BYTES HEADER('h')"
    name, topic = declare(server.ksql, kafka, columns)
    select = f"SELECT *, 10 / n AS q, EXPLODE(a)->x AS x, ROWTIME, ROWOFFSET FROM {name} WHERE n IS NULL OR n < 9"
    alone = PushClient(server, f"{select} EMIT CHANGES;", **{"millstream.push.shared": "false"})
    shared = PushClient(server, f"{select} EMIT CHANGES;")
    reaches(server, "millstream_push_consumers", 1)
    row = {"n": 3, "d": 1.5, "t": 1700000000123, "a": [{"x": 1}, {"x": 2}], "b": "AQI="}
    records: list[tuple[Any, Any]] = [
        ("1", row),
        ("2", b"this is no JSON"),
        ("3", None),
        (None, row | {"n": 0}),
        ("no int", row),
        ("4", row | {"n": 9}),
        ("5", row | {"n": None, "d": None, "t": None, "b": None, "a": [None]}),
        ("6", row | {"d": 123456789}),
        ("7", row | {"a": None}),
        ("8", row),
    ]
    for at, (key, value) in enumerate(records, 1000):
        kafka.produce(topic, key, value, at, [("h", b"x")] if at % 2 else [])
    rows = alone.rows(7)
    assert rows[-1][0] == 8
    assert shared.rows(7) == rows
    # The log is written in the background.
    wait_for(lambda: len(logged(server, kafka, f"transient_{name}")) >= 4, "the entries of the query of its own")
    wait_for(
        lambda: logged(server, kafka, f"push_{name}") == logged(server, kafka, f"transient_{name}"),
        "the same entries of the shared query",
        seen=lambda: f"{logged(server, kafka, f'push_{name}')}",
    )
    for client in (alone, shared):
        client.close()
    wait_until_closed(server)


def logged(server: ServerProcess, kafka: BrokerClient, query: str) -> list[tuple[str, Any]]:
    """The place in the query and the message of each entry of the processing log about a query."""
    info = httpx.get(f"{server.url}/info", timeout=PATIENCE).json()["KsqlServerInfo"]
    log = f"{info['ksqlServiceId']}ksql_processing_log"
    entries: list[Any] = [record.json for record in kafka.consume_all(log, kafka.ends(log))]
    own_entries = [entry for entry in entries if entry["logger"].startswith(f"processing.{query}")]
    return [(entry["logger"].split(".", 2)[2], entry["message"]) for entry in own_entries]


def test_a_limit_ends_the_query(server: ServerProcess, kafka: BrokerClient) -> None:
    name, topic = declare(server.ksql, kafka, COLUMNS, 3)
    clients = [PushClient(server, f"SELECT v FROM {name} EMIT CHANGES LIMIT {n};") for n in (0, 1, 4)]
    for n in range(5):
        kafka.produce(topic, "1", {"v": str(n)})
    assert [client.rest() for client in clients] == [[], [["0"]], [["0"], ["1"], ["2"], ["3"]]]
    wait_until_closed(server)


def test_changes_of_a_table_if_ksqldb_would_share_them(server: ServerProcess, kafka: BrokerClient) -> None:
    name, topic = declare(server.ksql, kafka, COLUMNS)
    server.ksql(
        f"CREATE TABLE {name}_T AS SELECT id, COUNT(*) AS n FROM {name} GROUP BY id HAVING COUNT(*) < 3;",
        **{"auto.offset.reset": "earliest"},
    )
    kafka.produce(topic, "1", {"v": "a"})
    kafka.consume_all(f"{name}_T", 1)
    client = PushClient(server, f"SELECT * FROM {name}_T EMIT CHANGES;", **{"ksql.query.push.v2.enabled": "true"})
    assert client.header["queryId"].startswith("SCALABLE_PUSH_QUERY")
    complete = PushClient(server, f"SELECT * FROM {name}_T EMIT CHANGES;")
    kafka.produce(topic, "1", {"v": "b"})
    kafka.produce(topic, "1", {"v": "c"})
    assert client.rows(2) == [[1, 2], [1, None]]
    assert complete.rows(3) == [[1, 1], [1, 2], [1, None]]
    client.close()
    complete.close()
    wait_until_closed(server)


def test_changes_of_a_table_that_pass_a_filter(server: ServerProcess, kafka: BrokerClient) -> None:
    name, topic = declare(server.ksql, kafka, COLUMNS)
    server.ksql(f"CREATE TABLE {name}_T AS SELECT id, COUNT(*) AS n FROM {name} GROUP BY id;", **EARLIEST)
    kafka.produce(topic, "1", {"v": "a"})
    kafka.consume_all(f"{name}_T", 1)
    text = f"SELECT id, n * 10 AS m FROM {name}_T WHERE n <> 3 EMIT CHANGES;"
    clients = [PushClient(server, text, **{"ksql.query.push.v2.enabled": "true"}) for _ in range(5)]
    reaches(server, "millstream_push_consumers", 1)
    for n in range(2, 6):
        kafka.produce(topic, "1", {"v": "b"})
        kafka.consume_all(f"{name}_T", n)
    assert [client.rows(3) for client in clients] == [[[1, 20], [1, 40], [1, 50]]] * 5
    for client in clients:
        client.close()
    wait_until_closed(server)


def test_queries_from_the_beginning_join_the_others(server: ServerProcess, kafka: BrokerClient) -> None:
    name, topic = declare(server.ksql, kafka, COLUMNS, 2)
    for n in range(3000):
        kafka.send(topic, str(n), {"v": f"row {n}"})
    kafka.flush()
    latest = PushClient(server, f"SELECT id FROM {name} EMIT CHANGES;")
    early = [PushClient(server, f"SELECT id FROM {name} EMIT CHANGES;", **EARLIEST) for _ in range(3)]
    for n in range(3000, 4000):
        kafka.send(topic, str(n), {"v": f"row {n}"})
    kafka.flush()
    assert sorted(latest.rows(1000)) == [[n] for n in range(3000, 4000)]
    assert [sorted(client.rows(4000)) for client in early] == [[[n] for n in range(4000)]] * 3
    reaches(server, "millstream_push_consumers", 1)
    kafka.produce(topic, "4000", {"v": "after"})
    assert [client.rows(1) for client in (latest, *early)] == [[[4000]]] * 4
    assert not [t for t in kafka.topics() if "-transient-" in t]
    for client in (latest, *early):
        client.close()
    wait_until_closed(server)


def test_a_query_goes_on_after_its_token(server: ServerProcess, kafka: BrokerClient) -> None:
    name, topic = declare(server.ksql, kafka, COLUMNS)
    text = f"SELECT id FROM {name} WHERE id <> 2 EMIT CHANGES;"
    first = PushClient(server, text, **TOKENS)
    (start,) = first.rows(1)
    for n in range(4):
        kafka.produce(topic, str(n), {"v": "a"})
    answer = [start]
    while sum(isinstance(row, list) for row in answer) < 3 or isinstance(answer[-1], list):
        answer += first.rows(1)
    first.close()
    assert [row for row in answer if isinstance(row, list)] == [[0], [1], [3]]
    token = answer[-1]["continuationToken"]
    for n in range(4, 7):
        kafka.produce(topic, str(n), {"v": "a"})
    after, again = PushClient(server, text, token), PushClient(server, text, start["continuationToken"])
    assert (after.rows(3), again.rows(6)) == ([[4], [5], [6]], [[0], [1], [3], [4], [5], [6]])
    reaches(server, "millstream_push_consumers", 1)
    kafka.produce(topic, "7", {"v": "a"})
    assert (after.rows(1), again.rows(1)) == ([[7]], [[7]])
    for client in (after, again):
        client.close()
    wait_until_closed(server)


def test_a_token_that_cannot_be_followed_is_refused(server: ServerProcess, kafka: BrokerClient) -> None:
    name, topic = declare(server.ksql, kafka, COLUMNS)
    other, _ = declare(server.ksql, kafka, COLUMNS)
    client = PushClient(server, f"SELECT id FROM {name} EMIT CHANGES;", **TOKENS)
    token = client.rows(1)[0]["continuationToken"]
    client.close()

    def refusal(text: str, token: str) -> str:
        body = {"sql": text, "properties": LATEST, "requestProperties": {TOKEN: token}}
        answer = httpx.post(f"{server.url}/query-stream", json=body, timeout=PATIENCE)
        assert (answer.status_code, answer.json()["error_code"]) == (400, 40001)
        return str(answer.json()["message"])

    assert f"it is a token of topic {topic}" in refusal(f"SELECT id FROM {other} EMIT CHANGES;", token)
    assert "it is not a continuation token" in refusal(f"SELECT id FROM {name} EMIT CHANGES;", "x")
    assert "it has state" in refusal(f"SELECT id, COUNT(*) FROM {name} GROUP BY id EMIT CHANGES;", token)
    wait_until_closed(server)


WITH_STATE = tomllib.loads(Path(__file__).with_name("push_with_state.toml").read_text())


def declare_with_state(server: ServerProcess, kafka: BrokerClient) -> dict[str, str]:
    """The sources of WITH_STATE, by their letters."""
    names = {name: kafka.create_topic(kafka.source_name("p")) for name in "oct"}
    server.ksql(WITH_STATE["statements"].format(**names))
    return names


def produce_with_state(kafka: BrokerClient, names: dict[str, str]) -> None:
    """The records of WITH_STATE."""
    for name, key, value, at in WITH_STATE["records"]:
        kafka.send(names[name], key, value.encode() or None, at)
    kafka.flush()


@pytest.mark.parametrize("in_server", ["true", "false"])
def test_queries_with_state_give_the_same_rows_in_the_server_and_in_spark(
    in_server: str, server: ServerProcess, kafka: BrokerClient
) -> None:
    names = declare_with_state(server, kafka)
    produce_with_state(kafka, names)

    def answer(query: Any) -> list[Any]:
        settings = EARLIEST | {"millstream.push.shared": in_server}
        with closing(PushClient(server, text_of(query, names), **settings)) as client:
            return client.rows(len(query["rows"]))

    with ThreadPoolExecutor(4) as pool:
        for query, rows in zip(WITH_STATE["query"], pool.map(answer, WITH_STATE["query"]), strict=True):
            assert in_order(query, rows) == in_order(query, expected(query)), query["select"]
    wait_until_closed(server)


def text_of(query: Any, names: dict[str, str]) -> str:
    """The statement of a query of WITH_STATE."""
    select = query["select"].format(**names)
    return f"{select};" if "EMIT" in select else f"{select} EMIT CHANGES;"


def expected(query: Any) -> list[Any]:
    """The rows of a query of WITH_STATE."""
    return [json.loads(row) for row in query["rows"]]


def in_order(query: Any, rows: list[Any]) -> list[Any]:
    """The rows; sorted if their order depends on which of two topics is read first."""
    return rows if query.get("ordered", True) else sorted(rows, key=json.dumps)


def test_queries_with_state_that_begin_late_follow_their_topics(server: ServerProcess, kafka: BrokerClient) -> None:
    names = declare_with_state(server, kafka)
    queries = [query for query in WITH_STATE["query"] if query.get("ordered", True)]
    with ThreadPoolExecutor(4) as pool:
        clients = list(pool.map(lambda query: PushClient(server, text_of(query, names)), queries))
    reaches(server, "millstream_push_consumers", len(queries))
    assert not [t for t in kafka.topics() if "-transient-" in t]
    produce_with_state(kafka, names)
    for client, query in zip(clients, queries, strict=True):
        assert client.rows(len(query["rows"])) == expected(query), query["select"]
        client.close()
    wait_until_closed(server)


def test_a_join_of_tables_follows_both(server: ServerProcess, kafka: BrokerClient) -> None:
    names = declare_with_state(server, kafka)
    text = "SELECT c.id, c.name, t.name FROM {c} c LEFT JOIN {t} t ON c.town = t.id EMIT CHANGES;"
    client = PushClient(server, text.format(**names))
    rows = []
    for topic, key, value in (
        ("c", "1", {"NAME": "ann", "TOWN": 10}),
        ("t", "10", {"NAME": "Aachen"}),
        ("c", "1", {"NAME": "anna", "TOWN": 10}),
        ("t", "10", None),
        ("c", "1", None),
    ):
        kafka.produce(names[topic], key, value)
        rows += client.rows(1)
    assert rows == [[1, "ann", None], [1, "ann", "Aachen"], [1, "anna", "Aachen"], [1, "anna", None], [None] * 3]
    client.close()
    wait_until_closed(server)


def test_a_long_backlog_with_state_is_read_by_spark(server: ServerProcess, kafka: BrokerClient) -> None:
    name, topic = declare(server.ksql, kafka, COLUMNS)
    for n in range(LONGEST_BACKLOG + 1):
        kafka.send(topic, str(n % 7), {"v": "x"})
    kafka.flush()
    client = PushClient(server, f"SELECT id, COUNT(*) AS n FROM {name} GROUP BY id EMIT CHANGES;", **EARLIEST)
    assert [t for t in kafka.topics() if "-transient-" in t]
    counts = dict(client.rows(LONGEST_BACKLOG + 1))
    assert sum(counts.values()) == LONGEST_BACKLOG + 1
    client.close()
    wait_until_closed(server)


@pytest.mark.parametrize("select", ["SELECT v FROM {}", "SELECT id, COUNT(*) AS n FROM {} GROUP BY id"])
def test_a_topic_that_does_not_exist_is_named(select: str, server: ServerProcess, kafka: BrokerClient) -> None:
    name, topic = declare(server.ksql, kafka, COLUMNS)
    kafka.delete_topic(topic)
    body = {"sql": f"{select.format(name)} EMIT CHANGES;"}
    answer = httpx.post(f"{server.url}/query-stream", json=body, timeout=PATIENCE).json()
    assert answer["message"] == f"Kafka: topic {topic} does not exist"
    wait_until_closed(server)


def test_a_topic_that_is_deleted_ends_its_queries(server: ServerProcess, kafka: BrokerClient) -> None:
    name, topic = declare(server.ksql, kafka, COLUMNS)
    client = PushClient(server, f"SELECT v FROM {name} EMIT CHANGES;")
    kafka.produce(topic, "1", {"v": "a"})
    assert client.rows(1) == [["a"]]
    kafka.delete_topic(topic)
    (error,) = client.rest()
    assert f"topic {topic} was deleted" in error["message"]
    wait_until_closed(server)


def test_explain_of_a_running_push_query(server: ServerProcess, kafka: BrokerClient) -> None:
    """By the id that SHOW QUERIES gives, whether the server evaluates it or Spark."""
    name, _ = declare(server.ksql, kafka, COLUMNS)
    for shared in ("true", "false"):
        text = f"SELECT v FROM {name} WHERE v > '7' EMIT CHANGES;"
        with closing(PushClient(server, text, **{"millstream.push.shared": shared})) as client:
            id = client.header["queryId"]
            described = server.ksql(f"EXPLAIN {id};")[0]["queryDescription"]
            assert (described["id"], described["queryType"], described["state"]) == (id, "PUSH", "RUNNING")
            assert (described["statementText"], described["sources"]) == (text, [name])
            assert "> '7'" in described["executionPlan"]
            assert list(described["ksqlHostQueryStatus"].values()) == ["RUNNING"]
            assert described in server.ksql("SHOW QUERIES EXTENDED;")[0]["queryDescriptions"]
    wait_until_closed(server)
    with pytest.raises(AssertionError, match="does not exist, use SHOW QUERIES"):
        server.ksql(f"EXPLAIN {id};")


def test_a_server_that_stops_ends_its_queries(server: ServerProcess, kafka: BrokerClient) -> None:
    name, _ = declare(server.ksql, kafka, COLUMNS)
    clients = [PushClient(server, f"SELECT v FROM {name} EMIT CHANGES;") for _ in range(3)]
    assert server.stop() == 0
    for client in clients:
        client.close()
