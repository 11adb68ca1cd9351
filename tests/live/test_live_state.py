"""What DESCRIBE … EXTENDED says of a query at work, and that state ends with its windows."""

import json
from typing import Any

import pytest

from support.engine_process import EngineProcess
from support.kafka import BrokerClient, wait_for

pytestmark = pytest.mark.live


def described(server: EngineProcess, name: str) -> dict[str, Any]:
    body: dict[str, Any] = server.execute(f"DESCRIBE {name} EXTENDED;")[0]["sourceDescription"]
    return body


def figure(server: EngineProcess, name: str, what: str) -> float:
    """A figure of the query that writes a source; -1 where there is none yet."""
    figures = [s["value"] for s in described(server, name)["clusterStatistics"] if s["name"] == what]
    return float(figures[0]) if figures else -1


def test_state_ends_with_its_windows(server: EngineProcess, kafka: BrokerClient) -> None:
    topic = kafka.create_topic(partitions=1)
    server.execute(f"CREATE STREAM ticks (id STRING KEY, v INT) WITH (kafka_topic='{topic}', value_format='JSON');")
    window = "TUMBLING (SIZE 1 SECOND, GRACE PERIOD 0 SECONDS)"
    server.execute(f"CREATE TABLE ticked AS SELECT id, COUNT(*) AS n FROM ticks WINDOW {window} GROUP BY id;")
    for n in range(50):
        kafka.send(topic, f"k{n}", {"v": 1}, 1000 + n)
    kafka.flush()
    wait_for(lambda: figure(server, "TICKED", "state-rows") >= 50, "50 windows in the state")
    assert figure(server, "TICKED", "state-bytes") > 0
    # A task drops old windows when it sees a later time, in a row of its own.
    for n in range(10):
        kafka.produce(topic, f"k{n}", {"v": 1}, 10_000_000)
    # Ten windows, with their due times and the tasks' clocks.
    wait_for(lambda: 0 <= figure(server, "TICKED", "state-rows") <= 25, "the end of old windows")
    assert figure(server, "TICKED", "consumer-total-messages") == 60
    assert figure(server, "TICKED", "total-messages") == 60
    body = described(server, "TICKS")
    assert body["queryOffsetSummaries"][0]["topicSummaries"][0]["offsets"] == [
        {"partition": 0, "logStartOffset": 0, "logEndOffset": 60, "consumerOffset": 60}
    ]
    written = described(server, "TICKED")
    assert "last-message: " in written["statistics"]
    assert written["queryOffsetSummaries"] == body["queryOffsetSummaries"], "the query that writes it, as ksqlDB has it"


def test_rows_without_a_join_key_are_logged(server: EngineProcess, kafka: BrokerClient) -> None:
    left, right = kafka.create_topic(), kafka.create_topic()
    server.execute(
        f"CREATE STREAM sent (id STRING KEY, to_id STRING) WITH (kafka_topic='{left}', value_format='JSON');"
        f"CREATE TABLE known (id STRING PRIMARY KEY, v INT) WITH (kafka_topic='{right}', value_format='JSON');"
        "CREATE STREAM met AS SELECT known.id AS id, v FROM sent LEFT JOIN known ON sent.to_id = known.id;"
    )
    kafka.produce(left, "a", {"TO_ID": None})
    kafka.produce(left, "b", {"TO_ID": "x"})
    assert [r.key for r in kafka.consume_all("MET", 1)] == [b"x"]
    log = server.processing_log
    wait_for(
        lambda: any(
            left in json.dumps(r.json) and "join key is null" in json.dumps(r.json)
            for r in kafka.consume_all(log, kafka.ends(log))
        ),
        "the entry of the processing log",
    )
