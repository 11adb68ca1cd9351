"""A cluster of three Kafka brokers that loses one at a time: no row is lost, repeated or counted twice."""

from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from support.broker_cluster import BROKERS, BrokerCluster
from support.engine_process import EngineProcess, own_settings
from support.exactly_once import CountedQueries
from support.kafka import BrokerClient

pytestmark = [pytest.mark.live, pytest.mark.crash]
# Seconds between two batches of the load, of three rows: each record costs three brokers something.
PAUSE = 0.05
GUARANTEES = ("at_least_once", "exactly_once_v2")


@pytest.fixture(scope="module")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerCluster]:
    cluster = BrokerCluster(tmp_path_factory.mktemp("brokers"))
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


@pytest.fixture(scope="module")
def server(brokers: BrokerCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EngineProcess]:
    folder: Path = tmp_path_factory.mktemp("server")
    settings = own_settings(brokers.bootstrap, "replicated_", folder, slots=64)
    replicated = {"ksql.internal.topic.replicas": "3", "commit.interval.ms": "1000"}
    process = EngineProcess({**settings, **replicated}, folder / "server.log")
    yield process
    process.kill()


@pytest.fixture
def queries(brokers: BrokerCluster, server: EngineProcess) -> Iterator[list[CountedQueries]]:
    """The same queries with each guarantee, each over a topic of its own."""
    kafka = BrokerClient(brokers.bootstrap)
    with ExitStack() as opened:
        all_queries = []
        for guarantee in GUARANTEES:
            topic = kafka.source_name(guarantee)
            kafka.create_topic(topic, partitions=3, replicas=3)
            counted = opened.enter_context(closing(CountedQueries(kafka, topic)))
            server.execute(counted.statements, **{"processing.guarantee": guarantee})
            all_queries.append(counted)
        yield all_queries
    server.clear()


def flow(queries: list[CountedQueries], rows: int) -> None:
    for counted in queries:
        counted.flow(rows)


def test_the_leader_of_a_partition_is_killed(
    brokers: BrokerCluster, server: EngineProcess, queries: list[CountedQueries]
) -> None:
    """Another broker leads it after a few seconds; statements and SELECTs are answered without the killed one."""
    first = queries[0].name
    with ExitStack() as loads:
        written = [loads.enter_context(counted.load(PAUSE)) for counted in queries]
        flow(queries, 100)
        assert brokers.replicas() == {len(BROKERS)}, "of their sources, or of the setting"
        killed = brokers.leader(first)
        brokers[killed].kill()
        flow(queries, 100)
        server.execute(f"CREATE STREAM {first}_LATER AS SELECT id, v FROM {first} EMIT CHANGES;")
        assert server.rows(f"SELECT v FROM {first}_LATER EMIT CHANGES LIMIT 3;", 3)
        brokers[killed].start()
        flow(queries, 100)
    for counted, load in zip(queries, written, strict=True):
        counted.check(load.written)


def test_all_brokers_are_restarted_one_after_the_other(
    brokers: BrokerCluster, server: EngineProcess, queries: list[CountedQueries]
) -> None:
    """As in an upgrade: the next one when all partitions are on all brokers again."""
    with ExitStack() as loads:
        written = [loads.enter_context(counted.load(PAUSE)) for counted in queries]
        flow(queries, 100)
        for number in BROKERS:
            brokers.restart(number)
            flow(queries, 100)
            brokers.wait_until_in_sync(counted.name for counted in queries)
    for counted, load in zip(queries, written, strict=True):
        counted.check(load.written)
    assert server.health()["isHealthy"]
