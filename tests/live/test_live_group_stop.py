"""A server's stop by a signal to all of its processes, as systemd and `timeout` send it."""

from pathlib import Path

import pytest

from millstream.services.broker import BrokerProcess
from support.kafka import BrokerClient, wait_for
from support.server_process import ServerProcess

pytestmark = pytest.mark.crash


def test_a_stop_of_the_whole_group_is_orderly(broker: BrokerProcess, kafka: BrokerClient, tmp_path: Path) -> None:
    """The JVM outlives the signal, so that the query can end its batch."""
    topic = kafka.create_topic()
    settings = {"ksql.service.id": kafka.unique("stop").replace("-", "_"), "auto.offset.reset": "earliest"}
    with ServerProcess(broker.bootstrap, tmp_path, **settings) as server:
        server.ksql(f"CREATE STREAM s (v INT) WITH (kafka_topic='{topic}', value_format='JSON');")
        out = kafka.source_name("OUT")
        server.ksql(f"CREATE STREAM {out} AS SELECT v + 1 AS w FROM s;")
        kafka.produce(topic, None, {"v": 1})
        wait_for(lambda: kafka.ends(out) == 1, "a row of the query")
        assert server.stop() == 0
        assert "Traceback" not in server.log.read_text()
