"""Rows of a windowed table whose events are old, on a broker that looks for what is out of time twice a second."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from millstream.engine.kafka import KafkaClient
from millstream.services.broker import BrokerProcess
from support.engine_process import EngineProcess, own_settings
from support.kafka import BrokerClient, wait_for

pytestmark = [pytest.mark.live, pytest.mark.crash]
PATIENCE = 300
HOUR = 3_600_000
# In 2001.
BEGIN = 1_000_000_000_000 - 1_000_000_000_000 % HOUR
EAGER = {"log.retention.check.interval.ms": 500, "log.initial.task.delay.ms": 500}


@pytest.fixture
def eager(tmp_path: Path) -> Iterator[BrokerClient]:
    with BrokerProcess(tmp_path / "kafka", port=0, settings=EAGER, heap="384m") as started:
        yield BrokerClient(started.bootstrap)


@pytest.fixture
def server(eager: BrokerClient, tmp_path: Path) -> Iterator[EngineProcess]:
    settings = own_settings(eager.bootstrap, "retention_", tmp_path, slots=16)
    process = EngineProcess(settings, tmp_path / "server.log")
    yield process
    process.kill()


def let_the_broker_look(kafka: BrokerClient, client: KafkaClient) -> None:
    """Return when the broker has checked all topics: it has removed old records of two topics, created in turn."""
    for _ in range(2):
        topic = kafka.create_topic(config={"cleanup.policy": "compact,delete", "retention.ms": str(HOUR)})
        kafka.produce(topic, "k", {"v": 1}, BEGIN)
        wait_for(lambda topic=topic: client.bounds(topic)[0] == (1, 1), "the end of an old record", PATIENCE)  # type: ignore[misc]


def test_old_windows_stay_for_their_retention(server: EngineProcess, eager: BrokerClient) -> None:
    client = KafkaClient({"bootstrap.servers": eager.bootstrap})
    eager.create_topic("events")
    server.execute(
        "CREATE STREAM events (id STRING KEY, v INT) WITH (kafka_topic='events', value_format='JSON');"
        "CREATE TABLE hits AS SELECT id, COUNT(*) AS n FROM events "
        "WINDOW TUMBLING (SIZE 10 MINUTES, RETENTION 1 HOUR, GRACE PERIOD 0 SECONDS) GROUP BY id;"
    )
    for minute in (0, 5, 20, 40):
        eager.produce("events", "a", {"v": minute}, BEGIN + minute * 60_000)
    windows = [["a", BEGIN + m * 60_000, BEGIN + (m + 10) * 60_000, n] for m, n in ((0, 2), (20, 1), (40, 1))]
    wait_for(lambda: server.rows("SELECT * FROM hits;", 10) == windows, "the windows", PATIENCE)
    let_the_broker_look(eager, client)
    assert client.bounds("HITS") == {0: (0, 4)}, "the topic has its rows"
    assert server.rows("SELECT * FROM hits;", 10) == windows
    pushed = server.rows("SELECT * FROM hits EMIT CHANGES;", 4)
    assert [row for row in pushed if row[3] == 2 or row[1] != BEGIN] == windows
    assert len(server.lines("PRINT HITS FROM BEGINNING LIMIT 4;")) >= 4
    # Stream time moves on by more than the retention: the first windows go, in the table and in its topic.
    eager.produce("events", "a", {"v": 0}, BEGIN + 90 * 60_000)
    wait_for(lambda: client.bounds("HITS") == {0: (0, 5)}, "the late window's row", PATIENCE)
    client.trim("HITS", HOUR)
    assert client.bounds("HITS") == {0: (3, 5)}
    left = [windows[2], ["a", BEGIN + 90 * 60_000, BEGIN + 100 * 60_000, 1]]
    wait_for(lambda: server.rows("SELECT * FROM hits;", 10) == left, "what the table keeps", PATIENCE)
