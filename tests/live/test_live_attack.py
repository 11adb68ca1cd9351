"""A short attack on a server: what once worked, and random requests; then the same catalog after a restart."""

from pathlib import Path

import pytest
from attack.run import attack, catalog
from attack.table import texts_that_grow, too_deep, too_large, waiting_statements, web_pages

from millstream.services.broker import BrokerProcess
from support.server_process import ServerProcess

TABLE = (web_pages, too_deep, too_large, texts_that_grow, waiting_statements)
pytestmark = [pytest.mark.live, pytest.mark.crash]


def test_a_server_under_attack(broker: BrokerProcess, tmp_path: Path) -> None:
    settings = {"ksql.service.id": "attacked_", "millstream.python.functions.enabled": "false"}
    with ServerProcess(broker.bootstrap, tmp_path, **settings) as server:
        # Half a minute of connections that send a byte now and then is left to `make attack`.
        report = attack(server.url, server.pid, 100, 7, TABLE)
        assert report.findings == []
        assert server.running
        before = catalog(server.url)
        server.stop()
        server.start()
        assert catalog(server.url) == before
