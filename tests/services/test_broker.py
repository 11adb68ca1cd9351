"""The broker as a user's machine runs it: records go round, what is stored stays, failures are sentences."""

import subprocess
import sys
from pathlib import Path

import pytest

from millstream.services.broker import BrokerProcess
from millstream.services.errors import SetupError
from support.kafka import BrokerClient

pytestmark = pytest.mark.live
PARENT = """
import sys, time
from pathlib import Path
from millstream.services.broker import BrokerProcess
BrokerProcess(Path(sys.argv[1]), 0, heap="512m").start()
print("up", flush=True)
time.sleep(600)
"""
FAR_FUTURE = 4_102_444_800_000


def test_a_record_comes_back_as_it_was_sent(kafka: BrokerClient) -> None:
    topic = kafka.create_topic()
    kafka.produce(topic, "k", {"A": 1}, timestamp=FAR_FUTURE, headers=[("h", b"1"), ("n", None)])
    kafka.produce(topic, None, None, timestamp=1)
    first, second = kafka.consume_all(topic, 2)
    assert (first.key, first.json, first.timestamp) == (b"k", {"A": 1}, FAR_FUTURE)
    assert first.headers == (("h", b"1"), ("n", None))
    assert (second.key, second.value, second.timestamp) == (None, None, 1)


def test_a_second_broker_on_the_port_is_refused(broker: BrokerProcess, tmp_path: Path) -> None:
    with pytest.raises(SetupError, match=f"port {broker.port} is in use, so the Kafka broker cannot listen on it"):
        BrokerProcess(tmp_path, broker.port).start()


def test_records_survive_a_stop_and_a_crash(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path, 0, heap="512m") as broker:
        BrokerClient(broker.bootstrap).create_topic("kept")
        BrokerClient(broker.bootstrap).produce("kept", "a", "1")
    with BrokerProcess(tmp_path, 0, heap="512m") as broker:
        BrokerClient(broker.bootstrap).produce("kept", "b", "2")
        broker.kill()
    with BrokerProcess(tmp_path, 0, heap="512m") as broker:
        assert [record.key for record in BrokerClient(broker.bootstrap).consume_all("kept", 2)] == [b"a", b"b"]


def test_a_folder_in_use_is_refused(broker: BrokerProcess) -> None:
    with pytest.raises(SetupError, match="broker is in use by another millstream"):
        BrokerProcess(broker.data, 0).start()
    assert broker.running


def test_the_error_of_a_broker_that_cannot_start_has_kafkas_output(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match=r"(?s)could not format .*; its output:.*num\.partitions"):
        BrokerProcess(tmp_path, 0, settings={"num.partitions": "many"}).start()


def test_a_new_broker_waits_for_one_that_is_leaving(tmp_path: Path) -> None:
    """What a server that was killed left behind still has the folder for a moment."""
    command = [sys.executable, "-c", PARENT, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"up\n"
        parent.kill()
    with BrokerProcess(tmp_path, 0, heap="512m") as broker:
        assert broker.running
