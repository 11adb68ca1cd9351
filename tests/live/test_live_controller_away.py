"""A controller that is away while the broker serves its topics: none is created or deleted, and no query stops."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from millstream.services.broker import BrokerProcess
from support.controller import ControllerProcess, apart
from support.engine_process import EngineProcess, own_settings
from support.kafka import BrokerClient, wait_for

pytestmark = [pytest.mark.live, pytest.mark.crash]
STREAM = "CREATE STREAM {0} (k STRING KEY, v INT) WITH (kafka_topic='{0}', format='JSON', partitions=1);"


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[tuple[ControllerProcess, BrokerProcess]]:
    controller, broker = apart(tmp_path)
    controller.start()
    broker.start()
    yield controller, broker
    controller.signal(signal.SIGCONT)
    broker.kill()
    controller.kill()


def test_a_deletion_waits_for_the_controller_and_the_statements_after_it_do_not(
    cluster: tuple[ControllerProcess, BrokerProcess], tmp_path: Path
) -> None:
    """Each was held back until the controller had answered, and requests to Kafka waited behind the deletion."""
    controller, broker = cluster
    kafka = BrokerClient(broker.bootstrap)
    server = EngineProcess(own_settings(broker.bootstrap, "away_", tmp_path, slots=8), tmp_path / "log")
    server.execute(STREAM.format("gone") + STREAM.format("kept") + "CREATE STREAM copy AS SELECT * FROM kept;")
    server.execute("ALTER SYSTEM 'ksql.server.command.response.timeout.ms' = '1000';")
    # A server that has just started leads only after a moment, and then creates the topics that are missing.
    kafka.produce("kept", '"a"', {"V": 1})
    kafka.consume_all("COPY", 1)
    controller.signal(signal.SIGSTOP)
    (dropped,) = server.execute("DROP STREAM gone DELETE TOPIC;")
    assert dropped["commandStatus"]["status"] == "QUEUED"
    server.execute("CREATE TYPE t AS INT;")
    wait_for(lambda: "T" in server.execute("SHOW TYPES;")[0]["types"], "the statement after it")
    wait_for(lambda: "deletions" in server.health()["details"], "the health check says so")
    assert "gone" in kafka.topics()
    kafka.produce("kept", '"a"', {"V": 2})
    assert [record.json["V"] for record in kafka.consume_all("COPY", 2)] == [1, 2]
    controller.signal(signal.SIGCONT)
    wait_for(lambda: "gone" not in kafka.topics(), "the deletion")
    wait_for(lambda: server.health()["isHealthy"], "the server is well")
    assert "kept" in kafka.topics()
    server.kill()
