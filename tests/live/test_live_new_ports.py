"""Brokers that come back with other ports: only the address of bootstrap.servers stays, as that of a load balancer."""

from contextlib import closing
from pathlib import Path

import pytest

from millstream.services.broker import BrokerProcess
from millstream.services.ports import free_port
from support.engine_process import EngineProcess, own_settings
from support.exactly_once import CountedQueries
from support.kafka import BrokerClient, wait_for
from support.tcp_forwarder import tcp_forwarder

pytestmark = [pytest.mark.live, pytest.mark.crash]
GUARANTEES = ("at_least_once", "exactly_once_v2")


def test_the_server_finds_brokers_with_new_ports(own_broker: BrokerProcess, tmp_path: Path) -> None:
    """Every client that the server has knows the old ports alone, and asks the bootstrap address anew."""
    with tcp_forwarder(lambda: (own_broker.host, own_broker.port)) as forwarder:
        server = EngineProcess(own_settings(forwarder.address, "moved_", tmp_path, slots=32), tmp_path / "server.log")
        written = 30
        for guarantee in GUARANTEES:
            kafka = BrokerClient(own_broker.bootstrap)
            kafka.create_topic(guarantee.upper())
            with closing(CountedQueries(kafka, guarantee.upper())) as counted:
                server.execute(counted.statements, **{"processing.guarantee": guarantee})
        for moves in range(3):
            if moves:
                own_broker.stop()
                own_broker.port = free_port()
                own_broker.start()
            kafka = BrokerClient(own_broker.bootstrap)
            for guarantee in GUARANTEES:
                for v in range(written * moves, written * (moves + 1)):
                    kafka.send(guarantee.upper(), f'"k{v % 10}"', {"v": v})
            kafka.flush()
            for guarantee in GUARANTEES:
                with closing(CountedQueries(kafka, guarantee.upper())) as counted:
                    counted.check(written * (moves + 1))
            server.execute(f"CREATE STREAM after_{moves} AS SELECT * FROM {GUARANTEES[0]} EMIT CHANGES;")
            assert server.rows(f"SELECT v FROM after_{moves} EMIT CHANGES LIMIT 3;", 3)
            server.execute(f"INSERT INTO after_{moves} (id, v) VALUES ('x', {moves});")
        wait_for(lambda: server.health()["isHealthy"], "the server is well")
        server.kill()
