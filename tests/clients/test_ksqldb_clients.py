"""ksqlDB's clients, as their packages are: ksql-python-ng and ksqldb for Python, ksqldb-client for Node.js."""

from typing import Any

import pytest

from clients.conftest import Program
from support.kafka import BrokerClient

pytestmark = pytest.mark.clients

ROWS = [[1, "ada"], [2, "bob"], [3, "ada"]]


@pytest.fixture
def topic(kafka: BrokerClient) -> str:
    """An empty topic; its name is good for a stream too."""
    name = kafka.unique("client").replace("-", "_")
    kafka.create_topic(name)
    return name


def check_common_answers(printed: dict[str, Any], topic: str) -> None:
    """What each program prints of the same statements."""
    assert printed["created"] == "SUCCESS"
    assert topic.upper() in printed["streams"]
    assert printed["acks"] == ["ok", "ok", "ok"]
    assert printed["columns"] == ["ID", "NAME"]
    assert printed["pushed"] == ROWS
    assert printed["pulled"] == ["ada", 2]
    assert printed["refused"][0] == 40001
    assert printed["refused"][1] == "line 1:1: Could not find STREAM/TABLE 'NOWHERE' in the Metastore"


def test_ksql_python_ng(ksqldb_program: Program, topic: str) -> None:
    printed = ksqldb_program("ksql_python_ng.py", topic)
    check_common_answers(printed, topic)
    assert printed["version"] == "0.29.0", "the ksqlDB that is followed"
    assert printed["http1"] == [{"ID": 1, "NAME": "ada"}, {"ID": 2, "NAME": "bob"}]
    assert "ksql.streams.auto.offset.reset" in printed["properties"]


def test_ksqldb(ksqldb_program: Program, topic: str) -> None:
    printed = ksqldb_program("ksqldb_package.py", topic)
    check_common_answers(printed, topic)
    assert printed["closed"] is True
    assert "ksql.streams.auto.offset.reset" in printed["properties"]


def test_ksqldb_client_for_node(node_program: Program, topic: str) -> None:
    printed = node_program("ksqldb_client.js", topic)
    check_common_answers(printed, topic)
    assert topic in printed["topics"]
    assert printed["tables"] == [f"{topic}_COUNTS".upper()]
    assert printed["described"] == ["ID", "NAME"]
    assert printed["running"] == 1
    assert printed["terminated"] == 200
