"""A table is rebuilt beside its query, through kill -9, and cut over to while pull queries ask for its rows."""

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from millstream.engine.api import RequestFailed
from support.engine_process import EngineProcess
from support.kafka import BrokerClient, wait_for

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


@pytest.mark.parametrize("guarantee", ["at_least_once", "exactly_once_v2"])
def test_a_rebuild_survives_a_crash_and_takes_over_the_name(
    begin: Begin, kafka: BrokerClient, tmp_path: Path, guarantee: str
) -> None:
    name = kafka.create_topic(kafka.unique("rebuilt").replace("-", "_").upper(), partitions=2)
    table, settings = f"{name}_N", {"millstream.data.dir": str(tmp_path), "ksql.service.id": name}
    # The rebuild reads from the beginning, whatever this says; the count begins before the first row.
    settings |= {"auto.offset.reset": "latest", "processing.guarantee": guarantee}
    server = begin(guarantee, **settings)
    server.execute(DECLARED.format(name) + COUNT.format(name))
    old = query_of(server, table)
    write(kafka, name, 10)
    wait_for(lambda: pulled(server, table) == {"ID": "a", "N": 10}, "the counts", PATIENCE)

    (answer,) = server.execute(SUM.format(name))
    new, beside = answer["commandStatus"]["queryId"], f"{table}_{answer['commandStatus']['queryId'].split('_')[-1]}"
    server.execute(f"PAUSE {new};")
    assert server.execute(f"EXPLAIN {new};")[0]["queryDescription"]["executionPlan"].splitlines()[0] == (
        f"{new} rebuilds {table}: PAUSED"
    )
    extended = server.execute(f"DESCRIBE {table} EXTENDED;")[0]["sourceDescription"]
    assert f"{new} rebuilds {table}: PAUSED" in extended["statistics"]
    with pytest.raises(RequestFailed, match=f"{table} is being rebuilt as {beside}"):
        server.execute(f"DROP TABLE {table};")
    with pytest.raises(RequestFailed, match=f"{table} is being rebuilt as {beside}"):
        server.execute(f"CREATE TABLE {name}_M AS SELECT * FROM {table};")
    server.kill()
    server = begin(guarantee, **settings)
    assert {q["id"] for q in server.execute("SHOW QUERIES;")[0]["queries"]} == {old, new}
    write(kafka, name, 1)
    wait_for(lambda: pulled(server, table) == {"ID": "a", "N": 11}, "a count by the old query", PATIENCE)

    server.execute(f"RESUME {new};")
    deadline = time.monotonic() + PATIENCE
    rows = [pulled(server, table)]
    while "TOTAL" not in rows[-1] and time.monotonic() < deadline:
        first = server.execute(f"EXPLAIN {new};")[0]["queryDescription"]["executionPlan"].splitlines()[0]
        assert re.fullmatch(
            rf"{new} rebuilds {table}: (\d+ of \d+ records read, \d+ to go|RUNNING)|Write TABLE .*", first
        )
        rows.append(pulled(server, table))
    # Each answer is whole, from one query or from the other.
    assert {tuple(row.items()) for row in rows[:-1]} == {(("ID", "a"), ("N", 11))}
    assert rows[-1] == {"ID": "a", "N": 11, "TOTAL": 45}
    assert [q["id"] for q in server.execute("SHOW QUERIES;")[0]["queries"]] == [new]
    described = server.execute(f"DESCRIBE {table};")[0]["sourceDescription"]
    assert (described["topic"], described["writeQueries"][0]["id"]) == (beside, new)
    assert [t["name"] for t in server.execute("SHOW TABLES;")[0]["tables"]] == [table]
    folders = [path.name for path in (tmp_path / "checkpoints" / name).iterdir()]
    assert [folder.startswith(f"{new}-") for folder in folders] == [True]

    # The log says the same after another crash, and a replacement in place keeps the new topic.
    server.kill()
    server = begin(guarantee, **settings)
    write(kafka, name, 1)
    wait_for(lambda: pulled(server, table) == {"ID": "a", "N": 12, "TOTAL": 45}, "a row of the new query", PATIENCE)
    replaced = SUM.format(name).replace("WITH (rebuild=true) ", "").replace("GROUP BY", "WHERE v < 5 GROUP BY")
    server.execute(replaced)
    write(kafka, name, 6)
    wait_for(lambda: pulled(server, table) == {"ID": "a", "N": 17, "TOTAL": 55}, "rows of the new filter", PATIENCE)
    server.close()


def test_a_rebuild_is_dropped(begin: Begin, kafka: BrokerClient, tmp_path: Path) -> None:
    name = kafka.create_topic(kafka.unique("given").replace("-", "_").upper())
    table = f"{name}_N"
    server = begin("two", **{"millstream.data.dir": str(tmp_path), "ksql.service.id": name})
    server.execute(DECLARED.format(name) + COUNT.format(name))
    old = query_of(server, table)
    write(kafka, name, 2)
    explained = server.execute(f"EXPLAIN {SUM.format(name)}")[0]["queryDescription"]
    assert (explained["sinks"], explained["replacement"]["inPlace"]) == ([f"{table}_1"], False)
    assert f"create topic {table}_1 with 1 partition(s)\nstart query CTAS_{table}_1" in explained["executionPlan"]
    assert query_of(server, table) == old
    (answer,) = server.execute(SUM.format(name))
    new = answer["commandStatus"]["queryId"]
    beside = f"{table}_{new.split('_')[-1]}"
    server.execute(f"PAUSE {new}; DROP TABLE {beside} DELETE TOPIC;")
    assert [q["id"] for q in server.execute("SHOW QUERIES;")[0]["queries"]] == [old]
    wait_for(lambda: beside not in kafka.topics(), "the topic to be deleted", PATIENCE)
    write(kafka, name, 1)
    wait_for(lambda: pulled(server, table) == {"ID": "a", "N": 3}, "a count by the old query", PATIENCE)

    # Another one, cut over to while push queries are open, of which one has a Spark query of its own.
    for shared in ("true", "false"):
        (answer,) = server.execute(SUM.format(name).replace("SUM(v)", "SUM(v)" if shared == "true" else "MAX(v)"))
        server.execute(f"PAUSE {answer['commandStatus']['queryId']};")
        select, cut_over = f"SELECT * FROM {table} EMIT CHANGES;", f"ALTER TABLE {table} CUT OVER;"
        with pytest.raises(RequestFailed, match=rf"{table} was moved from topic {table}\S* to topic {table}_\d+"):
            server.rows(select, 1000, cut_over, **{"millstream.push.shared": shared})
    server.close()


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
