"""A broker that comes back without the last records of the command topic, as after the loss of a disk."""

from pathlib import Path

import pytest

from millstream.engine.api import RequestFailed
from millstream.services.broker import BrokerProcess
from support.engine_process import EngineProcess, own_settings
from support.kafka import wait_for

pytestmark = [pytest.mark.live, pytest.mark.crash]
STREAM = "CREATE STREAM {} (k STRING KEY, v INT) WITH (kafka_topic='said', format='JSON', partitions=1);"


def names(server: EngineProcess) -> set[str]:
    """The streams that a server knows."""
    return {stream["name"] for stream in server.execute("SHOW STREAMS;")[0]["streams"]}


def refusal(server: EngineProcess, text: str) -> str:
    """Why a statement is refused; "" if it is not."""
    try:
        server.execute(text)
    except RequestFailed as failure:
        return failure.message
    return ""


def test_no_command_is_appended_to_a_topic_that_has_lost_commands(own_broker: BrokerProcess, tmp_path: Path) -> None:
    """Its offset would be that of a lost command, whose result would be the answer, and no server that was there would
    execute it."""
    settings = own_settings(own_broker.bootstrap, "cut_", tmp_path, slots=8)
    server = EngineProcess(settings, tmp_path / "server.log")
    server.execute(STREAM.format("one"))
    folder = own_broker.home / "storage" / "_millstream-cut__command_topic-0"
    (segment,) = folder.glob("*.log")
    kept = segment.stat().st_size
    server.execute(STREAM.format("two") + STREAM.format("three"))
    own_broker.kill()
    with open(segment, "r+b") as file:
        file.truncate(kept)
    own_broker.start()
    lost = "_millstream-cut__command_topic has lost its last commands, of the "
    wait_for(lambda: lost in refusal(server, "CREATE TYPE t AS INT;"), "the refusal")
    assert lost in refusal(server, STREAM.format("four"))
    wait_for(lambda: lost in str(server.health()["details"]), "the health check says so")
    assert not server.health()["isHealthy"]
    assert names(server) >= {"ONE", "TWO", "THREE"}
    server.kill()
    server = EngineProcess(settings, tmp_path / "server.log")
    server.execute(STREAM.format("four"))
    assert names(server) >= {"ONE", "FOUR"}
    assert not names(server) & {"TWO", "THREE"}
    server.kill()
