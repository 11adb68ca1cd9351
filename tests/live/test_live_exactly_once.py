"""Queries with exactly_once_v2 whose server is killed, frozen and paused: each row once, counts of counts right."""

import random
import time
from collections import defaultdict
from collections.abc import Callable

import pytest

from support.engine_process import EngineProcess
from support.kafka import BrokerClient, TopicRecord, wait_for
from support.load import SteadyLoad

pytestmark = pytest.mark.live
Begin = Callable[..., EngineProcess]
KEYS = 10
# Seconds; a machine may have other things to do.
PATIENCE = 300
# COPY is read again by COPIED, and COUNT by its own topic's readers.
DECLARED = """
CREATE STREAM {name} (id STRING KEY, v INT) WITH (kafka_topic='{name}', format='JSON');
CREATE STREAM {name}_COPY AS SELECT id, v FROM {name} WHERE v >= 0 EMIT CHANGES;
CREATE TABLE {name}_COUNT AS SELECT id, COUNT(*) AS n FROM {name} GROUP BY id EMIT CHANGES;
CREATE TABLE {name}_COPIED AS SELECT id, COUNT(*) AS n, SUM(v) AS s FROM {name}_COPY GROUP BY id EMIT CHANGES;
"""


def steady(kafka: BrokerClient, topic: str) -> SteadyLoad:
    """Rows v = 0, 1, 2, …, 300 a second, under ten keys."""
    send = lambda v: kafka.send(topic, f'"k{v % KEYS}"', {"v": v})  # noqa: E731
    return SteadyLoad(send, kafka.flush, each=3)


@pytest.fixture
def name(kafka: BrokerClient) -> str:
    return kafka.create_topic(kafka.unique("once").replace("-", "_").upper(), partitions=2)


@pytest.fixture
def start(begin: Begin) -> Callable[..., EngineProcess]:
    """Starts a server with exactly-once; what is not committed when it dies would be written again."""

    def one(name: str = "once") -> EngineProcess:
        return begin(name, **{"processing.guarantee": "exactly_once_v2", "commit.interval.ms": "1000"})

    return one


def outputs(kafka: BrokerClient, name: str) -> dict[str, list[TopicRecord]]:
    """What readers of committed records get of each query."""
    return {kind: kafka.committed(f"{name}_{kind}") for kind in ("COPY", "COUNT", "COPIED")}


def flow(kafka: BrokerClient, name: str, more: int) -> None:
    """Wait until every query has committed so many rows more."""
    wanted = {kind: len(rows) + more for kind, rows in outputs(kafka, name).items()}
    reached = lambda: all(len(rows) >= wanted[kind] for kind, rows in outputs(kafka, name).items())  # noqa: E731
    wait_for(reached, f"{more} rows more of each", PATIENCE)


def check(kafka: BrokerClient, name: str, written: int) -> None:
    """Every row has its output once, and every count of rows, and of outputs, is told once."""
    complete = lambda: all(len(rows) >= written for rows in outputs(kafka, name).values())  # noqa: E731
    lengths = lambda: {kind: len(rows) for kind, rows in outputs(kafka, name).items()}  # noqa: E731
    wait_for(complete, f"{written} outputs of each", PATIENCE, lengths)
    rows = outputs(kafka, name)
    assert sorted(r.json["V"] for r in rows["COPY"]) == list(range(written))  # type: ignore[index]
    for kind in ("COUNT", "COPIED"):
        counts = defaultdict(list)
        for record in rows[kind]:
            counts[record.key].append(record.json["N"])  # type: ignore[index]
        assert len(counts) == KEYS
        assert all(told == list(range(1, len(told) + 1)) for told in counts.values()), kind
        assert sum(map(len, counts.values())) == written
    assert sum(max(r.json["S"] for r in rows["COPIED"] if r.key == key) for key in counts) == sum(range(written))  # type: ignore[index]


def test_killed_again_and_again(start: Callable[..., EngineProcess], kafka: BrokerClient, name: str) -> None:
    """At moments that are nobody's choice: while records are read, states written, transactions committed."""
    moments = random.Random(12)
    server = start()
    server.execute(DECLARED.format(name=name))
    with steady(kafka, name) as load:
        for _ in range(3):
            flow(kafka, name, 100)
            time.sleep(moments.uniform(0, 1.5))
            server.kill()
            server = start()
        flow(kafka, name, 100)
    check(kafka, name, load.written)
    server.clear()
    server.close()


def test_paused_replaced_and_stopped(start: Callable[..., EngineProcess], kafka: BrokerClient, name: str) -> None:
    server = start()
    server.execute(DECLARED.format(name=name))
    ids = [q["id"] for q in server.execute("SHOW QUERIES;")[0]["queries"] if name in q["queryString"]]
    with steady(kafka, name) as load:
        flow(kafka, name, 100)
        server.execute("".join(f"PAUSE {id};" for id in ids))
        server.execute("".join(f"RESUME {id};" for id in ids))
        flow(kafka, name, 100)
        server.execute(f"CREATE OR REPLACE STREAM {name}_COPY AS SELECT id, v FROM {name} WHERE v >= -1 EMIT CHANGES;")
        flow(kafka, name, 100)
        server.close()
        server = start()
        flow(kafka, name, 100)
    check(kafka, name, load.written)
    assert rows_of(server, name) == counted(load.written)
    server.clear()
    server.close()


def rows_of(server: EngineProcess, name: str) -> dict[str, int]:
    """What a pull query says of the table of counts of outputs."""
    return dict(server.rows(f"SELECT id, n FROM {name}_COPIED;", KEYS))


def counted(written: int) -> dict[str, int]:
    return {f"k{key}": len(range(key, written, KEYS)) for key in range(KEYS)}


def test_frozen_and_replaced_by_another_server(
    start: Callable[..., EngineProcess], kafka: BrokerClient, name: str
) -> None:
    """The thawed server finds transactions of its own open, or rows of it in the sink: none may come through."""
    first = start("first")
    first.execute(DECLARED.format(name=name))
    with steady(kafka, name) as load:
        flow(kafka, name, 100)
        second = start("second")
        first.freeze()
        flow(kafka, name, 300)
        first.thaw()
        flow(kafka, name, 300)
    check(kafka, name, load.written)
    first.kill()
    assert {len(rows) for rows in outputs(kafka, name).values()} == {load.written}
    second.clear()
    second.close()
