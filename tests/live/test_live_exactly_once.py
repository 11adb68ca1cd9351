"""Queries with exactly_once_v2 whose server is killed, frozen and paused: each row once, counts of counts right."""

import random
import time
from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from support.engine_process import EngineProcess
from support.exactly_once import KEYS, CountedQueries, counted
from support.kafka import BrokerClient

pytestmark = pytest.mark.live
Begin = Callable[..., EngineProcess]


@pytest.fixture
def queries(kafka: BrokerClient) -> Iterator[CountedQueries]:
    topic = kafka.create_topic(kafka.unique("once").replace("-", "_").upper(), partitions=2)
    with closing(CountedQueries(kafka, topic)) as counted_queries:
        yield counted_queries


@pytest.fixture
def start(begin: Begin) -> Callable[..., EngineProcess]:
    """Starts a server with exactly-once; what is not committed when it dies would be written again."""

    def one(name: str = "once") -> EngineProcess:
        return begin(name, **{"processing.guarantee": "exactly_once_v2", "commit.interval.ms": "1000"})

    return one


def test_killed_again_and_again(start: Callable[..., EngineProcess], queries: CountedQueries) -> None:
    """At random times: while records are read, states written, transactions committed."""
    moments = random.Random(12)
    server = start()
    server.execute(queries.statements)
    with queries.load() as load:
        for _ in range(3):
            queries.flow(100)
            time.sleep(moments.uniform(0, 1.5))
            server.kill()
            server = start()
        queries.flow(100)
    queries.check(load.written)
    server.clear()
    server.close()


def test_paused_replaced_and_stopped(start: Callable[..., EngineProcess], queries: CountedQueries) -> None:
    name, server = queries.name, start()
    server.execute(queries.statements)
    ids = [q["id"] for q in server.execute("SHOW QUERIES;")[0]["queries"] if name in q["queryString"]]
    with queries.load() as load:
        queries.flow(100)
        server.execute("".join(f"PAUSE {id};" for id in ids))
        server.execute("".join(f"RESUME {id};" for id in ids))
        queries.flow(100)
        server.execute(f"CREATE OR REPLACE STREAM {name}_COPY AS SELECT id, v FROM {name} WHERE v >= -1 EMIT CHANGES;")
        queries.flow(100)
        server.close()
        server = start()
        queries.flow(100)
    queries.check(load.written)
    assert dict(server.rows(f"SELECT id, n FROM {name}_COPIED;", KEYS)) == counted(load.written)
    server.clear()
    server.close()


def test_frozen_and_replaced_by_another_server(start: Callable[..., EngineProcess], queries: CountedQueries) -> None:
    """The thawed server finds transactions of its own open, or rows of it in the sink: none may come through."""
    first = start("first")
    first.execute(queries.statements)
    with queries.load() as load:
        queries.flow(100)
        second = start("second")
        first.freeze()
        queries.flow(300)
        first.thaw()
        queries.flow(300)
    queries.check(load.written)
    first.kill()
    assert {len(rows) for rows in queries.outputs().values()} == {load.written}
    second.clear()
    second.close()
