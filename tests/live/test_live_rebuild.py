"""A table is rebuilt beside its query, through kill -9, and cut over to while pull queries ask for its rows."""

import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from millstream.engine.api import RequestFailed
from millstream.spark.state_layout import FILE
from support.engine_process import EngineProcess
from support.kafka import BrokerClient, wait_for
from support.restarted_server import RestartedServer

pytestmark = pytest.mark.live
Begin = Callable[..., EngineProcess]
# Seconds; a machine may have other things to do.
PATIENCE = 300
DECLARED = "CREATE STREAM {0} (id STRING KEY, v INT) WITH (kafka_topic='{0}', format='JSON');"
COUNT = "CREATE TABLE {0}_N AS SELECT id, COUNT(*) AS n FROM {0} GROUP BY id EMIT CHANGES;"
SUM = (
    "CREATE OR REPLACE TABLE {0}_N WITH (rebuild=true) AS "
    "SELECT id, COUNT(*) AS n, SUM(v) AS total FROM {0} GROUP BY id EMIT CHANGES;"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The server's data folder."""
    return tmp_path_factory.mktemp("rebuilds")


@pytest.fixture(scope="module")
def start_server(begin: Begin, kafka: BrokerClient, folder: Path) -> Callable[[], EngineProcess]:
    """A server with a data folder and a service id of its own."""
    settings = {"millstream.data.dir": str(folder), "ksql.service.id": kafka.unique("rebuilds").replace("-", "_")}
    return lambda: begin("one", **settings)


class RebuiltTable:
    """A count that is rebuilt with a sum beside it, by queries of one guarantee: what three servers say of it."""

    def __init__(self, kafka: BrokerClient, guarantee: str) -> None:
        self._kafka = kafka
        self.topic = kafka.create_topic(kafka.source_name("rebuilt"), partitions=2)
        self.table = f"{self.topic}_N"
        # The rebuild reads from the beginning, whatever this says; the count begins before the first row.
        self._settings = {"auto.offset.reset": "latest", "processing.guarantee": guarantee}
        self.old = self.new = self._beside = ""

    def start_rebuild(self, server: EngineProcess) -> None:
        """Start the count and its rebuild, which is paused; the table can neither be dropped nor read meanwhile."""
        table = self.table
        server.execute(DECLARED.format(self.topic) + COUNT.format(self.topic), **self._settings)
        self.old = query_of(server, table)
        write(self._kafka, self.topic, 10)
        self._wait_for_row(server, "the counts", N=10)

        self._beside = f"{table}_{next_number(self.old)}"
        self.new = new = f"CTAS_{self._beside}"
        # In one request: a second later it may have caught up.
        answer, _ = server.execute(SUM.format(self.topic) + f"PAUSE {new};", **self._settings)
        assert answer["commandStatus"]["queryId"] == new
        assert first_line(server, new) == f"{new} rebuilds {table}: PAUSED"
        extended = server.execute(f"DESCRIBE {table} EXTENDED;")[0]["sourceDescription"]
        assert f"{new} rebuilds {table}: PAUSED" in extended["statistics"]
        with pytest.raises(RequestFailed, match=f"{table} is being rebuilt as {self._beside}"):
            server.execute(f"DROP TABLE {table};")
        with pytest.raises(RequestFailed, match=f"{table} is being rebuilt as {self._beside}"):
            server.execute(f"CREATE TABLE {self.topic}_M AS SELECT * FROM {table};")

    def cut_over(self, server: EngineProcess) -> None:
        """Have the rebuild go on: each answer meanwhile is whole, from one query or from the other."""
        new, table = self.new, self.table
        write(self._kafka, self.topic, 1)
        self._wait_for_row(server, "a count by the old query", N=11)
        server.execute(f"RESUME {new};")
        deadline = time.monotonic() + PATIENCE
        rows = [pulled(server, table)]
        progress = rf"{new} rebuilds {table}: (\d+ of \d+ records read, \d+ to go|RUNNING)|Write TABLE .*"
        while "TOTAL" not in rows[-1] and time.monotonic() < deadline:
            assert re.fullmatch(progress, first_line(server, new))
            rows.append(pulled(server, table))
        assert {tuple(row.items()) for row in rows[:-1]} == {(("ID", "a"), ("N", 11))}
        assert rows[-1] == {"ID": "a", "N": 11, "TOTAL": 45}
        described = server.execute(f"DESCRIBE {table};")[0]["sourceDescription"]
        assert (described["topic"], described["writeQueries"][0]["id"]) == (self._beside, new)

    def go_on(self, server: EngineProcess) -> None:
        """The log says the same after another crash, and a replacement in place keeps the new topic."""
        write(self._kafka, self.topic, 1)
        self._wait_for_row(server, "a row of the new query", N=12, TOTAL=45)
        in_place = SUM.format(self.topic).replace("WITH (rebuild=true) ", "")
        server.execute(in_place.replace("GROUP BY", "WHERE v < 5 GROUP BY"), **self._settings)
        write(self._kafka, self.topic, 6)
        self._wait_for_row(server, "rows of the new filter", N=17, TOTAL=55)

    def _wait_for_row(self, server: EngineProcess, what: str, **values: int) -> None:
        wait_for(lambda: pulled(server, self.table) == {"ID": "a", **values}, what, PATIENCE)


def next_number(id: str) -> int:
    """The number of the query after this one."""
    return int(id.rpartition("_")[2]) + 1


def test_rebuilds_survive_a_crash_and_take_over_the_names(
    restarted: RestartedServer, kafka: BrokerClient, folder: Path
) -> None:
    rebuilt = [RebuiltTable(kafka, guarantee) for guarantee in ("at_least_once", "exactly_once_v2")]
    for one in rebuilt:
        one.start_rebuild(restarted.now)
    restarted.kill_and_start()
    assert queries(restarted.now) == {id for one in rebuilt for id in (one.old, one.new)}
    for one in rebuilt:
        one.cut_over(restarted.now)
    assert queries(restarted.now) == {one.new for one in rebuilt}
    assert {t["name"] for t in restarted.now.execute("SHOW TABLES;")[0]["tables"]} == {one.table for one in rebuilt}
    checkpoints = [path.name for path in next((folder / "checkpoints").iterdir()).iterdir()]
    assert sorted(name.rpartition("-")[0] for name in checkpoints) == sorted(one.new for one in rebuilt)
    restarted.kill_and_start()
    for one in rebuilt:
        one.go_on(restarted.now)


def test_states_of_another_version_end_the_start_and_a_rebuild_mends_it(
    restarted: RestartedServer, kafka: BrokerClient, folder: Path
) -> None:
    """A later version may store something else for the same statement: the query does not misread what there is."""
    topic = kafka.create_topic(kafka.source_name("stored"), partitions=2)
    table, server = f"{topic}_N", restarted.now
    server.execute(DECLARED.format(topic) + COUNT.format(topic))
    old = query_of(server, table)
    write(kafka, topic, 10)
    wait_for(lambda: pulled(server, table) == {"ID": "a", "N": 10}, "the counts", PATIENCE)
    server.execute(f"PAUSE {old};")
    (note,) = folder.glob(f"checkpoints/*/{old}-*/{FILE}")
    note.write_text(note.read_text().replace("bigint", "int"))
    server.execute(f"RESUME {old};")
    wait_for(lambda: server.state(old) == "ERROR", "the query's failure", PATIENCE)
    (query,) = server.execute(f"EXPLAIN {old};")
    assert "operator 0 has stored" in json.dumps(query)
    again = COUNT.format(topic).replace("CREATE TABLE", "CREATE OR REPLACE TABLE")
    beside = kafka.unique("beside")
    server.execute(again.replace(" AS SELECT", f" WITH (rebuild=true, kafka_topic='{beside}') AS SELECT"))
    wait_for(lambda: query_of(server, table) != old, "the rebuilt query", PATIENCE)
    write(kafka, topic, 1)
    wait_for(lambda: pulled(server, table) == {"ID": "a", "N": 11}, "the counts", PATIENCE)
    server.execute(f"DROP TABLE {table};")


def test_a_rebuild_is_dropped(restarted: RestartedServer, kafka: BrokerClient) -> None:
    name = kafka.create_topic(kafka.source_name("given"))
    drop_rebuild(restarted.now, kafka, name)
    cut_over_while_pushed(restarted.now, name)


def drop_rebuild(server: EngineProcess, kafka: BrokerClient, name: str) -> None:
    """What EXPLAIN says of a rebuild; its table is dropped, and the old query goes on."""
    table = f"{name}_N"
    server.execute(DECLARED.format(name) + COUNT.format(name))
    old = query_of(server, table)
    write(kafka, name, 2)
    explained = server.execute(f"EXPLAIN {SUM.format(name)}")[0]["queryDescription"]
    beside = f"{table}_{next_number(old)}"
    assert (explained["sinks"], explained["replacement"]["inPlace"]) == ([beside], False)
    assert f"create topic {beside} with 1 partition(s)\nstart query CTAS_{beside}" in explained["executionPlan"]
    assert query_of(server, table) == old
    new = f"CTAS_{beside}"
    answer, *_ = server.execute(f"{SUM.format(name)} PAUSE {new}; DROP TABLE {beside} DELETE TOPIC;")
    assert answer["commandStatus"]["queryId"] == new
    assert [q["id"] for q in server.execute("SHOW QUERIES;")[0]["queries"]] == [old]
    wait_for(lambda: beside not in kafka.topics(), "the topic to be deleted", PATIENCE)
    write(kafka, name, 1)
    wait_for(lambda: pulled(server, table) == {"ID": "a", "N": 3}, "a count by the old query", PATIENCE)


def cut_over_while_pushed(server: EngineProcess, name: str) -> None:
    """Another one, cut over to while push queries are open, of which one has a Spark query of its own."""
    table = f"{name}_N"
    for shared in ("true", "false"):
        (answer,) = server.execute(SUM.format(name).replace("SUM(v)", "SUM(v)" if shared == "true" else "MAX(v)"))
        server.execute(f"PAUSE {answer['commandStatus']['queryId']};")
        select, cut_over = f"SELECT * FROM {table} EMIT CHANGES;", f"ALTER TABLE {table} CUT OVER;"
        with pytest.raises(RequestFailed, match=rf"{table} was moved from topic {table}\S* to topic {table}_\d+"):
            server.rows(select, 1000, cut_over, **{"millstream.push.shared": shared})


def queries(server: EngineProcess) -> set[str]:
    """The ids of all queries."""
    return {q["id"] for q in server.execute("SHOW QUERIES;")[0]["queries"]}


def first_line(server: EngineProcess, query: str) -> str:
    """The first line of a query's plan, which says what becomes of a rebuild."""
    return str(server.execute(f"EXPLAIN {query};")[0]["queryDescription"]["executionPlan"].splitlines()[0])


def query_of(server: EngineProcess, sink: str) -> str:
    (id,) = [q["id"] for q in server.execute("SHOW QUERIES;")[0]["queries"] if sink in q["sinks"]]
    return str(id)


def pulled(server: EngineProcess, table: str) -> dict[str, Any]:
    """The row of the key `a`, by column name; empty if there is none."""
    names = [f["name"] for f in server.execute(f"DESCRIBE {table};")[0]["sourceDescription"]["fields"]]
    rows = server.rows(f"SELECT * FROM {table} WHERE id = 'a';", 1)
    return dict(zip(names, rows[0], strict=False)) if rows else {}


def write(kafka: BrokerClient, topic: str, count: int) -> None:
    """Rows of two keys with the values from 0 on."""
    for v in range(count):
        for key in ('"a"', '"b"'):
            kafka.send(topic, key, {"v": v})
    kafka.flush()
