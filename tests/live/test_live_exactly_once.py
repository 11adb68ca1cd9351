"""Queries with exactly_once_v2 whose server is killed, frozen and paused: each row once, counts of counts right."""

import random
import time
from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from support.engine_process import EngineProcess
from support.exactly_once import KEYS, CountedQueries, counted
from support.kafka import BrokerClient
from support.restarted_server import RestartedServer

pytestmark = pytest.mark.live
Begin = Callable[..., EngineProcess]


@pytest.fixture
def queries(kafka: BrokerClient) -> Iterator[CountedQueries]:
    topic = kafka.create_topic(kafka.source_name("once"), partitions=2)
    with closing(CountedQueries(kafka, topic)) as counted_queries:
        yield counted_queries


def start(begin: Begin, name: str) -> EngineProcess:
    """A server with exactly-once; what is not committed when it dies would be written again."""
    return begin(name, **{"processing.guarantee": "exactly_once_v2", "commit.interval.ms": "1000"})


@pytest.fixture(scope="module")
def start_server(begin: Begin) -> Callable[[], EngineProcess]:
    """A server with exactly-once."""
    return lambda: start(begin, "once")


def test_killed_again_and_again(restarted: RestartedServer, queries: CountedQueries) -> None:
    """At random times: while records are read, states written, transactions committed."""
    moments = random.Random(12)
    restarted.now.execute(queries.statements)
    with queries.load() as load:
        for _ in range(3):
            queries.flow(100)
            time.sleep(moments.uniform(0, 1.5))
            restarted.kill_and_start()
        queries.flow(100)
    queries.check(load.written)


def test_paused_replaced_and_stopped(restarted: RestartedServer, queries: CountedQueries) -> None:
    name = queries.name
    restarted.now.execute(queries.statements)
    ids = [q["id"] for q in restarted.now.execute("SHOW QUERIES;")[0]["queries"] if name in q["queryString"]]
    replacement = f"CREATE OR REPLACE STREAM {name}_COPY AS SELECT id, v FROM {name} WHERE v >= -1 EMIT CHANGES;"
    with queries.load() as load:
        queries.flow(100)
        restarted.now.execute("".join(f"PAUSE {id};" for id in ids))
        restarted.now.execute("".join(f"RESUME {id};" for id in ids))
        queries.flow(100)
        restarted.now.execute(replacement)
        queries.flow(100)
        restarted.stop_and_start()
        queries.flow(100)
    queries.check(load.written)
    assert dict(restarted.now.rows(f"SELECT id, n FROM {name}_COPIED;", KEYS)) == counted(load.written)


def test_frozen_and_replaced_by_another_server(
    restarted: RestartedServer, begin: Begin, queries: CountedQueries
) -> None:
    """The thawed server finds transactions of its own open, or rows of it in the sink: none may come through."""
    first = restarted.now
    first.execute(queries.statements)
    with queries.load() as load:
        queries.flow(100)
        second = start(begin, "second")
        first.freeze()
        try:
            queries.flow(300)
        finally:
            first.thaw()
        queries.flow(300)
    queries.check(load.written)
    restarted.kill_for(second)
    assert {len(rows) for rows in queries.outputs().values()} == {load.written}
