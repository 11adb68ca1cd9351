"""The files of a query's states are closed when it ends, not at Spark's maintenance, which is an hour away here."""

import os
import subprocess
from collections.abc import Callable
from contextlib import suppress

import pytest

from support.engine_process import EngineProcess
from support.kafka import BrokerClient, wait_for

pytestmark = pytest.mark.live
NO_MAINTENANCE = {"spark.sql.streaming.stateStore.maintenanceInterval": "1h"}


def open_states(server: EngineProcess) -> list[str]:
    """The files of state stores that the server's JVM has open."""
    listed = subprocess.run(["pgrep", "-g", str(server.pid), "java"], capture_output=True, text=True, check=True)
    files: list[str] = []
    for java in listed.stdout.split():
        for descriptor in os.scandir(f"/proc/{java}/fd"):
            with suppress(FileNotFoundError):
                files.append(os.readlink(descriptor.path))
    return [file for file in files if "StateStoreId(" in file]


def test_states_of_a_query_that_has_ended_are_closed(begin: Callable[..., EngineProcess], kafka: BrokerClient) -> None:
    server, topic = begin("states", **NO_MAINTENANCE), kafka.create_topic()
    stream, counts = (f"{topic}_{name}".replace("-", "_").upper() for name in ("rows", "counts"))
    columns = "id STRING KEY, v INT"
    server.execute(f"CREATE STREAM {stream} ({columns}) WITH (kafka_topic='{topic}', value_format='JSON');")
    server.execute(f"CREATE TABLE {counts} AS SELECT id, COUNT(*) AS n FROM {stream} GROUP BY id;")
    kafka.produce(topic, "a", {"v": 1})
    wait_for(lambda: kafka.ends(counts) == 1, "the count")
    wait_for(lambda: open_states(server), "the states are open")
    (query,) = [q["id"] for q in server.execute("SHOW QUERIES;")[0]["queries"] if q["sinks"] == [counts]]
    server.execute(f"PAUSE {query};")
    wait_for(lambda: not open_states(server), "the states are closed")
    server.execute(f"RESUME {query};")
    kafka.produce(topic, "a", {"v": 2})
    assert [record.json["N"] for record in kafka.consume_all(counts, 2)] == [1, 2]
    wait_for(lambda: open_states(server), "the states are open again")
    server.execute(f"DROP TABLE {counts};")
    wait_for(lambda: not open_states(server), "the states are closed")
