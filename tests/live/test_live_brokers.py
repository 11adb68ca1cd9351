"""A cluster of three Kafka brokers that loses one at a time: no row is lost, repeated or counted twice."""

from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from support.broker_cluster import BROKERS, BrokerCluster
from support.engine_process import EngineProcess, own_settings
from support.exactly_once import KEYS, PATIENCE, CountedQueries
from support.kafka import BrokerClient, CommittedCounts, wait_for
from support.load import SteadyLoad

pytestmark = [pytest.mark.live, pytest.mark.crash]
# Seconds between two batches of the load, of three rows: each record costs three brokers something.
PAUSE = 0.05
GUARANTEES = ("at_least_once", "exactly_once_v2")
JOINED = """
CREATE STREAM {name}_L (id STRING KEY, v INT) WITH (kafka_topic='{name}_L', format='JSON');
CREATE STREAM {name}_R (id STRING KEY, v INT) WITH (kafka_topic='{name}_R', format='JSON');
CREATE TABLE {name}_T (id STRING PRIMARY KEY, w INT) WITH (kafka_topic='{name}_T', format='JSON');
CREATE STREAM {name}_LOOKED_UP AS SELECT l.id AS id, v, w FROM {name}_L l JOIN {name}_T t ON l.id = t.id EMIT CHANGES;
CREATE STREAM {name}_PAIRS AS SELECT l.v AS v, l.id AS id, r.v AS w
  FROM {name}_L l JOIN {name}_R r WITHIN 1 HOUR ON l.v = r.v EMIT CHANGES;
"""


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


class JoinedQueries:
    """A stream-table join and a stream-stream join with exactly_once_v2, whose committed rows are looked at."""

    def __init__(self, kafka: BrokerClient) -> None:
        self._kafka, self.name = kafka, kafka.source_name("joined")
        for side in "LRT":
            kafka.create_topic(f"{self.name}_{side}", partitions=3, replicas=3)
        for key in range(KEYS):
            kafka.send(f"{self.name}_T", f'"k{key}"', {"w": key})
        kafka.flush()
        self.statements = JOINED.format(name=self.name)
        self._counts = CommittedCounts(kafka, self.sinks)

    @property
    def sinks(self) -> tuple[str, str]:
        """The topics of the joins."""
        return f"{self.name}_LOOKED_UP", f"{self.name}_PAIRS"

    def load(self) -> SteadyLoad:
        """Rows v = 0, 1, 2, … of both streams."""

        def send(v: int) -> None:
            for side in "LR":
                self._kafka.send(f"{self.name}_{side}", f'"k{v % KEYS}"', {"v": v})

        return SteadyLoad(send, self._kafka.flush, each=3, pause=PAUSE)

    def reach(self, rows: int) -> None:
        """Wait until each join has committed so many rows."""
        wait_for(lambda: min(self._counts.look().values()) >= rows, f"{rows} rows", PATIENCE, self._counts.look)

    def least(self) -> int:
        """How many rows each join has committed."""
        return min(self._counts.look().values())

    def check(self, written: int) -> None:
        """Each row of the left stream was joined once."""
        self.reach(written)
        looked_up, pairs = (self._kafka.committed(topic) for topic in self.sinks)
        assert sorted((r.json["V"], r.json["W"]) for r in looked_up) == [(v, v % KEYS) for v in range(written)]
        assert sorted(r.json["W"] for r in pairs) == list(range(written))

    def close(self) -> None:
        """End the reader."""
        self._counts.close()


@pytest.fixture
def joined(brokers: BrokerCluster, server: EngineProcess) -> Iterator[JoinedQueries]:
    """The joins, which run beside other queries; they end with the test."""
    with closing(JoinedQueries(BrokerClient(brokers.bootstrap))) as joins:
        server.execute(joins.statements, **{"processing.guarantee": "exactly_once_v2"})
        yield joins
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
    brokers: BrokerCluster, server: EngineProcess, queries: list[CountedQueries], joined: JoinedQueries
) -> None:
    """As in an upgrade: the next one when all partitions are on all brokers again.

    The joins, with exactly_once_v2, join each row once, whichever broker coordinates their transactions.
    """
    topics = [*(counted.name for counted in queries), *(f"{joined.name}_{side}" for side in "LRT")]
    with ExitStack() as loads:
        written = [loads.enter_context(counted.load(PAUSE)) for counted in queries]
        sides = loads.enter_context(joined.load())
        flow(queries, 100)
        joined.reach(100)
        for number in BROKERS:
            brokers.restart(number)
            flow(queries, 100)
            joined.reach(joined.least() + 100)
            brokers.wait_until_in_sync(topics)
    for counted, load in zip(queries, written, strict=True):
        counted.check(load.written)
    joined.check(sides.written)
    assert server.health()["isHealthy"]
