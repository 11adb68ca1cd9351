"""`millstream dev` as its user starts and stops it: a process of its own, with a real Kafka and Spark."""

import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from millstream.cli.client import ClientError, RestClient
from millstream.cli.main import main
from millstream.client.exchange import SessionSettings
from support.kafka import wait_for
from support.patience import PATIENCE


@pytest.fixture
def options(request: pytest.FixtureRequest) -> list[str]:
    """What is started beside Kafka and the server: by default Kafka Connect."""
    return list(getattr(request, "param", ["--connect", "--connect-port", "0"]))


@pytest.fixture
def dev(tmp_path: Path, options: list[str]) -> Iterator[subprocess.Popen[str]]:
    """The process, started on free ports, without the registry."""
    words = ["dev", "--data", str(tmp_path), "--port", "0", "--kafka-port", "0", "--no-registry", "--no-shell"]
    words += options
    process = subprocess.Popen([sys.executable, "-m", "millstream", *words], stdout=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@pytest.mark.crash
def test_everything_starts_answers_and_stops(dev: subprocess.Popen[str]) -> None:
    shown = _read_until(dev, "everything runs")
    url = re.search(r"http://localhost:\d+", shown)
    assert url is not None, shown
    entity = RestClient(url[0]).execute("SHOW STREAMS;", SessionSettings())[0]
    assert (entity["@type"], entity["streams"]) == ("streams", [])
    wait_for(lambda: _has_file_connectors(RestClient(url[0])), "Kafka Connect", PATIENCE)
    children = _descendants(dev.pid)
    assert len(children) >= 3, "Kafka, Kafka Connect and Spark run beside it"
    dev.send_signal(signal.SIGTERM)
    assert dev.wait(PATIENCE) == 0
    _await_end(children)


@pytest.mark.crash
def test_a_start_that_is_broken_off_leaves_nothing_behind(dev: subprocess.Popen[str]) -> None:
    _read_until(dev, "Kafka")
    wait_for(lambda: _spark_starts(dev.pid), "the start of Spark", PATIENCE)
    children = _descendants(dev.pid)
    dev.send_signal(signal.SIGINT)
    assert dev.wait(PATIENCE) == 130
    _await_end(children)


@pytest.mark.crash
def test_what_ends_by_itself_is_started_again(dev: subprocess.Popen[str]) -> None:
    """Kafka Connect ends before it has answered, too."""
    wait_for(lambda: _java(dev.pid, "ConnectDistributed"), "the start of Kafka Connect", PATIENCE)
    _end(dev.pid, "ConnectDistributed")
    shown = _read_until(dev, "answers again")
    assert re.search(r" Kafka Connect +Kafka Connect ended while starting; its output:", shown)
    shown += "" if "everything runs" in shown else _read_until(dev, "everything runs")
    url = re.search(r"http://localhost:\d+", shown)
    assert url is not None, shown
    wait_for(lambda: _has_file_connectors(RestClient(url[0])), "Kafka Connect", PATIENCE)
    for name, program in (("Kafka Connect", "ConnectDistributed"), ("Kafka", "kafka.Kafka")):
        _end(dev.pid, program)
        output = _read_until(dev, "answers again")
        assert re.search(rf" {name} +was ended by SIGKILL \(its log is \S+\): it is started again\n", output)
    statement = "CREATE STREAM s (a INT) WITH (kafka_topic='s', format='JSON', partitions=1);"
    wait_for(lambda: _is_executed(RestClient(url[0]), statement), "Kafka", PATIENCE)
    children = _descendants(dev.pid)
    dev.send_signal(signal.SIGTERM)
    assert dev.wait(PATIENCE) == 0
    _await_end(children)


@pytest.mark.crash
@pytest.mark.parametrize("options", [["--cluster"]], indirect=True, ids=["cluster"])
def test_a_worker_that_ends_is_started_again_and_its_executor_too(dev: subprocess.Popen[str]) -> None:
    shown = _read_until(dev, "everything runs")
    url = re.search(r"http://localhost:\d+", shown)
    assert url is not None, shown
    client = RestClient(url[0])
    client.execute("CREATE STREAM s (a INT) WITH (kafka_topic='s', format='JSON', partitions=1);", SessionSettings())
    _end(dev.pid, "deploy.worker.Worker", "/worker-1")
    output = _read_until(dev, "answers again")
    assert re.search(r" Spark worker 1 +was ended by SIGKILL \(its log is \S+\): it is started again\n", output)
    client.execute("CREATE STREAM c AS SELECT a + 1 AS b FROM s; INSERT INTO s VALUES (1);", SessionSettings())
    with client.query("SELECT b FROM c EMIT CHANGES LIMIT 1;", SessionSettings({"auto.offset.reset": "earliest"})) as c:
        assert [*c.rows] == [[2]]
    _end(dev.pid, "deploy.master.Master")
    output = _read_until(dev, "Spark master")
    assert re.search(r" Spark master +was ended by SIGKILL .*: queries go on, but executors that end are not", output)
    dev.send_signal(signal.SIGTERM)
    assert dev.wait(PATIENCE) == 0


def _end(pid: int, program: str, folder: str = "") -> None:
    """Kill the JVM of a program; of several workers, the one with that folder."""
    (process,) = _java(pid, program, folder)
    process.kill()


def _java(pid: int, program: str, folder: str = "") -> list[psutil.Process]:
    """The JVMs of a program; of several workers, those with that folder."""
    commands = [(child, _arguments(child)) for child in _descendants(pid)]
    java = [(child, words) for child, words in commands if words and words[0].endswith("java")]
    return [
        child
        for child, words in java
        if any(program in word for word in words) and any(word.endswith(folder) for word in words)
    ]


def test_a_busy_port_is_reported_before_anything_starts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as busy:
        port = busy.getsockname()[1]
        assert main(["dev", "--data", str(tmp_path / "data"), "--port", str(port)]) == 1
    error = capsys.readouterr().err
    assert error.startswith(f"millstream: port {port} is in use, so the REST server cannot listen on it\n  hint: ")
    assert not (tmp_path / "data").exists()


def _has_file_connectors(client: RestClient) -> bool:
    """Whether Kafka Connect, which starts in the background, answers with the plugins that it has."""
    try:
        plugins = client.execute("SHOW CONNECTOR PLUGINS;", SessionSettings())[0]["connectorsPlugins"]
    except ClientError:
        return False
    return "org.apache.kafka.connect.file.FileStreamSourceConnector" in [plugin["className"] for plugin in plugins]


def _is_executed(client: RestClient, statement: str) -> bool:
    try:
        client.execute(statement, SessionSettings())
    except ClientError:
        return False
    return True


def _read_until(process: subprocess.Popen[str], word: str) -> str:
    assert process.stdout is not None
    shown = ""
    for line in process.stdout:
        shown += line
        if word in line:
            return shown
    raise AssertionError(f"it ended: {shown}")


def _descendants(pid: int) -> list[psutil.Process]:
    return psutil.Process(pid).children(recursive=True)


def _spark_starts(pid: int) -> bool:
    """Whether the process has started Spark's JVM, which takes some seconds to answer."""
    return any("SparkSubmit" in " ".join(_arguments(child)) for child in _descendants(pid))


def _arguments(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except (psutil.NoSuchProcess, psutil.ZombieProcess):
        return []


def _await_end(processes: list[psutil.Process]) -> None:
    _, left = psutil.wait_procs(processes, PATIENCE)
    assert not left, "left behind"
