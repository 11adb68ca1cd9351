"""Connectors of a real Kafka Connect worker: rows come from a file and go to one; and the errors when that fails."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from millstream.cli import checks
from millstream.engine.api import RequestFailed
from millstream.model.settings import effective
from millstream.services.broker import BrokerProcess
from millstream.services.connect import ConnectProcess
from millstream.services.errors import SetupError
from support.engine_process import EngineProcess
from support.kafka import BrokerClient, wait_for
from support.patience import PATIENCE

pytestmark = pytest.mark.live
Begin = Callable[..., EngineProcess]
TEXT = "org.apache.kafka.connect.storage.StringConverter"
ROWS = [{"SENSOR": "a", "V": 1}, {"SENSOR": "b", "V": 10}, {"SENSOR": "a", "V": 2}]


@pytest.fixture(scope="module")
def worker(
    broker: BrokerProcess, kafka: BrokerClient, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ConnectProcess]:
    """A worker with topics of its own."""
    name = kafka.unique("connect")
    topics = {f"{part}.storage.topic": f"{name}-{part}" for part in ("config", "offset", "status")}
    with ConnectProcess(
        tmp_path_factory.mktemp("connect"), broker.bootstrap, port=0, settings={"group.id": name, **topics}
    ) as started:
        yield started


@pytest.fixture(scope="module")
def server(begin: Begin, worker: ConnectProcess) -> EngineProcess:
    return begin(**{"ksql.connect.url": worker.url})


def state(server: EngineProcess, name: str) -> str:
    listed = server.execute("SHOW CONNECTORS;")[0]["connectors"]
    return next((str(connector["state"]) for connector in listed if connector["name"] == name), "")


def source(name: str, topic: str, file: Path) -> str:
    return f"""CREATE SOURCE CONNECTOR `{name}` WITH ("connector.class"='FileStreamSource', "file"='{file}',
        "topic"='{topic}', "value.converter"='{TEXT}');"""


def refused(server: EngineProcess, text: str) -> RequestFailed:
    with pytest.raises(RequestFailed) as failed:
        server.execute(text)
    return failed.value


def test_from_a_file_to_a_table_and_to_a_file(server: EngineProcess, kafka: BrokerClient, tmp_path: Path) -> None:
    topic, read, written = kafka.unique("readings"), tmp_path / "read.txt", tmp_path / "written.txt"
    read.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    server.execute(f"""
        CREATE STREAM readings (sensor STRING, v INT) WITH (kafka_topic='{topic}', value_format='JSON', partitions=1);
        CREATE TABLE totals WITH (kafka_topic='{topic}-totals') AS
            SELECT sensor, SUM(v) AS total FROM readings GROUP BY sensor EMIT CHANGES;""")
    created = server.execute(source("lines", topic, read))[0]
    assert (created["@type"], created["info"]["name"], created["info"]["type"]) == ("connector_info", "lines", "source")
    rows = server.rows("SELECT sensor, v FROM readings EMIT CHANGES LIMIT 3;", 3)
    assert rows == [[row["SENSOR"], row["V"]] for row in ROWS]

    server.execute(f"""CREATE SINK CONNECTOR `sums` WITH ("connector.class"='FileStreamSink', "file"='{written}',
        "topics"='{topic}-totals', "value.converter"='{TEXT}');""")
    wait_for(lambda: written.exists() and len(written.read_text().splitlines()) == 3, "the sums in the file", PATIENCE)
    assert sorted(json.loads(line)["TOTAL"] for line in written.read_text().splitlines()) == [1, 3, 10]

    wait_for(lambda: described(server, "lines")["topics"] == [topic], "the connector's topics", PATIENCE)
    lines = described(server, "lines")
    assert lines["connectorClass"] == "FileStreamSource"
    assert [task["state"] for task in lines["status"]["tasks"]] == ["RUNNING"]
    assert [s["name"] for s in lines["sources"]] == ["READINGS"]
    assert state(server, "sums") == "RUNNING (1/1 tasks RUNNING)"
    kinds = {kind: server.execute(f"LIST {kind} CONNECTORS;")[0]["connectors"] for kind in ("SOURCE", "SINK")}
    assert {kind: [c["name"] for c in listed] for kind, listed in kinds.items()} == {
        "SOURCE": ["lines"],
        "SINK": ["sums"],
    }
    dropped = server.execute("DROP CONNECTOR `lines`; DROP CONNECTOR `sums`;")
    assert [entity["connectorName"] for entity in dropped] == ["lines", "sums"]
    wait_for(lambda: server.execute("SHOW CONNECTORS;")[0]["connectors"] == [], "no connector", PATIENCE)


def described(server: EngineProcess, name: str) -> dict[str, Any]:
    return server.execute(f"DESCRIBE CONNECTOR `{name}`;")[0]


def test_a_task_that_fails_is_described_with_its_trace(
    server: EngineProcess, kafka: BrokerClient, tmp_path: Path
) -> None:
    topic = kafka.unique("broken")
    kafka.create_topic(topic)
    kafka.produce(topic, None, "no JSON")
    server.execute(f"""CREATE SINK CONNECTOR `broken` WITH ("connector.class"='FileStreamSink',
        "file"='{tmp_path / "never.txt"}', "topics"='{topic}');""")
    wait_for(lambda: state(server, "broken") == "WARNING (0/1 tasks RUNNING)", "the failure", PATIENCE)
    (task,) = described(server, "broken")["status"]["tasks"]
    assert (task["state"], "no JSON" in task["trace"] or "JsonParseException" in task["trace"]) == ("FAILED", True)
    server.execute("DROP CONNECTOR `broken`;")


def test_plugins(server: EngineProcess) -> None:
    plugins = server.execute("SHOW CONNECTOR PLUGINS;")[0]["connectorsPlugins"]
    package = "org.apache.kafka.connect.file.FileStream"
    assert {(p["className"], p["type"]) for p in plugins} == {
        (f"{package}SourceConnector", "source"),
        (f"{package}SinkConnector", "sink"),
    }


def test_the_doctor_finds_the_worker(worker: ConnectProcess) -> None:
    checked = checks.connect(checks.CheckContext(effective({"ksql.connect.url": worker.url})))
    assert checked == checks.CheckResult(checks.CheckOutcome.PASSED, f"Kafka Connect 4.1.1 at {worker.url}")


def test_a_busy_port_is_refused(worker: ConnectProcess, tmp_path: Path) -> None:
    with pytest.raises(SetupError, match=f"port {worker.port} is in use, so Kafka Connect cannot"):
        ConnectProcess(tmp_path, "127.0.0.1:1", worker.port).start()


def test_what_connect_refuses(server: EngineProcess, kafka: BrokerClient, tmp_path: Path) -> None:
    unknown = refused(server, "CREATE SOURCE CONNECTOR c WITH (\"connector.class\"='FileStreamSauce');")
    assert (unknown.code, unknown.message) == (
        40001,
        "line 1:33: Kafka Connect has no connector class \"FileStreamSauce\"\n  hint: did you mean 'FileStreamSource'?",
    )
    invalid = refused(server, 'CREATE SOURCE CONNECTOR c WITH ("connector.class"=\'FileStreamSource\', "tasks.max"=0);')
    assert invalid.code == 40001
    assert "Validation error: tasks.max - Invalid value 0" in invalid.message
    assert 'topic - Missing required configuration "topic"' in invalid.message

    missing = refused(server, "DROP CONNECTOR c;")
    assert (missing.code, missing.message) == (
        40400,
        "line 1:1: Kafka Connect answered 404: Connector C not found",
    )
    assert server.execute("DROP CONNECTOR IF EXISTS c;")[0]["@type"] == "warning_entity"


def test_creating_a_connector_whose_name_exists(server: EngineProcess, kafka: BrokerClient, tmp_path: Path) -> None:
    text = source("taken", kafka.unique("taken"), tmp_path / "no.txt")
    server.execute(text)
    taken = refused(server, text)
    assert (taken.code, "Connector taken already exists" in taken.message) == (40900, True)
    again = server.execute(text.replace("CONNECTOR", "CONNECTOR IF NOT EXISTS"))[0]
    assert (again["@type"], again["message"]) == ("warning_entity", "Connector taken already exists")
    server.execute("DROP CONNECTOR `taken`;")


def test_a_worker_that_is_away_and_comes_back(
    server: EngineProcess, worker: ConnectProcess, kafka: BrokerClient, tmp_path: Path
) -> None:
    server.execute(source("kept", kafka.unique("kept"), tmp_path / "no.txt"))
    wait_for(lambda: state(server, "kept") == "RUNNING (1/1 tasks RUNNING)", "the connector", PATIENCE)
    worker.stop()
    for text in (
        "SHOW CONNECTORS;",
        "DESCRIBE CONNECTOR `kept`;",
        "DROP CONNECTOR `kept`;",
        source("x", "x", tmp_path),
    ):
        away = refused(server, text)
        assert away.code == 50000
        assert away.message.startswith(f"line 1:1: Kafka Connect at {worker.url} does not answer: ")
        assert "hint: `millstream dev --connect` starts one" in away.message
    assert server.health()["isHealthy"]
    assert server.execute("SHOW STREAMS;")[0]["@type"] == "streams"
    worker.start()
    wait_for(lambda: state(server, "kept") == "RUNNING (1/1 tasks RUNNING)", "the connector again", PATIENCE)
    server.execute("DROP CONNECTOR `kept`;")
