"""A short attack on a server: what once worked, and random requests; then the same catalog after a restart."""

from pathlib import Path

import pytest
from attack.run import attack, catalog
from attack.table import too_deep, too_large, waiting_statements, web_pages

from millstream.services.broker import BrokerProcess
from support.server_process import ServerProcess

pytestmark = [pytest.mark.live, pytest.mark.crash]


def test_a_server_under_attack(broker: BrokerProcess, tmp_path: Path) -> None:
    settings = {"ksql.service.id": "attacked_", "millstream.python.functions.enabled": "false"}
    with ServerProcess(broker.bootstrap, tmp_path, **settings) as server:
        report = attack(server.url, server.pid, 100, 7, (web_pages, too_deep, too_large, waiting_statements))
        assert report.findings == []
        assert server.running
        before = catalog(server.url)
        server.stop()
        server.start()
        assert catalog(server.url) == before
