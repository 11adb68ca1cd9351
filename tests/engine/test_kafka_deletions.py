"""Brokers that delete no topics."""

from pathlib import Path

import pytest

from millstream.engine import topics
from millstream.engine.kafka import KafkaClient
from millstream.model.errors import StatementError
from millstream.plan.steps import DeleteTopic
from millstream.services.broker import BrokerProcess


@pytest.mark.crash
def test_a_deletion_that_the_brokers_would_refuse_is_refused_before_the_source_is_dropped(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path, port=0, settings={"delete.topic.enable": "false"}, heap="256m") as broker:
        client = KafkaClient({"bootstrap.servers": broker.bootstrap})
        client.create("t", 1)
        with pytest.raises(StatementError, match="Could not delete the corresponding kafka topic: t"):
            topics.check(DeleteTopic("t"), client)


def test_a_deletion_that_the_brokers_carry_out(client: KafkaClient) -> None:
    topics.check(DeleteTopic("t"), client)
