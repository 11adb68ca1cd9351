"""The audit's topic, over a real broker: entries arrive, requests never wait for it, failures are in the health."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from millstream.engine.kafka import KafkaClient
from millstream.security import audit
from millstream.security.audit import AuditLog, AuditTopic
from millstream.server.options import options_of
from millstream.server.run import Server
from millstream.services.broker import BrokerProcess
from millstream.services.ports import free_port
from support.kafka import BrokerClient, wait_for
from support.logins import ParsingEngine

pytestmark = pytest.mark.live
Open = Callable[[str], Server]


@pytest.fixture
def open_server() -> Iterator[Open]:
    """Opens a server whose audit log goes to the topic `audit` of a broker."""
    servers: list[Server] = []

    def start(bootstrap: str) -> Server:
        options = options_of({"bootstrap.servers": bootstrap, "millstream.audit.topic": "audit"})
        servers.append(Server(ParsingEngine(), port=0, options=options))
        servers[-1].start()
        return servers[-1]

    yield start
    for server in servers:
        server.stop()


def post(server: Server, statement: str) -> int:
    return httpx.post(f"{server.url}/ksql", json={"ksql": statement}).status_code


def entries(client: BrokerClient, count: int) -> list[Any]:
    """The first entries of the topic, once it is there."""
    wait_for(lambda: "audit" in client.topics(), "the topic")
    return [record.json for record in client.consume_all("audit", count)]


def audit_health(server: Server) -> dict[str, Any]:
    health = httpx.get(f"{server.url}/healthcheck").json()
    assert health["isHealthy"] == health["details"]["audit"]["isHealthy"]
    return dict(health["details"]["audit"])


def test_entries_arrive_in_the_topic(open_server: Open, broker: BrokerProcess, kafka: BrokerClient) -> None:
    server = open_server(broker.bootstrap)
    post(server, "SET 'ssl.key.password' = 'hush'; SHOW STREAMS;")
    post(server, "SHOW TABLES;")
    records = entries(kafka, 2)
    assert [r["statement"] for r in records] == ["SET 'ssl.key.password' = '[hidden]'; SHOW STREAMS;", "SHOW TABLES;"]
    assert [r["status"] for r in records] == [200, 200]
    assert audit_health(server) == {"isHealthy": True}


def test_requests_do_not_wait_for_a_broker_that_is_away(open_server: Open, tmp_path: Path) -> None:
    """Requests during an outage are in the topic once the broker is back."""
    port = free_port()
    server = open_server(f"127.0.0.1:{port}")
    assert [post(server, "SHOW STREAMS;") for _ in range(20)] == [200] * 20
    wait_for(lambda: "no broker answers" in audit_health(server).get("errorMessage", ""), "the health says so")
    with BrokerProcess(tmp_path, port) as broker:
        assert len(entries(BrokerClient(broker.bootstrap), 20)) == 20
        wait_for(lambda: audit_health(server) == {"isHealthy": True}, "the health says so")


def test_entries_wait_until_the_topic_is_created(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that connects before the topic is there gives up its records at once after a long outage."""
    port = free_port()
    kafka = KafkaClient({"bootstrap.servers": f"127.0.0.1:{port}"})
    create, producer = kafka.create, kafka.producer

    def create_late(*topic: Any) -> bool:
        time.sleep(12)
        return create(*topic)

    impatient = {"topic.metadata.propagation.max.ms": 100}
    monkeypatch.setattr(kafka, "create", create_late)
    monkeypatch.setattr(kafka, "producer", lambda settings, logger: producer({**settings, **impatient}, logger))
    log = AuditLog([AuditTopic("audit", kafka, 1)])
    log.write({"number": 1})
    with BrokerProcess(tmp_path, port) as broker:
        log.write({"number": 2})
        assert sorted(entry["number"] for entry in entries(BrokerClient(broker.bootstrap), 2)) == [1, 2]
        wait_for(lambda: log.health()["isHealthy"], "the health says so")
        log.close()


def test_waiting_entries_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit, "WAITING", 5)
    monkeypatch.setattr(audit, "FLUSH_SECONDS", 0.1)
    settings = {"bootstrap.servers": f"127.0.0.1:{free_port()}"}
    log = AuditLog([AuditTopic("audit", KafkaClient(settings), 1)])
    for number in range(12):
        log.write({"number": number})
    health = log.health()
    assert (health["isHealthy"], health["lostEntries"]) == (False, 7)
    assert "Queue full" in health["errorMessage"]
    log.close()
